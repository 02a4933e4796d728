//! A copy of the data directory, taken while the server is running.

use std::fs;
use std::path::Path;

use crate::crash::killed::{Crew, start};
use crate::crash::program::{Server, assert_clean};
use crate::crash::writer::Enough;

const WRITERS: usize = 3;
const COPIES: u32 = 3;
const SEED: u64 = 3;

/// A write is acknowledged when it is in the files: a copy of them, taken at that moment from a process that
/// stands still, holds it. This shows that nothing acknowledged was in the memory of the process alone. It
/// does not show that the files were brought to the disk: the copy reads the system's cache of them, and only
/// a loss of power would show the difference.
#[tokio::test(flavor = "multi_thread")]
async fn copied_files_of_a_server_hold_all_acknowledged_writes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let mut crew = Crew::default();
    let (mut server, mut api) = start(&data);
    for _ in 0..WRITERS {
        crew.hire(&api, SEED).await;
    }
    for number in 0..COPIES {
        let enough = Enough::after(30);
        let writing = crew.write(&api, &enough);
        enough.reached().await;
        let copy = directory.path().join(format!("copy {number}"));
        copy_standing_still(&server, &data, &copy);
        // The writers have had no answer since the copy: all acknowledged writes are in it.
        server.kill();
        crew.gather(writing).await;

        assert_clean(&copy);
        (server, api) = start(&copy);
        crew.look_after_restart(&api, &copy).await;
        crew.check_everything(&api).await;
        server.kill();
        fs::remove_dir_all(&data).expect("the old directory goes");
        fs::rename(&copy, &data).expect("the copy takes its place");
        (server, api) = start(&data);
    }
}

/// Copies the files while no thread of the server runs, and leaves it stopped.
fn copy_standing_still(server: &Server, data: &Path, copy: &Path) {
    server.signal("STOP");
    while !stands_still(server) {
        std::thread::yield_now();
    }
    copy_directory(data, copy);
}

fn stands_still(server: &Server) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.process_id())).expect("its threads");
    tasks
        .map(|task| task.expect("a thread").path().join("status"))
        .all(|status| fs::read_to_string(status).is_ok_and(|status| status.contains("State:\tT")))
}

/// Regular files and directories: a socket is nothing to copy.
fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (kind, target) = (entry.file_type().expect("a type"), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_directory(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
