//! Declaration: the checked rules of a domain.

use std::sync::Arc;

use onehop_store::{ContainerName, ContainerSpec};

use crate::field_path::FieldPath;
use crate::item_type::ItemType;
use crate::rule::{CopyMode, CopyRule, CountRule, ListRule, OwnsRule, Rule};
use crate::target_copy::TargetCopy;

/// The read models of a domain: rules that were checked against each other and against the containers.
#[derive(Debug, Clone)]
pub struct ReadModels {
    containers: Arc<[ContainerSpec]>,
    rules: Arc<[Rule]>,
    /// Each copy that follows, once for each of its targets.
    target_copies: Arc<[TargetCopy]>,
}

impl ReadModels {
    /// Rules that are not checked yet.
    pub(crate) fn unchecked(containers: &[ContainerSpec], rules: Vec<Rule>) -> Self {
        Self { containers: containers.into(), target_copies: target_copies(&rules), rules: rules.into() }
    }

    /// The rules, in the order of the declaration.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The containers.
    #[must_use]
    pub fn containers(&self) -> &[ContainerSpec] {
        &self.containers
    }

    /// A type of item that rules name, by the value of its field `type`.
    #[must_use]
    pub fn item_type(&self, name: &str) -> Option<&ItemType> {
        self.rules.iter().flat_map(Rule::item_types).find(|item_type| item_type.name == name)
    }

    pub(crate) fn copies(&self) -> impl Iterator<Item = &Arc<CopyRule>> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::Copy(copy) => Some(copy),
            _ => None,
        })
    }

    /// The copies that follow their sources.
    pub(crate) fn following(&self) -> impl Iterator<Item = &Arc<CopyRule>> {
        self.copies().filter(|rule| rule.mode == CopyMode::Follows)
    }

    pub(crate) fn lists(&self) -> impl Iterator<Item = &Arc<ListRule>> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::List(list) => Some(list),
            _ => None,
        })
    }

    pub(crate) fn counts(&self) -> impl Iterator<Item = &Arc<CountRule>> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::Count(count) => Some(count),
            _ => None,
        })
    }

    pub(crate) fn owners(&self) -> impl Iterator<Item = &Arc<OwnsRule>> {
        self.rules.iter().filter_map(|rule| match rule {
            Rule::Owns(owns) => Some(owns),
            _ => None,
        })
    }

    pub(crate) fn container(&self, name: ContainerName) -> Option<&ContainerSpec> {
        self.containers.iter().find(|spec| spec.name == name)
    }

    /// The property by which queries order the items of a type in a container.
    pub(crate) fn order_by(&self, name: ContainerName, item_type: &str) -> Option<&'static str> {
        self.container(name)?.order_of(item_type)
    }

    /// The property by which queries order the entries of a list.
    pub(crate) fn order_of(&self, rule: &ListRule) -> Option<&'static str> {
        rule.order_by.or_else(|| self.order_by(rule.container, rule.entry_type))
    }

    /// Each copy that follows, once for each of its targets.
    pub(crate) fn target_copies(&self) -> impl Iterator<Item = &TargetCopy> {
        self.target_copies.iter()
    }
}

fn target_copies(rules: &[Rule]) -> Arc<[TargetCopy]> {
    let following = rules.iter().filter_map(|rule| match rule {
        Rule::Copy(copy) if copy.mode == CopyMode::Follows => Some(copy),
        _ => None,
    });
    following
        .flat_map(|rule| {
            rule.targets.iter().map(|target| TargetCopy {
                rule: Arc::clone(rule),
                item_type: target.item_type.clone(),
                path: FieldPath::parse(target.field),
                by: FieldPath::parse(target.by),
                key_fields: target.source_key,
                is_optional: target.is_optional,
                through: target.through,
                catch_up: target.catch_up,
            })
        })
        .collect()
}
