//! Containers of a model: partition keys, and the indexes that its queries and projections need.

use onehop_model::{Container, Deletion, FieldKind, ItemType, Kept, ListSource, Model, Name, RelatedSource};
use onehop_store::{ContainerName, ContainerSpec, TypeOrder, interned, interned_list, interned_orders};

use super::back_references::back_references;
use super::counts::tombstone_of_owned;
use super::item_types::root_property;
use super::lists::{counts_behind, is_bounded, never_moves};
use super::model_error::ModelError;
use super::related::{RelatedPlace, related_places};
use super::relations::{element_id, is_followed};
use crate::item_type::ID;

/// The containers of a model, as a store has to provide them.
///
/// # Errors
/// Every container or query that the store port cannot express.
pub fn container_specs(model: &Model) -> Result<Vec<ContainerSpec>, Vec<ModelError>> {
    let (mut drafts, mut errors) = (Vec::new(), Vec::new());
    for container in model.containers() {
        match SpecDraft::of(container) {
            Ok(draft) => drafts.push(draft),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut indexes = Indexes { model, drafts };
    errors.extend(expiring(model));
    for place in related_places(model) {
        errors.extend(indexes.add_related(&place).err());
    }
    for item in model.items() {
        errors.extend(indexes.add_item(item).err());
    }
    let specs = indexes.drafts.into_iter().map(SpecDraft::into_spec);
    let found_by =
        back_references(model).map(|copies| copies.iter().map(|copy| copy.container_spec()).collect());
    let found_by: Vec<Result<ContainerSpec, ModelError>> = found_by.unwrap_or_else(|error| vec![Err(error)]);
    let specs = specs.chain(found_by).collect::<Result<Vec<_>, _>>();
    match (specs, errors.is_empty()) {
        (Ok(specs), true) => Ok(specs),
        (Ok(_), false) => Err(errors),
        (Err(error), _) => Err(errors.into_iter().chain([error]).collect()),
    }
}

/// Rules over items that expire unseen: nothing would follow their end.
fn expiring(model: &Model) -> Vec<ModelError> {
    let has_ttl = |name: &str| model.container(name).is_some_and(|container| container.ttl_seconds.is_some());
    let expires = |item: &ItemType| model.expires(item);
    let mut errors = Vec::new();
    for place in related_places(model) {
        if let RelatedSource::List(list) = &place.related.source
            && (expires(place.target) || has_ttl(&list.container))
        {
            let reason = "neither its items nor its entries may expire, which no projection sees: use \
                          `@partition` or `@find`";
            errors.push(ModelError::unsupported(&place.place, "@list", reason));
        }
    }
    for item in model.items() {
        for field in &item.fields {
            let place = format!("{}.{}", item.name, field.name);
            let counted = match &field.kind {
                FieldKind::Count(count) if count.kept != Kept::Query => item.field(&count.of),
                _ => None,
            };
            if let Some(FieldKind::Related(related)) = counted.map(|counted| &counted.kind)
                && model.item(&related.item_type).is_some_and(expires)
            {
                let reason = "the counted items expire unseen: use `kept: QUERY`";
                errors.push(ModelError::unsupported(&place, "@count", reason));
            }
        }
    }
    errors
}

/// A container whose indexes are being collected.
struct SpecDraft<'a> {
    container: &'a Container,
    partition_key: &'static str,
    orders: Vec<TypeOrder>,
    equality: Vec<&'static str>,
    newest_types: Vec<&'static str>,
    soft_deletes: bool,
}

impl<'a> SpecDraft<'a> {
    fn of(container: &'a Container) -> Result<Self, ModelError> {
        let place = format!("container `{}`", container.name);
        let unsupported = |reason: &str| Err(ModelError::unsupported(&place, "@container", reason));
        if container.followed {
            return unsupported("`followed` containers are not supported");
        }
        Ok(Self {
            partition_key: interned(
                &container
                    .key
                    .iter()
                    .map(|key| root_property(&place, key))
                    .collect::<Result<Vec<_>, _>>()?
                    .join("/"),
            )?,
            container,
            orders: Vec::new(),
            equality: Vec::new(),
            newest_types: Vec::new(),
            soft_deletes: false,
        })
    }

    /// The specification. No query needs a path without an index.
    fn into_spec(self) -> Result<ContainerSpec, ModelError> {
        // One order of all types needs no distinction of them.
        let property = self.orders.first().map(|order| order.property);
        let is_one = self.orders.iter().all(|order| Some(order.property) == property);
        let (order_by, orders) = if is_one { (property, &[][..]) } else { (None, self.orders.as_slice()) };
        // A path by which queries filter or sort has its index, also where the model excludes it.
        Ok(ContainerSpec {
            name: ContainerName::named(&self.container.name)?,
            partition_key: self.partition_key,
            order_by,
            orders: interned_orders(orders)?,
            equality: interned_list(&self.equality)?,
            newest_types: interned_list(&self.newest_types)?,
            ttl_s: self.container.ttl_seconds,
            soft_deletes: self.soft_deletes,
        })
    }
}

struct Indexes<'a> {
    model: &'a Model,
    drafts: Vec<SpecDraft<'a>>,
}

impl<'a> Indexes<'a> {
    fn draft(&mut self, container: &str) -> Option<&mut SpecDraft<'a>> {
        self.drafts.iter_mut().find(|draft| &*draft.container.name == container)
    }

    /// The indexes that a field with related items needs.
    fn add_related(&mut self, place: &RelatedPlace<'_>) -> Result<(), ModelError> {
        let target = place.target;
        let order = place.order_property()?;
        match &place.related.source {
            RelatedSource::Partition { .. } => self.add_order(&target.container, &target.type_value, order),
            RelatedSource::Find { by, through } => {
                let found = match through {
                    Some(link) => self.model.item(&link.item_type).unwrap_or(target),
                    None => target,
                };
                match by {
                    Some(by) => self.add_equality(&place.place, found, by)?,
                    None => self.add_newest(found)?,
                }
                self.add_order(&target.container, &target.type_value, order)
            }
            RelatedSource::List(list) => {
                if is_bounded(target, place.related, list) {
                    self.add_newest(target)?;
                    self.add_order(&target.container, &target.type_value, order)?;
                }
                self.add_list_keys(place, list)?;
                self.add_order(&list.container, &list.entry_type, order)
            }
        }
    }

    /// The entries of an item are found by its id, where they can be in several logical partitions.
    fn add_list_keys(&mut self, place: &RelatedPlace<'_>, list: &ListSource) -> Result<(), ModelError> {
        let target = place.target;
        let has_conditions = !place.related.conditions.is_empty();
        let field = list.by.first().and_then(|by| target.field(by));
        let found_by = match field {
            Some(field) if field.ty.list.is_some() => Some(element_id(target)?),
            Some(_) => {
                let moves = !list.by.iter().all(|by| never_moves(target, by));
                (moves || has_conditions).then_some(ID)
            }
            None => has_conditions.then_some(ID),
        };
        let is_by_element = field.is_some_and(|field| field.ty.list.is_some());
        let is_marked = !is_by_element || counts_behind(self.model, place);
        let Some(draft) = self.draft(&list.container) else { return Ok(()) };
        // Entries by elements are deleted for good, unless they are counted.
        draft.soft_deletes |= is_marked;
        if let Some(found_by) = found_by.filter(|found_by| !draft.equality.contains(found_by)) {
            draft.equality.push(found_by);
        }
        Ok(())
    }

    fn add_order(
        &mut self,
        container: &str,
        item_type: &str,
        order: Option<&'static str>,
    ) -> Result<(), ModelError> {
        let (Some(property), Some(draft)) = (order, self.draft(container)) else { return Ok(()) };
        let order = TypeOrder { item_type: interned(item_type)?, property };
        if !draft.orders.contains(&order) {
            draft.orders.push(order);
        }
        Ok(())
    }

    fn add_newest(&mut self, item: &ItemType) -> Result<(), ModelError> {
        let name = interned(&item.type_value)?;
        let Some(draft) = self.draft(&item.container) else { return Ok(()) };
        if !draft.newest_types.contains(&name) {
            draft.newest_types.push(name);
        }
        Ok(())
    }

    /// A property by which a query across partitions finds items. A partition key needs no index.
    fn add_equality(&mut self, place: &str, item: &ItemType, field: &Name) -> Result<(), ModelError> {
        let Some(path) = item.field(field).and_then(onehop_model::Field::property) else { return Ok(()) };
        let name = root_property(place, path)?;
        let Some(draft) = self.draft(&item.container) else { return Ok(()) };
        if draft.partition_key != name && !draft.equality.contains(&name) {
            draft.equality.push(name);
        }
        Ok(())
    }

    /// The indexes by which copies find their targets, and whether items are deleted softly.
    fn add_item(&mut self, item: &ItemType) -> Result<(), ModelError> {
        for field in &item.fields {
            let FieldKind::Reference(reference) = &field.kind else { continue };
            let follows = is_followed(&item.fields, &field.name, reference);
            if follows && field.ty.list.is_none() {
                self.add_equality(&format!("{}.{}", item.name, field.name), item, &field.name)?;
            }
        }
        let is_soft = self.model.deletes(item)
            && matches!(item.deletion, Deletion::Soft { .. } | Deletion::Ttl)
            || tombstone_of_owned(self.model, item).is_some();
        if let Some(draft) = self.draft(&item.container) {
            draft.soft_deletes |= is_soft;
        }
        Ok(())
    }
}
