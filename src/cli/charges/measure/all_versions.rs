//! Measurement of the change feed of all versions and deletes, where the account keeps it.

use serde_json::json;

use super::bodies::{Shape, home, item};
use super::case::{Cases, MeasuredCase};
use super::containers::{EVERY_PATH, GROUP};
use onehop_store::cosmos::CosmosStore;
use onehop_store::{Fault, Ledger, NewItem, Store, WriteOp};

/// Changes that are written: a create, a replace, a delete.
const CHANGES: usize = 3;
/// Pages that are read for them, for each physical partition.
const PAGES_MAX: u32 = 4;
const BYTES: usize = 1_024;

/// The result of the change feed of all versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AllVersions {
    /// The number of the three changes that it had.
    Read { changes: usize },
    /// Why it cannot be read: the account does not keep all versions, or its emulation does not.
    Refused(String),
}

/// Writes three changes of one item, and reads them.
pub(super) async fn measure(store: &CosmosStore, cases: &mut Cases) -> anyhow::Result<AllVersions> {
    let ledger = Ledger::new();
    let mut feed = match store.all_versions(EVERY_PATH, &ledger).await {
        Ok(feed) => feed,
        Err(fault) => return Ok(AllVersions::Refused(fault.to_string())),
    };
    if let Err(fault) = feed.next_page(&ledger).await {
        cases.pay(&ledger);
        return Ok(AllVersions::Refused(fault.to_string()));
    }
    add(cases, "idle", 0, &ledger);
    write_changes(store, cases).await?;
    let (mut changes, pages_max) = (0, PAGES_MAX * store.physical_partitions(EVERY_PATH).max(1));
    for number in 0..pages_max {
        let ledger = Ledger::new();
        let found: Result<usize, Fault> = feed.next_page(&ledger).await;
        let found = match found {
            Ok(found) => found,
            Err(fault) => {
                cases.pay(&ledger);
                return Ok(AllVersions::Refused(fault.to_string()));
            }
        };
        add(cases, &format!("page-{number}"), found, &ledger);
        changes += found;
        if changes >= CHANGES {
            break;
        }
    }
    Ok(AllVersions::Read { changes })
}

fn add(cases: &mut Cases, name: &str, changes: usize, ledger: &Ledger) {
    let case = MeasuredCase {
        id: format!("all-versions/{name}"),
        operation: "changeFeed",
        item_bytes: (changes > 0).then_some(BYTES as f64),
        results: u32::try_from(changes).ok(),
        note: Some("all versions and deletes"),
        ..MeasuredCase::default()
    };
    cases.add(EVERY_PATH, ledger, case);
}

async fn write_changes(store: &CosmosStore, cases: &mut Cases) -> anyhow::Result<()> {
    let ledger = Ledger::new();
    let mut body = item("item-of-many-versions", Shape::Flat, BYTES);
    let id = "item-of-many-versions".to_owned();
    let create = WriteOp::Create(NewItem::encode(id.clone(), &body));
    store.write(EVERY_PATH, &home(), create, &ledger).await?;
    body[GROUP] = json!("two");
    let replace = WriteOp::Replace { item: NewItem::encode(id.clone(), &body), if_match: None };
    store.write(EVERY_PATH, &home(), replace, &ledger).await?;
    store.write(EVERY_PATH, &home(), WriteOp::Delete { id, if_match: None }, &ledger).await?;
    cases.pay(&ledger);
    Ok(())
}
