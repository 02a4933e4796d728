//! A disk that is full: writes are refused, reads go on, and when there is room again writes go on, too.

use std::fs;
use std::sync::LazyLock;

use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{FaultKind, Ledger, NewItem, Store, WriteError, WriteOp};
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::json;

use crate::embedded::harness::{THINGS, config, open_with};
use onehop_testing::small_disk::SmallDisk;

const MIB: u64 = 1024 * 1024;
const DISK_MIB: u64 = 64;
/// Items that fill the disk several times over.
const ITEMS_MAX: u64 = 4_000;
const ITEM_BYTES: usize = 32 * 1024;
/// Texts that differ.
const TEXTS: usize = 32;

/// Writes that were acknowledged, and writes whose outcome is unknown.
#[derive(Default)]
struct Written {
    next: u64,
    acknowledged: Vec<u64>,
    unknown: Vec<u64>,
}

/// A text that no compression makes much smaller: neighbours have different parts of a long one.
fn noise(number: u64) -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let mut bytes = vec![0; ITEM_BYTES * TEXTS / 2];
        rand_chacha::ChaCha8Rng::seed_from_u64(1).fill_bytes(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    });
    let place = usize::try_from(number).expect("few") % TEXTS * ITEM_BYTES;
    &TEXT[place..place + ITEM_BYTES]
}

fn large(number: u64) -> NewItem {
    let id = format!("a{number}");
    let body = json!({
        "id": id, "home": "h1", "type": "thing", "date": format!("{number:06}"), "owner": "ada",
        "noise": noise(number),
    });
    NewItem::encode(id, &body)
}

impl Written {
    /// Writes one more item.
    async fn write(&mut self, store: &EmbeddedStore) -> Result<(), FaultKind> {
        let number = self.next;
        self.next += 1;
        match store.write(THINGS, &"h1".into(), WriteOp::Create(large(number)), &Ledger::new()).await {
            Ok(_) => {
                self.acknowledged.push(number);
                Ok(())
            }
            Err(WriteError::Fault(fault)) => {
                if fault.kind == FaultKind::Ambiguous {
                    self.unknown.push(number);
                } else {
                    assert_eq!(fault.kind, FaultKind::Full, "{fault}");
                    assert!(fault.retry_after.is_some(), "{fault}");
                }
                Err(fault.kind)
            }
            Err(refused) => panic!("{refused}"),
        }
    }

    /// Writes until a write fails.
    async fn fill(&mut self, store: &EmbeddedStore) {
        for _ in 0..ITEMS_MAX {
            if self.write(store).await.is_err() {
                return;
            }
        }
        panic!("the disk was never full");
    }

    /// Every acknowledged item is there and whole, and nothing else is, except writes whose outcome is
    /// unknown.
    async fn assert_all_there(&self, store: &EmbeddedStore) {
        for number in 0..self.next {
            let id = format!("a{number}");
            let found = store.read(THINGS, &"h1".into(), &id, &Ledger::new()).await.expect("reads go on");
            match found {
                Some(item) => {
                    assert!(item.body == large(number).body, "item {number} has another body");
                    assert!(
                        self.acknowledged.contains(&number) || self.unknown.contains(&number),
                        "{number}"
                    );
                }
                None => assert!(!self.acknowledged.contains(&number), "item {number} was lost"),
            }
        }
        let count = store.count(THINGS, &"h1".into(), "thing", &Ledger::new()).await.expect("reads go on");
        let (least, most) = (self.acknowledged.len(), self.acknowledged.len() + self.unknown.len());
        assert!((least..=most).contains(&usize::try_from(count).expect("few")), "{count}: {least} to {most}");
    }
}

/// Small memtables, so that the engine writes tables and compacts all the time.
fn small(disk: &SmallDisk, reserve_bytes: u64) -> EmbeddedConfig {
    EmbeddedConfig {
        durability: Durability::Sync,
        memtable_bytes: MIB,
        disk_reserve_bytes: reserve_bytes,
        ..config(&disk.path().join("data"))
    }
}

#[tokio::test]
async fn writes_are_refused_below_the_disk_reserve() {
    let Some(disk) = SmallDisk::mount(DISK_MIB) else { return };
    let config = small(&disk, 16 * MIB);
    let store = open_with(&config).expect("the store opens");
    let mut written = Written::default();
    written.write(&store).await.expect("written");
    let ballast = disk.leave_free(40 * MIB);
    written.fill(&store).await;
    assert_eq!(written.unknown, [] as [u64; 0], "the engine never met the full disk");
    assert!(disk.free_bytes() > 8 * MIB, "the reserve was kept: {}", disk.free_bytes());
    assert_eq!(store.ready().await.expect_err("not ready").kind, FaultKind::Full);
    written.assert_all_there(&store).await;

    fs::remove_file(ballast).expect("removed");
    store.ready().await.expect("ready again");
    for _ in 0..8 {
        written.write(&store).await.expect("there is room again");
    }
    written.assert_all_there(&store).await;
    drop(store);
    written.assert_all_there(&open_with(&config).expect("the store opens")).await;
}

#[tokio::test]
async fn the_engine_recovers_from_a_full_disk() {
    for left_mib in [8, 17, 26] {
        let Some(disk) = SmallDisk::mount(DISK_MIB) else { return };
        let config = small(&disk, 0);
        let store = open_with(&config).expect("the store opens");
        let mut written = Written::default();
        written.write(&store).await.expect("written");
        let ballast = disk.leave_free(left_mib * MIB);
        written.fill(&store).await;
        // Another file takes the rest, so that nothing can be mended.
        let rest = disk.path().join("rest");
        let _ = fs::write(&rest, vec![1; 64 * MIB as usize]);
        for _ in 0..4 {
            written.write(&store).await.expect_err("the disk is full");
            written.assert_all_there(&store).await;
        }
        assert_eq!(store.ready().await.expect_err("not ready").kind, FaultKind::Full);

        fs::remove_file(ballast).expect("removed");
        fs::remove_file(rest).expect("removed");
        store.ready().await.expect("ready again");
        for _ in 0..8 {
            written.write(&store).await.expect("there is room again");
        }
        written.assert_all_there(&store).await;
        drop(store);
        written.assert_all_there(&open_with(&config).expect("the store opens")).await;
    }
}
