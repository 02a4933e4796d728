//! The data that both servers answer from, gathered from the real server through its API: the feed, the users
//! in it, their posts, and their comments and likes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufReader, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::Connection;
use crate::operations::Operation;

/// Posts whose comments and likes are gathered.
pub const POSTS_MAX: usize = 1_500;
/// Different posts and comments that are written.
const TEXTS: usize = 64;
/// A comment, with a number before it.
const SENTENCE: &str = "The quick brown fox jumps over the lazy dog while the others look on, and on. ";
/// Sentences of a post: 1 to 2 kB.
const POST_SENTENCES: std::ops::Range<usize> = 13..25;

/// The data of both servers.
#[derive(Serialize, Deserialize)]
pub struct Catalogue {
    pub users: BTreeMap<String, User>,
    pub posts: BTreeMap<String, Post>,
    pub feed: Edges<Post>,
    /// Posts that are commented on and liked, where they are drawn from all.
    #[serde(default)]
    drawn_posts: Vec<String>,
}

/// A user, with posts where they were asked for.
#[derive(Clone, Serialize, Deserialize)]
pub struct User {
    pub id: String,
    pub username: String,
    #[serde(default)]
    pub posts: Edges<Post>,
}

/// A post: the whole or the short copy of a list.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Post {
    pub id: String,
    pub author: User,
    pub title: String,
    #[serde(default)]
    pub content: String,
    pub summary: String,
    pub creation_date: String,
    pub comment_count: i32,
    pub like_count: i32,
    #[serde(default)]
    pub comments: Edges<Comment>,
    #[serde(default)]
    pub likes: Edges<Like>,
}

/// A comment.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    pub id: String,
    pub author: User,
    pub content: String,
    pub creation_date: String,
}

/// A like.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Like {
    pub id: String,
    pub user: User,
    pub creation_date: String,
}

/// A list, as far as a page of 100 shows it.
#[derive(Clone, Serialize, Deserialize)]
pub struct Edges<T> {
    pub edges: Vec<Edge<T>>,
}

/// An entry of a list.
#[derive(Clone, Serialize, Deserialize)]
pub struct Edge<T> {
    pub cursor: String,
    pub node: T,
}

impl<T> Default for Edges<T> {
    fn default() -> Self {
        Self { edges: Vec::new() }
    }
}

#[derive(Deserialize)]
struct FeedData {
    feed: Edges<Post>,
}

#[derive(Deserialize)]
struct UserData {
    user: User,
}

#[derive(Deserialize)]
struct PostData {
    post: Post,
}

const FEED: &str = "{ feed(first: 100) { edges { cursor node {
    id author { id username } title summary creationDate commentCount likeCount } } } }";
const USER: &str = "query($id: ID!) { user(id: $id) { id username posts(first: 100) { edges { cursor node {
    id author { id username } title summary creationDate commentCount likeCount } } } } }";
const POST_WITH_COMMENTS: &str = "query($id: ID!) { post(id: $id) {
    id author { id username } title content summary creationDate commentCount likeCount
    comments(first: 100) { edges { cursor node { id author { id username } content creationDate } } } } }";
const POST_WITH_LIKES: &str = "query($id: ID!) { post(id: $id) {
    id author { id username } title summary creationDate commentCount likeCount
    likes(first: 100) { edges { cursor node { id user { id username } creationDate } } } } }";

impl Catalogue {
    /// Gathers the data over several connections.
    pub async fn read(address: &str, connections: NonZeroUsize) -> Result<Self> {
        let feed = Connection::open(address).await?.ask::<FeedData>(FEED, &json!({})).await?.feed;
        ensure!(!feed.edges.is_empty(), "the feed is empty: there is nothing to measure");
        let mut authors: Vec<_> = feed.edges.iter().map(|edge| edge.node.author.id.clone()).collect();
        authors.sort_unstable();
        authors.dedup();
        let users = in_parallel(address, connections, authors, async |connection, id| {
            Ok(connection.ask::<UserData>(USER, &json!({ "id": id })).await?.user)
        });
        let users = users.await.context("users could not be read")?;
        let posts = users.iter().flat_map(|user| &user.posts.edges).map(|edge| edge.node.id.clone());
        let posts = in_parallel(address, connections, posts.take(POSTS_MAX).collect(), read_post);
        let posts = posts.await.context("posts could not be read")?;
        Ok(Self {
            users: users.into_iter().map(|user| (user.id.clone(), user)).collect(),
            posts: posts.into_iter().map(|post| (post.id.clone(), post)).collect(),
            feed,
            drawn_posts: Vec::new(),
        })
    }

    /// Posts of a peer in random order, up to a number: the data that its writes need.
    pub async fn of_peer(address: &str, posts_max: usize) -> Result<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            post_ids: Vec<String>,
        }

        let mut connection = Connection::open(address).await?;
        let mut posts = connection.ask::<Data>("{ postIds }", &json!({})).await?.post_ids;
        ensure!(!posts.is_empty(), "the peer has no posts: there is nothing to write to");
        posts.sort_unstable_by_key(|id| scattered(id));
        posts.truncate(posts_max);
        let (users, feed) = (BTreeMap::new(), Edges::default());
        Ok(Self { users, posts: BTreeMap::new(), feed, drawn_posts: posts })
    }

    /// Has posts of all users who are known by their posts, comments and likes written to, in random order.
    pub async fn draw_from_all_posts(&mut self, address: &str, connections: NonZeroUsize) -> Result<()> {
        let of_post = |post: &Post| {
            let commenters = post.comments.edges.iter().map(|edge| &edge.node.author.id);
            let likers = post.likes.edges.iter().map(|edge| &edge.node.user.id);
            commenters.chain(likers).cloned().collect::<Vec<_>>()
        };
        let users: BTreeSet<String> =
            self.posts.values().flat_map(of_post).chain(self.users.keys().cloned()).collect();
        let posts = in_parallel(address, connections, users.into_iter().collect(), async |connection, id| {
            let user = connection.ask::<UserData>(USER, &json!({ "id": id })).await?.user;
            Ok(user.posts.edges.into_iter().map(|edge| edge.node.id).collect::<Vec<_>>())
        });
        self.drawn_posts = posts.await.context("the posts of all users could not be read")?.concat();
        self.drawn_posts.sort_unstable_by_key(|id| scattered(id));
        Ok(())
    }

    /// The posts that are commented on and liked.
    fn written_posts(&self) -> Vec<&String> {
        if self.drawn_posts.is_empty() {
            self.posts.keys().collect()
        } else {
            self.drawn_posts.iter().collect()
        }
    }

    /// Writes the data to a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer(&mut file, self)?;
        Ok(file.flush()?)
    }

    /// The data of a file.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(serde_json::from_reader(BufReader::new(File::open(path)?))?)
    }

    /// The variables of an operation's requests, as JSON.
    pub fn variables(&self, operation: Operation) -> Vec<String> {
        let of_ids = |ids: &mut dyn Iterator<Item = &String>| {
            ids.map(|id| json!({ "id": id }).to_string()).collect::<Vec<_>>()
        };
        let text = |number: usize, sentences| format!("{number}: {}", SENTENCE.repeat(sentences));
        let of_post = |number: usize| text(number, POST_SENTENCES.start + number % POST_SENTENCES.len());
        match operation {
            Operation::Q1 | Operation::Q3 => of_ids(&mut self.users.keys()),
            Operation::Q2 | Operation::Q4 | Operation::Q5 => of_ids(&mut self.posts.keys()),
            Operation::C4 => of_ids(&mut self.written_posts().into_iter()),
            Operation::Q6 => vec!["{}".to_owned()],
            Operation::C2 => (0..TEXTS)
                .map(|number| {
                    json!({ "title": format!("Load {number}"), "content": of_post(number) }).to_string()
                })
                .collect(),
            Operation::C3 => (self.written_posts().into_iter().enumerate())
                .map(|(number, id)| json!({ "id": id, "content": text(number, 1) }).to_string())
                .collect(),
        }
    }
}

/// A number that scatters ids, the same in each run.
fn scattered(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// A post with its comments and likes. They are asked for apart, so that each request stays within its
/// limits.
async fn read_post(connection: &mut Connection, id: &str) -> Result<Post> {
    let variables = json!({ "id": id });
    let likes = connection.ask::<PostData>(POST_WITH_LIKES, &variables).await?.post.likes;
    let post = connection.ask::<PostData>(POST_WITH_COMMENTS, &variables).await?.post;
    Ok(Post { likes, ..post })
}

/// Reads something for each id, in the order of the ids.
async fn in_parallel<T>(
    address: &str,
    connections: NonZeroUsize,
    ids: Vec<String>,
    read: impl AsyncFn(&mut Connection, &str) -> Result<T>,
) -> Result<Vec<T>> {
    let share = ids.len().div_ceil(connections.get()).max(1);
    let parts = ids.chunks(share).map(async |ids| {
        let mut connection = Connection::open(address).await?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.push(read(&mut connection, id).await?);
        }
        Ok::<_, anyhow::Error>(found)
    });
    Ok(try_join_all(parts).await?.into_iter().flatten().collect())
}
