//! A writer: one user who sends one command after another, chosen by chance, and records the outcome of each.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::json;
use tokio::sync::Notify;

use crate::crash::api::{Answer, Api, text};
use crate::crash::record::{Author, Record};

pub const PASSWORD: &str = "correct horse";
/// Names that writers take and leave, in competition.
pub const NAMES: [&str; 8] = ["Ada", "Brontë", "Colette", "Dante", "Eliot", "Flaubert", "Goethe", "Heine"];

/// Counts acknowledged commands, and says when there are enough.
#[derive(Default)]
pub struct Enough {
    left: AtomicU32,
    reached: Notify,
}

impl Enough {
    pub fn after(acknowledged: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(acknowledged), reached: Notify::new() })
    }

    pub async fn reached(&self) {
        self.reached.notified().await;
    }

    fn count(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.reached.notify_one();
        }
    }
}

/// A creation whose answer was lost. Its id is not known.
#[derive(Debug, Clone)]
pub enum Lost {
    Post { title: String, key: Option<String> },
    Comment { post: String, content: String, key: Option<String> },
    SignUp { name: String, key: String },
}

pub struct Writer {
    pub author: Author,
    pub token: String,
    pub lost: Option<Lost>,
    pub record: Arc<Mutex<Record>>,
    random: ChaCha8Rng,
    texts: u32,
}

/// Whether the writer goes on.
#[derive(Debug, PartialEq, Eq)]
enum Went {
    On,
    /// An answer was lost: the server is not there any more, or gave up.
    Astray,
}

impl Writer {
    /// Takes over a user who has signed up.
    pub fn new(author: Author, token: String, record: Arc<Mutex<Record>>, seed: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed.wrapping_add(author as u64));
        Self { author, token, lost: None, record, random, texts: 0 }
    }

    /// Writes until an answer is lost.
    pub async fn write(&mut self, api: &Api, enough: &Enough) {
        while self.act(api, enough).await == Went::On {}
    }

    async fn act(&mut self, api: &Api, enough: &Enough) -> Went {
        match self.below(100) {
            0..25 => self.create_post(api, enough).await,
            25..45 => self.create_comment(api, enough).await,
            45..65 => self.like(api, enough, true).await,
            65..74 => self.like(api, enough, false).await,
            74..85 => self.edit_post(api, enough).await,
            85..90 => self.delete_post(api, enough).await,
            90..94 => self.delete_comment(api, enough).await,
            94..99 => self.rename(api, enough).await,
            _ => self.sign_up_another(api, enough).await,
        }
    }

    async fn create_post(&mut self, api: &Api, enough: &Enough) -> Went {
        let (title, key) = (self.new_text("Post"), self.new_key());
        match self.send_post(api, &title, key.as_deref()).await {
            Answer::Acknowledged(payload) => {
                self.record().add_post(&text(&payload["post"]["id"]), self.author, &title);
                enough.count();
                Went::On
            }
            Answer::Refused(code) => panic!("createPost was refused: {code}"),
            Answer::Lost => {
                self.lost = Some(Lost::Post { title, key });
                Went::Astray
            }
        }
    }

    pub async fn send_post(&self, api: &Api, title: &str, key: Option<&str>) -> Answer {
        let input = json!({ "title": title, "content": content_of(title), "idempotencyKey": key });
        api.command(Some(&self.token), "createPost", input, "post { id }").await
    }

    async fn create_comment(&mut self, api: &Api, enough: &Enough) -> Went {
        let Some(post) = self.any_post() else { return Went::On };
        let (content, key) = (self.new_text("Comment"), self.new_key());
        match self.send_comment(api, &post, &content, key.as_deref()).await {
            Answer::Acknowledged(payload) => {
                self.record().add_comment(&post, &text(&payload["comment"]["id"]), self.author, &content);
                enough.count();
                Went::On
            }
            Answer::Refused(code) => self.assert_deleted(&post, &code),
            Answer::Lost => {
                self.lost = Some(Lost::Comment { post, content, key });
                Went::Astray
            }
        }
    }

    pub async fn send_comment(&self, api: &Api, post: &str, content: &str, key: Option<&str>) -> Answer {
        let input = json!({ "postId": post, "content": content, "idempotencyKey": key });
        api.command(Some(&self.token), "createComment", input, "comment { id }").await
    }

    async fn like(&mut self, api: &Api, enough: &Enough, liked: bool) -> Went {
        let Some(post) = self.any_post() else { return Went::On };
        let before = *self.record().like(&post, self.author).get();
        self.record().like(&post, self.author).begin(liked);
        let field = if liked { "likePost" } else { "unlikePost" };
        match api.command(Some(&self.token), field, json!({ "postId": post }), "post { id }").await {
            Answer::Acknowledged(_) => {
                assert_ne!(before, liked, "{field} of {post} was acknowledged twice");
                self.record().like(&post, self.author).acknowledge();
                enough.count();
                Went::On
            }
            Answer::Refused(code) => {
                self.record().like(&post, self.author).refuse();
                if before == liked { Went::On } else { self.assert_deleted(&post, &code) }
            }
            Answer::Lost => Went::Astray,
        }
    }

    async fn edit_post(&mut self, api: &Api, enough: &Enough) -> Went {
        let Some(post) = self.own_post() else { return Went::On };
        let title = self.new_text("Edited");
        self.record().post(&post).title.begin(title.clone());
        let input = json!({ "postId": post, "title": title, "content": content_of(&title) });
        match api.command(Some(&self.token), "updatePost", input, "post { id }").await {
            Answer::Acknowledged(_) => {
                self.record().post(&post).title.acknowledge();
                enough.count();
                Went::On
            }
            Answer::Refused(code) => panic!("updatePost was refused: {code}"),
            Answer::Lost => Went::Astray,
        }
    }

    async fn delete_post(&mut self, api: &Api, enough: &Enough) -> Went {
        let Some(post) = self.own_post() else { return Went::On };
        self.record().post(&post).deleted.begin(true);
        let input = json!({ "postId": post });
        match api.command(Some(&self.token), "deletePost", input, "deletedPostId").await {
            Answer::Acknowledged(_) => {
                self.record().post(&post).deleted.acknowledge();
                enough.count();
                Went::On
            }
            Answer::Refused(code) => panic!("deletePost was refused: {code}"),
            Answer::Lost => Went::Astray,
        }
    }

    async fn delete_comment(&mut self, api: &Api, enough: &Enough) -> Went {
        let Some((post, comment)) = self.own_comment() else { return Went::On };
        self.record().comment(&post, &comment).deleted.begin(true);
        let input = json!({ "commentId": comment });
        match api.command(Some(&self.token), "deleteComment", input, "deletedCommentId").await {
            Answer::Acknowledged(_) => {
                self.record().comment(&post, &comment).deleted.acknowledge();
                enough.count();
                Went::On
            }
            Answer::Refused(code) => {
                self.record().comment(&post, &comment).deleted.refuse();
                self.assert_deleted(&post, &code)
            }
            Answer::Lost => Went::Astray,
        }
    }

    async fn rename(&mut self, api: &Api, enough: &Enough) -> Went {
        let name = self.any_name();
        self.record().writers[self.author].name.begin(name.clone());
        let input = json!({ "username": name });
        let answer = api.command(Some(&self.token), "updateUser", input, "user { username }").await;
        let mut record = self.record();
        let known = &mut record.writers[self.author].name;
        match answer {
            Answer::Acknowledged(_) => {
                known.acknowledge();
                enough.count();
                Went::On
            }
            Answer::Refused(code) => {
                assert_eq!(code, "CONFLICT", "updateUser was refused");
                known.refuse();
                Went::On
            }
            Answer::Lost => Went::Astray,
        }
    }

    /// Signs up a user who does nothing more. With a key, so that a lost answer can be asked for again.
    async fn sign_up_another(&mut self, api: &Api, enough: &Enough) -> Went {
        let name = self.new_text("visitor").replace(' ', ".");
        let key = format!("key of {name}");
        match sign_up(api, &name, Some(&key)).await {
            Answer::Acknowledged(_) => {
                enough.count();
                Went::On
            }
            Answer::Refused(code) => panic!("createUser was refused: {code}"),
            Answer::Lost => {
                self.lost = Some(Lost::SignUp { name, key });
                Went::Astray
            }
        }
    }

    /// A refusal because the post was deleted, or is about to be.
    fn assert_deleted(&self, post: &str, code: &str) -> Went {
        assert_eq!(code, "NOT_FOUND", "a command on the post {post}");
        assert!(self.record().post(post).deleted.may_be(&true), "the post {post} is lost");
        Went::On
    }

    pub fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("the record")
    }

    /// A post that is not known to be deleted. The newest are chosen most often, so that writers meet.
    fn any_post(&mut self) -> Option<String> {
        let back = self.below(12).min(self.below(12)) as usize;
        let record = self.record();
        let mut live = record.posts.iter().rev().filter(|(_, post)| !post.deleted.get());
        live.nth(back).map(|(id, _)| id.clone())
    }

    fn own_post(&mut self) -> Option<String> {
        let back = self.below(4) as usize;
        let record = self.record();
        let own = |post: &crate::crash::record::KnownPost| post.author == self.author && !post.deleted.get();
        let mut own = record.posts.iter().rev().filter(|(_, post)| own(post));
        own.nth(back).map(|(id, _)| id.clone())
    }

    fn own_comment(&mut self) -> Option<(String, String)> {
        let back = self.below(4) as usize;
        let record = self.record();
        let comments =
            record.comments.iter().rev().flat_map(|(post, of_post)| {
                of_post.iter().rev().map(move |(id, comment)| (post, id, comment))
            });
        let own = |comment: &crate::crash::record::KnownComment| {
            comment.author == self.author && !comment.deleted.get()
        };
        let mut own =
            comments.filter(|(post, _, comment)| own(comment) && !record.posts[*post].deleted.get());
        own.nth(back).map(|(post, id, _)| (post.clone(), id.clone()))
    }

    fn any_name(&mut self) -> String {
        NAMES[self.below(8) as usize].to_owned()
    }

    /// A text that no other writer uses.
    fn new_text(&mut self, what: &str) -> String {
        self.texts += 1;
        format!("{what} {} {}", self.author, self.texts)
    }

    /// A key for every other creation.
    fn new_key(&mut self) -> Option<String> {
        (self.below(2) == 0).then(|| format!("key {}", self.texts))
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.random.next_u32() % bound
    }
}

/// The content of a post with this title.
pub fn content_of(title: &str) -> String {
    format!("What {title} is about.")
}

/// Signs up; the payload has the user's id and an access token.
pub async fn sign_up(api: &Api, name: &str, key: Option<&str>) -> Answer {
    let input = json!({ "username": name, "password": PASSWORD, "idempotencyKey": key });
    api.command(None, "createUser", input, "user { id username } accessToken").await
}
