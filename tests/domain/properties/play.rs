//! Plays a plan: sends the commands, and notes the acknowledged ones in the model.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{
    CommandError, Commands, CreateComment, CreatePost, CreateUser, DeleteComment, DeletePost, LikePost,
    RefusalCode, UnlikePost, UpdatePost, UpdateUser,
};
use onehop::blog::ids::{CommentId, PostId, UserId};
use onehop::blog::items::UserItem;
use onehop_store::{FaultKind, Ledger};
use proptest::sample::Index;

use crate::process::TestProcess;
use crate::properties::acts::{Act, Actor, Edited};
use crate::properties::model::Model;
use crate::properties::plan::{Phase, Player, chosen, play_phases};

pub const PASSWORD: &str = "correct horse";
/// The tags that posts have.
pub const TAGS: [&str; 3] = ["azure", "c++", "rust"];
/// Users that are there before the plan begins.
const FIRST_USERS: usize = 4;

/// A user of the blog.
#[derive(Clone)]
struct BlogPlayer {
    commands: Commands,
    notes: Arc<BlogNotes>,
}

/// The notes about a blog.
#[derive(Default)]
struct BlogNotes {
    model: Mutex<Model>,
    /// For texts that are never the same twice.
    texts: AtomicU32,
}

/// Plays all phases on a new blog.
pub async fn play(plan: &[Phase<Act>]) -> (TestProcess, Model) {
    let process = TestProcess::new().await;
    let notes = Arc::new(BlogNotes::default());
    for number in 0..FIRST_USERS {
        let user = sign_up(&process.app.commands, &format!("first.{number}")).await.expect("a sign-up");
        notes.model.lock().expect("the model").user(&user);
    }
    let process = play_phases::<BlogPlayer>(process, &notes, plan).await;
    let notes = Arc::into_inner(notes).expect("no task is left");
    (process, notes.model.into_inner().expect("the model"))
}

/// Signs up a user with the password of all.
pub async fn sign_up(commands: &Commands, name: &str) -> Result<UserItem, CommandError> {
    let (username, password) = (name.to_owned(), PASSWORD.to_owned());
    let input = CreateUser { username, password, idempotency_key: None, caller: HashingCaller::default() };
    commands.create_user(input, &Ledger::new()).await
}

impl Player for BlogPlayer {
    type Act = Act;
    type Notes = Arc<BlogNotes>;

    fn entering(process: &TestProcess, notes: &Arc<BlogNotes>) -> Self {
        Self { commands: process.app.commands.clone(), notes: Arc::clone(notes) }
    }

    async fn act(&self, act: &Act) {
        match act {
            Act::SignUp { name } => self.sign_up(name).await,
            Act::Rename { user, name } => self.rename(self.user(user), name).await,
            Act::CreatePost { user, key } => self.create_post(self.user(user), *key).await,
            Act::EditPost { actor, post, edited } => {
                if let Some((post, author)) = self.post(post) {
                    self.edit_post(self.actor(actor, author), post, author, *edited).await;
                }
            }
            Act::DeletePost { actor, post } => {
                if let Some((post, author)) = self.post(post) {
                    self.delete_post(self.actor(actor, author), post, author).await;
                }
            }
            Act::CreateComment { user, post, key } => {
                if let Some((post, _)) = self.post(post) {
                    self.create_comment(self.user(user), post, *key).await;
                }
            }
            Act::DeleteComment { actor, comment } => self.delete_comment(actor, comment).await,
            Act::Like { user, post } => {
                if let Some((post_id, _)) = self.post(post) {
                    let user_id = self.user(user);
                    let input = LikePost { user_id, post_id };
                    if done(self.commands.like_post(input, &Ledger::new()).await).is_some() {
                        self.model().like(post_id, user_id, 1);
                    }
                }
            }
            Act::Unlike { user, post } => {
                if let Some((post_id, _)) = self.post(post) {
                    let user_id = self.user(user);
                    let input = UnlikePost { user_id, post_id };
                    if done(self.commands.unlike_post(input, &Ledger::new()).await).is_some() {
                        self.model().like(post_id, user_id, -1);
                    }
                }
            }
        }
    }
}

impl BlogPlayer {
    async fn sign_up(&self, name: &str) {
        let signed_up = sign_up(&self.commands, name).await;
        if let Some(user) =
            done_or_contended(signed_up).expect("a sign-up that contends too long leaves nothing")
        {
            self.model().user(&user);
        }
    }

    async fn rename(&self, user_id: UserId, name: &str) {
        let input = UpdateUser { user_id, username: name.to_owned() };
        let renamed = self.commands.update_user(input, &Ledger::new()).await;
        // Another rename of the user came between the announcement of this one and the next look.
        if matches!(&renamed, Err(CommandError::Fault(fault)) if fault.kind == FaultKind::Ambiguous) {
            return self.model().user_uncertain(user_id, name);
        }
        match done_or_contended(renamed) {
            Ok(Some(user)) => self.model().user(&user),
            Ok(None) => {}
            Err(Contended) => self.model().user_uncertain(user_id, name),
        }
    }

    async fn create_post(&self, user_id: UserId, key: Option<u8>) {
        let name = self.text(user_id, key);
        let (title, content) = (format!("Title {name}"), format!("Content {name}"));
        let idempotency_key = key.map(|key| format!("key {key}"));
        let input = CreatePost {
            user_id,
            title: title.clone(),
            tags: tags_of(&content),
            content: content.clone(),
            idempotency_key,
        };
        if let Some(post) = done(self.commands.create_post(input, &Ledger::new()).await) {
            self.model().post(&post, &title, &content);
        }
    }

    async fn edit_post(&self, user_id: UserId, post_id: PostId, author: UserId, edited: Edited) {
        let name = self.text(user_id, None);
        let title = (edited != Edited::Content).then(|| format!("Edited title {name}"));
        let content = (edited != Edited::Title).then(|| format!("Edited content {name}"));
        let input = UpdatePost {
            user_id,
            post_id,
            title: title.clone(),
            tags: content.as_deref().map(tags_of),
            content: content.clone(),
            if_version: None,
        };
        if let Some(post) = done(self.commands.update_post(input, &Ledger::new()).await) {
            assert_eq!(user_id, author, "somebody edited a post of somebody else");
            self.model().edit(&post, title.as_deref(), content.as_deref());
        }
    }

    async fn delete_post(&self, user_id: UserId, post_id: PostId, author: UserId) {
        let input = DeletePost { user_id, post_id };
        if done(self.commands.delete_post(input, &Ledger::new()).await).is_some() {
            assert_eq!(user_id, author, "somebody deleted a post of somebody else");
            self.model().post_deleted(post_id);
        }
    }

    async fn create_comment(&self, user_id: UserId, post_id: PostId, key: Option<u8>) {
        let content = format!("Comment {}", self.text(user_id, key));
        let idempotency_key = key.map(|key| format!("key {key}"));
        let input = CreateComment { user_id, post_id, content: content.clone(), idempotency_key };
        if let Some(created) = done(self.commands.create_comment(input, &Ledger::new()).await) {
            self.model().comment(&created.comment, &content);
        }
    }

    async fn delete_comment(&self, actor: &Actor, comment: &Index) {
        let Some((comment_id, post_id, author)) = self.comment(comment) else { return };
        let user_id = self.actor(actor, author);
        let input = DeleteComment { user_id, post_id, comment_id };
        if done(self.commands.delete_comment(input, &Ledger::new()).await).is_some() {
            let mut model = self.model();
            let moderator = model.posts.get(&post_id).map(|post| post.author);
            assert!(user_id == author || Some(user_id) == moderator, "a stranger deleted a comment");
            model.comment_deleted(comment_id);
        }
    }

    fn model(&self) -> MutexGuard<'_, Model> {
        self.notes.model.lock().expect("the model")
    }

    fn user(&self, index: &Index) -> UserId {
        let model = self.model();
        *chosen(model.users.keys(), index).expect("there is always a user")
    }

    fn post(&self, index: &Index) -> Option<(PostId, UserId)> {
        let model = self.model();
        chosen(model.posts.iter(), index).map(|(id, post)| (*id, post.author))
    }

    fn comment(&self, index: &Index) -> Option<(CommentId, PostId, UserId)> {
        let model = self.model();
        chosen(model.comments.iter(), index).map(|(id, comment)| (*id, comment.post, comment.author))
    }

    fn actor(&self, actor: &Actor, author: UserId) -> UserId {
        match actor {
            Actor::Author => author,
            Actor::User(index) => self.user(index),
        }
    }

    /// A text that is the same again for the same user and key, and else never.
    fn text(&self, user: UserId, key: Option<u8>) -> String {
        match key {
            Some(key) => format!("of {user} with key {key}"),
            None => self.notes.texts.fetch_add(1, Ordering::Relaxed).to_string(),
        }
    }
}

/// The result of an acknowledged command; `None` for a refusal that random commands may meet.
pub fn done<T>(result: Result<T, CommandError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(CommandError::Rejected(refusal)) => {
            use RefusalCode::{Conflict, Forbidden, NotFound};
            assert!(matches!(refusal.code, Conflict | Forbidden | NotFound), "{refusal:?}");
            None
        }
        Err(CommandError::Fault(fault)) => panic!("a fault: {fault:?}"),
    }
}

/// A command gave up because others changed the same items again and again.
#[derive(Debug)]
pub struct Contended;

pub fn done_or_contended<T>(result: Result<T, CommandError>) -> Result<Option<T>, Contended> {
    match result {
        Err(CommandError::Fault(fault)) if fault.kind == FaultKind::Unavailable => Err(Contended),
        other => Ok(done(other)),
    }
}

/// Tags that follow from a text, so that a repeat has the same.
fn tags_of(content: &str) -> Vec<String> {
    let sum: usize = content.bytes().map(usize::from).sum();
    let is_chosen = |place: usize| sum >> place & 1 == 1;
    TAGS.iter().enumerate().filter(|(place, _)| is_chosen(*place)).map(|(_, tag)| (*tag).to_owned()).collect()
}
