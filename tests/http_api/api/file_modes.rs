//! File permissions: all files of the program are private to its user, under every umask.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::api::binary::{Serving, onehop, run_on, under_umask};

/// The modes of a path and of its content, without files that the running server deletes meanwhile.
fn modes(path: &Path) -> Vec<(PathBuf, bool, u32)> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let mut found = vec![(path.to_owned(), metadata.is_dir(), metadata.permissions().mode() & 0o777)];
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            found.extend(modes(&entry.unwrap().path()));
        }
    }
    found
}

fn assert_private(path: &Path) {
    let found = modes(path);
    assert!(found.len() > 5, "{found:?}");
    for (path, is_directory, mode) in found {
        let wanted = if is_directory { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{}: {mode:o}", path.display());
    }
}

fn open_up(path: &Path) {
    for (path, is_directory, _) in modes(path) {
        // A key that others could read is refused and not mended.
        if path.extension().is_none_or(|extension| extension != "key") {
            fs::set_permissions(path, Permissions::from_mode(if is_directory { 0o755 } else { 0o644 }))
                .unwrap();
        }
    }
}

fn serve(umask: &str, data: &Path) -> Serving {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
    Serving::start_as(under_umask(umask, &onehop(&arguments)))
}

async fn run_under(umask: &str, arguments: &[&str]) {
    let mut command = under_umask(umask, &onehop(arguments));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

async fn sign_up(serving: &Serving, username: &str) {
    let query = "mutation($i: CreateUserInput!) { createUser(input: $i) { user { id } } }";
    let input = json!({ "username": username, "password": "correct horse battery" });
    let request = json!({ "query": query, "variables": { "i": input } });
    let response = reqwest::Client::builder()
        .no_proxy()
        .build()
        .unwrap()
        .post(format!("{}/graphql", serving.address))
        .json(&request)
        .send();
    let answered = response.await.unwrap().text().await.unwrap();
    assert!(answered.contains(r#""id":"#), "{answered}");
}

#[tokio::test]
async fn all_files_are_private_whatever_the_umask() {
    for umask in ["022", "000"] {
        let outer = tempfile::tempdir().unwrap();
        let [data, backup, restored] = ["data", "backup", "restored"].map(|name| outer.path().join(name));
        let [given_data, given_backup, given_restored] =
            [&data, &backup, &restored].map(|path| path.to_str().unwrap());
        let serving = serve(umask, &data);
        sign_up(&serving, "ada").await;
        assert!(data.join("control.sock").exists());
        assert_private(&data);
        run_under(umask, &["backup", "--data", given_data, given_backup]).await;
        assert_private(&backup);
        tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
        assert_private(&data);

        open_up(&backup);
        run_under(umask, &["restore", "--data", given_restored, "--from", given_backup]).await;
        assert_private(&restored);

        open_up(&data);
        let serving = serve(umask, &data);
        assert_private(&data);
        tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    }
}

#[tokio::test]
async fn secret_files_that_others_can_read_are_refused() {
    let outer = tempfile::tempdir().unwrap();
    let (data, secret) = (outer.path().join("data"), outer.path().join("secret"));
    fs::write(&secret, "dGhpcnR5LXR3byBieXRlcyBvciBtb3JlLCBhcyBSRkMgNzUxOCBoYXM=\n").unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
    let given = secret.to_str().unwrap();
    let account = ["--store", "cosmos", "--cosmos-endpoint", "https://a.documents.azure.com"];
    for arguments in [
        &["serve", "--token-secret-file", given][..],
        &["token-secret", "list", "--token-secret-file", given],
        &[&["verify", "--cosmos-key-file", given][..], &account].concat(),
    ] {
        let (status, printed) = run_on(&data, arguments).await;
        assert_eq!(status, 2, "{arguments:?}: {printed}");
        assert!(printed.contains(&format!("run `chmod 600 {given}`")), "{printed}");
    }
}
