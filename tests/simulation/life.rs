//! The ends of accounts: users delete their accounts, with retries, and try to change the items of others.

use std::time::Duration;

use serde_json::json;

use crate::client::{Answer, Client};
use crate::history::{NOTHING, Recent};

/// The longest times after which other tabs write beside a deletion, in milliseconds: a session may still be
/// good in another process, and a lagging replica still has the user.
const DELETION_MS: [u64; 3] = [800, 3_000, 12_000];
/// The register of an account, by its values.
pub const OPEN: &str = "open";
const DELETED: &str = "deleted";

/// The register that says whether an account is deleted.
pub fn account(user: &str) -> String {
    format!("account {user}")
}

impl Client {
    /// Deletes the account of the client's user. Posts, comments and likes go at any later time, and are gone
    /// when all is quiet.
    pub async fn delete_account(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let history = &world.history;
        let (sessions_before, password) = {
            let passwords = world.passwords.lock();
            (world.users.lock().len(), world.dice.pick(&passwords.possible(&me)).clone())
        };
        history.set_first(&account(&me), OPEN);
        world.may_end_sessions(&me);
        let write = history.begin(&account(&me), DELETED, self.number);
        let others = [format!("name of {me}"), format!("username {me}")];
        let others = others.map(|register| history.begin(&register, NOTHING, self.number));
        let removal = history.removal_began(&me);
        for _ in 0..world.dice.below(8) {
            self.write_in_another_tab(&me, *world.dice.pick(&DELETION_MS));
        }
        let sign_ins = self.sign_in_beside(&me);
        let query = "mutation($i: DeleteUserInput!) { deleteUser(input: $i) { deletedUserId } }";
        self.removes = Some(me.clone());
        let answer = self.command(query, json!({ "i": { "currentPassword": password } })).await;
        self.removes = None;
        let is_repeated = answer.1;
        match self.end(&write, answer) {
            Ok(_) => {
                for other in &others {
                    if is_repeated {
                        history.repeated(other);
                    }
                    history.done(other);
                }
                world.passwords.lock().end_sessions(&me, sessions_before, &world);
                self.session = None;
                world.count("account deleted");
                self.use_sessions_of_old_password(&me, sign_ins).await;
            }
            Err(_) if history.is_refused(&write) => {
                others.iter().for_each(|other| history.refused(other));
                history.removal_refused(removal);
            }
            Err(_) => world.count("deletion of an account without an answer"),
        }
    }

    /// Another tab of the same browser writes an item in a while, in any process, without waiting for the
    /// answer.
    pub fn write_in_another_tab(&self, me: &str, most_ms: u64) {
        let world = &self.world;
        let Some(session) = &self.session else { return };
        let (query, input) = match self.any_post().filter(|_| world.dice.percent(60)) {
            Some(post) => (
                "mutation($i: CreateCommentInput!) { createComment(input: $i) { comment { id } } }",
                json!({ "postId": post.id, "content": world.next("late comment") }),
            ),
            None => {
                let title = world.next("late title");
                world.began_title(&title, me);
                let query = "mutation($i: CreatePostInput!) { createPost(input: $i) { post { id } } }";
                (query, json!({ "title": title, "content": "Some content." }))
            }
        };
        let delay = Duration::from_millis(world.dice.below(most_ms));
        let body = json!({ "query": query, "variables": { "i": input } });
        self.send_beside(delay, Some(session.token.clone()), body);
        world.count("write in another tab");
    }

    /// Records that an account was open at some time after `start`.
    pub fn saw_open_account(&self, user: &str, start: u64) {
        let history = &self.world.history;
        history.set_first(&account(user), OPEN);
        self.saw("sign-in", &account(user), OPEN, Recent::All, start);
        let suspension = format!("suspension of {user}");
        history.set_first(&suspension, "0");
        self.saw("sign-in", &suspension, "0", Recent::All, start);
    }

    /// Tries to change an item of another user.
    pub async fn trespass(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let foreign = {
            let comments = world.comments.lock();
            let foreign: Vec<_> = comments.iter().filter(|(_, _, author)| *author != me).cloned().collect();
            (!foreign.is_empty()).then(|| world.dice.pick(&foreign).0.clone())
        };
        let post = self.any_post().filter(|post| post.author != me);
        let (query, input) = match (foreign, post) {
            (Some(comment), _) if world.dice.percent(50) => (
                "mutation($i: UpdateCommentInput!) { updateComment(input: $i) { comment { id } } }",
                json!({ "commentId": comment, "content": "not mine" }),
            ),
            (_, Some(post)) if world.dice.percent(50) => (
                "mutation($i: UpdatePostInput!) { updatePost(input: $i) { post { id } } }",
                json!({ "postId": post.id, "title": "not mine" }),
            ),
            (_, Some(post)) => (
                "mutation($i: DeletePostInput!) { deletePost(input: $i) { deletedPostId } }",
                json!({ "postId": post.id }),
            ),
            _ => return,
        };
        match self.ask(query, json!({ "i": input })).await {
            Answer::Data { data, .. } => {
                let what = format!("{me} changed an item of another user: {input}, {data}");
                world.history.broken("users change their own items alone", what);
            }
            Answer::Refused { code } => self.drop_refused_session(&code),
            Answer::Unknown => {}
        }
    }

    /// The author of a post deletes a comment below it.
    pub fn comment_below_own_post(&self) -> Option<String> {
        let me = self.me()?;
        let posts = self.world.posts.lock();
        let own: Vec<&str> =
            posts.iter().filter(|post| post.author == me).map(|post| post.id.as_str()).collect();
        let comments = self.world.comments.lock();
        let below: Vec<&String> =
            comments.iter().filter(|(_, of, _)| own.contains(&of.as_str())).map(|(id, ..)| id).collect();
        (!below.is_empty()).then(|| (*self.world.dice.pick(&below)).clone())
    }
}
