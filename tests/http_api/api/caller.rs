//! A client of the API: anonymous or signed in.

use std::net::SocketAddr;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use serde_json::{Value, json};

use crate::api::server::Server;

const GRAPHQL_RESPONSE: &str = "application/graphql-response+json";

/// The selection of a post where a test looks at all of it.
pub const POST: &str = "id title summary creationDate commentCount likeCount author { id username }";

pub struct Caller<'a> {
    server: &'a Server,
    token: Option<String>,
    /// The user's id; empty for callers who did not sign up here.
    pub id: String,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

/// The one error of an answer.
#[derive(Debug, PartialEq)]
pub struct Refused {
    pub code: String,
    pub field: Option<String>,
    pub message: String,
    pub extensions: Value,
}

impl<'a> Caller<'a> {
    pub fn new(server: &'a Server, token: Option<String>) -> Self {
        Self { server, token, id: String::new() }
    }

    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap()
    }

    /// The address of its server.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Sends a GraphQL request.
    pub async fn send(&self, request: Value) -> Answer {
        let authorization = self.token.as_ref().map(|token| format!("Bearer {token}"));
        self.send_as(request, authorization.as_deref()).await
    }

    /// Sends a GraphQL request with this `Authorization` header.
    pub async fn send_as(&self, request: Value, authorization: Option<&str>) -> Answer {
        let mut sent = self.server.http.post(self.server.url("/graphql"));
        sent = sent.header(CONTENT_TYPE, "application/json").header(ACCEPT, GRAPHQL_RESPONSE);
        if let Some(authorization) = authorization {
            sent = sent.header("authorization", authorization);
        }
        let response = sent.body(request.to_string()).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, body: response.json().await.unwrap() }
    }

    pub async fn ask(&self, query: &str, variables: Value) -> Answer {
        self.send(json!({ "query": query, "variables": variables })).await
    }

    /// The data of an answer without errors.
    pub async fn data(&self, query: &str, variables: Value) -> Value {
        let mut answer = self.ask(query, variables).await;
        assert!(answer.status == 200 && answer.body.get("errors").is_none(), "{query}: {answer:?}");
        answer.body["data"].take()
    }

    /// The error of an answer that has exactly one.
    pub async fn refused(&self, query: &str, variables: Value) -> Refused {
        self.ask(query, variables).await.refused()
    }

    /// The payload of the mutation with this name and input.
    pub async fn mutate(&self, mutation: &str, input: Value) -> Value {
        let (query, variables) = mutation_of(mutation, input);
        self.data(&query, variables).await[mutation].take()
    }

    /// Why the mutation with this name and input was refused.
    pub async fn refused_mutation(&self, mutation: &str, input: Value) -> Refused {
        let (query, variables) = mutation_of(mutation, input);
        self.refused(&query, variables).await
    }

    pub async fn sign_up(&self, username: &str, password: &str) -> Value {
        self.mutate("createUser", json!({ "username": username, "password": password })).await
    }

    /// The id of a new post.
    pub async fn post(&self, title: &str) -> String {
        let input = json!({ "title": title, "content": format!("All about {title}.") });
        id_of(&self.mutate("createPost", input).await["post"])
    }

    /// The id of a new comment.
    pub async fn comment(&self, post: &str, content: &str) -> String {
        let input = json!({ "postId": post, "content": content });
        id_of(&self.mutate("createComment", input).await["comment"])
    }

    /// The id of a new like.
    pub async fn like(&self, post: &str) -> String {
        id_of(&self.mutate("likePost", json!({ "postId": post })).await["like"])
    }

    /// Comments and likes that a post says it has.
    pub async fn counts(&self, post: &str) -> [u64; 2] {
        let query = "query($id: ID!) { post(id: $id) { commentCount likeCount } }";
        let post = self.data(query, json!({ "id": post })).await["post"].take();
        [&post["commentCount"], &post["likeCount"]].map(|count| count.as_u64().unwrap())
    }
}

impl Answer {
    #[track_caller]
    pub fn refused(&self) -> Refused {
        let errors = self.body["errors"].as_array().map_or(&[][..], Vec::as_slice);
        let [error] = errors else { panic!("not exactly one error: {self:?}") };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Refused {
            code: text(&error["extensions"]["code"]).unwrap_or_default(),
            field: text(&error["extensions"]["field"]),
            message: text(&error["message"]).unwrap_or_default(),
            extensions: error["extensions"].clone(),
        }
    }
}

impl Refused {
    /// Code and field together.
    pub fn of(&self) -> (&str, Option<&str>) {
        (&self.code, self.field.as_deref())
    }
}

/// A whole mutation, with all of its payload.
pub fn mutation_of(mutation: &str, input: Value) -> (String, Value) {
    let payload = match mutation {
        "createUser" | "signIn" | "changePassword" => {
            "user { id username } accessToken refreshToken".to_owned()
        }
        "updateUser" => "user { id username }".to_owned(),
        "createPost" | "updatePost" => format!("post {{ {POST} content }}"),
        "deletePost" => "deletedPostId".to_owned(),
        "createComment" => format!(
            "comment {{ id content creationDate author {{ id username }} post {{ id }} }} post {{ {POST} }}"
        ),
        "updateComment" => "comment { id content version updateDate author { id username } }".to_owned(),
        "deleteComment" => format!("deletedCommentId post {{ {POST} }}"),
        "likePost" => {
            format!(
                "like {{ id creationDate user {{ id username }} post {{ id }} }}
                 post {{ {POST} viewerHasLiked }}"
            )
        }
        "unlikePost" => format!("post {{ {POST} viewerHasLiked }}"),
        other => panic!("there is no mutation {other}"),
    };
    let input_type = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
    let query = format!("mutation($input: {input_type}!) {{ {mutation}(input: $input) {{ {payload} }} }}");
    (query, json!({ "input": input }))
}

pub fn id_of(node: &Value) -> String {
    node["id"].as_str().unwrap_or_else(|| panic!("no id: {node}")).to_owned()
}
