//! The bare schema: the same shapes from plain structs in memory, by async-graphql's derives and the stock
//! service of async-graphql-axum. No store, no limits, no extensions: the rest is the price of the libraries.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use async_graphql::{ComplexObject, EmptyMutation, EmptySubscription, ID, Object, Schema, SimpleObject};
use async_graphql_axum::GraphQL;
use axum::Router;
use axum::routing::post_service;
use tokio::net::TcpListener;

use crate::catalogue::{self, Catalogue, Edges};

/// Serves until the process is ended.
pub fn serve(catalogue: &Path) -> Result<()> {
    let query = Query::of(Catalogue::open(catalogue)?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let schema = Schema::new(query, EmptyMutation, EmptySubscription);
        let router = Router::new().route("/graphql", post_service(GraphQL::new(schema)));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}", listener.local_addr()?);
        Ok(axum::serve(listener, router).await?)
    })
}

struct Query {
    users: BTreeMap<String, User>,
    posts: BTreeMap<String, Post>,
    feed: List<Post>,
}

#[Object]
impl Query {
    async fn user(&self, id: ID) -> Option<&User> {
        self.users.get(id.as_str())
    }

    async fn post(&self, id: ID) -> Option<&Post> {
        self.posts.get(id.as_str())
    }

    async fn feed(&self, #[graphql(default = 20)] first: usize) -> PostConnection<'_> {
        PostConnection::of(&self.feed, first)
    }
}

/// A user. Users who only wrote or liked something here come without their posts.
#[derive(SimpleObject)]
#[graphql(complex)]
struct User {
    id: ID,
    username: String,
    #[graphql(skip)]
    posts: List<Post>,
}

#[ComplexObject]
impl User {
    async fn posts(&self, #[graphql(default = 20)] first: usize) -> PostConnection<'_> {
        PostConnection::of(&self.posts, first)
    }
}

#[derive(SimpleObject)]
#[graphql(complex)]
struct Post {
    id: ID,
    author: User,
    title: String,
    content: String,
    summary: String,
    creation_date: String,
    comment_count: i32,
    like_count: i32,
    viewer_has_liked: bool,
    #[graphql(skip)]
    comments: List<Comment>,
    #[graphql(skip)]
    likes: List<Like>,
}

#[ComplexObject]
impl Post {
    async fn comments(&self, #[graphql(default = 20)] first: usize) -> CommentConnection<'_> {
        CommentConnection::of(&self.comments, first)
    }

    async fn likes(&self, #[graphql(default = 20)] first: usize) -> LikeConnection<'_> {
        LikeConnection::of(&self.likes, first)
    }
}

#[derive(SimpleObject)]
struct Comment {
    id: ID,
    author: User,
    content: String,
    creation_date: String,
}

#[derive(SimpleObject)]
struct Like {
    id: ID,
    user: User,
    creation_date: String,
}

#[derive(SimpleObject)]
struct PageInfo<'a> {
    has_next_page: bool,
    end_cursor: Option<&'a str>,
}

/// Entries with their cursors.
struct List<T>(Vec<(String, T)>);

impl<T> List<T> {
    fn of<S: Into<T>>(list: Edges<S>) -> Self {
        Self(list.edges.into_iter().map(|edge| (edge.cursor, edge.node.into())).collect())
    }

    fn page_info(&self, first: usize) -> PageInfo<'_> {
        let last = self.0.iter().take(first).next_back();
        PageInfo { has_next_page: self.0.len() > first, end_cursor: last.map(|(cursor, _)| cursor.as_str()) }
    }
}

macro_rules! connection {
    ($connection:ident, $node:ident) => {
        #[derive(SimpleObject)]
        struct $connection<'a> {
            nodes: Vec<&'a $node>,
            page_info: PageInfo<'a>,
        }

        impl<'a> $connection<'a> {
            fn of(list: &'a List<$node>, first: usize) -> Self {
                Self {
                    nodes: list.0.iter().take(first).map(|(_, node)| node).collect(),
                    page_info: list.page_info(first),
                }
            }
        }
    };
}

connection!(PostConnection, Post);
connection!(CommentConnection, Comment);
connection!(LikeConnection, Like);

impl Query {
    fn of(catalogue: Catalogue) -> Self {
        Self {
            users: catalogue.users.into_iter().map(|(id, user)| (id, user.into())).collect(),
            posts: catalogue.posts.into_iter().map(|(id, post)| (id, post.into())).collect(),
            feed: List::of(catalogue.feed),
        }
    }
}

impl From<catalogue::User> for User {
    fn from(user: catalogue::User) -> Self {
        Self { id: user.id.into(), username: user.username, posts: List::of(user.posts) }
    }
}

impl From<catalogue::Post> for Post {
    fn from(post: catalogue::Post) -> Self {
        Self {
            id: post.id.into(),
            author: post.author.into(),
            title: post.title,
            content: post.content,
            summary: post.summary,
            creation_date: post.creation_date,
            comment_count: post.comment_count,
            like_count: post.like_count,
            viewer_has_liked: false,
            comments: List::of(post.comments),
            likes: List::of(post.likes),
        }
    }
}

impl From<catalogue::Comment> for Comment {
    fn from(comment: catalogue::Comment) -> Self {
        Self {
            id: comment.id.into(),
            author: comment.author.into(),
            content: comment.content,
            creation_date: comment.creation_date,
        }
    }
}

impl From<catalogue::Like> for Like {
    fn from(like: catalogue::Like) -> Self {
        Self { id: like.id.into(), user: like.user.into(), creation_date: like.creation_date }
    }
}
