//! Trials: single operations of plans with the items that they need, so that an account can measure them.

use onehop_store::charges::{Calibration, QueryWork, ReadConsistency};
use onehop_store::{ContainerName, OperationKind};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::operation::PlannedScope;
use crate::data::key_text;
use crate::designs::DesignData;

/// Items of a trial at most. A larger page, or a larger COUNT, runs on this number of items.
pub(super) const TRIAL_ITEMS_MAX: usize = 100;

/// One operation of a plan, as an account runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The container.
    pub container: ContainerName,
    /// The kind.
    pub kind: OperationKind,
    /// The purpose, as the plan has it.
    pub about: String,
    /// The partitions that it asks.
    pub scope: PlannedScope,
    /// The operation.
    pub action: TrialAction,
}

/// The operation of a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialAction {
    /// A point read of an item.
    Read(TrialItem),
    /// A page of a query.
    Query(TrialQuery),
    /// A COUNT.
    Count(TrialQuery),
    /// A write, or a transactional batch of several in one logical partition.
    Write {
        /// The writes in their order.
        writes: Vec<TrialWrite>,
        /// RU by the charge model.
        estimated: f64,
    },
    /// The changes of the container, with this item among them.
    ChangeFeed(TrialItem),
}

/// An item with its id and the values of its partition key.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialItem {
    /// The id.
    pub id: String,
    /// The values of the partition key, one to three.
    pub key: Vec<Value>,
    /// The stored JSON.
    pub stored: Value,
}

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialWrite {
    /// The item is not there before.
    Create(TrialItem),
    /// The item has another body before.
    Replace {
        /// The item before.
        before: TrialItem,
        /// The item after.
        after: TrialItem,
    },
    /// The item is there before.
    Delete(TrialItem),
}

/// A query with some of the items that it finds.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialQuery {
    /// The items.
    pub items: Vec<TrialItem>,
    /// The values of the partition key: all of one logical partition, the first of a prefix, none of all
    /// partitions.
    pub key: Vec<Value>,
    /// SQL with parameters.
    pub text: String,
    /// The parameters by their names, such as `@p0`.
    pub parameters: Vec<(String, Value)>,
    /// Conditions that an index serves.
    pub conditions: u32,
}

/// The answer of an account to a trial.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TrialAnswer {
    /// RU.
    pub request_charge: f64,
    /// Items that it returned, or counted.
    pub items: usize,
    /// Their bytes, without system properties.
    pub bytes: usize,
    /// Physical partitions that were asked.
    pub physical_partitions: u32,
}

impl Trial {
    /// RU by the charge model, for this number of items.
    #[must_use]
    pub fn estimate(
        &self,
        calibration: &Calibration,
        consistency: ReadConsistency,
        answer: &TrialAnswer,
    ) -> f64 {
        let TrialAnswer { items, bytes, physical_partitions, .. } = *answer;
        match &self.action {
            TrialAction::Read(item) => calibration.point_read(item.bytes(), consistency).total().0,
            TrialAction::Query(query) => {
                let conditions = query.conditions;
                let work =
                    QueryWork { physical_partitions, conditions, items, bytes, ..QueryWork::default() };
                calibration.query(&work, consistency).total().0
            }
            TrialAction::Count(_) => {
                calibration.count(physical_partitions, items as u64, consistency).total().0
            }
            TrialAction::Write { estimated, .. } => *estimated,
            TrialAction::ChangeFeed(_) => {
                calibration.change_feed(items, bytes, ReadConsistency::Quorum).total().0
            }
        }
    }

    /// The items that are there before the operation.
    #[must_use]
    pub fn items_before(&self) -> Vec<&TrialItem> {
        match &self.action {
            TrialAction::Read(item) | TrialAction::ChangeFeed(item) => vec![item],
            TrialAction::Query(query) | TrialAction::Count(query) => query.items.iter().collect(),
            TrialAction::Write { writes, .. } => writes.iter().filter_map(TrialWrite::before).collect(),
        }
    }

    /// Whether both are the same operation of a plan.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        (self.container, self.kind, self.scope, &self.about)
            == (other.container, other.kind, other.scope, &other.about)
    }

    /// The number of its items.
    #[must_use]
    pub fn size(&self) -> usize {
        match &self.action {
            TrialAction::Query(query) | TrialAction::Count(query) => query.items.len(),
            TrialAction::Write { writes, .. } => writes.len(),
            TrialAction::Read(_) | TrialAction::ChangeFeed(_) => 1,
        }
    }
}

impl TrialWrite {
    /// The item that is there before; `None` before a create.
    #[must_use]
    pub fn before(&self) -> Option<&TrialItem> {
        match self {
            Self::Create(_) => None,
            Self::Replace { before, .. } => Some(before),
            Self::Delete(item) => Some(item),
        }
    }

    /// The item after a create or a replace, or before a delete.
    #[must_use]
    pub fn item(&self) -> &TrialItem {
        match self {
            Self::Create(item) | Self::Delete(item) | Self::Replace { after: item, .. } => item,
        }
    }
}

impl TrialItem {
    /// An item of a container; `None` without an id, or without a value of the key.
    pub(super) fn of(data: &DesignData<'_>, container: &str, mut stored: Value) -> Option<Self> {
        // The service takes texts alone, and none of these characters.
        let id = key_text(stored.get("id")?)?.replace(['/', '\\', '?', '#'], "-");
        stored["id"] = json!(id);
        let declared = data.design.model.containers().iter().find(|declared| *declared.name == *container);
        let value = |properties: &[String]| {
            let value = properties.iter().try_fold(&stored, |value, property| value.get(property));
            value.filter(|value| value.is_string() || value.is_number() || value.is_boolean()).cloned()
        };
        let key: Option<Vec<Value>> = match declared {
            Some(declared) => declared.key.iter().map(|path| value(path.properties())).collect(),
            None => Some(vec![json!(id)]),
        };
        Some(Self { id, key: key?, stored })
    }

    /// Bytes of its JSON.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.stored.to_string().len()
    }
}

/// The trials of the plans that are derived with it.
#[derive(Debug, Default)]
pub struct TrialLog(Mutex<Vec<Trial>>);

impl TrialLog {
    /// Adds a trial; of two of one kind and purpose, the one with more items stays.
    pub(super) fn add(&self, trial: Trial) {
        let mut trials = self.0.lock();
        match trials.iter_mut().find(|known| known.is_like(&trial)) {
            Some(known) if known.size() >= trial.size() => {}
            Some(known) => *known = trial,
            None => trials.push(trial),
        }
    }

    /// The trials.
    pub(crate) fn into_trials(self) -> Vec<Trial> {
        self.0.into_inner()
    }
}
