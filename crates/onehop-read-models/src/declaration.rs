//! Declaration: the checked rules of a domain.

use onehop_store::{ContainerName, ContainerSpec};

use crate::field_path::FieldPath;
use crate::rule::{CopyMode, CopyRule, CountRule, ListRule, OwnsRule, Rule};
use crate::target_copy::TargetCopy;

/// The read models of a domain: rules that were checked against each other and against the containers.
#[derive(Debug, Clone, Copy)]
pub struct ReadModels {
    pub(crate) containers: &'static [ContainerSpec],
    pub(crate) rules: &'static [Rule],
}

impl ReadModels {
    /// The rules, in the order of the declaration.
    #[must_use]
    pub fn rules(&self) -> &'static [Rule] {
        self.rules
    }

    /// The containers.
    #[must_use]
    pub fn containers(&self) -> &'static [ContainerSpec] {
        self.containers
    }

    pub(crate) fn copies(&self) -> impl Iterator<Item = &'static CopyRule> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::Copy(copy) => Some(copy),
            _ => None,
        })
    }

    /// The copies that follow their sources.
    pub(crate) fn following(&self) -> impl Iterator<Item = &'static CopyRule> {
        self.copies().filter(|rule| rule.mode == CopyMode::Follows)
    }

    pub(crate) fn lists(&self) -> impl Iterator<Item = &'static ListRule> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::List(list) => Some(list),
            _ => None,
        })
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = &'static CountRule> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::Count(count) => Some(count),
            _ => None,
        })
    }

    pub(crate) fn owners(&self) -> impl Iterator<Item = &'static OwnsRule> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::Owns(owns) => Some(owns),
            _ => None,
        })
    }

    pub(crate) fn container(&self, name: ContainerName) -> Option<&'static ContainerSpec> {
        self.containers.iter().find(|spec| spec.name == name)
    }

    /// The property that orders the items of a container.
    pub(crate) fn order_by(&self, name: ContainerName) -> Option<&'static str> {
        self.container(name)?.order_by
    }

    /// Each copy that follows, once for each of its targets.
    pub(crate) fn target_copies(&self) -> impl Iterator<Item = TargetCopy> {
        self.following().flat_map(|rule| {
            rule.targets.iter().map(|target| TargetCopy {
                rule: *rule,
                item_type: target.item_type,
                path: FieldPath::parse(target.field),
                by: FieldPath::parse(rule.by),
            })
        })
    }
}
