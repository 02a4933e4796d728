//! Served form of a model: the same API, with stored forms that a server of its own data chooses.

use std::collections::BTreeSet;

use super::container::Container;
use super::field::{CopyOrigin, Field, FieldKind, Kept, StoredField, ValueSource};
use super::keyword::{Action, Function, Place};
use super::literal::Literal;
use super::names::{ContainerName, Name, PropertyPath};
use super::related::{ListSource, RelatedField, RelatedSource};
use super::reserved::reserved_properties;
use super::types::{Deletion, ItemType, ItemVersion};
use super::{Model, QueryKind};
use crate::defaults::{DELETED_PROPERTY, DELETED_TTL_SECONDS};

/// The key of a container with the entries of a list field's elements.
const FOUND_BY: &str = "foundBy";
/// The property with the version of an item.
const VERSION: &str = "version";

impl Model {
    /// The form in which a server keeps the data of this model. It is equal for a model in this form.
    ///
    /// - Deletions by `TTL`, without a time to live of the container, and by `ALL_VERSIONS` are `SOFT`.
    /// - The version of items is the property `version`.
    /// - A `@find` by a list field is a list in a container of its own, whose entries have the fields of the
    ///   order alone. So is a `@find` with a count that is kept `BEHIND`.
    /// - A `@list` of items that expire is a query across partitions.
    /// - Subscriptions to lists have no `REMOVED` of items that expire or have `HARD` deletions.
    /// - Lists of one type in one container have entries of different types.
    /// - Products, sums and values that are computed from below an object are stored where entries have them.
    ///   So is a computed value of which other items have copies.
    /// - Counts of expiring items are queries. So are counts of the items of a `@partition` with conditions;
    ///   where the model uses the stored value, the items are a list in a container of its own.
    /// - Stored counts that no projection can keep are queries, unless the model uses the stored value.
    /// - Frozen copies of amounts have their currency beside them.
    /// - Claims name no caller: the tokens of the server have none. People sign up as an account type, so it
    ///   has no other creation.
    /// - Former properties with the names of a server's own properties, as `type`, are left out. Files of a
    ///   study have such properties.
    #[must_use]
    pub fn for_serving(mut self) -> Self {
        self.mark_deletions();
        self.drop_reserved_former_properties();
        self.find_expiring_items();
        self.leave_out_unseen_removals();
        self.list_found_items();
        self.count_expiring_items();
        self.count_filtered_items();
        self.count_without_projection();
        self.distinguish_entries();
        self.store_computed();
        self.keep_currencies();
        self
    }

    /// The model with other names for containers of these names, which a server has itself: `accounts`
    /// becomes `model-accounts`.
    #[must_use]
    pub fn with_containers_beside(mut self, own: &[&str]) -> Self {
        for name in own.iter().map(|name| ContainerName::new(name)) {
            if self.container(&name).is_none() {
                continue;
            }
            let base = format!("model-{name}");
            let names =
                std::iter::once(base.clone()).chain((2_u32..).map(|number| format!("{base}-{number}")));
            let mut names = names.map(|name| ContainerName::new(&name));
            let Some(free) = names.find(|name| self.container(name).is_none()) else { continue };
            for container in self.parts.containers.iter_mut().filter(|container| container.name == name) {
                container.name = free.clone();
            }
            for item in self.parts.items.iter_mut().filter(|item| item.container == name) {
                item.container = free.clone();
            }
            for related in self.related_mut() {
                if let RelatedSource::List(list) = &mut related.source
                    && list.container == name
                {
                    list.container = free.clone();
                }
            }
        }
        self
    }

    /// The model without the former properties of its fields: for items of which no value is there any more.
    #[must_use]
    pub fn without_former_properties(mut self) -> Self {
        let items = self.parts.items.iter_mut().flat_map(|item| &mut item.fields);
        let embedded = self.parts.embedded.iter_mut().flat_map(|embedded| &mut embedded.fields);
        items.chain(embedded).filter_map(former_mut).for_each(Vec::clear);
        self
    }

    fn drop_reserved_former_properties(&mut self) {
        for place in 0..self.parts.items.len() {
            let item = &self.parts.items[place];
            let reserved = reserved_properties(item, self.container(&item.container));
            for former in self.parts.items[place].fields.iter_mut().filter_map(former_mut) {
                let holds = |path: &PropertyPath| {
                    reserved.keys().any(|known| known.properties().starts_with(path.properties()))
                };
                former.retain(|path| !holds(path));
            }
        }
    }

    fn mark_deletions(&mut self) {
        for place in 0..self.parts.items.len() {
            let item = &self.parts.items[place];
            let has_ttl = self.container(&item.container).is_some_and(|found| found.ttl_seconds.is_some());
            let is_marked = match item.deletion {
                Deletion::Ttl => !has_ttl,
                Deletion::AllVersions => true,
                Deletion::Soft { .. } | Deletion::Hard => false,
            };
            let item = &mut self.parts.items[place];
            if is_marked {
                item.deletion = Deletion::Soft {
                    path: PropertyPath::property(DELETED_PROPERTY),
                    is: Literal::Boolean(true),
                    ttl_seconds: DELETED_TTL_SECONDS,
                };
            }
            item.version = ItemVersion::Property(PropertyPath::property(VERSION));
            if item.login.is_some() {
                item.writes.retain(|action| *action != Action::Create);
            }
        }
    }

    fn list_found_items(&mut self) {
        for place in 0..self.parts.items.len() {
            for field in 0..self.parts.items[place].fields.len() {
                if let Some((container, list)) = self.list_of_found_items(place, field) {
                    self.parts.containers.push(container);
                    if let FieldKind::Related(related) = &mut self.parts.items[place].fields[field].kind {
                        related.source = RelatedSource::List(list);
                    }
                }
            }
        }
    }

    /// The list that serves a field in the place of its `@find`, with its container; `None` where a query
    /// across partitions does, or no list can.
    fn list_of_found_items(&self, place: usize, field: usize) -> Option<(Container, ListSource)> {
        let item = &self.parts.items[place];
        let field = &item.fields[field];
        let FieldKind::Related(related) = &field.kind else { return None };
        let RelatedSource::Find { by: Some(by), through: None } = &related.source else { return None };
        let found = self.item(&related.item_type)?;
        let reference = found.field(by)?;
        let is_behind = |count: &Field| match &count.kind {
            FieldKind::Count(count) => count.of == field.name && matches!(count.kept, Kept::Behind { .. }),
            _ => false,
        };
        let is_counted_behind = item.fields.iter().any(is_behind);
        let is_list = reference.ty.list.is_some();
        if !is_list && !is_counted_behind || self.ends_unseen(found) {
            return None;
        }
        let key = match reference.property() {
            Some(property) if !is_list => property.clone(),
            _ => PropertyPath::property(FOUND_BY),
        };
        self.own_list(item, field, by, key)
    }

    /// A list of a field's items in a container of its own, `<type>-<field>`, with this key. Its entries have
    /// the fields of the order, and the reference to the caller where a field asks whether it has theirs.
    pub(super) fn own_list(
        &self,
        item: &ItemType,
        field: &Field,
        by: &Name,
        key: PropertyPath,
    ) -> Option<(Container, ListSource)> {
        let FieldKind::Related(related) = &field.kind else { return None };
        let found = self.item(&related.item_type)?;
        let base = format!("{}-{}", item.name.camel_case(), field.name);
        let name = std::iter::once(base.clone()).chain((2_u32..).map(|number| format!("{base}-{number}")));
        let name = ContainerName::new(&name.into_iter().find(|name| self.container(name).is_none())?);
        let container = Container {
            name: name.clone(),
            key: vec![key],
            place: Place::Account,
            followed: false,
            ttl_seconds: None,
            exclude: Vec::new(),
            composite: None,
        };
        let asks = |other: &&Field| matches!(&other.kind, FieldKind::HasCaller(list) if *list == field.name);
        let of_caller = |held: &&Field| matches!(&held.kind, FieldKind::Reference(held) if held.caller);
        let caller = item.fields.iter().find(asks).and(found.fields.iter().find(of_caller));
        let ordered = related.order.iter().map(|order| order.field.clone().into());
        let caller = caller.filter(|held| *held.name != **by).map(|held| held.name.clone().into());
        let list = ListSource {
            projection: format!("{}.{}", item.name, field.name),
            container: name,
            by: vec![by.clone()],
            arguments: Box::default(),
            fields: ordered.chain(caller).collect(),
            keep: None,
            entry_type: found.type_value.clone(),
        };
        Some((container, list))
    }

    fn distinguish_entries(&mut self) {
        let mut known = BTreeSet::new();
        for related in self.related_mut() {
            let RelatedSource::List(list) = &mut related.source else { continue };
            if !known.insert((list.container.to_string(), list.entry_type.clone())) {
                list.entry_type.clone_from(&list.projection);
            }
        }
    }

    /// All fields with related items.
    pub(super) fn related_mut(&mut self) -> impl Iterator<Item = &mut RelatedField> {
        let fields = self.parts.items.iter_mut().flat_map(|item| &mut item.fields);
        let of_items = fields.filter_map(|field| match &mut field.kind {
            FieldKind::Related(related) => Some(related),
            _ => None,
        });
        let of_query = self.parts.queries.iter_mut().filter_map(|query| match &mut query.kind {
            QueryKind::Related(related) => Some(related),
            _ => None,
        });
        of_items.chain(of_query)
    }

    fn store_computed(&mut self) {
        let listed: BTreeSet<(Name, Name)> = self
            .related_mut()
            .filter_map(|related| match &related.source {
                RelatedSource::List(list) => Some((related.item_type.clone(), list.fields.clone())),
                _ => None,
            })
            .flat_map(|(item, paths)| {
                paths.into_iter().map(move |path| (item.clone(), Name::new(path.first())))
            })
            .collect();
        let copied = self.copied_fields();
        for item in &mut self.parts.items {
            for field in item.fields.iter_mut() {
                let FieldKind::Stored(stored) = &mut field.kind else { continue };
                let ValueSource::Computed(computed) = &mut stored.source else { continue };
                let is_arithmetic =
                    matches!(computed.function, Function::Product | Function::Sum | Function::Padded);
                let is_below_object = computed.from.iter().any(|path| path.single().is_none());
                let name = (item.name.clone(), field.name.clone());
                computed.stored |=
                    copied.contains(&name) || (is_arithmetic || is_below_object) && listed.contains(&name);
            }
        }
    }

    /// The fields of which other items have copies, with their types.
    pub(crate) fn copied_fields(&self) -> BTreeSet<(Name, Name)> {
        let objects = self.items().iter().map(|item| item.fields.as_slice());
        let objects = objects.chain(self.embedded().iter().map(|embedded| embedded.fields.as_slice()));
        let mut copied = BTreeSet::new();
        for fields in objects {
            for field in fields {
                match &field.kind {
                    FieldKind::Reference(reference) => {
                        let beside = reference.copies.iter().map(|copy| copy.field.clone());
                        copied.extend(beside.map(|name| (reference.target.clone(), name)));
                    }
                    FieldKind::Stored(StoredField { source: ValueSource::Copied(source), .. }) => {
                        copied.extend(match &source.from {
                            CopyOrigin::Type { item_type, field } => Some((item_type.clone(), field.clone())),
                            CopyOrigin::Reference { reference, field } => {
                                let held = fields.iter().find(|held| held.name == *reference);
                                held.and_then(|held| match &held.kind {
                                    FieldKind::Reference(held) => Some((held.target.clone(), field.clone())),
                                    _ => None,
                                })
                            }
                        });
                    }
                    _ => {}
                }
            }
        }
        copied
    }

    /// Counts of expiring items in a logical partition are queries: no write announces the expiry of an item.
    fn count_expiring_items(&mut self) {
        let expiring: Vec<Name> =
            self.items().iter().filter(|item| self.expires(item)).map(|item| item.name.clone()).collect();
        for place in 0..self.parts.items.len() {
            for field in 0..self.parts.items[place].fields.len() {
                let item = &self.parts.items[place];
                let FieldKind::Count(count) = &item.fields[field].kind else { continue };
                let counted = item.fields.iter().find(|of| of.name == count.of).map(|of| &of.kind);
                let Some(FieldKind::Related(related)) = counted else { continue };
                let is_partition = matches!(related.source, RelatedSource::Partition { .. });
                if is_partition && expiring.contains(&related.item_type) {
                    self.count_by_query(place, field);
                }
            }
        }
    }
}

/// The former properties of a field that has a stored form.
fn former_mut(field: &mut Field) -> Option<&mut Vec<PropertyPath>> {
    match &mut field.kind {
        FieldKind::Stored(stored) => Some(&mut stored.former),
        FieldKind::Reference(reference) => Some(&mut reference.former),
        FieldKind::Count(count) => match &mut count.kept {
            Kept::Batch { former, .. } | Kept::Behind { former, .. } => Some(former),
            _ => None,
        },
        FieldKind::Related(_) | FieldKind::HasCaller(_) => None,
    }
}
