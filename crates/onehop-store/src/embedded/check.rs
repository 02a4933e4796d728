//! Offline check of a data directory that no process has open: opens a shadow of it and runs the integrity
//! check, without changing it.
//!
//! The engine changes its files when it opens them (it truncates the torn end of a journal, and flushes the
//! content of a journal). So it opens a shadow: a temporary directory with copies of the small files and the
//! journals, and links to the tables, which are immutable.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::catch_unwind;
use std::path::Path;

use super::database::EngineSizes;
use super::directory;
use super::durability::Durability;
use super::engine::Engine;
use super::high_water;
use super::integrity_check::{IntegrityCheck, IntegrityReport};
use super::layout::engine_path;
use super::open::{
    EmbeddedConfig, damaged, losses_within, read_containers, stored_containers, stored_counts,
    stored_partitions,
};
use super::open_error::OpenError;
use super::store::EmbeddedStore;
use super::stored_container::StoredContainer;
use crate::{ContainerSpec, Fault, FaultKind};

/// Where the engine keeps files that it writes once, and deletes.
const TABLES_DIRECTORY: &str = "tables";

impl EmbeddedStore {
    /// Looks at everything that the store holds, on one view while it is written to. `keep_going` receives
    /// how many items were looked at; `None` when it says to stop. Blocks for as long as it takes.
    ///
    /// # Errors
    /// The engine is closed.
    pub fn check(&self, keep_going: &mut dyn FnMut(u64) -> bool) -> Result<Option<IntegrityReport>, Fault> {
        let mut containers: Vec<_> =
            self.containers.iter().map(|container| (container.id, container.spec)).collect();
        let unreadable = || Fault::new(FaultKind::Internal, "the list of containers cannot be read");
        let stored = read_containers(&self.engine)?.ok_or_else(unreadable)?;
        // Those that are not declared any more keep their items.
        for (place, stored) in (0_u8..=u8::MAX).zip(&stored) {
            if !containers.iter().any(|(number, _)| *number == place) {
                containers.push((place, stored.spec(&[]).map_err(|_| unreadable())?));
            }
        }
        let view = self.engine.view()?;
        Ok(IntegrityCheck { view: &view, containers: &containers, partitions: self.partitions }
            .run(keep_going))
    }
}

/// Looks at everything that a data directory or a backup holds, and changes nothing in it. A reason that
/// keeps the store from opening, though it is not in use and of a known format, is a problem like others.
///
/// # Errors
/// It could not be found out: the directory is in use, of a newer format or made with other containers, or
/// there is no room for the shadow.
pub fn check_directory(
    config: &EmbeddedConfig,
    specs: &[ContainerSpec],
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<IntegrityReport>, OpenError> {
    let _lock = directory::lock_without_a_trace(&config.path)?;
    match examine(config, specs, keep_going) {
        Err(
            error @ (OpenError::Unfinished { .. }
            | OpenError::NotADataDirectory { .. }
            | OpenError::FormatMissing { .. }
            | OpenError::Damaged { .. }
            | OpenError::Engine { .. }),
        ) => {
            let mut found = IntegrityReport::default();
            found.note(error.to_string());
            Ok(Some(found))
        }
        outcome => outcome,
    }
}

fn examine(
    config: &EmbeddedConfig,
    specs: &[ContainerSpec],
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<IntegrityReport>, OpenError> {
    directory::check_without_a_trace(&config.path)?;
    let io = |source| OpenError::Io { path: config.path.clone(), source };
    let shadow = tempfile::tempdir().map_err(io)?;
    let path = engine_path(shadow.path());
    if !engine_path(&config.path).is_dir() {
        return Err(damaged(config, "the directory of the storage engine"));
    }
    let (mark, mut losses) = high_water::look(&config.path)?;
    cast_shadow(&engine_path(&config.path), &path).map_err(io)?;
    high_water::ensure_journal(&path).map_err(io)?;
    let sizes = EngineSizes { cache_bytes: config.cache_bytes, memtable_bytes: config.memtable_bytes };
    let opening = || Engine::open(&path, sizes, Durability::Relaxed);
    let engine = catch_unwind(opening)
        .unwrap_or_else(|_| Err(damaged(config, "the journal of the storage engine")))
        // The name of the shadow is meaningless to users.
        .map_err(|error| match error {
            OpenError::Engine { source, .. } => OpenError::Engine { path: engine_path(&config.path), source },
            other => other,
        })?;
    let counts = stored_counts(&engine, config)?;
    losses.extend(losses_within(&engine, mark.as_ref(), counts, config)?);
    let mut lost = IntegrityReport::default();
    losses.into_iter().for_each(|loss| lost.note(format!("lost: {loss}")));
    let Some(partitions) = stored_partitions(&engine, config)? else {
        // Nothing was ever written, or the settings of the directory's creation are lost.
        return Ok(Some(lost));
    };
    let stored = stored_containers(&engine, config)?;
    let spec = |(place, container): (usize, &StoredContainer)| {
        let spec = container.spec(specs).map_err(|_| damaged(config, "the list of containers"))?;
        let number = u8::try_from(place).map_err(|_| damaged(config, "the list of containers"))?;
        Ok((number, spec))
    };
    let containers: Vec<_> = stored.iter().enumerate().map(spec).collect::<Result<_, OpenError>>()?;
    let view = engine.view().map_err(|fault| io(std::io::Error::other(fault.to_string())))?;
    let found = IntegrityCheck { view: &view, containers: &containers, partitions }.run(keep_going);
    let (shadow, real) = (path.display().to_string(), engine_path(&config.path).display().to_string());
    // The engine names the files of the shadow.
    Ok(found.map(|found| found.renamed(&shadow, &real).behind(lost)))
}

/// Copies the files that the engine changes, and links the others.
fn cast_shadow(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    let are_tables = from.ends_with(TABLES_DIRECTORY);
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            cast_shadow(&entry.path(), &target)?;
        } else if are_tables {
            symlink(entry.path().canonicalize()?, target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::key_space::{KeyChange, KeySpace};
    use super::super::keys;
    use super::*;
    use crate::{ContainerName, Ledger, NewItem, Store, WriteOp};
    use onehop_runtime::clock::ManualClock;

    const SPEC: ContainerSpec = ContainerSpec {
        name: ContainerName("things"),
        partition_key: "home",
        order_by: Some("date"),
        orders: &[],
        ttl_s: None,
        equality: &["owner"],
        newest_types: &["thing"],
        soft_deletes: true,
    };

    /// The problems of a store with two items after these changes behind its back.
    async fn problems_after(changes: impl FnOnce(&EmbeddedStore) -> Vec<KeyChange>) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config = EmbeddedConfig::new(directory.path());
        let config = EmbeddedConfig { disk_reserve_bytes: 0, ..config };
        let store =
            EmbeddedStore::open_with(&config, &[SPEC], Arc::new(ManualClock::new(0))).expect("it opens");
        for id in ["a", "b"] {
            let body = json!({"id": id, "home": "h", "type": "thing", "date": "2027", "owner": "ada"});
            let create = WriteOp::Create(NewItem::encode(id, &body));
            store.write(SPEC.name, &"h".into(), create, &Ledger::new()).await.expect("created");
        }
        store.engine.commit(changes(&store)).expect("committed");
        store.check(&mut |_| true).expect("open").expect("not stopped").problems
    }

    /// The first entry of a key space.
    fn first(store: &EmbeddedStore, space: KeySpace) -> (Vec<u8>, Vec<u8>) {
        let view = store.engine.view().expect("open");
        let entry = view.range(space, &[], keys::BEHIND_ALL).next().expect("an entry");
        let (key, value) = entry.pair().expect("read");
        (key.to_vec(), value.to_vec())
    }

    #[tokio::test]
    async fn an_entry_that_is_missing_is_found() {
        for (space, said) in [
            (KeySpace::Items, "the item is not there"),
            (KeySpace::Log, "no change log entry"),
            (KeySpace::Index, "an index entry is missing"),
            (KeySpace::Ids, "entries, and 1 belong to the items"),
        ] {
            let problems = problems_after(|store| vec![(space, first(store, space).0, None)]).await;
            assert!(problems.iter().any(|problem| problem.contains(said)), "{said}: {problems:?}");
        }
    }

    #[tokio::test]
    async fn an_entry_too_many_is_found() {
        for (space, said) in [
            (KeySpace::Items, "items: 3 entries, and 2 belong"),
            (KeySpace::Log, "the change log: 3 entries, and 2 belong"),
            (KeySpace::Index, "the indexes: 5 entries, and 4 belong"),
            (KeySpace::Ids, "the item is not there"),
        ] {
            let problems = problems_after(|store| {
                let (mut key, value) = first(store, space);
                key.push(b'x');
                vec![(space, key, Some(value))]
            })
            .await;
            assert!(problems.iter().any(|problem| problem.contains(said)), "{said}: {problems:?}");
        }
    }

    #[tokio::test]
    async fn an_item_that_is_not_what_its_entries_say_is_found() {
        let with_body = |body: serde_json::Value| {
            move |store: &EmbeddedStore| {
                let (key, value) = first(store, KeySpace::Items);
                let body = serde_json::to_vec(&body).expect("JSON");
                vec![(KeySpace::Items, key, Some([&value[..24], &body[..]].concat()))]
            }
        };
        let thing = |id: &str, owner: &str| json!({"id": id, "home": "h", "type": "thing", "date": "2027", "owner": owner});
        for (body, said) in [
            (thing("c", "ada"), "another id or partition key"),
            (thing("a", "bob"), "made of other properties"),
            (json!("hidden"), "not the JSON of an item"),
        ] {
            let problems = problems_after(with_body(body)).await;
            assert!(problems.iter().any(|problem| problem.contains(said)), "{said}: {problems:?}");
            assert!(!problems.iter().any(|problem| problem.contains("hidden")), "{problems:?}");
        }
        let problems = problems_after(|store| {
            let (key, mut value) = first(store, KeySpace::Items);
            value[7] = 77;
            vec![(KeySpace::Items, key, Some(value))]
        })
        .await;
        assert!(problems.iter().any(|problem| problem.contains("of another write")), "{problems:?}");
        assert_eq!(problems_after(|_| Vec::new()).await, [] as [String; 0]);
    }
}
