//! Renamed properties: the projection that moves values from a former property of a field to the present one.

use std::sync::Arc;

use onehop_change_feed::{Cause, IntendedWrite, Projection, ProjectionError, Step, StepInput};
use onehop_runtime::planted;
use onehop_store::{Change, ContainerName, NewItem, WriteOp};
use serde_json::{Value, json};

use super::former_values::move_values;
use super::model::{Body, ServedModel, TypeIndex};
use super::names::interned;
use super::reads::is_deleted;

/// The projections that move values to renamed properties, one for each type with such a field.
pub(super) fn projections(model: &Arc<ServedModel>) -> impl Iterator<Item = Arc<dyn Projection>> {
    model.types().filter(|(_, served)| served.has_former_properties).map(|(ty, served)| {
        let name = interned(&format!("{}.renamed", served.name));
        Arc::new(RenamedProperties { model: Arc::clone(model), ty, name, types: [served.type_value] }) as _
    })
}

/// Moves the values of a type's items from former properties to the present ones.
#[derive(Debug)]
struct RenamedProperties {
    model: Arc<ServedModel>,
    ty: TypeIndex,
    name: &'static str,
    types: [&'static str; 1],
}

impl Projection for RenamedProperties {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        self.model.ty(self.ty).container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, _: StepInput<'_>) -> Result<Step, ProjectionError> {
        let mut body: Body = change.item.decode()?;
        let fields = &self.model.ty(self.ty).item.fields;
        if is_deleted(&body) || !move_values(self.model.model(), fields, &mut body) {
            return Ok(Step::done());
        }
        let version = body.get("version").and_then(Value::as_u64).unwrap_or(1) + 1;
        body.insert("version".to_owned(), json!(version));
        Cause::Projection(self.name.to_owned()).mark(&mut body, version);
        let item = NewItem::encode(change.id.clone(), &body);
        let if_match = (!planted!("move-without-if-match")).then(|| change.item.etag.clone());
        let replace = WriteOp::Replace { item, if_match };
        let write = IntendedWrite::one(self.source(), change.partition_key.clone(), replace);
        // A writer that changes the item meanwhile makes a change that comes here again.
        Ok(Step::done().after_writing(vec![write]).yield_to_newer_changes())
    }
}
