//! Commands of the blog in an episode, and the answers to clients.

use std::collections::BTreeSet;

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::blog::commands::{
    CreateComment, CreatePost, CreateUser, DeleteComment, DeletePost, LikePost, RefusalCode, UnlikePost,
    UpdatePost, UpdateUser,
};
use onehop::blog::ids::{CommentId, PostId, UserId};
use onehop_store::Ledger;

use super::Episode;
use crate::cosmos::world::Process;

/// The answers to clients of the blog.
#[derive(Default)]
pub struct BlogAnswers {
    users: Vec<UserId>,
    posts: Vec<Post>,
}

/// The answers to clients about a post.
struct Post {
    id: PostId,
    author: UserId,
    comments: BTreeSet<(CommentId, UserId)>,
    likes: BTreeSet<UserId>,
    deleted: bool,
}

impl Episode {
    pub(super) async fn begin_blog(&mut self) {
        self.sign_up().await;
        self.create_post().await;
    }

    pub(super) async fn act_in_blog(&mut self) {
        match self.dice.roll(66) {
            0..3 => self.sign_up().await,
            3..13 => self.create_post().await,
            13..30 => self.comment().await,
            30..45 => self.like().await,
            45..50 => self.unlike().await,
            50..55 => self.delete_comment().await,
            55..58 => self.delete_post().await,
            58..62 => self.rename().await,
            _ => self.update_post().await,
        }
    }

    /// All answered writes are there.
    pub(super) async fn assert_blog(&self, process: &Process) {
        for told in &self.blog.posts {
            let post = process.post(told.id).await;
            assert_eq!(post.deleted, told.deleted, "{}", told.id);
            if !told.deleted {
                let counts = (post.comment_count as usize, post.like_count as usize);
                assert_eq!(counts, (told.comments.len(), told.likes.len()), "{}", told.id);
            }
        }
    }

    async fn sign_up(&mut self) {
        let key = self.key();
        let input = CreateUser {
            username: format!("user{}", self.keys),
            password: "correct horse battery".to_owned(),
            idempotency_key: Some(key),
            caller: HashingCaller::default(),
        };
        let send =
            async |process: &Process| process.commands.create_user(input.clone(), &Ledger::new()).await;
        let user = self.send(send, None).await.expect("an answer");
        self.blog.users.push(user.id);
    }

    async fn create_post(&mut self) {
        let input = CreatePost {
            user_id: self.dice.pick(&self.blog.users),
            title: "A title".to_owned(),
            content: "Some content.".to_owned(),
            tags: Vec::new(),
            idempotency_key: Some(self.key()),
        };
        let send =
            async |process: &Process| process.commands.create_post(input.clone(), &Ledger::new()).await;
        let post = self.send(send, None).await.expect("an answer");
        let (comments, likes) = (BTreeSet::new(), BTreeSet::new());
        self.blog.posts.push(Post { id: post.id, author: post.user_id, comments, likes, deleted: false });
    }

    /// Any post that is there.
    fn post(&self) -> Option<usize> {
        let there: Vec<usize> =
            (0..self.blog.posts.len()).filter(|&index| !self.blog.posts[index].deleted).collect();
        (!there.is_empty()).then(|| self.dice.pick(&there))
    }

    async fn comment(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.dice.pick(&self.blog.users), self.blog.posts[index].id);
        let (content, idempotency_key) = ("A comment".to_owned(), Some(self.key()));
        let input = CreateComment { user_id, post_id, content, idempotency_key };
        let send =
            async |process: &Process| process.commands.create_comment(input.clone(), &Ledger::new()).await;
        let created = self.send(send, None).await.expect("an answer");
        self.blog.posts[index].comments.insert((created.comment.id, user_id));
    }

    async fn like(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.dice.pick(&self.blog.users), self.blog.posts[index].id);
        if !self.blog.posts[index].likes.insert(user_id) {
            return;
        }
        let send = async |process: &Process| {
            process.commands.like_post(LikePost { user_id, post_id }, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::Conflict)).await;
    }

    async fn unlike(&mut self) {
        let Some(index) = self.post() else { return };
        let Some(user_id) = self.blog.posts[index].likes.pop_first() else { return };
        let post_id = self.blog.posts[index].id;
        let send = async |process: &Process| {
            process.commands.unlike_post(UnlikePost { user_id, post_id }, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::NotFound)).await;
    }

    async fn delete_comment(&mut self) {
        let Some(index) = self.post() else { return };
        let Some((comment_id, user_id)) = self.blog.posts[index].comments.pop_first() else { return };
        let post_id = self.blog.posts[index].id;
        let send = async |process: &Process| {
            let input = DeleteComment { user_id, post_id, comment_id };
            process.commands.delete_comment(input, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::NotFound)).await;
    }

    async fn delete_post(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.blog.posts[index].author, self.blog.posts[index].id);
        let send = async |process: &Process| {
            process.commands.delete_post(DeletePost { user_id, post_id }, &Ledger::new()).await
        };
        self.send(send, Some(RefusalCode::NotFound)).await;
        self.blog.posts[index].deleted = true;
    }

    async fn rename(&mut self) {
        let (user_id, number) = (self.dice.pick(&self.blog.users), self.keys);
        self.keys += 1;
        let send = async |process: &Process| {
            let input = UpdateUser { user_id, username: format!("renamed{number}") };
            process.commands.update_user(input, &Ledger::new()).await
        };
        self.send(send, None).await;
    }

    async fn update_post(&mut self) {
        let Some(index) = self.post() else { return };
        let (user_id, post_id) = (self.blog.posts[index].author, self.blog.posts[index].id);
        let title = Some(format!("Title {}", self.keys));
        let send = async |process: &Process| {
            let input = UpdatePost {
                user_id,
                post_id,
                title: title.clone(),
                content: None,
                tags: None,
                if_version: None,
            };
            process.commands.update_post(input, &Ledger::new()).await
        };
        self.send(send, None).await;
    }
}
