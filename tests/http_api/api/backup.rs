//! `backup`, `restore` and `check`, done by the server that holds the data directory or by the command
//! itself.

use std::path::Path;

use serde_json::{Value, json};

use crate::api::binary::run_on;
use crate::api::server::{Server, Setup};

async fn run_with(data: &Path, command: &str, directory: &Path) -> (i32, String) {
    let directory = directory.to_str().unwrap();
    match command {
        "restore" => run_on(data, &["restore", "--from", directory]).await,
        command => run_on(data, &[command, directory]).await,
    }
}

#[tokio::test]
async fn a_backup_of_a_running_server_restores_a_clean_blog() {
    let server = Server::start_with(Setup { in_background: true, ..Setup::default() }).await;
    let ada = server.sign_up("ada").await;
    let mut posts = vec![ada.post("before").await];
    ada.comment(&posts[0], "indeed").await;
    let copies = tempfile::tempdir().unwrap();
    let (backup, restored) = (copies.path().join("backup"), copies.path().join("restored"));
    let writing = async {
        for number in 0..60 {
            let post = ada.post(&format!("post {number}")).await;
            ada.comment(&post, "and so on").await;
            ada.like(&post).await;
            posts.push(post);
        }
    };
    let ((), (status, printed)) = futures::join!(writing, run_with(server.data(), "backup", &backup));
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains(" items as of 20"), "{printed}");
    let (status, printed) = run_on(server.data(), &["check"]).await;
    assert_eq!((status, printed.contains("sound")), (0, true), "the server looks for itself: {printed}");

    let (status, printed) = run_with(server.data(), "restore", &backup).await;
    assert_eq!((status, printed.contains("not empty")), (2, true), "a directory with data stays: {printed}");
    let (status, printed) = run_with(&restored, "restore", &backup).await;
    assert_eq!(status, 0, "{printed}");
    for directory in [&restored, &backup] {
        let (status, printed) = run_on(directory, &["check", "--json"]).await;
        let found: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!((status, &found["problems"]), (0, &json!([])), "{printed}");
        let (status, printed) = run_on(directory, &["verify"]).await;
        assert_eq!(status, 0, "{printed}");
        let (counted, _) = printed.split_once(" comment in posts").unwrap();
        let comments: u64 = counted.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((1..=61).contains(&comments), "{printed}");
    }
    let (status, printed) = run_with(&copies.path().join("again"), "restore", &backup).await;
    assert_eq!((status, printed.contains("no finished backup")), (2, true), "it was opened since: {printed}");
}

#[tokio::test]
async fn a_backup_is_rolled_forward_by_the_log_of_the_server() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |name: &str| copies.path().join(name).to_str().unwrap().to_owned();
    let archive = path("archive");
    let with_archive = |arguments: &[&str]| -> Vec<String> {
        let options = ["--log-archive", &archive];
        arguments.iter().chain(&options).map(|argument| (*argument).to_owned()).collect()
    };
    let run = async |on: &Path, arguments: &[&str]| {
        let arguments = with_archive(arguments);
        run_on(on, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    assert_eq!(run(data.path(), &["seed", "--users", "2"]).await.0, 0);
    let (status, printed) = run(data.path(), &["backup", &path("first")]).await;
    assert_eq!((status, printed.contains("0 linked")), (0, true), "{printed}");
    let (status, printed) = run(data.path(), &["backup", &path("second"), "--after", &path("first")]).await;
    assert_eq!((status, printed.contains(" linked")), (0, true), "{printed}");
    assert_eq!(run(data.path(), &["seed", "--users", "3"]).await.0, 0);
    let whole = report_in(&run(data.path(), &["verify", "--json"]).await.1);

    let restored = copies.path().join("restored");
    let (status, printed) =
        run(&restored, &["restore", "--from", &path("second"), "--at", "2020-01-01T00:00:00Z"]).await;
    assert_eq!((status, printed.contains("take an earlier backup")), (2, true), "{printed}");
    let (status, printed) = run(&restored, &["restore", "--from", &path("second"), "--at", "soon"]).await;
    assert_eq!((status, printed.contains("such as 2026-01-31T09:30:00Z")), (2, true), "{printed}");
    let other = copies.path().join("rolled");
    let (status, printed) = run(&other, &["restore", "--from", &path("second"), "--at", "end"]).await;
    assert_eq!((status, printed.contains("rolled forward by ")), (0, true), "{printed}");
    let report = report_in(&run_on(&other, &["verify", "--json"]).await.1);
    assert_eq!(report["items"], whole["items"], "everything that was written after the backup");
}

#[tokio::test]
async fn without_a_server_the_command_backs_up_and_checks_by_itself() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let backup = copies.path().join("backup");
    let (status, printed) = run_with(&data.path().join("nothing"), "backup", &backup).await;
    assert_eq!((status, printed.contains("there is no such directory")), (2, true), "{printed}");
    let (status, printed) = run_on(&data.path().join("nothing"), &["check"]).await;
    assert_eq!((status, printed.contains("there is no such directory")), (2, true), "{printed}");
    assert_eq!(run_on(data.path(), &["seed", "--users", "2"]).await.0, 0);
    let (status, printed) = run_on(data.path(), &["check"]).await;
    assert_eq!((status, printed.trim().ends_with("\nsound")), (0, true), "{printed}");
    assert_eq!(run_with(data.path(), "backup", &backup).await.0, 0);
    let (status, printed) = run_with(data.path(), "backup", &backup).await;
    assert_eq!((status, printed.contains("not empty")), (2, true), "{printed}");

    std::fs::write(backup.join("unfinished"), "").unwrap();
    let (status, printed) = run_on(&backup, &["check"]).await;
    assert_eq!((status, printed.contains("unfinished backup")), (1, true), "{printed}");
    for command in ["serve", "verify"] {
        let (status, printed) = run_on(&backup, &[command]).await;
        assert_eq!((status, printed.contains("unfinished backup")), (2, true), "{command}: {printed}");
    }
    let (status, printed) = run_with(&copies.path().join("restored"), "restore", &backup).await;
    assert_eq!((status, printed.contains("no finished backup")), (2, true), "{printed}");
    let account = ["backup", "--store", "cosmos", backup.to_str().unwrap()];
    let (status, printed) = run_on(data.path(), &account).await;
    assert_eq!((status, printed.contains("backups of its own")), (2, true), "{printed}");
}

/// The length to which the journal of a small blog is cut: behind its first posts.
const JOURNAL_BYTES_LEFT: u64 = 100_000;

#[tokio::test]
async fn lost_writes_are_named_by_every_command_until_recovery() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_eq!(run_on(data.path(), &["seed", "--users", "2"]).await.0, 0);
    let (status, printed) = run_on(data.path(), &["recover"]).await;
    assert_eq!((status, printed.trim()), (0, "nothing is missing"));
    let journal = data.path().join("engine/0.jnl");
    std::fs::File::options().write(true).open(&journal).unwrap().set_len(JOURNAL_BYTES_LEFT).unwrap();
    let backup = copies.path().join("backup");
    for command in [&["serve"][..], &["verify"], &["rebuild"], &["backup", backup.to_str().unwrap()]] {
        let (status, printed) = run_on(data.path(), command).await;
        assert_eq!(
            (status, printed.contains("engine/0.jnl has 100000 bytes of")),
            (2, true),
            "{command:?}: {printed}"
        );
        assert!(printed.contains("onehop recover --data"), "{command:?}: {printed}");
    }
    let (status, printed) = run_on(data.path(), &["check"]).await;
    assert_eq!((status, printed.contains("problem: lost: engine/0.jnl has")), (1, true), "{printed}");
    let (status, printed) = run_on(data.path(), &["recover"]).await;
    assert_eq!((status, printed.contains("dropped: the commits")), (3, true), "{printed}");
    assert!(printed.contains("differences of read models, counts and copies were repaired"), "{printed}");
    for command in [&["check"][..], &["verify", "--repair"], &["verify"]] {
        let (status, printed) = run_on(data.path(), command).await;
        assert_eq!(status, 0, "{command:?}: {printed}");
    }
    std::fs::remove_file(data.path().join("format")).unwrap();
    for (command, expected) in [("serve", 2), ("verify", 2), ("recover", 2), ("check", 1)] {
        let (status, printed) = run_on(data.path(), &[command]).await;
        assert_eq!((status, printed.contains("format is missing")), (expected, true), "{command}: {printed}");
    }
}

/// The report in JSON, behind which the log may follow.
fn report_in(printed: &str) -> Value {
    serde_json::Deserializer::from_str(printed).into_iter().next().unwrap().unwrap()
}

/// Has the engine of a directory in tables: a recovery of any damage writes everything into new ones.
async fn move_into_tables(data: &Path) {
    std::fs::write(data.join("engine/version"), "x").unwrap();
    let (status, printed) = run_on(data, &["recover"]).await;
    assert_eq!(status, 0, "{printed}");
    assert!(printed.contains("engine/version is missing or damaged"), "{printed}");
    std::fs::remove_dir_all(data.join("engine.damaged")).unwrap();
    std::fs::remove_file(data.join("lost-items.jsonl")).unwrap();
}

/// The largest file with tables, which holds the items.
fn largest_table(directory: &Path) -> std::path::PathBuf {
    let spaces = std::fs::read_dir(directory.join("engine/keyspaces")).unwrap();
    let tables = spaces
        .flat_map(|space| std::fs::read_dir(space.unwrap().path().join("tables")).into_iter().flatten());
    let tables = tables.map(|table| table.unwrap());
    tables.max_by_key(|table| table.metadata().unwrap().len()).unwrap().path()
}

#[tokio::test]
async fn what_cannot_be_read_is_named_and_the_rest_is_looked_at() {
    use std::os::unix::fs::FileExt;

    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let damaged = copies.path().join("damaged");
    assert_eq!(run_on(data.path(), &["seed", "--users", "3"]).await.0, 0);
    move_into_tables(data.path()).await;
    assert_eq!(run_with(data.path(), "backup", &damaged).await.0, 0);
    let whole = report_in(&run_on(data.path(), &["verify", "--json"]).await.1);
    let table = largest_table(&damaged);
    let file = std::fs::File::options().read(true).write(true).open(&table).unwrap();
    let (middle, mut byte) = (file.metadata().unwrap().len() / 2, [0]);
    file.read_exact_at(&mut byte, middle).unwrap();
    file.write_all_at(&[!byte[0]], middle).unwrap();

    let (status, printed) = run_on(&damaged, &["verify", "--json"]).await;
    assert_eq!(status, 1, "{printed}");
    let report = report_in(&printed);
    let unreadable = report["unreadable"].as_array().unwrap();
    assert!(!unreadable.is_empty() && unreadable.len() < 100, "a block of items: {report}");
    for item in unreadable {
        assert!(["users", "posts", "feed"].contains(&item["container"].as_str().unwrap()), "{item}");
    }
    let named = unreadable.iter().filter(|item| item["id"].is_string() && item["partitionKey"].is_string());
    assert!(named.clone().count() > 0, "{report}");
    for item in named {
        assert_eq!(item["files"][0], table.to_str().unwrap(), "{item}");
    }
    let items = |report: &Value| -> u64 {
        report["items"].as_array().unwrap().iter().map(|count| count["items"].as_u64().unwrap()).sum()
    };
    assert!(items(&report) > items(&whole) * 9 / 10 && items(&report) < items(&whole), "{report}");
    for command in ["verify", "rebuild"] {
        let (status, printed) = run_on(&damaged, &[command]).await;
        assert_eq!((status, printed.contains("next: onehop check")), (1, true), "{command}: {printed}");
        assert!(printed.contains(table.to_str().unwrap()), "{command}: {printed}");
    }
}

/// Turns over bytes in the middle of a file.
fn damage_middle(file: &Path) {
    use std::os::unix::fs::FileExt;

    let handle = std::fs::File::options().read(true).write(true).open(file).unwrap();
    let middle = handle.metadata().unwrap().len() / 2;
    let mut bytes = [0; 16];
    handle.read_exact_at(&mut bytes, middle).unwrap();
    handle.write_all_at(&bytes.map(|byte| !byte), middle).unwrap();
}

#[tokio::test]
async fn damaged_files_are_recovered_and_each_loss_is_named() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let damaged = copies.path().join("damaged");
    assert_eq!(run_on(data.path(), &["seed", "--users", "3"]).await.0, 0);
    move_into_tables(data.path()).await;
    assert_eq!(run_with(data.path(), "backup", &damaged).await.0, 0);
    damage_middle(&largest_table(&damaged));
    let indexes = std::fs::read_dir(damaged.join("engine/keyspaces/3/tables")).unwrap().next();
    std::fs::remove_file(indexes.unwrap().unwrap().path()).unwrap();
    let (status, printed) = run_on(&damaged, &["check"]).await;
    assert_eq!((status, printed.contains("onehop recover")), (1, true), "{printed}");

    let (status, printed) = run_on(&damaged, &["recover", "--json"]).await;
    let report = report_in(&printed);
    assert_eq!(report["problems"], json!([]), "{report}");
    assert!(report["damage"].to_string().contains("engine/keyspaces/3/tables"), "{report}");
    let lost = report["lostItems"].as_array().unwrap();
    assert!(lost.len() < 100, "a block of items: {report}");
    for item in lost {
        assert!(item["id"].is_string() && item["partitionKey"].is_string(), "{item}");
        assert!(["users", "posts", "accounts"].contains(&item["container"].as_str().unwrap()), "{item}");
    }
    assert!(lost.is_empty() || [1, 3].contains(&status), "items are lost: {status}");
    assert!(!lost.is_empty() || report["madeAgain"].as_u64().unwrap() > 0, "{report}");
    let listed = std::fs::read_to_string(damaged.join("lost-items.jsonl")).unwrap();
    assert_eq!(listed.lines().count(), lost.len());
    assert!(damaged.join("engine.damaged").is_dir(), "the damaged engine is kept");

    let drifts = report["verification"]["drifts"].as_array().unwrap();
    assert!(drifts.iter().all(|drift| drift.to_string().contains("owned")), "{drifts:?}");
    for (command, expected) in [(&["check"][..], 0), (&["verify", "--repair"], 0), (&["recover"], 0)] {
        let (status, printed) = run_on(&damaged, command).await;
        assert_eq!(status, expected, "{command:?}: {printed}");
    }
}
