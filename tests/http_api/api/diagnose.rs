//! `onehop diagnose`, of a running server, of a directory without one, and of a served model.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::api::binary::{Serving, run_on};

/// The files of an archive by their names, as the system's tar reads them.
fn files_of(archive: &Path) -> BTreeMap<String, String> {
    let unpacked = tempfile::tempdir().unwrap();
    let status =
        Command::new("tar").args(["-xzf"]).arg(archive).arg("-C").arg(unpacked.path()).status().unwrap();
    assert!(status.success());
    let directory = unpacked.path().join("onehop-diagnosis");
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read_to_string(entry.path()).unwrap())
    };
    std::fs::read_dir(directory).unwrap().map(|entry| file(entry.unwrap())).collect()
}

fn json(files: &BTreeMap<String, String>, name: &str) -> Value {
    serde_json::from_str(&files[name]).unwrap_or_else(|error| panic!("{name}: {error}: {}", files[name]))
}

#[tokio::test]
async fn the_state_of_a_running_server_is_in_one_archive() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let archive = copies.path().join("fault.tar.gz");
    let server = Serving::start(data.path(), &["--demo", "--demo-users", "2"]);
    let (status, printed) = run_on(data.path(), &["diagnose", archive.to_str().unwrap()]).await;
    assert_eq!(status, 0, "{printed}");
    let files = files_of(&archive);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let expected = [
        "about.json",
        "dead-letters.json",
        "directory.json",
        "log.txt",
        "metrics.txt",
        "process.txt",
        "projections.json",
        "settings.txt",
        "system.txt",
    ];
    assert_eq!(names, expected);
    let about = json(&files, "about.json");
    assert_eq!(about["server"]["process"], server.process());
    assert_eq!(about["server"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(files["settings.txt"].contains("--demo-users=2"), "{}", files["settings.txt"]);
    assert!(files["metrics.txt"].contains("onehop_ready 1"), "{}", files["metrics.txt"]);
    assert!(files["log.txt"].contains("starting"), "{}", files["log.txt"]);
    let projections = json(&files, "projections.json");
    let feed = projections.as_array().unwrap().iter().find(|status| status["name"] == "feed").unwrap();
    assert!(feed["leases"].as_array().unwrap().iter().all(|lease| lease["heldHere"] == true), "{feed}");
    assert_eq!(json(&files, "dead-letters.json")["deadLetters"], serde_json::json!([]));
    let directory = json(&files, "directory.json");
    assert_eq!((&directory["format"], &directory["problems"]), (&"2".into(), &serde_json::json!([])));
    assert!(!directory["journals"].as_array().unwrap().is_empty(), "{directory}");
    assert!(files["process.txt"].contains("Max open files"), "{}", files["process.txt"]);
    for key in std::fs::read_dir(data.path().join("secrets/access-token-keys")).unwrap() {
        let key = std::fs::read_to_string(key.unwrap().path()).unwrap();
        assert!(files.values().all(|content| !content.contains(key.trim())), "a signing key");
    }
    let (status, printed) = run_on(data.path(), &["diagnose", archive.to_str().unwrap()]).await;
    assert_eq!((status, printed.contains("cannot write")), (2, true), "nothing is overwritten: {printed}");
}

#[tokio::test]
async fn a_directory_without_a_server_is_diagnosed_also_when_it_is_damaged() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let archive = |name: &str| copies.path().join(name);
    assert_eq!(run_on(data.path(), &["seed", "--users", "2"]).await.0, 0);
    let (status, printed) =
        run_on(data.path(), &["diagnose", archive("sound.tar.gz").to_str().unwrap()]).await;
    assert_eq!(status, 0, "{printed}");
    let files = files_of(&archive("sound.tar.gz"));
    assert_eq!(json(&files, "about.json")["server"], Value::Null);
    assert!(json(&files, "projections.json").as_array().unwrap().len() > 3);
    assert!(files["log.txt"].contains("no server"), "{}", files["log.txt"]);

    std::fs::write(data.path().join("engine/version"), "x").unwrap();
    let (status, printed) =
        run_on(data.path(), &["diagnose", archive("damaged.tar.gz").to_str().unwrap()]).await;
    assert_eq!((status, printed.contains("projections.json cannot be read")), (1, true), "{printed}");
    let files = files_of(&archive("damaged.tar.gz"));
    assert!(files["projections.json"].contains("this part cannot be read"), "{}", files["projections.json"]);
    let directory = json(&files, "directory.json");
    assert!(directory["problems"].to_string().contains("engine/version"), "{directory}");
}

#[tokio::test]
async fn the_server_of_a_model_is_diagnosed() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http_api/served/models/helpdesk.graphql");
    let model = ["--model", model.to_str().unwrap()];
    let archive = copies.path().join("running.tar.gz");
    let server = Serving::start(data.path(), &model);
    let (status, printed) = run_on(data.path(), &["diagnose", archive.to_str().unwrap()]).await;
    assert_eq!(status, 0, "the server knows its model: {printed}");
    let running = json(&files_of(&archive), "projections.json");
    server.stop();
    let archive = copies.path().join("stopped.tar.gz");
    let arguments = [&["diagnose", archive.to_str().unwrap()], &model[..]].concat();
    let (status, printed) = run_on(data.path(), &arguments).await;
    assert_eq!(status, 0, "{printed}");
    let stopped = json(&files_of(&archive), "projections.json");
    let names = |projections: &Value| -> Vec<Value> {
        projections.as_array().unwrap().iter().map(|status| status["name"].clone()).collect()
    };
    assert_eq!(names(&stopped), names(&running));
}
