//! Read models of a served model: each rule in words, the projections that keep it, and the predicted request
//! charge of each kind of change.

use std::collections::BTreeSet;

use async_graphql::{Enum, SimpleObject};
use onehop_read_models::cost::PredictedCost;
use onehop_read_models::{CopyMode, CopyRule, CopyTarget, ListPartition, ListRule, Rule};

use super::partitions::hundredths;
use super::scalars::Count;

/// A rule about stored items, from which projections follow.
#[derive(Debug, Clone, PartialEq, SimpleObject)]
#[graphql(name = "ReadModel")]
pub struct ReadModelRule {
    /// Its kind.
    kind: ReadModelKind,
    /// The rule in words.
    summary: String,
    /// The container of the items that it follows from.
    source: String,
    /// The container that is written.
    target: String,
    /// The projections that keep it, as `projections` names them; none where commands keep it, or where
    /// copies stay as they were written.
    projections: Vec<String>,
}

/// The kind of a read model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum ReadModelKind {
    /// A field that is copied along a reference.
    Copy,
    /// Short entries of items in another container.
    List,
    /// A stored number of items.
    Count,
    /// Items that are deleted with their owner.
    Owns,
}

/// The predicted request charge of one kind of change, on the present data.
#[derive(Debug, Clone, PartialEq, SimpleObject)]
pub struct PredictedCharge {
    /// The projection that is charged; for a count its field, for the change feed its container.
    rule: String,
    /// The change, in words.
    change: String,
    /// The number of items, elements or projections that the change reaches.
    fan_out: Count,
    /// The operations, in words.
    operations: String,
    /// Their request charge, estimated.
    request_charge: f64,
}

impl ReadModelRule {
    pub(super) fn of(rule: &Rule) -> Self {
        match rule {
            Rule::Copy(copy) => Self::of_copy(copy),
            Rule::List(list) => Self {
                kind: ReadModelKind::List,
                summary: summary_of_list(list),
                source: list.source.container.to_string(),
                target: list.container.to_string(),
                projections: vec![list.name.to_owned()],
            },
            Rule::Count(count) => Self {
                kind: ReadModelKind::Count,
                summary: format!("{}.{} counts {}", count.parent.name, count.field, count.counted.name),
                source: count.counted.container.to_string(),
                target: count.parent.container.to_string(),
                projections: count.projection.iter().map(|name| (*name).to_owned()).collect(),
            },
            Rule::Owns(owns) => Self {
                kind: ReadModelKind::Owns,
                summary: {
                    let owned: Vec<&str> = owns.owned.iter().map(|owned| owned.item_type.name).collect();
                    format!("{} owns {}", owns.owner.name, owned.join(", "))
                },
                source: owns.owner.container.to_string(),
                target: owns.owner.container.to_string(),
                projections: vec![owns.name.to_owned()],
            },
        }
    }

    fn of_copy(copy: &CopyRule) -> Self {
        let targets: Vec<String> = copy.targets.iter().map(place_of_copy).collect();
        let containers: BTreeSet<&str> =
            copy.targets.iter().map(|target| target.item_type.container.as_str()).collect();
        let follows = copy.mode == CopyMode::Follows;
        let note = if follows { "" } else { ", and stays as it was written" };
        let mut projections: Vec<String> = Vec::new();
        if follows {
            let catch_ups = copy.targets.iter().map(|target| target.catch_up);
            for name in [copy.name].into_iter().chain(catch_ups).filter(|name| !name.is_empty()) {
                if !projections.iter().any(|known| known == name) {
                    projections.push(name.to_owned());
                }
            }
        }
        Self {
            kind: ReadModelKind::Copy,
            summary: format!("{}.{} is copied to {}{note}", copy.source.name, copy.field, targets.join(", ")),
            source: copy.source.container.to_string(),
            target: containers.into_iter().collect::<Vec<_>>().join(", "),
            projections,
        }
    }
}

fn place_of_copy(target: &CopyTarget) -> String {
    format!("{}.{}", target.item_type.name, target.field)
}

fn summary_of_list(list: &ListRule) -> String {
    let by = match list.partition {
        ListPartition::Field(field) | ListPartition::Element(field) => format!(" by {field}"),
        ListPartition::Constant(_) => String::new(),
    };
    let kept = match list.keep.items_max() {
        Some(items_max) => format!("the {} {items_max} items of {}", list.keep, list.source.name),
        None => format!("all items of {}", list.source.name),
    };
    let conditions = if list.conditions.is_empty() { "" } else { ", where its conditions hold" };
    let entries = match list.entry_type {
        name if name == list.source.name => String::new(),
        name => format!(", as {name}"),
    };
    format!("{kept}{by}{conditions}{entries}")
}

impl From<PredictedCost> for PredictedCharge {
    fn from(cost: PredictedCost) -> Self {
        Self {
            operations: cost.operations.to_string(),
            request_charge: hundredths(cost.operations.charge().0),
            rule: cost.rule,
            change: cost.change,
            fan_out: Count(cost.fan_out as u64),
        }
    }
}
