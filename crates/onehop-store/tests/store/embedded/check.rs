//! Whether a data directory is sound, found out without changing it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onehop_runtime::clock::ManualClock;
use onehop_store::embedded::{EmbeddedStore, IntegrityReport, OpenError, check_directory};
use onehop_store::{ContainerName, ContainerSpec};

use crate::embedded::damage::{copy, damage, files, largest_of_each_kind, store_with_tables};
use crate::embedded::harness::{SPEC, config, create_batch, open};

fn check(path: &Path) -> Result<IntegrityReport, OpenError> {
    let found = check_directory(&config(path), &[SPEC], &mut |_| true)?;
    Ok(found.expect("it was not stopped"))
}

/// Every file with its bytes.
fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files(path, "").into_iter().map(|(file, _)| (file.clone(), fs::read(file).expect("a file"))).collect()
}

#[tokio::test]
async fn a_sound_directory_is_found_sound_and_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(directory.path());
    for batch in 0..20 {
        create_batch(&store, "h1", batch, 4).await.expect("written");
    }
    let found = store.check(&mut |_| true).expect("open").expect("not stopped");
    // The change log, the index on owners, the newest things.
    assert_eq!((found.items, found.entries, &found.problems[..]), (80, 240, &[][..]));
    assert!(matches!(check(directory.path()), Err(OpenError::InUse { .. })));
    drop(store);
    let before = contents(directory.path());
    assert_eq!(check(directory.path()).expect("found out"), found);
    assert_eq!(contents(directory.path()), before);
}

#[tokio::test]
async fn damage_in_a_file_of_the_engine_is_found_and_never_a_panic() {
    let origin = tempfile::tempdir().expect("a temporary directory");
    let bodies = store_with_tables(origin.path()).await;
    let whole = check(origin.path()).expect("found out");
    assert_eq!((whole.items, whole.is_sound()), (bodies.len() as u64, true), "{:?}", whole.problems);
    let (mut by_reading, mut by_opening, mut by_name) = (0, 0, 0);
    for file in largest_of_each_kind(&origin.path().join("engine")) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        copy(origin.path(), directory.path());
        damage(
            &directory.path().join(file.strip_prefix(origin.path()).expect("inside")),
            &[0, 3, 6, 9, 12, 15],
        );
        let found = check(directory.path()).expect("found out");
        let named = found.problems.iter().filter(|problem| problem.contains("/tables/"));
        for problem in named {
            // And not the copy that was examined.
            assert!(problem.contains(&*directory.path().to_string_lossy()), "{problem}");
            by_name += 1;
        }
        if found.is_sound() {
            // The engine does without this file, and lost nothing.
            assert_eq!(found.items, whole.items, "{}", file.display());
        } else if found.items == 0 {
            by_opening += 1;
        } else {
            by_reading += 1;
        }
    }
    assert!(by_reading > 0, "no damage was noticed by reading");
    assert!(by_opening > 0, "no damage kept the engine from opening");
    assert!(by_name > 0, "no problem names its file");
}

#[test]
fn what_is_no_finished_data_directory_is_not_sound() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let found = check(directory.path()).expect("found out");
    assert!(found.problems[0].contains("not a data directory"), "{:?}", found.problems);
    drop(open(directory.path()));
    assert!(check(directory.path()).expect("found out").is_sound(), "an empty one is");
    fs::write(directory.path().join("unfinished"), "").expect("written");
    let found = check(directory.path()).expect("found out");
    assert!(found.problems[0].contains("unfinished backup"), "{:?}", found.problems);
    fs::remove_file(directory.path().join("unfinished")).expect("removed");
    fs::remove_dir_all(directory.path().join("engine")).expect("removed");
    assert!(!check(directory.path()).expect("found out").is_sound());
    fs::write(directory.path().join("format"), "1000").expect("written");
    assert!(matches!(check(directory.path()), Err(OpenError::NewerFormat { .. })));
}

#[tokio::test]
async fn a_container_of_an_earlier_model_is_checked_as_it_was_made() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    create_batch(&open(directory.path()), "h1", 1, 4).await.expect("written");
    let found = check_directory(&config(directory.path()), &[], &mut |_| true).expect("found out");
    let found = found.expect("not stopped");
    assert!(found.is_sound() && found.items == 4, "{found:?}");
    let other = ContainerSpec { name: ContainerName("another"), ..SPEC };
    let clock = Arc::new(ManualClock::new(0));
    let store = EmbeddedStore::open_with(&config(directory.path()), &[other], clock).expect("open");
    let found = store.check(&mut |_| true).expect("open").expect("not stopped");
    assert!(found.is_sound() && found.items == 4, "{found:?}");
    drop(store);
    let clock = Arc::new(ManualClock::new(0));
    drop(
        EmbeddedStore::open_with(&config(directory.path()), &[SPEC], clock)
            .expect("it is open to who knows it"),
    );
}
