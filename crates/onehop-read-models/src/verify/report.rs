//! Report of a verification: the numbers of comparisons, the drifts, and the unreadable items.

use onehop_store::{ContainerName, Fault, FaultKind};
use serde::{Deserialize, Serialize};

/// The problem with an item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Drift {
    /// A stored count is not the number of live items.
    #[serde(rename_all = "camelCase")]
    Count {
        /// The container of the parent.
        container: String,
        /// Its partition key.
        partition_key: String,
        /// Its id.
        id: String,
        /// The field of the count, or of its text.
        field: String,
        /// The stored number; `None` when it is no number, or not its text.
        stored: Option<u64>,
        /// The number of live items.
        counted: u64,
    },
    /// A copied field has another value than its source.
    #[serde(rename_all = "camelCase")]
    Copy {
        /// The rule.
        rule: String,
        /// The container of the target.
        container: String,
        /// Its partition key.
        partition_key: String,
        /// Its id.
        id: String,
        /// The field of the copy.
        field: String,
        /// The stored value, as JSON.
        stored: String,
        /// The value of the source, as JSON; `None` when there is no such source.
        current: Option<String>,
    },
    /// An entry of a list is missing, differs from its item, or does not belong there.
    #[serde(rename_all = "camelCase")]
    Entry {
        /// The rule.
        rule: String,
        /// The container of the list.
        container: String,
        /// The partition key of the entry.
        partition_key: String,
        /// The id of the entry and of its item.
        id: String,
        /// The problem.
        problem: String,
    },
    /// An owned item whose owner is not there.
    #[serde(rename_all = "camelCase")]
    Owned {
        /// The rule.
        rule: String,
        /// The container.
        container: String,
        /// The partition key.
        partition_key: String,
        /// The id of the owned item.
        id: String,
    },
    /// An invariant of the domain does not hold.
    #[serde(rename_all = "camelCase")]
    Invariant {
        /// The name of the invariant.
        invariant: String,
        /// The id of the item.
        id: String,
        /// The problem.
        problem: String,
    },
}

/// The number of live items of a type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemCount {
    /// The container.
    pub container: String,
    /// The value of `type`.
    #[serde(rename = "type")]
    pub item_type: String,
    /// The number of items.
    pub items: u64,
}

/// The comparisons and their findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationReport {
    /// The live items, by container and type.
    pub items: Vec<ItemCount>,
    /// The drifts.
    pub drifts: Vec<Drift>,
    /// The unreadable items; everything else was compared.
    #[serde(default)]
    pub unreadable: Vec<Unreadable>,
    /// The number of repaired drifts; unrepaired drifts stay in `drifts`.
    pub repaired: u64,
}

impl VerificationReport {
    /// Whether nothing was wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.drifts.is_empty() && self.unreadable.is_empty()
    }

    /// The number of live items of a type in a container.
    #[must_use]
    pub fn items_of(&self, container: ContainerName, item_type: &str) -> u64 {
        let is_asked =
            |count: &&ItemCount| count.container == container.as_str() && count.item_type == item_type;
        self.items.iter().find(is_asked).map_or(0, |count| count.items)
    }

    /// Adds the report of another domain.
    pub fn append(&mut self, other: Self) {
        self.items.extend(other.items);
        self.drifts.extend(other.drifts);
        self.unreadable.extend(other.unreadable);
        self.repaired += other.repaired;
    }

    /// Records an unreadable item, once. Any other fault ends the verification.
    pub(super) fn record_unreadable(&mut self, container: ContainerName, fault: Fault) -> Result<(), Fault> {
        if fault.kind != FaultKind::Corrupt {
            return Err(fault);
        }
        let unreadable = Unreadable::of(container, &fault);
        if !self.unreadable.contains(&unreadable) {
            self.unreadable.push(unreadable);
        }
        Ok(())
    }
}

/// An unreadable item, as far as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unreadable {
    /// The container.
    pub container: String,
    /// The partition key, if it is known.
    pub partition_key: Option<String>,
    /// The id, if it is known.
    pub id: Option<String>,
    /// The files that may be damaged.
    pub files: Vec<String>,
    /// The problem.
    pub problem: String,
}

impl Unreadable {
    fn of(container: ContainerName, fault: &Fault) -> Self {
        let damage = fault.damage().cloned().unwrap_or_default();
        let (container, key) = match damage.item {
            Some((container, partition_key, id)) => (container, Some((partition_key, id))),
            None => (container, None),
        };
        let (partition_key, id) = key.unzip();
        let files = damage.files.iter().map(|file| file.display().to_string()).collect();
        let problem = fault.to_string();
        Self { container: container.as_str().to_owned(), partition_key, id, files, problem }
    }
}
