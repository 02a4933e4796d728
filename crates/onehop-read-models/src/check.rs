//! Check of a declaration: every mistake, when the process starts.

use std::collections::{BTreeMap, BTreeSet};

use onehop_store::{ContainerName, ContainerSpec, root_of_property};
use thiserror::Error;

use crate::body::field_of_element;
use crate::declaration::ReadModels;
use crate::field_path::FieldPath;
use crate::item_type::{ID, ItemPartition, ItemType, TYPE};
use crate::rule::{
    CopyMode, CopyRule, CopyTarget, CountRule, Keep, ListPartition, ListRule, OwnedType, OwnsRule, Rule,
};

/// An error in a declaration. Each names the rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeclarationError {
    /// Two rules have the same name.
    #[error("{0}: there are two rules with this name")]
    NameTwice(&'static str),
    /// A rule names a container that is not declared.
    #[error("{rule}: there is no container `{container}`")]
    UnknownContainer {
        /// The rule.
        rule: String,
        /// The container.
        container: ContainerName,
    },
    /// A rule names a field that its type of item does not have.
    #[error("{rule}: items of type `{item_type}` have no field `{field}`")]
    UnknownField {
        /// The rule.
        rule: String,
        /// The type of item.
        item_type: &'static str,
        /// The field.
        field: &'static str,
    },
    /// Two rules write the same field.
    #[error("{rule}: another rule writes the field `{field}` of items of type `{item_type}`")]
    FieldTwice {
        /// The second rule.
        rule: String,
        /// The type of item.
        item_type: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A change of a source would come back to it.
    #[error("{rule}: its changes lead back to the container `{container}`")]
    Cycle {
        /// The rule.
        rule: String,
        /// The container.
        container: ContainerName,
    },
    /// A list keeps the newest items of something that has no order.
    #[error("{rule}: the newest are kept, but {reason}")]
    NoOrder {
        /// The rule.
        rule: String,
        /// Why there is no order.
        reason: &'static str,
    },
    /// The targets of a copy cannot be found from its source.
    #[error("{rule}: no query finds the items of `{container}` by `{field}`")]
    NotIndexed {
        /// The rule.
        rule: String,
        /// The container of the targets.
        container: ContainerName,
        /// The foreign key.
        field: &'static str,
    },
    /// The rule has a form that is not supported.
    #[error("{rule}: {reason}")]
    Unsupported {
        /// The rule.
        rule: String,
        /// The unsupported feature.
        reason: &'static str,
    },
}

impl ReadModels {
    /// Checks rules over these containers.
    ///
    /// # Errors
    /// Every mistake: unknown fields, cycles, a list without an order, two rules that write the same field.
    pub fn new(containers: &[ContainerSpec], rules: Vec<Rule>) -> Result<Self, Vec<DeclarationError>> {
        let declared = Self::unchecked(containers, rules);
        let errors = check(&declared);
        if errors.is_empty() { Ok(declared) } else { Err(errors) }
    }
}

/// All mistakes of a declaration.
fn check(declared: &ReadModels) -> Vec<DeclarationError> {
    let mut check = Check { declared, errors: Vec::new(), written: BTreeSet::new(), names: BTreeSet::new() };
    for rule in declared.rules() {
        check.name(rule);
        match rule {
            Rule::Copy(copy) => check.copy(copy),
            Rule::List(list) => check.list(list),
            Rule::Count(count) => check.count(count),
            Rule::Owns(owns) => check.owns(owns),
        }
    }
    check.cycles();
    check.errors
}

struct Check<'a> {
    declared: &'a ReadModels,
    errors: Vec<DeclarationError>,
    /// The fields that rules write: container, type, field.
    written: BTreeSet<(ContainerName, &'static str, &'static str)>,
    names: BTreeSet<&'static str>,
}

impl<'a> Check<'a> {
    fn name(&mut self, rule: &Rule) {
        if let Some(name) = rule.name()
            && !self.names.insert(name)
        {
            self.errors.push(DeclarationError::NameTwice(name));
        }
    }

    fn container(&mut self, rule: &str, name: ContainerName) -> Option<&'a ContainerSpec> {
        let found = self.declared.container(name);
        if found.is_none() {
            self.errors.push(DeclarationError::UnknownContainer { rule: rule.to_owned(), container: name });
        }
        found
    }

    fn field(&mut self, rule: &str, item_type: &ItemType, field: &'static str) {
        if !item_type.has_field(field) {
            let (rule, item_type) = (rule.to_owned(), item_type.name);
            self.errors.push(DeclarationError::UnknownField { rule, item_type, field });
        }
    }

    fn item_type(&mut self, rule: &str, item_type: &ItemType) {
        self.container(rule, item_type.container);
        for field in item_type.partition.fields() {
            self.field(rule, item_type, field);
        }
    }

    fn writes(&mut self, rule: &str, container: ContainerName, item_type: &ItemType, field: &'static str) {
        if !self.written.insert((container, item_type.name, field)) {
            let (rule, item_type) = (rule.to_owned(), item_type.name);
            self.errors.push(DeclarationError::FieldTwice { rule, item_type, field });
        }
    }

    fn writes_entry(&mut self, rule: &ListRule, field: &'static str) {
        if !self.written.insert((rule.container, rule.entry_type, field)) {
            let (rule, item_type) = (rule.name.to_owned(), rule.entry_type);
            self.errors.push(DeclarationError::FieldTwice { rule, item_type, field });
        }
    }

    fn unsupported(&mut self, rule: &str, reason: &'static str) {
        self.errors.push(DeclarationError::Unsupported { rule: rule.to_owned(), reason });
    }

    fn copy(&mut self, rule: &CopyRule) {
        let name = rule.name;
        self.item_type(name, &rule.source);
        self.field(name, &rule.source, rule.field);
        let follows = rule.mode == CopyMode::Follows;
        for target in &rule.targets {
            let is_found =
                matches!(rule.source.partition, ItemPartition::Field(_)) == target.source_key.is_some();
            if follows && !is_found {
                self.unsupported(
                    name,
                    "the target has the id of the source, and its partition key where that is a field",
                );
            }
            let key = target.source_key.into_iter().flat_map(|fields| fields.split('/'));
            // The fields of elements are named by their arrays.
            let key = key.filter(|field| field_of_element(field).is_none());
            key.for_each(|field| self.field(name, &target.item_type, field));
            self.item_type(name, &target.item_type);
            self.field(name, &target.item_type, target.field);
            if follows || !target.by.is_empty() {
                self.field(name, &target.item_type, target.by);
            }
            self.writes(name, target.item_type.container, &target.item_type, target.field);
            let (path, by) = (FieldPath::parse(target.field), FieldPath::parse(target.by));
            if path.array() != by.array() && !target.by.is_empty() {
                self.unsupported(name, "the copy and the foreign key are in the same element");
            }
            if follows {
                self.catch_up(rule, target);
                self.targets_are_found(rule, target, by);
            }
        }
    }

    /// Each container of targets has one catch-up, whose name is no other projection's.
    fn catch_up(&mut self, rule: &CopyRule, target: &CopyTarget) {
        let mut others = self.declared.target_copies();
        let is_same = others.all(|other| {
            (other.item_type.container == target.item_type.container) == (other.catch_up == target.catch_up)
        });
        let is_taken = self.declared.rules().iter().any(|other| other.name() == Some(target.catch_up));
        if !is_same || is_taken || target.catch_up.is_empty() {
            self.unsupported(rule.name, "each container of targets has one catch-up of its own name");
        }
    }

    /// A query finds the targets of a source, or a list has them.
    fn targets_are_found(&mut self, rule: &CopyRule, target: &CopyTarget, by: FieldPath) {
        let list = self.declared.lists().find(|list| Some(list.name) == target.through);
        let CopyTarget { item_type: target, by: key, .. } = target;
        let is_found = match (by, list) {
            (FieldPath::Element { .. }, Some(list)) => {
                list.partition == ListPartition::Element(key) && list.source == *target
            }
            (FieldPath::Element { .. }, None) | (FieldPath::Elements(_), _) => false,
            (FieldPath::Field(field), _) => {
                let is_indexed = |spec: &ContainerSpec| spec.equality.contains(&field);
                target.partition == ItemPartition::Field(field)
                    || self.declared.container(target.container).is_some_and(is_indexed)
            }
        };
        if !is_found {
            let (rule, container, field) = (rule.name.to_owned(), target.container, *key);
            self.errors.push(DeclarationError::NotIndexed { rule, container, field });
        }
    }

    fn list(&mut self, rule: &ListRule) {
        let name = rule.name;
        self.item_type(name, &rule.source);
        let spec = self.container(name, rule.container);
        if rule.container == rule.source.container {
            let (rule, container) = (name.to_owned(), rule.container);
            self.errors.push(DeclarationError::Cycle { rule, container });
        }
        for field in rule.fields.iter().chain(&rule.optional) {
            self.field(name, &rule.source, field);
            self.writes_entry(rule, field);
        }
        for computed in &rule.computed {
            self.field(name, &rule.source, computed.from);
            self.writes_entry(rule, computed.field);
        }
        // Entries by elements are deleted for good.
        if (rule.element.is_none() || rule.is_counted) && spec.is_some_and(|spec| !spec.soft_deletes) {
            self.unsupported(
                name,
                "its entries are soft-deleted with their items, and its container refuses that",
            );
        }
        for condition in &rule.conditions {
            self.field(name, &rule.source, root_of_property(condition.field));
        }
        if rule.keep != Keep::All && !rule.conditions.is_empty() {
            self.unsupported(name, "a bounded list has no conditions");
        }
        let finds_entries = spec.is_some_and(|spec| spec.equality.contains(&ID));
        if rule.is_reconciled() && rule.element.is_none() && !finds_entries {
            self.unsupported(
                name,
                "entries that move or have conditions are found by `id`, an equality path of their container",
            );
        }
        let key_field = spec.map(|spec| spec.partition_key);
        match (rule.partition, rule.keep) {
            (ListPartition::Field(field), Keep::All) => {
                rule.partition.fields().for_each(|field| self.field(name, &rule.source, field));
                let is_stored = rule.key_field.is_some()
                    || rule.partition.fields().all(|field| rule.fields.contains(&field));
                if key_field != Some(rule.key_field.unwrap_or(field)) || !is_stored {
                    self.unsupported(
                        name,
                        "its entries have the partition key of their container as a field",
                    );
                }
            }
            (ListPartition::Element(path), Keep::All) => {
                self.field(name, &rule.source, path);
                let is_named = |spec: &ContainerSpec| {
                    rule.element.is_some_and(|element| {
                        element.partition_key == spec.partition_key && spec.equality.contains(&element.id)
                    })
                };
                if !spec.is_some_and(is_named) {
                    self.unsupported(
                        name,
                        "entries by elements have the partition key of their container and an indexed field with the item's id",
                    );
                }
            }
            (ListPartition::Constant(key), keep) => {
                let is_type = key_field == Some(TYPE) && key == rule.entry_type;
                let is_field = |field: &str| field == TYPE || rule.fields.contains(&field);
                let is_named = key_field.is_some_and(|fields| fields.split('/').all(is_field));
                if !is_type && !is_named && (rule.key_field.is_none() || rule.key_field != key_field) {
                    self.unsupported(
                        name,
                        "a list in one partition has the type of its entries as partition key, or a constant",
                    );
                }
                if keep == Keep::All {
                    return;
                }
                if rule.source.partition != ItemPartition::Id {
                    self.unsupported(name, "the items of a bounded list have their id as partition key");
                }
                self.order(rule);
            }
            _ => self
                .unsupported(name, "a list has all items of a field's value, or the newest of one partition"),
        }
    }

    /// The newest are known where one property orders the list and its source, and the source can be asked
    /// for them.
    fn order(&mut self, rule: &ListRule) {
        let source = self.declared.container(rule.source.container);
        let of_source = |spec: &ContainerSpec| {
            let order = rule.order_by.or_else(|| spec.order_of(rule.source.name));
            order.filter(|order| spec.order_index(rule.source.name, Some(order)).is_ok())
        };
        let orders = (self.declared.order_of(rule), source.and_then(of_source));
        let reason = match orders {
            (Some(list), Some(source)) if list == source && rule.fields.contains(&list) => {
                let newest = |spec: &ContainerSpec| spec.newest_types.contains(&rule.source.name);
                if self.declared.container(rule.source.container).is_some_and(newest) {
                    return;
                }
                "the container of its items is not asked for the newest of this type"
            }
            _ => "the list and its items are not ordered by the same field of an entry",
        };
        self.errors.push(DeclarationError::NoOrder { rule: rule.name.to_owned(), reason });
    }

    fn count(&mut self, rule: &CountRule) {
        let name = format!("count of `{}`", rule.counted.name);
        self.item_type(&name, &rule.counted);
        self.item_type(&name, &rule.parent);
        rule.leading_fields().for_each(|field| self.field(&name, &rule.counted, field));
        for field in [Some(rule.field), rule.text.map(|text| text.field)].into_iter().flatten() {
            self.field(&name, &rule.parent, field);
            self.writes(&name, rule.parent.container, &rule.parent, field);
        }
        if !rule.is_key_known() {
            self.unsupported(
                &name,
                "the partition key of counted items follows from the id and the partition key of their parent",
            );
        }
        if rule.counted.container != rule.parent.container && rule.projection.is_none() {
            self.unsupported(&name, "items that commands count are in the container of their parent");
        }
    }

    fn owns(&mut self, rule: &OwnsRule) {
        self.item_type(rule.name, &rule.owner);
        for OwnedType { item_type: owned, by, .. } in &rule.owned {
            self.item_type(rule.name, owned);
            self.field(rule.name, owned, by);
            if owned.container != rule.owner.container || !matches!(owned.partition, ItemPartition::Field(_))
            {
                self.unsupported(rule.name, "owned items are in the logical partition of their owner");
            }
        }
    }

    /// No copied field is fed, directly or through others, by its own changes. Two containers may have copies
    /// of one another: a pass wakes for its field alone, and writes nothing where the value is the same. So
    /// may one field along a reference of its own type.
    fn cycles(&mut self) {
        let mut edges: BTreeMap<CopiedField, Vec<(&'static str, CopiedField)>> = BTreeMap::new();
        for rule in self.declared.following() {
            let source = (rule.source.container, rule.source.name, rule.field);
            for target in &rule.targets {
                let copy = (target.item_type.container, target.item_type.name, target.field);
                edges.entry(source).or_default().push((rule.name, copy));
            }
        }
        for (start, first) in &edges {
            for (rule, next) in first {
                let mut open = vec![*next];
                let mut seen = BTreeSet::new();
                while let Some(field) = open.pop() {
                    if field == *start && *next != *start {
                        let (rule, container) = ((*rule).to_owned(), start.0);
                        self.errors.push(DeclarationError::Cycle { rule, container });
                        break;
                    }
                    if seen.insert(field) {
                        open.extend(edges.get(&field).into_iter().flatten().map(|(_, field)| *field));
                    }
                }
            }
        }
    }
}

/// A field of an item that is copied, or is a copy: container, type, field.
type CopiedField = (ContainerName, &'static str, &'static str);

#[cfg(test)]
mod tests;
