//! The visible parts of the program in service, and the settings that it refuses there.

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use onehop::app::work::DEMO_PASSWORD;

use crate::api::binary::{Serving, run_on};
use crate::api::caller::mutation_of;

const INTROSPECTION: &str = "{ __schema { queryType { name } } }";
/// Like a name that there is.
const MISSPELT: &str = "{ feeed { nodes { id } } }";

/// A server with these arguments, and whether it shows its schema, suggests names, and has a playground.
async fn shown(arguments: &[&str]) -> [bool; 3] {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), arguments);
    let schema = post(&serving, INTROSPECTION, None).await;
    let misspelt = post(&serving, MISSPELT, None).await;
    let misspelt = misspelt["errors"][0]["message"].as_str().unwrap().to_owned();
    assert!(misspelt.contains("feeed"), "{misspelt}");
    let playground = client().get(format!("{}/graphiql", serving.address)).send().await.unwrap().status();
    let page = client().get(&serving.address).send().await.unwrap().status();
    assert_eq!(page, 200);
    assert_eq!(stop(serving).await.0, 0);
    if schema["data"].is_null() {
        assert_eq!(schema["errors"][0]["extensions"]["code"], "GRAPHQL_VALIDATION_FAILED", "{schema}");
    }
    [!schema["data"].is_null(), misspelt.contains("Did you mean"), playground == 200]
}

fn client() -> Client {
    Client::builder().no_proxy().build().unwrap()
}

async fn post(serving: &Serving, query: &str, token: Option<&str>) -> Value {
    let request = client().post(format!("{}/graphql", serving.address));
    let request =
        request.header("content-type", "application/json").body(json!({ "query": query }).to_string());
    answer(match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    })
    .await
}

async fn answer(request: RequestBuilder) -> Value {
    request.send().await.unwrap().json().await.unwrap()
}

async fn stop(serving: Serving) -> (i32, String) {
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap()
}

#[tokio::test]
async fn production_hides_schema_and_playground_by_default() {
    assert_eq!(shown(&[]).await, [true, true, true]);
    assert_eq!(shown(&["--production"]).await, [false, false, false]);
    assert_eq!(shown(&["--production", "--introspection=true"]).await, [true, true, false]);
    assert_eq!(shown(&["--production", "--playground=1"]).await, [false, false, true]);
    assert_eq!(shown(&["--playground=off"]).await, [true, true, false]);
    assert_eq!(shown(&["--introspection=off"]).await, [false, false, true]);
}

#[tokio::test]
async fn without_introspection_no_error_shows_names_and_types() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), &["--introspection=off"]);
    let variable = "mutation($input: CreatePostInput!) { createPost(input: $input) { __typename } }";
    for (query, input, place) in [
        (variable, json!({ "titel": "x" }), "titel"),
        (variable, json!({ "title": 7 }), "in field \"title\""),
        (variable, json!({}), "$input"),
        ("mutation { createPost(input: { titel: \"x\" }) { __typename } }", Value::Null, "input"),
        ("{ user { id } }", Value::Null, "user"),
        ("{ feed }", Value::Null, "feed"),
    ] {
        let body = json!({ "query": query, "variables": { "input": input } });
        let request = client().post(format!("{}/graphql", serving.address));
        let request = request.header("content-type", "application/json").body(body.to_string());
        let message = answer(request).await["errors"][0]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(place), "{message}");
        for told in ["String", "PostInput", "PostConnection", "content", "ID!", "User"] {
            assert!(!message.contains(told), "{message}");
        }
    }
    stop(serving).await;
}

/// Whether a server with these arguments serves the operations API, shows operations of requests, and
/// compares data models by them.
async fn operations(arguments: &[&str]) -> [bool; 3] {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), arguments);
    let query = "{ projections { name leaseCount leases { range } } partitions { container } }";
    let request =
        client().post(format!("{}/operations/graphql", serving.address)).json(&json!({ "query": query }));
    let response = request.send().await.unwrap();
    let is_served = response.status() == 200;
    if is_served {
        let data = response.json::<Value>().await.unwrap()["data"].take();
        assert!(!data["projections"][0]["leases"].as_array().unwrap().is_empty(), "{data}");
        assert!(!data["partitions"].as_array().unwrap().is_empty(), "{data}");
    } else {
        assert!([404, 405].contains(&response.status().as_u16()), "{response:?}");
    }
    let body = json!({ "query": "{ feed { nodes { id } } }", "extensions": { "operations": true } });
    let request =
        client().post(format!("{}/graphql", serving.address)).header("content-type", "application/json");
    let feed = answer(request.body(body.to_string())).await;
    assert!(feed["extensions"]["requestCharge"].is_number(), "{feed}");
    let comparison = post(&serving, "{ comparison(request: Q6) { model } }", None).await;
    if comparison["data"]["comparison"].is_null() {
        assert_eq!(comparison["errors"][0]["extensions"]["code"], "FORBIDDEN", "{comparison}");
    }
    assert_eq!(stop(serving).await.0, 0);
    let is_compared = !comparison["data"]["comparison"].is_null();
    [is_served, feed["extensions"]["operations"].is_array(), is_compared]
}

#[tokio::test]
async fn production_hides_operations_by_default() {
    assert_eq!(operations(&[]).await, [true; 3]);
    assert_eq!(operations(&["--production"]).await, [false; 3]);
    assert_eq!(operations(&["--production", "--operations=on"]).await, [true; 3]);
    assert_eq!(operations(&["--operations=off"]).await, [false; 3]);
}

#[tokio::test]
async fn production_refuses_trial_settings_before_any_write() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let cosmos = ["--store=cosmos", "--cosmos-endpoint=http://127.0.0.1:1"];
    for (arguments, named) in [
        (&["--demo"][..], "--demo"),
        (&["--durability=relaxed"], "--durability"),
        (&["--allow-origin=http://blog.example"], "--allow-origin"),
        (&["--allow-origin=https://a.example,http://b.example"], "--allow-origin"),
        (&["--jwt-issuer=https://id.example"], "--jwt-audience"),
        (&cosmos, "--cosmos-endpoint"),
    ] {
        let (status, printed) = run_on(&data, &[&["serve", "--production"], arguments].concat()).await;
        assert_eq!(status, 2, "{arguments:?}: {printed}");
        assert!(printed.contains("--production") && printed.contains(named), "{arguments:?}: {printed}");
        assert!(!data.exists());
    }
}

#[tokio::test]
async fn the_complexity_limit_is_what_the_setting_says() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), &["--complexity-max=500"]);
    let answer = post(&serving, "{ feed(first: 100) { nodes { id title summary content } } }", None).await;
    let expected = json!({ "code": "LIMIT_EXCEEDED", "limit": "complexity-max", "max": 500 });
    assert_eq!(answer["errors"][0]["extensions"], expected, "{answer}");
    assert_eq!(stop(serving).await.0, 0);
}

#[tokio::test]
async fn a_limit_that_is_a_constant_has_no_flag() {
    let directory = tempfile::tempdir().unwrap();
    let (status, printed) = run_on(directory.path(), &["serve", "--document-bytes-max=2000"]).await;
    assert_eq!(status, 2, "{printed}");
    assert!(printed.contains("unexpected argument '--document-bytes-max'"), "{printed}");
}

#[tokio::test]
async fn a_local_server_refuses_hosts_outside_the_allowlist() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), &["--allow-host", "blog.example"]);
    for (host, status) in [("blog.example", 200), ("localhost:1", 200), ("evil.example", 421)] {
        let request = client().get(&serving.address).header("host", host);
        assert_eq!(request.send().await.unwrap().status(), status, "{host}");
    }
    assert_eq!(stop(serving).await.0, 0);
    for (flag, value) in [("--allow-host", "https://blog.example"), ("--allow-host", "blog.example:443")] {
        let (status, printed) = run_on(directory.path(), &["serve", flag, value]).await;
        assert!(status == 2 && printed.contains(flag), "{printed}");
    }
}

/// All commands of a signed-in user, each with its input.
fn commands(post: &str, comment: &str, password: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("signIn", json!({ "username": "ada", "password": password })),
        ("signIn", json!({ "username": "ada", "password": format!("{password}-wrong") })),
        ("createUser", json!({ "username": "ada", "password": password })),
        ("updateUser", json!({ "username": "ada.l" })),
        ("updatePost", json!({ "postId": post, "title": "Again" })),
        ("likePost", json!({ "postId": post })),
        ("unlikePost", json!({ "postId": post })),
        ("updateComment", json!({ "commentId": comment, "content": "Again" })),
        ("deleteComment", json!({ "commentId": comment })),
        ("deletePost", json!({ "postId": post })),
    ]
}

#[tokio::test]
async fn no_log_at_any_level_has_passwords_or_tokens() {
    const PASSWORD: &str = "kumquat-zeppelin-94";
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), &["--log=trace", "--log-format=json"]);
    let url = format!("{}/graphql", serving.address);
    let send = |body: Value, token: String| {
        let request = client().post(&url).header("content-type", "application/json").body(body.to_string());
        answer(if token.is_empty() { request } else { request.bearer_auth(token) })
    };
    let command = |(name, input): (&str, Value)| {
        let (query, variables) = mutation_of(name, input);
        json!({ "query": query, "variables": variables })
    };
    let signed_up = json!({ "username": "ada", "password": PASSWORD });
    let answer = send(command(("createUser", signed_up)), String::new()).await;
    let token = answer["data"]["createUser"]["accessToken"].as_str().unwrap().to_owned();
    let post = send(command(("createPost", json!({ "title": "T", "content": "c" }))), token.clone()).await;
    let post = post["data"]["createPost"]["post"]["id"].as_str().unwrap().to_owned();
    let comment = json!({ "postId": post, "content": "c" });
    let comment = send(command(("createComment", comment)), token.clone()).await;
    let comment = comment["data"]["createComment"]["comment"]["id"].as_str().unwrap().to_owned();
    let bodies: Vec<Value> = commands(&post, &comment, PASSWORD).into_iter().map(command).collect();
    for token in [format!("{token}x"), "forged".to_owned(), token.clone()] {
        for body in &bodies {
            send(body.clone(), token.clone()).await;
        }
        send(Value::Array(bodies.clone()), token).await;
    }
    let in_url = client().get(format!("{url}?query=%7Bviewer%7Bid%7D%7D%23{PASSWORD}"));
    assert_eq!(in_url.bearer_auth(&token).send().await.unwrap().status(), 200);

    let (status, log) = stop(serving).await;
    assert_eq!(status, 0);
    assert!(log.lines().count() > 50, "the log is at its finest level");
    let signature = token.rsplit('.').next().unwrap();
    for secret in [PASSWORD, &token, signature, "$argon2id$"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret:?} in the log");
    }
}

async fn sign_in(serving: &Serving, username: &str) -> Value {
    let input = json!({ "username": username, "password": DEMO_PASSWORD });
    let (query, variables) = mutation_of("signIn", input);
    let body = json!({ "query": query, "variables": variables });
    let request = client().post(format!("{}/graphql", serving.address));
    answer(request.header("content-type", "application/json").body(body.to_string())).await
}

#[tokio::test]
async fn production_refuses_unlocked_demo_users() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    assert_eq!(run_on(data, &["seed", "--users", "2"]).await.0, 0);
    let serving = Serving::start(data, &[]);
    let token = sign_in(&serving, "ada").await["data"]["signIn"]["accessToken"].as_str().unwrap().to_owned();
    let renamed = "mutation { updateUser(input: { username: \"countess\" }) { user { username } } }";
    assert_eq!(post(&serving, renamed, Some(&token)).await["errors"], Value::Null);
    assert_eq!(stop(serving).await.0, 0);

    let (status, printed) = run_on(data, &["serve", "--listen", "127.0.0.1:0", "--production"]).await;
    assert_eq!(status, 2, "{printed}");
    assert!(
        printed.contains("--production refuses this: countess, grace have the published password"),
        "{printed}"
    );
    assert!(printed.contains("`onehop lock-demo-users`"), "{printed}");

    let (status, printed) = run_on(data, &["lock-demo-users"]).await;
    assert_eq!((status, printed.trim()), (0, "2 accounts locked: countess, grace"));
    let serving = Serving::start(data, &["--production"]);
    for username in ["countess", "grace"] {
        assert_ne!(sign_in(&serving, username).await["errors"], Value::Null);
    }
    let (status, printed) = run_on(data, &["seed", "--users", "3"]).await;
    assert_eq!(status, 2, "{printed}");
    assert!(printed.contains("the server runs with --production"), "{printed}");
    let (status, printed) = run_on(data, &["lock-demo-users"]).await;
    assert_eq!((status, printed.trim()), (0, "no account has the demo password"));
    assert_eq!(stop(serving).await.0, 0);
}

/// The answer to a mutation at a server.
async fn mutate(serving: &Serving, mutation: &str, input: Value, token: Option<&str>) -> Value {
    let (query, variables) = mutation_of(mutation, input);
    let request = client().post(format!("{}/graphql", serving.address));
    let request = request.header("content-type", "application/json");
    let request = request.body(json!({ "query": query, "variables": variables }).to_string());
    answer(match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    })
    .await
}

#[tokio::test]
async fn production_needs_staff_that_exists_and_keeps_its_name() {
    const PASSWORD: &str = "kumquat-zeppelin-94";
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let refused = async |staff: &str| {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--production", "--staff", staff];
        let (status, printed) = run_on(data, &serve).await;
        assert_eq!(status, 2, "{printed}");
        printed
    };
    let printed = refused("boss").await;
    assert!(printed.contains("--staff") && printed.contains("boss"), "{printed}");

    let serving = Serving::start(data, &["--staff", "boss"]);
    let credentials = |name: &str| json!({ "username": name, "password": PASSWORD });
    let boss = mutate(&serving, "createUser", credentials("boss"), None).await;
    assert_eq!(boss["errors"][0]["extensions"]["code"], "CONFLICT", "{boss}");
    let eve = mutate(&serving, "createUser", credentials("eve"), None).await["data"]["createUser"].take();
    let id = eve["user"]["id"].as_str().unwrap();
    assert_eq!(stop(serving).await.0, 0);

    let rename = json!({ "username": "evelyn" });
    for (staff, code) in [("Eve", json!("FORBIDDEN")), (id, Value::Null)] {
        let serving = Serving::start(data, &["--production", "--staff", staff]);
        let token = eve["accessToken"].as_str();
        let renamed = mutate(&serving, "updateUser", rename.clone(), token).await;
        assert_eq!(renamed["errors"][0]["extensions"]["code"], code, "{renamed}");
        let made = mutate(&serving, "createUser", credentials("eve"), None).await;
        assert_eq!(made["errors"].is_null(), code.is_null(), "{made}");
        assert_eq!(stop(serving).await.0, 0);
    }
    assert!(refused("eve").await.contains(id));
}
