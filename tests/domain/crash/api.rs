//! A client of the API: one request, and its outcome.

use serde_json::{Value, json};

/// The outcome of a command.
#[derive(Debug)]
pub enum Answer {
    /// Its payload.
    Acknowledged(Value),
    /// The code of its error: nothing was written.
    Refused(String),
    /// The server gave up, or its answer never came: it may have been written or not.
    Lost,
}

/// Where requests go.
#[derive(Clone)]
pub struct Api {
    http: reqwest::Client,
    endpoint: String,
}

impl Api {
    pub fn new(address: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Self { http, endpoint: format!("{address}/graphql") }
    }

    /// Issues a command by its field, with a selection of its payload.
    pub async fn command(&self, token: Option<&str>, field: &str, input: Value, selection: &str) -> Answer {
        let mut input_type = field.to_owned();
        input_type[..1].make_ascii_uppercase();
        let query =
            format!("mutation($input: {input_type}Input!) {{ {field}(input: $input) {{ {selection} }} }}");
        let Some(mut answer) = self.send(token, &query, json!({ "input": input })).await else {
            return Answer::Lost;
        };
        if let Some(error) = answer["errors"].get(0) {
            return match error["extensions"]["code"].as_str() {
                Some("UNAVAILABLE") => Answer::Lost,
                Some("INTERNAL") | None => panic!("{field}: {error}"),
                Some(code) => Answer::Refused(code.to_owned()),
            };
        }
        Answer::Acknowledged(answer["data"][field].take())
    }

    /// Asks a question of a server that is not going to end.
    pub async fn ask(&self, query: &str, variables: Value) -> Value {
        let mut answer = self.send(None, query, variables).await.expect("an answer");
        assert!(answer.get("errors").is_none(), "{query}: {answer}");
        answer["data"].take()
    }

    /// Asks the operations API of a server that is not going to end.
    pub async fn ask_operations(&self, query: &str) -> Value {
        let endpoint = self.endpoint.replace("/graphql", "/operations/graphql");
        let sent = self.http.post(endpoint).json(&json!({ "query": query })).send().await.expect("an answer");
        let mut answer: Value = sent.json().await.expect("JSON");
        assert!(answer.get("errors").is_none(), "{query}: {answer}");
        answer["data"].take()
    }

    async fn send(&self, token: Option<&str>, query: &str, variables: Value) -> Option<Value> {
        let mut request =
            self.http.post(&self.endpoint).json(&json!({ "query": query, "variables": variables }));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.ok()?.json().await.ok()
    }
}

/// A text of an answer.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}")).to_owned()
}
