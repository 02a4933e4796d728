//! Lists of items whose end no change shows, in the form that a server has. No read model can follow items
//! that expire, so a query across partitions finds them.

use super::field::FieldKind;
use super::keyword::Event;
use super::names::ContainerName;
use super::operation::LiveSource;
use super::related::{ListSource, RelatedField, RelatedSource};
use super::types::ItemType;
use super::{Model, QueryKind};

impl Model {
    /// A list of all items that expire, or of those that refer to one, is a query across partitions. A page
    /// has no more items than the list keeps.
    pub(super) fn find_expiring_items(&mut self) {
        let mut left = Vec::new();
        for place in 0..self.parts.items.len() {
            for field in 0..self.parts.items[place].fields.len() {
                let item = &self.parts.items[place];
                let FieldKind::Related(related) = &item.fields[field].kind else { continue };
                let Some(found) = self.found_expiring(Some(item), related) else { continue };
                if let FieldKind::Related(related) = &mut self.parts.items[place].fields[field].kind {
                    left.extend(find_instead(related, found));
                }
            }
        }
        for query in 0..self.parts.queries.len() {
            let QueryKind::Related(related) = &self.parts.queries[query].kind else { continue };
            let Some(found) = self.found_expiring(None, related) else { continue };
            if let QueryKind::Related(related) = &mut self.parts.queries[query].kind {
                left.extend(find_instead(related, found));
            }
        }
        let is_used = |model: &mut Self, name: &ContainerName| {
            model.items().iter().any(|item| item.container == *name)
                || model
                    .related_mut()
                    .any(|related| list_of(related).is_some_and(|list| list.container == *name))
        };
        for name in left {
            if !is_used(self, &name) {
                self.parts.containers.retain(|container| container.name != name);
            }
        }
    }

    /// A subscription to a list has no `REMOVED` of items whose end no change shows, if it has other events.
    pub(super) fn leave_out_unseen_removals(&mut self) {
        for place in 0..self.parts.subscriptions.len() {
            let found = &self.parts.subscriptions[place];
            let is_unseen = found.source != LiveSource::Item
                && found.on.iter().any(|event| *event != Event::Removed)
                && self.item(&found.item_type).is_some_and(|item| self.ends_unseen(item));
            if is_unseen {
                self.parts.subscriptions[place].on.retain(|event| *event != Event::Removed);
            }
        }
    }

    /// The source that replaces a list of expiring items; `None` where a query could not choose its items.
    fn found_expiring(&self, owner: Option<&ItemType>, related: &RelatedField) -> Option<RelatedSource> {
        let (list, found) = (list_of(related)?, self.item(&related.item_type)?);
        if !self.expires(found) {
            return None;
        }
        let by = match (owner, list.by.as_slice()) {
            (None, []) => None,
            (Some(owner), [by]) => {
                let field = found.field(by)?;
                let FieldKind::Reference(reference) = &field.kind else { return None };
                let is_owner = reference.target == owner.name && field.ty.list.is_none();
                is_owner.then(|| Some(by.clone()))?
            }
            _ => return None,
        };
        Some(RelatedSource::Find { by, through: None })
    }
}

fn list_of(related: &RelatedField) -> Option<&ListSource> {
    match &related.source {
        RelatedSource::List(list) => Some(list),
        _ => None,
    }
}

/// Replaces the source of a list, and returns the container of its entries.
fn find_instead(related: &mut RelatedField, found: RelatedSource) -> Option<ContainerName> {
    let RelatedSource::List(list) = std::mem::replace(&mut related.source, found) else { return None };
    if let Some(keep) = list.keep {
        related.page.first = related.page.first.min(keep);
        related.page.max = related.page.max.min(keep);
    }
    Some(list.container)
}
