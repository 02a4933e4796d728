//! The requests that are measured: six reads and three writes, with their documents.

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::Connection;

/// Users who sign up for the writes. Each likes every post at most once, so they bound the likes.
const WRITERS: usize = 8;

/// One of the ten requests of the blog; C1, which is slow by intent, is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
pub enum Operation {
    Q1,
    Q2,
    Q3,
    Q4,
    Q5,
    Q6,
    C2,
    C3,
    C4,
}

impl Operation {
    /// The reads.
    pub const READS: [Self; 6] = [Self::Q1, Self::Q2, Self::Q3, Self::Q4, Self::Q5, Self::Q6];
    /// The writes.
    pub const WRITES: [Self; 3] = [Self::C2, Self::C3, Self::C4];

    /// The request, in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Q1 => "a user",
            Self::Q2 => "a post",
            Self::Q3 => "50 posts of a user",
            Self::Q4 => "50 comments of a post",
            Self::Q5 => "100 likes of a post",
            Self::Q6 => "the 100 posts of the feed",
            Self::C2 => "create a post",
            Self::C3 => "create a comment",
            Self::C4 => "like a post",
        }
    }

    /// The GraphQL document.
    pub fn document(self) -> &'static str {
        match self {
            Self::Q1 => include_str!("documents/q1-user.graphql"),
            Self::Q2 => include_str!("documents/q2-post.graphql"),
            Self::Q3 => include_str!("documents/q3-user-posts.graphql"),
            Self::Q4 => include_str!("documents/q4-post-comments.graphql"),
            Self::Q5 => include_str!("documents/q5-post-likes.graphql"),
            Self::Q6 => include_str!("documents/q6-feed.graphql"),
            Self::C2 => include_str!("documents/c2-create-post.graphql"),
            Self::C3 => include_str!("documents/c3-create-comment.graphql"),
            Self::C4 => include_str!("documents/c4-like-post.graphql"),
        }
    }
}

/// Signs up the users who write, and gives their access tokens.
pub async fn sign_up(address: &str) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Data {
        create_user: Payload,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Payload {
        access_token: String,
    }

    const DOCUMENT: &str = "mutation($input: CreateUserInput!) { createUser(input: $input) { accessToken } }";
    let mut connection = Connection::open(address).await?;
    // A data directory that was measured before has names of its own.
    let run = std::process::id();
    let mut tokens = Vec::with_capacity(WRITERS);
    for number in 0..WRITERS {
        let input =
            json!({ "username": format!("load-{run}-{number}"), "password": "only for the load run" });
        let data: Data =
            connection.ask(DOCUMENT, &json!({ "input": input })).await.context("a user could not sign up")?;
        tokens.push(data.create_user.access_token);
    }
    Ok(tokens)
}
