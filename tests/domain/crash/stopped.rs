//! SIGTERM under load.

use crate::crash::killed::{Crew, start};
use crate::crash::program::assert_clean;
use crate::crash::writer::Enough;

const WRITERS: usize = 4;
const SEED: u64 = 7;

/// The status says that the stop kept its deadline: a server whose deadline passed ends with an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_under_load_loses_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path();
    let mut crew = Crew::default();
    let (server, api) = start(data);
    for _ in 0..WRITERS {
        crew.hire(&api, SEED).await;
    }
    let enough = Enough::after(60);
    let writing = crew.write(&api, &enough);
    enough.reached().await;
    let status = server.stop();
    assert!(status.success(), "{status}");
    crew.gather(writing).await;

    assert_clean(data);
    let (server, api) = start(data);
    crew.look_after_restart(&api, data).await;
    crew.check_everything(&api).await;
    assert!(server.stop().success());
}
