//! Outcomes of the mutations of the operations API.

use async_graphql::{Enum, Json, SimpleObject};
use onehop_change_feed::ReplayReport;
use onehop_read_models::verify::{Drift, ItemCount, Unreadable, VerificationReport};
use onehop_store::embedded::{BackupManifest, IntegrityReport};

use super::scalars::Count;
use crate::app::work::{DEMO_PASSWORD, Rebuilt, Seeded, WebstoreSeeded};
use crate::blog::study::dataset::Texts;

/// The result of a verification.
#[derive(SimpleObject)]
pub struct Verification {
    /// The live items that were compared, by container and type.
    items: Vec<VerifiedItems>,
    /// Each difference between a read model and the write side: its `kind`, and the items it concerns.
    drifts: Vec<Json<Drift>>,
    /// The unreadable items; everything else was verified.
    unreadable: Vec<UnreadableItem>,
    /// The number of repaired drifts.
    repaired: Count,
}

/// The number of compared items of a type.
#[derive(SimpleObject)]
pub struct VerifiedItems {
    /// The container.
    container: String,
    /// The type of the items, as it is stored.
    #[graphql(name = "type")]
    item_type: String,
    /// The number of operations.
    items: Count,
}

/// Something that could not be read.
#[derive(SimpleObject)]
pub struct UnreadableItem {
    /// The container.
    container: String,
    /// The logical partition, where it is known.
    partition_key: Option<String>,
    /// The item's id, where it is known.
    id: Option<String>,
    /// The files that may be damaged.
    files: Vec<String>,
    /// The problem.
    problem: String,
}

/// The result of a rebuild.
#[derive(SimpleObject)]
pub struct RebuildOutcome {
    /// Changes that were projected.
    changes: Count,
    /// Changes that are parked.
    parked: Count,
    /// The unreadable items, which are left out.
    unreadable: Vec<String>,
}

/// The result of a replay of dead letters.
#[derive(SimpleObject)]
pub struct ReplayOutcome {
    /// Changes that were projected.
    changes: Count,
    /// Logical partitions that are parked still.
    parked: Count,
}

/// A finished backup.
#[derive(SimpleObject)]
pub struct BackupOutcome {
    /// Items in it.
    items: Count,
    /// The number of the last write in it.
    last_write: Count,
    /// When it was begun, RFC 3339: every write that was acknowledged by then is in it.
    begun_at: String,
    /// Bytes of files that were copied.
    bytes_copied: Count,
    /// Bytes of files that were linked from the earlier backup.
    bytes_linked: Count,
}

/// The result of a check of the data directory.
#[derive(SimpleObject)]
pub struct CheckOutcome {
    /// Items that were looked at.
    items: Count,
    /// Entries of indexes and of the change log that were looked at.
    entries: Count,
    /// The problems, the first hundred. It names ids and keys, never the content of an item.
    problems: Vec<String>,
    /// Problems beyond these.
    unnamed: Count,
}

/// A data set that was written.
#[derive(SimpleObject)]
pub struct Seeding {
    /// Items that were written.
    items: Count,
    /// The duration with the read models, in seconds.
    seconds: f64,
    /// The usernames of the demo users.
    demo_users: Vec<String>,
    /// The published password of the demo users.
    demo_password: String,
}

/// A data set of the web store that was written.
#[derive(SimpleObject)]
pub struct WebstoreSeeding {
    /// Items that were written.
    items: Count,
    /// The duration with the read models, in seconds.
    seconds: f64,
}

impl From<WebstoreSeeded> for WebstoreSeeding {
    fn from(WebstoreSeeded { items, seconds }: WebstoreSeeded) -> Self {
        Self { items: Count(items), seconds }
    }
}

/// The length of the texts of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum SeedTexts {
    /// 200 to 600 characters for a post, some 130 for a comment.
    Short,
    /// 1,600 characters for a post and 500 for a comment in the mean, as the article's request charges imply.
    Long,
}

impl SeedTexts {
    /// The value's name in the schema.
    #[must_use]
    pub fn name(texts: Texts) -> &'static str {
        match texts {
            Texts::Short => "SHORT",
            Texts::Long => "LONG",
        }
    }
}

impl From<SeedTexts> for Texts {
    fn from(texts: SeedTexts) -> Self {
        match texts {
            SeedTexts::Short => Self::Short,
            SeedTexts::Long => Self::Long,
        }
    }
}

impl From<VerificationReport> for Verification {
    fn from(report: VerificationReport) -> Self {
        Self {
            items: report.items.into_iter().map(Into::into).collect(),
            drifts: report.drifts.into_iter().map(Json).collect(),
            unreadable: report.unreadable.into_iter().map(Into::into).collect(),
            repaired: Count(report.repaired),
        }
    }
}

impl From<ItemCount> for VerifiedItems {
    fn from(ItemCount { container, item_type, items }: ItemCount) -> Self {
        Self { container, item_type, items: Count(items) }
    }
}

impl From<Unreadable> for UnreadableItem {
    fn from(unreadable: Unreadable) -> Self {
        let Unreadable { container, partition_key, id, files, problem } = unreadable;
        Self { container, partition_key, id, files, problem }
    }
}

impl From<Rebuilt> for RebuildOutcome {
    fn from(rebuilt: Rebuilt) -> Self {
        let Rebuilt { changes, parked, unreadable } = rebuilt;
        Self { changes: Count(changes), parked: Count(parked), unreadable: unreadable.into_iter().collect() }
    }
}

impl From<ReplayReport> for ReplayOutcome {
    fn from(report: ReplayReport) -> Self {
        Self { changes: Count(report.items_replayed), parked: Count(report.partitions_parked) }
    }
}

impl From<BackupManifest> for BackupOutcome {
    fn from(note: BackupManifest) -> Self {
        let BackupManifest { items, last_write, begun_at, bytes_copied, bytes_linked, lineage: _ } = note;
        Self {
            items: Count(items),
            last_write: Count(last_write),
            begun_at,
            bytes_copied: Count(bytes_copied),
            bytes_linked: Count(bytes_linked),
        }
    }
}

impl From<IntegrityReport> for CheckOutcome {
    fn from(found: IntegrityReport) -> Self {
        let IntegrityReport { items, entries, problems, unnamed } = found;
        Self { items: Count(items), entries: Count(entries), problems, unnamed: Count(unnamed) }
    }
}

impl From<Seeded> for Seeding {
    fn from(seeded: Seeded) -> Self {
        Self {
            items: Count(seeded.items),
            seconds: seeded.seconds,
            demo_users: seeded.demo_users.into_iter().map(str::to_owned).collect(),
            demo_password: DEMO_PASSWORD.to_owned(),
        }
    }
}
