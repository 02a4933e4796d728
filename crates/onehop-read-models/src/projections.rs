//! The projections that follow from a declaration.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_change_feed::{Cause, Projection, ProjectionError};
use onehop_store::{Change, ContainerName};

use crate::body::Body;
use crate::catch_up::CatchUp;
use crate::cost::RuleProjection;
use crate::count_behind::CountBehind;
use crate::declaration::ReadModels;
use crate::item_type::{ID, TYPE};
use crate::list_all::CompleteList;
use crate::list_elements::ElementList;
use crate::list_newest::BoundedList;
use crate::owned::OwnedItems;
use crate::propagation::Propagation;
use crate::rule::{CopyRule, CopyTarget, ElementFields, ListPartition, ListRule, OwnedType};
use crate::target_copy::TargetCopy;

impl ReadModels {
    /// One projection for each rule, and for each container whose copies are compared with their sources.
    #[must_use]
    pub fn projections(&self) -> Vec<Arc<dyn Projection>> {
        self.rule_projections().into_iter().map(|projection| projection as _).collect()
    }

    /// The same, which predict their request charges.
    pub(crate) fn rule_projections(&self) -> Vec<Arc<dyn RuleProjection>> {
        let mut projections: Vec<Arc<dyn RuleProjection>> = Vec::new();
        projections.extend(self.following().map(|rule| Arc::new(self.propagation(rule)) as _));
        projections.extend(self.catch_ups().into_iter().map(|catch_up| Arc::new(catch_up) as _));
        projections.extend(self.lists().map(|rule| self.list_projection(rule)));
        projections.extend(self.counts().filter_map(|rule| {
            let (name, types) = (rule.projection?, [rule.counted.name]);
            let fields = rule.leading_fields().collect();
            Some(Arc::new(CountBehind { rule: Arc::clone(rule), name, types, fields }) as _)
        }));
        projections.extend(self.owners().map(|rule| {
            let order_of = |owned: &OwnedType| self.order_by(owned.item_type.container, owned.item_type.name);
            let orders = rule.owned.iter().map(order_of).collect();
            Arc::new(OwnedItems { rule: Arc::clone(rule), types: [rule.owner.name], orders }) as _
        }));
        projections
    }

    /// The projection with a name.
    #[must_use]
    pub fn projection(&self, name: &str) -> Option<Arc<dyn Projection>> {
        self.projections().into_iter().find(|projection| projection.name() == name)
    }

    /// The cause of a change. A write of a list's projection into the list is caused by that projection and
    /// has no mark.
    ///
    /// # Errors
    /// The body of the item is no JSON object.
    pub fn cause(&self, container: ContainerName, change: &Change) -> Result<Cause, ProjectionError> {
        let body = Body::selected(&change.item, &[])?;
        let is_entry =
            |rule: &&Arc<ListRule>| rule.container == container && rule.entry_type == body.item_type();
        Ok(match self.lists().find(is_entry) {
            Some(list) => Cause::Projection(list.name.to_owned()),
            None => Cause::of(&change.item)?,
        })
    }

    fn propagation(&self, rule: &Arc<CopyRule>) -> Propagation {
        let through = |target: &CopyTarget| {
            let list = self.lists().find(|list| Some(list.name) == target.through)?;
            Some((Arc::clone(list), self.order_by(list.container, list.entry_type)))
        };
        let through = rule.targets.iter().map(through).collect();
        let mut feeds: Vec<_> = rule.targets.iter().map(|target| target.item_type.container).collect();
        feeds.sort_unstable();
        feeds.dedup();
        let order_of = |target: &CopyTarget| self.order_by(target.item_type.container, target.item_type.name);
        let order_by = rule.targets.iter().map(order_of).collect();
        Propagation { rule: Arc::clone(rule), through, types: [rule.source.name], feeds, order_by }
    }

    /// One catch-up for each container that has copies.
    fn catch_ups(&self) -> Vec<CatchUp> {
        let mut by_container: BTreeMap<ContainerName, Vec<TargetCopy>> = BTreeMap::new();
        for copy in self.target_copies().filter(|copy| copy.through.is_none()) {
            by_container.entry(copy.item_type.container).or_default().push(copy.clone());
        }
        by_container.into_iter().map(|(container, copies)| catch_up(container, copies)).collect()
    }

    fn list_projection(&self, rule: &Arc<ListRule>) -> Arc<dyn RuleProjection> {
        let types = [rule.source.name];
        match (rule.partition, rule.keep.items_max()) {
            (ListPartition::Field(_) | ListPartition::Constant(_), None) if rule.is_reconciled() => {
                let partition_key = match rule.partition {
                    ListPartition::Field(field) => rule.key_field.unwrap_or(field),
                    _ => self.container(rule.container).map_or(TYPE, |spec| spec.partition_key),
                };
                let element = ElementFields { partition_key, id: ID };
                Arc::new(ElementList { rule: Arc::clone(rule), element, copies: Vec::new(), types })
            }
            (ListPartition::Element(_), _) => {
                let through = self.target_copies().filter(|copy| copy.through == Some(rule.name));
                let element =
                    rule.element.expect("the check refuses a list by elements without their fields");
                Arc::new(ElementList {
                    rule: Arc::clone(rule),
                    element,
                    copies: through.cloned().collect(),
                    types,
                })
            }
            (ListPartition::Constant(partition_key), Some(items_max)) => {
                let order_by = self.order_of(rule).unwrap_or_default();
                Arc::new(BoundedList { rule: Arc::clone(rule), partition_key, items_max, order_by, types })
            }
            (ListPartition::Field(_), _) | (ListPartition::Constant(_), None) => {
                Arc::new(CompleteList { rule: Arc::clone(rule), types })
            }
        }
    }
}

fn catch_up(container: ContainerName, copies: Vec<TargetCopy>) -> CatchUp {
    let name = copies.first().map_or("", |copy| copy.catch_up);
    let mut types: Vec<_> = copies.iter().map(|copy| copy.item_type.name).collect();
    types.sort_unstable();
    types.dedup();
    CatchUp { name, container, types, copies }
}
