//! Acts of clients in the blog: mutations and queries, and the statements of their answers about registers.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Client, Session};
use crate::faults::LONG_LAG;
use crate::history::{Begun, Count, NOTHING, Read, Recent, Write};
use crate::renames::{NAMES, canonical};
use crate::world::KnownPost;

pub const PASSWORD: &str = "correct horse battery";
/// The number of times that a client sends a command without an answer.
const TRIES: usize = 4;

/// Lists of posts that may be full.
const FULL_OF_POSTS: [&str; 2] = ["feed", "postsByTag"];
/// The percentage of acts that write an item and read its list, while a list is full or new.
pub const BEHIND_ACTS_PERCENT: u64 = 25;
/// The percentage of two writes and a read beside which some tasks stand still.
pub const HELD_PERCENT: u64 = 50;
/// The time for which a user looks at another tab.
const TAB_PATIENCE: Duration = Duration::from_secs(40);
/// The percentage of changes and of changes back that a user makes on another device.
pub const OTHER_DEVICE_PERCENT: u64 = 50;
/// The percentage of changes to a value that the same register had before.
const FORMER_VALUE_PERCENT: u64 = 15;
/// Few tags, so that posts share them.
pub const TAGS: [&str; 3] = ["azure", "c++", "rust"];
/// Comments that are sent at once.
const AT_ONCE_MAX: u64 = 8;

pub const SESSION: &str = "user { id username } accessToken refreshToken";

impl Client {
    /// One act, as the dice say.
    pub async fn act_in_blog(&mut self) {
        if self.session.is_none() {
            return match self.world.dice.below(100) {
                0..55 => self.sign_up().await,
                55..80 => self.sign_in().await,
                _ => self.sign_in_after_change().await,
            };
        }
        // A change that a full read model refuses is parked, and so no position passes it. Nor does it pass
        // the changes that an added projection has not read.
        let is_full = self.world.store.full().is_some_and(|container| FULL_OF_POSTS.contains(&container));
        let is_behind = is_full || self.world.is_newly_released();
        if is_behind && self.world.dice.percent(BEHIND_ACTS_PERCENT) {
            if self.world.dice.percent(60) {
                self.create_post().await;
            }
            return self.read_feed().await;
        }
        match self.world.dice.weighted(&self.world.phase().act_weights.blog) {
            "create post" => self.create_post().await,
            "update post" => self.update_post().await,
            "live query" => self.live_query(),
            "edit a version" => self.edit_a_version().await,
            "subscribe" => self.subscribe_and_write().await,
            "delete post" => self.delete_post().await,
            "like" => self.like(true).await,
            "unlike" => self.like(false).await,
            "comment" => self.comment().await,
            "edit comment" => self.edit_comment().await,
            "delete comment" => self.delete_comment().await,
            "rename" => self.rename().await,
            "delete account" => self.delete_account().await,
            "trespass" => self.trespass().await,
            "sign out" => self.sign_out().await,
            "renew session" => self.renew().await,
            "change password" => self.change_password_and_name().await,
            "use cache" => self.use_cache().await,
            "read post" => self.read_post().await,
            "read own posts" => self.read_own().await,
            "write twice and read" => self.write_twice_and_read().await,
            "read comments" => self.read_comments().await,
            _ => self.read_feed().await,
        }
    }

    /// Sends a command until it is answered, a few times at most. The second part says whether an earlier try
    /// may have had an effect.
    pub async fn command(&mut self, query: &str, variables: Value) -> (Answer, bool) {
        let mut is_repeated = false;
        for _ in 0..TRIES {
            match self.ask(query, variables.clone()).await {
                Answer::Unknown => is_repeated = true,
                answer => return (answer, is_repeated),
            }
        }
        (Answer::Unknown, is_repeated)
    }

    /// Ends a write as its command was answered. Returns the data of a command that was carried out.
    pub fn end(
        &mut self,
        write: &Begun,
        (answer, is_repeated): (Answer, bool),
    ) -> Result<Value, Option<String>> {
        match answer {
            Answer::Data { data, .. } => {
                if is_repeated {
                    self.world.history.repeated(write);
                }
                self.world.history.done(write);
                Ok(data)
            }
            Answer::Refused { code } => {
                if !is_repeated {
                    self.world.history.refused(write);
                }
                self.drop_refused_session(&code);
                Err(Some(code))
            }
            Answer::Unknown => Err(None),
        }
    }

    pub fn drop_refused_session(&mut self, code: &str) {
        if code == "UNAUTHENTICATED" {
            self.session = None;
        }
    }

    pub fn me(&self) -> Option<String> {
        let session = self.session.as_ref()?;
        Some(self.world.users.lock()[session.number].clone())
    }

    pub fn start_session(&mut self, payload: &Value, password: &str) -> Option<String> {
        let text = |name: &str| payload[name].as_str().map(str::to_owned);
        let (id, token) = (payload["user"]["id"].as_str()?.to_owned(), text("accessToken")?);
        if let Some(name) = payload["user"]["username"].as_str() {
            self.learn_name(&id, name);
        }
        let number = self.world.begin_session(&id);
        self.world.passwords.lock().started(number, &id, password, self.world.elapsed_ms());
        let refresh_token = text("refreshToken").unwrap_or_default();
        self.session = Some(Session::new((token, refresh_token), number, self.world.elapsed_ms()));
        Some(id)
    }

    async fn sign_up(&mut self) {
        let world = self.world.clone();
        let name = *world.dice.pick(&NAMES);
        let key = world.next("sign-up");
        let start = world.history.now();
        let query = format!("mutation($i: CreateUserInput!) {{ createUser(input: $i) {{ {SESSION} }} }}");
        let input = json!({ "username": name, "password": PASSWORD, "idempotencyKey": key });
        let (answer, _) = self.command(&query, json!({ "i": input })).await;
        let Answer::Data { data, .. } = answer else { return };
        let payload = &data["createUser"];
        let Some(id) = self.start_session(payload, PASSWORD) else { return };
        let end = Some(world.history.now());
        let written = payload["user"]["username"].as_str().unwrap_or_default();
        world.history.created_by_key(&key, &id);
        let write = |value: String| Write { value, client: self.number, start, end };
        world.history.written(&format!("name of {id}"), write(canonical(written)));
        world.history.written(&format!("username {id}"), write(written.to_owned()));
    }

    async fn sign_in(&mut self) {
        let name = *self.world.dice.pick(&NAMES);
        let query = format!("mutation($i: SignInInput!) {{ signIn(input: $i) {{ {SESSION} }} }}");
        let input = json!({ "username": name, "password": PASSWORD });
        let start = self.world.history.now();
        if let Answer::Data { data, .. } = self.ask(&query, json!({ "i": input })).await {
            let payload = &data["signIn"];
            if let Some(id) = payload["user"]["id"].as_str() {
                self.saw_open_account(id, start);
            }
            if let (Some(id), Some(name)) =
                (self.start_session(payload, PASSWORD), payload["user"]["username"].as_str())
            {
                self.world.history.set_first_unless_written(&format!("username {id}"), name);
            }
        }
    }

    async fn create_post(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let (title, key) = (world.next("title"), world.next("post"));
        let start = world.history.now();
        world.began_title(&title, &me);
        let query =
            "mutation($i: CreatePostInput!) { createPost(input: $i) { post { id title creationDate } } }";
        let input = json!({ "title": title, "content": "Some content.", "tags": self.some_tags(), "idempotencyKey": key });
        let (answer, _) = self.command(query, json!({ "i": input.clone() })).await;
        match answer {
            Answer::Data { data, .. } => {
                let Some(id) = data["createPost"]["post"]["id"].as_str() else { return };
                let end = Some(world.history.now());
                world.history.created_by_key(&key, id);
                let register = format!("post {id}");
                world.history.set_first(&register, NOTHING);
                world.history.owned(&register, &me);
                world
                    .history
                    .written(&register, Write { value: title.clone(), client: self.number, start, end });
                let created =
                    data["createPost"]["post"]["creationDate"].as_str().unwrap_or_default().to_owned();
                world.posts.lock().push(KnownPost { id: id.to_owned(), author: me, created });
                world.posted_title(&title);
                let other = json!("Other content.");
                self.use_key_again(query, input, ("content", other)).await;
            }
            Answer::Refused { code } => self.drop_refused_session(&code),
            Answer::Unknown => {}
        }
    }

    pub fn any_post(&self) -> Option<KnownPost> {
        let posts = self.world.posts.lock();
        // Most acts meet on few posts, in some runs on one.
        let few = if self.world.phase().has_hot_post { 1 } else { 3 };
        let recent = posts.len().saturating_sub(if self.world.dice.percent(70) { few } else { 100 });
        (!posts.is_empty()).then(|| self.world.dice.pick(&posts[recent..]).clone())
    }

    pub fn own_post(&self) -> Option<KnownPost> {
        let me = self.me()?;
        let own: Vec<KnownPost> =
            self.world.posts.lock().iter().filter(|post| post.author == me).cloned().collect();
        (!own.is_empty()).then(|| self.world.dice.pick(&own).clone())
    }

    async fn update_post(&mut self) {
        let Some(post) = self.own_post() else { return };
        self.update_this_post(&post).await;
    }

    pub async fn update_this_post(&mut self, post: &KnownPost) {
        let title = self.world.next("title");
        let write = self.world.clone().history.begin(&format!("post {}", post.id), &title, self.number);
        let query = "mutation($i: UpdatePostInput!) { updatePost(input: $i) { post { id title } } }";
        let start = self.world.history.now();
        let mut input = json!({ "postId": post.id, "title": title });
        if self.world.dice.percent(40) {
            input["tags"] = json!(self.some_tags());
        }
        let answer = self.command(query, json!({ "i": input })).await;
        if self.end(&write, answer) == Err(Some("NOT_FOUND".to_owned())) {
            self.saw("command", &format!("post {}", post.id), NOTHING, Recent::All, start);
        }
    }

    /// Tags of a post. Half of the posts have no tags.
    fn some_tags(&self) -> Vec<&'static str> {
        let percent = *self.world.dice.pick(&[0, 50]);
        TAGS.into_iter().filter(|_| self.world.dice.percent(percent)).collect()
    }

    /// Two writes to different logical partitions or containers, and a read that has to show both. Another
    /// tab may read beside the second write, and wait for the first one alone.
    async fn write_twice_and_read(&mut self) {
        if self.world.dice.percent(HELD_PERCENT) {
            self.world.hold_some_tasks();
        }
        self.update_post().await;
        let reads_beside = self.world.dice.percent(50);
        let tab = reads_beside.then(|| self.ask_in_another_tab("{ viewer { id } }")).flatten();
        match self.world.dice.below(4) {
            0 => self.update_post().await,
            1 => self.like(true).await,
            2 => self.rename().await,
            _ => self.create_post().await,
        }
        if let Some(tab) = tab {
            // A process that has ended gives no answer, and a process that stands still gives a late answer.
            let _ = tokio::time::timeout(TAB_PATIENCE, tab).await;
        }
        self.read_own().await;
        self.read_feed().await;
    }

    async fn delete_post(&mut self) {
        let Some(post) = self.own_post() else { return };
        let register = format!("post {}", post.id);
        let write = self.world.clone().history.begin(&register, NOTHING, self.number);
        let query = "mutation($i: DeletePostInput!) { deletePost(input: $i) { deletedPostId } }";
        let start = self.world.history.now();
        let answer = self.command(query, json!({ "i": { "postId": post.id } })).await;
        if self.end(&write, answer) == Err(Some("NOT_FOUND".to_owned())) {
            self.saw("command", &register, NOTHING, Recent::All, start);
        }
    }

    /// A post whose like the user has taken back.
    fn formerly_liked(&self, me: &str) -> Option<KnownPost> {
        let taken_back = self.world.taken_back.lock();
        let own: Vec<_> =
            taken_back.iter().filter(|(_, user)| user == me).map(|(post, _)| post.clone()).collect();
        (!own.is_empty()).then(|| self.world.dice.pick(&own).clone())
    }

    async fn like(&mut self, likes: bool) {
        let Some(me) = self.me() else { return };
        let again = (likes && self.world.dice.percent(60)).then(|| self.formerly_liked(&me)).flatten();
        let Some(post) = again.or_else(|| self.any_post()) else { return };
        let register = format!("like of {} by {me}", post.id);
        let world = self.world.clone();
        world.history.set_first(&register, "0");
        world.history.owned(&register, &me);
        let write = world.history.begin(&register, if likes { "1" } else { "0" }, self.number);
        let command = if likes { "likePost" } else { "unlikePost" };
        let query =
            format!("mutation($i: LikePostInput!) {{ {command}(input: $i) {{ post {{ likeCount }} }} }}");
        let start = world.history.now();
        let answer = self.command(&query, json!({ "i": { "postId": post.id } })).await;
        match self.end(&write, answer) {
            Ok(data) => {
                if !likes {
                    world.taken_back.lock().push((post.clone(), me));
                }
                let count = data[command]["post"]["likeCount"].as_u64();
                let Some(count) = count.filter(|_| !world.plan.has_drifts) else { return };
                let (prefix, end) = (format!("like of {} by ", post.id), world.history.now());
                world.history.counted(Count { prefix, value: "1", count, start, end });
            }
            Err(Some(code)) if code == "CONFLICT" => self.saw("command", &register, "1", Recent::All, start),
            Err(_) => {}
        }
    }

    async fn comment(&mut self) {
        let Some(post) = self.any_post() else { return };
        self.comment_on(post).await;
    }

    /// Several tabs comment on a post at once, so that the feed has the comments together.
    pub async fn comment_at_once(&mut self, post: &KnownPost) {
        let (Some(me), Some(session)) = (self.me(), self.session.clone()) else { return };
        let world = self.world.clone();
        let query = "mutation($i: CreateCommentInput!) { createComment(input: $i) { comment { id } } }";
        let mut sent = Vec::new();
        for _ in 0..world.dice.between(2, AT_ONCE_MAX) {
            let (content, start) = (world.next("comment"), world.history.now());
            let input = json!({ "postId": post.id, "content": content });
            let body = json!({ "query": query, "variables": { "i": input } });
            let answer = self.send_beside(Duration::ZERO, Some(session.token.clone()), body);
            sent.extend(answer.map(|answer| (content, start, answer)));
        }
        for (content, start, answer) in sent {
            let Ok(Some(answer)) = answer.await else { continue };
            let Some(id) = answer["data"]["createComment"]["comment"]["id"].as_str() else { continue };
            let (register, end) = (format!("comment {id}"), Some(world.history.now()));
            world.history.set_first(&register, NOTHING);
            world.history.written(&register, Write { value: content, client: self.number, start, end });
            world.history.owned(&register, &me);
            world.comments.lock().push((id.to_owned(), post.id.clone(), me.clone()));
            world.count("comment beside others");
        }
    }

    pub async fn comment_on(&mut self, post: KnownPost) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let (content, key) = (world.next("comment"), self.new_key("comment", &me));
        let start = world.history.now();
        let query = "mutation($i: CreateCommentInput!) { createComment(input: $i) { comment { id } } }";
        let input = json!({ "postId": post.id, "content": content, "idempotencyKey": key });
        let (answer, _) = self.command(query, json!({ "i": input })).await;
        match answer {
            Answer::Data { data, .. } => {
                let Some(id) = data["createComment"]["comment"]["id"].as_str() else { return };
                let end = Some(world.history.now());
                world.history.created_by_key(&format!("{key} of {me}"), id);
                let register = format!("comment {id}");
                world.history.set_first(&register, NOTHING);
                world.history.written(&register, Write { value: content, client: self.number, start, end });
                world.history.owned(&register, &me);
                world.comments.lock().push((id.to_owned(), post.id, me));
            }
            Answer::Refused { code } => {
                self.drop_refused_session(&code);
                match code.as_str() {
                    "NOT_FOUND" => {
                        self.saw("command", &format!("post {}", post.id), NOTHING, Recent::All, start);
                    }
                    "CONFLICT" => world.history.broken("an idempotency key belongs to its user", key),
                    _ => {}
                }
            }
            Answer::Unknown => {}
        }
    }

    /// The id of a comment of the client's user.
    pub fn own_comment(&self) -> Option<String> {
        let me = self.me()?;
        let comments = self.world.comments.lock();
        let own: Vec<&String> =
            comments.iter().filter(|(_, _, author)| *author == me).map(|(id, ..)| id).collect();
        (!own.is_empty()).then(|| (*self.world.dice.pick(&own)).clone())
    }

    async fn edit_comment(&mut self) {
        let Some(id) = self.own_comment() else { return };
        let world = self.world.clone();
        let query =
            "mutation($i: UpdateCommentInput!) { updateComment(input: $i) { comment { id content } } }";
        let values = self.changes_and_back(&format!("comment {id}"), || world.next("edit"));
        for (place, content) in values.into_iter().enumerate() {
            self.wait_before(place).await;
            let mut other = self.other_device_elsewhere();
            let device = if world.dice.percent(OTHER_DEVICE_PERCENT) { &mut other } else { &mut *self };
            let write = world.history.begin(&format!("comment {id}"), &content, device.number);
            let answer = device.command(query, json!({ "i": { "commentId": id, "content": content } })).await;
            let _ = device.end(&write, answer);
            if world.dice.percent(50) {
                device.read_comment(&id).await;
            }
        }
    }

    /// A value, or two and the first one again: a replica that lags may still have that one. Some values
    /// are from long ago: a process may remember them.
    pub fn changes_and_back(&self, register: &str, next: impl Fn() -> String) -> Vec<String> {
        let mut former = self.world.history.values_of(register);
        former.retain(|value| value != NOTHING);
        let is_former = !former.is_empty() && self.world.dice.percent(FORMER_VALUE_PERCENT);
        let first = if is_former { self.world.dice.pick(&former).clone() } else { next() };
        if self.world.dice.percent(50) {
            return vec![first];
        }
        vec![first.clone(), next(), first]
    }

    /// Waits before the second of such values, in half of the cases, so that replicas have the first one when
    /// they lack the second.
    pub async fn wait_before(&self, place: usize) {
        if place == 1 && self.world.dice.percent(50) {
            tokio::time::sleep(Duration::from_millis(self.world.dice.below(LONG_LAG.ms_max))).await;
        }
    }

    async fn delete_comment(&mut self) {
        let below = self.world.dice.percent(40).then(|| self.comment_below_own_post()).flatten();
        let Some(id) = below.or_else(|| self.own_comment()) else { return };
        let write = self.world.clone().history.begin(&format!("comment {id}"), NOTHING, self.number);
        let query = "mutation($i: DeleteCommentInput!) { deleteComment(input: $i) { deletedCommentId } }";
        let answer = self.command(query, json!({ "i": { "commentId": id } })).await;
        let _ = self.end(&write, answer);
    }

    /// Records a copy of another register's value in an item. A process may create an item with a value of
    /// before, so a copy has to show a write only where its item was there already. Copies of an item are not
    /// compared with each other here: monitors look at every one.
    pub fn saw_copy(
        &self,
        view: &str,
        (item, register): (&str, &str),
        value: &str,
        (recent, start): (Recent, u64),
    ) {
        let was_there = self.world.history.was_there_before(item, register, (self.number, start));
        let recent = if was_there { recent } else { Recent::Any };
        self.saw(&format!("{view} of {item} at {start}"), register, value, recent, start);
    }

    /// Records the name of an author in an item.
    pub fn saw_author(&self, view: &str, item: &str, author: &Value, (recent, start): (Recent, u64)) {
        if let (Some(id), Some(name)) = (author["id"].as_str(), author["username"].as_str()) {
            self.saw_copy(view, (item, &format!("username {id}")), name, (recent, start));
        }
    }

    /// Records the value of a register in an answer.
    pub fn saw(&self, view: &str, register: &str, value: &str, recent: Recent, start: u64) {
        let end = self.world.history.now();
        self.world
            .history
            .read(register, Read { view: view.to_owned(), value: value.to_owned(), recent, start, end });
    }
}
