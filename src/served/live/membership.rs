//! Membership: whether an item is in a list, from the item alone.

use onehop_model::{FieldKind, Name, RelatedField, RelatedSource};
use onehop_read_models::{Condition, list_conditions};
use onehop_store::key_text;

use crate::served::model::{Body, ServedModel, TypeIndex};
use crate::served::reads::ServedItem;
use crate::served::references::elements;
use crate::served::stored;

/// The rule of a list: the values of its items, and its conditions.
pub(super) struct Membership {
    by: Vec<(onehop_model::Field, String)>,
    conditions: Vec<Condition>,
}

impl Membership {
    /// The rule of a list of this owner; `None` where the owner has no value of it.
    pub(super) fn new(
        model: &ServedModel,
        ty: TypeIndex,
        list: &RelatedField,
        owner: Option<&ServedItem>,
    ) -> Option<Self> {
        let by: &[Name] = match &list.source {
            RelatedSource::Partition { by } => by,
            RelatedSource::Find { by, through: None } => by.as_slice(),
            RelatedSource::Find { .. } => return None,
            RelatedSource::List(source) => &source.by,
        };
        let listed = &model.ty(ty).item;
        let mut values = Vec::new();
        for name in by {
            let field = listed.field(name)?;
            let owner = owner?;
            let of_owner = &model.ty(owner.place.ty).item;
            let value = match &field.kind {
                FieldKind::Reference(reference) if reference.target == of_owner.name => {
                    owner.place.id.clone()
                }
                _ => key_text(stored::get(&owner.body, of_owner.field(name)?.property()?)?)?.into_owned(),
            };
            values.push((field.clone(), value));
        }
        Some(Self { by: values, conditions: list_conditions(model.model(), "", list).ok()? })
    }

    /// Whether an item that is not deleted is in the list.
    pub(super) fn holds(&self, body: &Body) -> bool {
        self.by.iter().all(|(field, value)| has_value(field, body, value))
            && self.conditions.iter().all(|condition| condition.holds_for(body))
    }
}

fn has_value(field: &onehop_model::Field, body: &Body, value: &str) -> bool {
    match &field.kind {
        FieldKind::Reference(reference) if field.ty.list.is_some() => {
            elements(reference, body).iter().any(|(id, _)| id == value)
        }
        _ => {
            let found = field.property().and_then(|property| stored::get(body, property));
            found.and_then(key_text).is_some_and(|found| found == value)
        }
    }
}
