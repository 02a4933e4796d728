//! Every kind of command, as a client sends it and sends it again when it got no answer.

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{
    CommandError, CreateComment, CreatePost, CreateUser, DeleteComment, DeletePost, LikePost, RefusalCode,
    UnlikePost, UpdatePost, UpdateUser,
};
use onehop::blog::ids::{CommentId, PostId, UserId};
use onehop_store::Ledger;

use crate::cosmos::world::Process;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    SignUp,
    Rename,
    CreatePost,
    UpdatePost,
    DeletePost,
    CreateComment,
    DeleteComment,
    Like,
    Unlike,
}

pub const ALL: [Act; 9] = [
    Act::SignUp,
    Act::Rename,
    Act::CreatePost,
    Act::UpdatePost,
    Act::DeletePost,
    Act::CreateComment,
    Act::DeleteComment,
    Act::Like,
    Act::Unlike,
];

/// The initial data: Ada's post, with a comment and a like by Bob.
pub struct Scene {
    pub ada: UserId,
    pub bob: UserId,
    pub post: PostId,
    pub comment: CommentId,
    name: String,
}

impl Scene {
    /// Sets the scene. Users of each are called differently.
    pub async fn set(process: &Process, number: usize) -> Self {
        let commands = &process.commands;
        let ledger = &Ledger::new();
        let user = async |name: &str| {
            commands.create_user(sign_up(&format!("{name}{number}")), ledger).await.expect("signed up").id
        };
        let (ada, bob) = (user("ada").await, user("bob").await);
        let post = commands.create_post(new_post(ada, "the scene's"), ledger).await.expect("posted").id;
        let comment =
            commands.create_comment(new_comment(bob, post, "first"), ledger).await.expect("commented");
        let like = LikePost { user_id: bob, post_id: post };
        commands.like_post(like, ledger).await.expect("liked");
        Self { ada, bob, post, comment: comment.comment.id, name: format!("carla{number}") }
    }

    /// Sends the command once.
    pub async fn send(&self, process: &Process, act: Act) -> Result<(), CommandError> {
        let commands = &process.commands;
        let ledger = &Ledger::new();
        let Self { ada, bob, post: post_id, comment, ref name } = *self;
        match act {
            Act::SignUp => commands.create_user(sign_up(name), ledger).await.map(drop),
            Act::Rename => {
                let input = UpdateUser { user_id: ada, username: format!("{name}a") };
                commands.update_user(input, ledger).await.map(drop)
            }
            Act::CreatePost => commands.create_post(new_post(ada, "the one"), ledger).await.map(drop),
            Act::UpdatePost => {
                let title = Some("Another title".to_owned());
                let input =
                    UpdatePost { user_id: ada, post_id, title, content: None, tags: None, if_version: None };
                commands.update_post(input, ledger).await.map(drop)
            }
            Act::DeletePost => {
                commands.delete_post(DeletePost { user_id: ada, post_id }, ledger).await.map(drop)
            }
            Act::CreateComment => {
                commands.create_comment(new_comment(ada, post_id, "second"), ledger).await.map(drop)
            }
            Act::DeleteComment => {
                let input = DeleteComment { user_id: bob, post_id, comment_id: comment };
                commands.delete_comment(input, ledger).await.map(drop)
            }
            Act::Like => commands.like_post(LikePost { user_id: ada, post_id }, ledger).await.map(drop),
            Act::Unlike => commands.unlike_post(UnlikePost { user_id: bob, post_id }, ledger).await.map(drop),
        }
    }

    /// Whether a refusal says that the command was carried out before, by an attempt that got no answer.
    pub fn is_done(act: Act, refusal: RefusalCode) -> bool {
        match act {
            Act::Like => refusal == RefusalCode::Conflict,
            Act::Unlike | Act::DeleteComment | Act::DeletePost => refusal == RefusalCode::NotFound,
            Act::SignUp | Act::Rename | Act::CreatePost | Act::UpdatePost | Act::CreateComment => false,
        }
    }

    /// Asserts that the command was carried out once, neither more nor less often.
    pub async fn assert_done_once(&self, process: &Process, act: Act) {
        let post = process.post(self.post).await;
        let counts = (post.comment_count, post.like_count);
        let expected = match act {
            Act::CreateComment => (2, 1),
            Act::DeleteComment => (0, 1),
            Act::Like => (1, 2),
            Act::Unlike => (1, 0),
            _ => (1, 1),
        };
        assert_eq!(counts, expected, "{act:?}");
        assert_eq!(post.deleted, act == Act::DeletePost);
        match act {
            Act::SignUp => {
                let refused = process.commands.create_user(another_sign_up(&self.name), &Ledger::new()).await;
                let refusal = refused.expect_err("the name is taken");
                assert_eq!(refusal.refusal().map(|refusal| refusal.code), Some(RefusalCode::Conflict));
            }
            Act::CreatePost => assert_eq!(self.posts_of_ada(process).await, 2),
            _ => {}
        }
    }

    /// Ada's posts that are not deleted.
    async fn posts_of_ada(&self, process: &Process) -> usize {
        let user = self.ada.to_string();
        let query = onehop_store::Query::Equality {
            container: onehop::blog::containers::POSTS,
            path: "userId",
            value: &user,
            item_type: "post",
            direction: onehop_store::Direction::NewestFirst,
            after: None,
            limit: 10,
            order_by: None,
        };
        process.store.query(&query, &Ledger::new()).await.expect("a query").items.len()
    }
}

pub fn sign_up(name: &str) -> CreateUser {
    let idempotency_key = Some(format!("sign up {name}"));
    CreateUser {
        username: name.to_owned(),
        password: "correct horse battery".to_owned(),
        idempotency_key,
        caller: HashingCaller::default(),
    }
}

fn another_sign_up(name: &str) -> CreateUser {
    CreateUser { idempotency_key: None, ..sign_up(name) }
}

pub fn new_post(user_id: UserId, key: &str) -> CreatePost {
    let (title, content) = ("A title".to_owned(), "Some content.".to_owned());
    CreatePost { user_id, title, content, tags: Vec::new(), idempotency_key: Some(key.to_owned()) }
}

fn new_comment(user_id: UserId, post_id: PostId, key: &str) -> CreateComment {
    CreateComment {
        user_id,
        post_id,
        content: format!("A {key} comment"),
        idempotency_key: Some(key.to_owned()),
    }
}
