//! Rotation of the keys that sign access tokens: users stay signed in, and nothing secret is printed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::api::binary::{Serving, run_on};

/// A running server reads its keys again at an interval, and logs a change.
const KEYS_CHANGED: &str = "the signing keys of access tokens have changed";
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

/// The ids that are listed; the first one signs.
async fn ids(data: &Path) -> Vec<String> {
    ids_of(&command(data, &["list"]).await)
}

fn ids_of(listed: &str) -> Vec<String> {
    let ids: Vec<String> =
        listed.lines().filter_map(|line| Some(line.split_once("  ")?.0.to_owned())).collect();
    let signing: Vec<bool> = listed.lines().map(|line| line.contains("signs and")).collect();
    assert_eq!(signing.iter().position(|signs| *signs), Some(0), "{listed}");
    ids
}

/// The key files of a data directory.
fn key_files(data: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data.join("secrets/access-token-keys")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// No secret of these files, in any form in which it could be printed.
fn assert_secret(files: &[PathBuf], printed: &str) {
    assert!(!files.is_empty());
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        let bytes = STANDARD.decode(text.trim()).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        for form in [text.trim(), &hex, &URL_SAFE_NO_PAD.encode(&bytes)] {
            assert!(!printed.contains(form), "{printed}");
        }
    }
}

#[tokio::test]
async fn a_running_server_follows_a_rotation_and_the_end_of_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let serving = Serving::start(data, &["--log=trace"]);
    let of_old = token(&serving, "createUser").await;
    let old = kid(&of_old);
    assert_eq!(ids(data).await, [&*old]);

    let old_file = key_files(data).remove(0);
    let mut printed = command(data, &["rotate"]).await;
    let new = ids(data).await[0].clone();
    assert!(printed.contains(&new) && printed.contains(&old) && new != old, "{printed}");
    assert!(printed.contains(&format!("until {} is deleted", old_file.display())), "{printed}");
    serving.logged(1, &[KEYS_CHANGED, &format!("signs={new}")]).await;
    let of_new = token(&serving, "signIn").await;
    assert_eq!(kid(&of_new), new);
    assert!(is_good(&serving, &of_old).await && is_good(&serving, &of_new).await);

    printed += &command(data, &["list"]).await;
    assert_secret(&key_files(data), &printed);
    let elsewhere = directory.path().join("former");
    std::fs::rename(&old_file, &elsewhere).unwrap();
    serving.logged(2, &[KEYS_CHANGED, &format!("signs={new}")]).await;
    assert!(!is_good(&serving, &of_old).await && is_good(&serving, &of_new).await);
    let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0);
    assert_secret(&[&key_files(data)[..], &[elsewhere]].concat(), &log);
    assert!(!log.contains(&of_new) && !log.contains(&of_old));
}

#[tokio::test]
async fn a_key_can_be_copied_to_other_machines_before_it_signs() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let serving = Serving::start(data, &[]);
    let old = kid(&token(&serving, "createUser").await);
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    let printed = command(data, &["rotate", "--signs-in-minutes", "10"]).await;
    let [first, new] = ids(data).await.try_into().unwrap();
    assert_eq!(first, old);
    assert!(printed.contains(&format!("{new} verifies from now on, and signs from ")), "{printed}");
    let listed = command(data, &["list"]).await;
    assert!(listed.lines().nth(1).unwrap().contains("verifies, and will sign from "), "{listed}");

    let serving = Serving::start(data, &[]);
    assert_eq!(kid(&token(&serving, "signIn").await), old);
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
}

#[tokio::test]
async fn a_secret_file_that_was_given_is_rotated_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let path = directory.path().join("secret");
    std::fs::write(&path, "thirty-two bytes or more, as RFC 7518 has it\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let given = ["--token-secret-file", path.to_str().unwrap()];
    let serving = Serving::start(&data, &[&given[..], &["--log=info"]].concat());
    let of_old = token(&serving, "createUser").await;
    let printed = command(&data, &[&["rotate"], &given[..]].concat()).await;
    assert!(path.is_dir() && printed.contains(&kid(&of_old)), "{printed}");
    // The server that runs goes on with the directory.
    let new = ids_of(&command(&data, &[&["list"], &given[..]].concat()).await).remove(0);
    serving.logged(1, &[KEYS_CHANGED, &format!("signs={new}")]).await;
    assert_eq!(kid(&token(&serving, "signIn").await), new);
    assert!(is_good(&serving, &of_old).await);
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    let serving = Serving::start(&data, &given);
    assert!(is_good(&serving, &of_old).await);
    assert_ne!(kid(&token(&serving, "signIn").await), kid(&of_old));
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert!(!data.join("secrets/access-token-keys").exists());
}

#[tokio::test]
async fn tokens_stay_good_when_a_former_secret_file_is_migrated() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let serving = Serving::start(data, &[]);
    let of_old = token(&serving, "createUser").await;
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    let key = key_files(data).remove(0);
    let secret = STANDARD.decode(std::fs::read_to_string(&key).unwrap().trim()).unwrap();
    let former = data.join("secrets/access-token.key");
    std::fs::write(&key, secret).unwrap();
    std::fs::rename(&key, &former).unwrap();
    std::fs::remove_dir(key.parent().unwrap()).unwrap();
    assert_eq!(ids(data).await, [kid(&of_old)]);

    let serving = Serving::start(data, &[]);
    assert!(is_good(&serving, &of_old).await);
    assert_eq!(kid(&token(&serving, "signIn").await), kid(&of_old));
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert!(!former.exists());
    assert_eq!(key_files(data).len(), 1);
}

#[tokio::test]
async fn a_rotation_that_cannot_be_done_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let (status, printed) = run_on(data, &["token-secret", "rotate"]).await;
    assert!(status == 2 && printed.contains("secrets/access-token-keys"), "{printed}");
    let serving = Serving::start(data, &[]);
    tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    for _ in 0..7 {
        command(data, &["rotate"]).await;
    }
    let (status, printed) = run_on(data, &["token-secret", "rotate"]).await;
    assert!(status == 2 && printed.contains("more than 8 keys"), "{printed}");
    assert_eq!(ids(data).await.len(), 8);
}
