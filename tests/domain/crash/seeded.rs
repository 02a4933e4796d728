//! A seeding that is killed and run again ends with the whole data set, each item once.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use onehop::blog::containers;
use onehop::blog::study::dataset::{DEFAULT_END_MS, DEFAULT_RNG_SEED, Dataset};
use onehop_read_models::verify::VerificationReport;

use crate::crash::program::onehop;

const USERS: u32 = 40;
/// Less than the data set takes, and enough that posts are being written.
const KILLED_AT_BYTES: u64 = 2 * 1024 * 1024;
/// The unit in which file systems count the blocks of files: see stat(2).
const BLOCK_BYTES: u64 = 512;

#[test]
fn a_seeding_that_was_killed_is_finished_by_the_same_command() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path();
    let users = USERS.to_string();
    for killed_at_bytes in [KILLED_AT_BYTES, 2 * KILLED_AT_BYTES] {
        let mut seeding = onehop(data, "seed")
            .args(["--users", &users, "--texts", "long"])
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        while bytes_of(data) < killed_at_bytes && seeding.try_wait().expect("its state").is_none() {
            std::thread::yield_now();
        }
        seeding.kill().expect("SIGKILL");
        let ended = seeding.wait().expect("its end");
        assert_eq!(ended.signal(), Some(9), "it was killed before it was done");
    }
    let finished = onehop(data, "seed").args(["--users", &users, "--texts", "long"]).status();
    assert!(finished.expect("a process").success());

    let output = onehop(data, "verify").arg("--json").output().expect("a process");
    let report: VerificationReport = serde_json::from_slice(&output.stdout).expect("a report");
    let totals = Dataset::new(USERS, DEFAULT_RNG_SEED, DEFAULT_END_MS).totals();
    let items = |container, item_type| report.items_of(container, item_type);
    assert_eq!(
        [
            items(containers::USERS, "user"),
            items(containers::POSTS, "post"),
            items(containers::POSTS, "comment"),
            items(containers::POSTS, "like")
        ],
        [totals.users, totals.posts, totals.comments, totals.likes]
    );
    assert_eq!(report.drifts, []);
}

/// Bytes that all files below a directory take on the disk, without reserved space; files that go away
/// meanwhile count nothing.
fn bytes_of(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_of(&entry.path()),
        Ok(metadata) => metadata.blocks() * BLOCK_BYTES,
        Err(_) => 0,
    });
    sizes.sum()
}
