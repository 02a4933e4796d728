//! Recovery of directories with damaged files: nothing readable is lost, and every loss is named.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::tests::{SPEC, config, contents, copy, move_into_tables, open};
use crate::embedded::journal_files::{data_end, journals};
use crate::embedded::open_error::OpenError;
use crate::embedded::store::EmbeddedStore;
use crate::embedded::{ItemFate, LostItem, Recovery, check_directory, read_lost_items, recover};
use crate::{ContainerSpec, Direction, FeedRequest, Ledger, NewItem, Query, Store, WriteOp};

/// Writes of the store that is damaged.
const WRITES: u64 = 1_500;
/// Ids of its items, in a few logical partitions.
const IDS: u64 = 300;
const CASES: u64 = 40;
/// The cases until items were lost in both ways. The layout of the tables depends on the engine's workers.
const CASES_MAX: u64 = 400;

/// The states of an item, oldest first: its body as text, or `None` where it was deleted.
type History = BTreeMap<(String, String), Vec<Option<String>>>;

struct Origin {
    directory: tempfile::TempDir,
    history: History,
}

fn below(random: &mut ChaCha8Rng, limit: u64) -> u64 {
    random.next_u64() % limit
}

/// A closed directory with many tables, made once.
async fn origin() -> &'static Origin {
    static ORIGIN: OnceCell<Origin> = OnceCell::const_new();
    ORIGIN
        .get_or_init(|| async {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let store = open(directory.path());
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let mut history = History::new();
            for write in 0..WRITES {
                let number = below(&mut random, IDS);
                let (home, id) = (format!("h{}", number % 5), format!("a{number}"));
                let states: &mut Vec<Option<String>> = history.entry((home.clone(), id.clone())).or_default();
                let is_there = states.last().is_some_and(Option::is_some);
                if is_there && below(&mut random, 4) == 0 {
                    let delete = WriteOp::Delete { id, if_match: None };
                    store
                        .write(SPEC.name, &home.as_str().into(), delete, &Ledger::new())
                        .await
                        .expect("deleted");
                    states.push(None);
                    continue;
                }
                // A third of the writes moves the item in the order of its list.
                let date = if below(&mut random, 3) == 0 { write } else { number };
                let noise: String = (0..60).map(|place| format!("{:x}", number * place % 65_521)).collect();
                let body = json!({
                    "id": id, "home": home, "type": "thing", "date": format!("{date:06}"),
                    "owner": format!("o{}", number % 9), "write": write, "noise": noise,
                });
                let item = NewItem::encode(&id, &body);
                states.push(Some(String::from_utf8(item.body.to_vec()).expect("JSON")));
                let upsert = WriteOp::Upsert(item);
                store.write(SPEC.name, &home.as_str().into(), upsert, &Ledger::new()).await.expect("written");
            }
            drop(store);
            move_into_tables(directory.path());
            // Some writes are in the journal alone, as on every server.
            let store = open(directory.path());
            for number in 0..20 {
                let (home, id) = (format!("h{}", number % 5), format!("a{number}"));
                let body = json!({"id": id, "home": home, "type": "thing", "date": "999999", "owner": "o", "last": number});
                let item = NewItem::encode(&id, &body);
                let state = String::from_utf8(item.body.to_vec()).expect("JSON");
                history.entry((home.clone(), id)).or_default().push(Some(state));
                let upsert = WriteOp::Upsert(item);
                store.write(SPEC.name, &home.as_str().into(), upsert, &Ledger::new()).await.expect("written");
            }
            drop(store);
            Origin { directory, history }
        })
        .await
}

/// The files below a directory, with their lengths.
fn files(directory: &Path) -> Vec<(PathBuf, u64)> {
    let of = |(name, bytes): (PathBuf, Vec<u8>)| (directory.join(name), bytes.len() as u64);
    contents(directory).into_iter().map(of).collect()
}

fn tables(data: &Path) -> Vec<PathBuf> {
    let is_table = |file: &PathBuf| file.parent().is_some_and(|parent| parent.ends_with("tables"));
    files(&data.join("engine/keyspaces")).into_iter().map(|(file, _)| file).filter(is_table).collect()
}

fn overwrite(file: &Path, offset: u64, bytes: &[u8]) {
    let handle = fs::File::options().write(true).open(file).expect("a file");
    handle.write_all_at(bytes, offset).expect("written");
}

/// The bodies of all items that can be read, by partition key and id.
async fn items_of(store: &EmbeddedStore) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for home in 0..5 {
        let home = format!("h{home}");
        let partition_key = home.as_str().into();
        let query = Query::Partition {
            container: SPEC.name,
            partition_key: &partition_key,
            item_type: "thing",
            order_by: None,
            direction: Direction::OldestFirst,
            after: None,
            limit: 1000,
        };
        let page = store.query(&query, &Ledger::new()).await.expect("a page");
        assert!(!page.has_more);
        for item in page.items.iter() {
            let body: Value = item.decode().expect("JSON");
            let id = body["id"].as_str().expect("an id").to_owned();
            found.insert((home.clone(), id), String::from_utf8(item.body.to_vec()).expect("JSON"));
        }
    }
    found
}

/// Whether the change feed names the same items.
async fn feed_of(store: &EmbeddedStore) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for range in store.feed_ranges(SPEC.name).await.expect("ranges") {
        let request =
            FeedRequest { container: SPEC.name, range: &range, continuation: None, limit: 1000, types: None };
        let page = store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
        assert!(page.drained);
        found.extend(page.changes.iter().map(|change| (change.partition_key.to_string(), change.id.clone())));
    }
    found
}

/// Compares a recovered directory with the history of its items. Returns the recovery.
async fn assert_nothing_readable_is_lost(data: &Path, history: &History, context: &str) -> Recovery {
    let before = contents(&data.join("engine"));
    let recovery = recover(&config(data), &[SPEC], &mut |_| {}).expect("recovered");
    if let Some(kept) = &recovery.kept {
        for (name, bytes) in before {
            assert!(
                fs::read(kept.join(&name)).expect("kept") == bytes,
                "{context}: {} differs",
                name.display()
            );
        }
        assert_eq!(read_lost_items(data).expect("read").as_ref(), Some(&recovery.lost_items), "{context}");
    }
    let report = check_directory(&config(data), &[SPEC], &mut |_| true);
    let report = report.expect("found out").expect("not stopped");
    assert_eq!(report.problems, [] as [String; 0], "{context}");
    let store = open(data);
    let found = items_of(&store).await;
    assert_eq!(feed_of(&store).await, found.keys().cloned().collect(), "{context}");
    let lost: BTreeMap<(String, String), &LostItem> = recovery
        .lost_items
        .iter()
        .map(|item| ((item.partition_key.clone(), item.id.clone()), item))
        .collect();
    // An item without any readable entry cannot be named: see ADR 145.
    let is_each_space_damaged = (1..=4).all(|space| {
        let tables = format!("keyspaces/{space}/");
        recovery.damage.iter().any(|problem| problem.contains(&tables))
    });
    for (name, states) in history {
        let (newest, stored) = (states.last().and_then(Option::as_ref), found.get(name));
        let fate = lost.get(name).map(|item| item.fate);
        let was_once = stored.is_some_and(|body| states.contains(&Some(body.clone())));
        let is_right = match fate {
            None => stored == newest || (stored.is_none() && is_each_space_damaged),
            Some(ItemFate::Lost) => stored.is_none() && newest.is_some(),
            Some(ItemFate::PerhapsLost) => stored.is_none(),
            Some(ItemFate::EarlierVersion) => was_once && newest.is_some() && stored != newest,
            Some(ItemFate::Unconfirmed) => was_once,
        };
        assert!(
            is_right,
            "{context}: {name:?} {fate:?}\nstored {stored:?}\nnewest {newest:?}\n{:?}",
            recovery.damage
        );
    }
    assert!(found.keys().all(|name| history.contains_key(name)), "{context}");
    recovery
}

fn copy_of(origin: &Origin) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    copy(origin.directory.path(), directory.path());
    directory
}

#[tokio::test]
async fn random_damage_loses_nothing_readable_and_names_the_rest() {
    let origin = origin().await;
    let (mut with_losses, mut fates) = (0, BTreeSet::new());
    let is_covered = |with_losses: u64, fates: &BTreeSet<ItemFate>| {
        with_losses > CASES / 20
            && [ItemFate::Lost, ItemFate::EarlierVersion].iter().all(|fate| fates.contains(fate))
    };
    for seed in 0..CASES_MAX {
        if seed >= CASES && is_covered(with_losses, &fates) {
            break;
        }
        let directory = copy_of(origin);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut context = format!("case {seed}:");
        for _ in 0..=below(&mut random, 4) {
            let tables = tables(directory.path());
            let table = &tables[usize::try_from(below(&mut random, tables.len() as u64)).expect("few")];
            let length = table.metadata().expect("a file").len();
            let kind = below(&mut random, 8);
            context.push_str(&format!(
                " {kind} in {}",
                table.strip_prefix(directory.path()).expect("below").display()
            ));
            match kind {
                0 => fs::remove_file(table).expect("removed"),
                1 => {
                    let file = fs::File::options().write(true).open(table).expect("a file");
                    file.set_len(below(&mut random, length)).expect("cut");
                }
                // The indexes and the metadata are at the end.
                2 => overwrite(table, length - 1 - below(&mut random, length.min(1500)), &[0x5a]),
                3 => overwrite(table, 0, &[0x5a; 40]),
                _ => {
                    let bytes = vec![0x5a; usize::try_from(1 + below(&mut random, 5000)).expect("few")];
                    let offset = below(&mut random, length);
                    let bytes = &bytes[..bytes.len().min(usize::try_from(length - offset).expect("few"))];
                    overwrite(table, offset, bytes);
                }
            }
        }
        let recovery = assert_nothing_readable_is_lost(directory.path(), &origin.history, &context).await;
        with_losses += u64::from(!recovery.lost_items.is_empty());
        fates.extend(recovery.lost_items.iter().map(|item| item.fate));
    }
    assert!(is_covered(with_losses, &fates), "{with_losses} cases with lost items: {fates:?}");
}

/// A table of a key space, by the number of its directory.
fn first_table(data: &Path, space: u64) -> PathBuf {
    let directory = data.join(format!("engine/keyspaces/{space}/tables"));
    let largest = files(&directory).into_iter().max_by_key(|(_, length)| *length);
    largest.expect("a table").0
}

#[tokio::test]
async fn damaged_entries_are_made_again_without_a_loss() {
    let origin = origin().await;
    // Ids, indexes and the change log.
    for space in [1, 3, 4] {
        let directory = copy_of(origin);
        fs::remove_file(first_table(directory.path(), space)).expect("removed");
        let context = format!("without a table of {space}");
        let recovery = assert_nothing_readable_is_lost(directory.path(), &origin.history, &context).await;
        assert_eq!(recovery.lost_items, [], "{context}");
        assert!(recovery.damage[0].contains("is missing"), "{:?}", recovery.damage);
    }
}

#[tokio::test]
async fn damage_beside_the_items_loses_none() {
    let origin = origin().await;
    let paths: [(&str, Option<u64>); 5] = [
        ("engine/version", None),
        ("engine/keyspaces/1/current", None),
        ("engine/keyspaces/0/current", None),
        ("the filter and the index of a table", Some(1200)),
        ("the table of contents of a table", Some(20)),
    ];
    for (name, from_end) in paths {
        let directory = copy_of(origin);
        match from_end {
            None => fs::write(directory.path().join(name), b"x").expect("written"),
            Some(from_end) => {
                let table = first_table(directory.path(), 2);
                let length = table.metadata().expect("a file").len();
                overwrite(&table, length - from_end, &[0x5a; 8]);
            }
        }
        let recovery = assert_nothing_readable_is_lost(directory.path(), &origin.history, name).await;
        assert_eq!(recovery.lost_items, [], "{name}");
        assert!(recovery.kept.is_some(), "{name}: {recovery:?}");
    }
}

#[tokio::test]
async fn batches_behind_a_damaged_one_of_a_journal_are_kept() {
    let origin = origin().await;
    let (_, journal) =
        journals(&origin.directory.path().join("engine")).expect("journals").pop_last().expect("one");
    let name = journal.strip_prefix(origin.directory.path()).expect("below");
    let end = data_end(&journal).expect("read");
    for place in [end / 3, end / 2] {
        let directory = copy_of(origin);
        overwrite(&directory.path().join(name), place, &[0x5a; 8]);
        let recovery = recover(&config(directory.path()), &[SPEC], &mut |_| {}).expect("recovered");
        assert!(recovery.damage.iter().any(|what| what.contains("unreadable places")), "{recovery:?}");
        let store = open(directory.path());
        let found = items_of(&store).await;
        let newest = |(name, states): (&(String, String), &Vec<Option<String>>)| {
            (found.get(name) != states.last().and_then(Option::as_ref)).then(|| name.clone())
        };
        let older: Vec<_> = origin.history.iter().filter_map(newest).collect();
        assert!(older.len() <= 1, "one batch of one write is lost: {older:?}");
    }
}

#[tokio::test]
async fn a_recovery_with_another_declaration_is_refused() {
    let origin = origin().await;
    let directory = copy_of(origin);
    fs::remove_file(first_table(directory.path(), 2)).expect("removed");
    let before = files(&directory.path().join("engine"));
    let other = ContainerSpec { equality: &[], ..SPEC };
    let refused = recover(&config(directory.path()), &[other], &mut |_| {}).expect_err("refused");
    assert!(
        matches!(&refused, OpenError::UnknownContainer { container, .. } if container == "things"),
        "{refused}"
    );
    assert_eq!(files(&directory.path().join("engine")), before, "the damaged engine stays as it was");
    assert!(recover(&config(directory.path()), &[SPEC], &mut |_| {}).expect("recovered").kept.is_some());
}
