//! Secrets of access tokens that change: who is signed in stays so, and nothing secret is printed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::api::binary::{Serving, run_on};

const CREDENTIALS: &str = "username: \"newcomer\", password: \"one and two\"";

async fn send(serving: &Serving, query: &str, token: Option<&str>) -> Value {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request =
        http.post(format!("{}/graphql", serving.address)).header("content-type", "application/json");
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    request.body(json!({ "query": query }).to_string()).send().await.unwrap().json().await.unwrap()
}

async fn token(serving: &Serving, mutation: &str) -> String {
    let query = format!("mutation {{ {mutation}(input: {{ {CREDENTIALS} }}) {{ accessToken }} }}");
    let answer = send(serving, &query, None).await;
    answer["data"][mutation]["accessToken"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The secret that a token names.
fn kid(token: &str) -> String {
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    serde_json::from_slice::<Value>(&header).unwrap()["kid"].as_str().unwrap().to_owned()
}

async fn is_good(serving: &Serving, token: &str) -> bool {
    send(serving, "{ viewer { username } }", Some(token)).await["data"]["viewer"]["username"] == "newcomer"
}

async fn command(data: &Path, arguments: &[&str]) -> String {
    let (status, printed) = run_on(data, &[&["token-secret"], arguments].concat()).await;
    assert_eq!(status, 0, "{arguments:?}: {printed}");
    printed
}

/// The ids that are listed, the one that signs first.
async fn ids(data: &Path) -> Vec<String> {
    let listed = command(data, &["list"]).await;
    let ids: Vec<String> =
        listed.lines().filter_map(|line| Some(line.split_once("  ")?.0.to_owned())).collect();
    let signing: Vec<bool> = listed.lines().map(|line| line.contains("signs")).collect();
    assert_eq!(signing.iter().position(|signs| *signs), Some(0), "{listed}");
    ids
}

/// No secret of the file, in any form in which it could be printed.
fn assert_secret(data: &Path, printed: &str) {
    let file = std::fs::read(data.join("secrets/access-token.key")).unwrap();
    for line in String::from_utf8(file).unwrap().lines().skip(2) {
        let bytes = STANDARD.decode(line).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let url = URL_SAFE_NO_PAD.encode(&bytes);
        assert!(!printed.contains(line) && !printed.contains(&hex) && !printed.contains(&url), "{printed}");
    }
}

#[tokio::test]
async fn a_running_server_signs_with_a_new_secret_and_takes_tokens_of_the_old_one_until_it_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let serving = Serving::start(data, &["--sign-ins-per-address=0", "--log=trace"]);
    let of_old = token(&serving, "createUser").await;
    let old = kid(&of_old);
    assert_eq!(ids(data).await, [&*old]);

    let mut printed = command(data, &["rotate"]).await;
    let new = ids(data).await[0].clone();
    assert!(printed.contains(&new) && printed.contains(&old) && new != old, "{printed}");
    let of_new = loop {
        let token = token(&serving, "signIn").await;
        if kid(&token) == new {
            break token;
        }
    };
    assert!(is_good(&serving, &of_old).await && is_good(&serving, &of_new).await);

    printed += &command(data, &["drop", &old]).await;
    while is_good(&serving, &of_old).await {}
    assert!(is_good(&serving, &of_new).await);
    let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0);
    assert_secret(data, &printed);
    assert_secret(data, &log);
    assert!(!log.contains(&of_new) && !log.contains(&of_old));
}

#[tokio::test]
async fn a_secret_can_be_brought_to_other_machines_before_it_signs() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let serving = Serving::start(data, &[]);
    let old = kid(&token(&serving, "createUser").await);
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    command(data, &["add"]).await;
    let [first, new] = ids(data).await.try_into().unwrap();
    assert_eq!(first, old);
    command(data, &["use", &new]).await;
    assert_eq!(ids(data).await, [&*new, &*old]);

    let serving = Serving::start(data, &[]);
    assert_eq!(kid(&token(&serving, "signIn").await), new);
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
}

#[tokio::test]
async fn a_file_that_was_given_is_rotated_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let file = directory.path().join("secret");
    std::fs::write(&file, "thirty-two bytes or more, as RFC 7518 has it\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let given = ["--token-secret-file", file.to_str().unwrap()];
    let serving = Serving::start(&data, &given);
    let of_old = token(&serving, "createUser").await;
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    command(&data, &[&["rotate"], &given[..]].concat()).await;
    let serving = Serving::start(&data, &given);
    assert!(is_good(&serving, &of_old).await);
    assert_ne!(kid(&token(&serving, "signIn").await), kid(&of_old));
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert!(!data.join("secrets/access-token.key").exists());
}

#[tokio::test]
async fn what_would_sign_everybody_out_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let (status, printed) = run_on(data, &["token-secret", "rotate"]).await;
    assert!(status == 2 && printed.contains("access-token.key"), "{printed}");
    let serving = Serving::start(data, &[]);
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    let only = ids(data).await.remove(0);
    for (arguments, told) in
        [(&["drop", &*only][..], "signs"), (&["drop", "nothing"], "nothing"), (&["use", "x"], "x")]
    {
        let (status, printed) = run_on(data, &[&["token-secret"], arguments].concat()).await;
        assert!(status == 2 && printed.contains(told), "{arguments:?}: {printed}");
    }
    assert_eq!(ids(data).await, [only]);
    for _ in 0..7 {
        command(data, &["rotate"]).await;
    }
    let (status, printed) = run_on(data, &["token-secret", "rotate"]).await;
    assert!(status == 2 && printed.contains("more than 8 secrets"), "{printed}");
    assert_eq!(ids(data).await.len(), 8);
}
