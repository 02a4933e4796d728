//! Release of unique values: a projection that deletes the reservations of items which a projection has
//! deleted after their owner. Commands release the values of the items that they delete themselves.

use std::sync::Arc;

use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, PartitionKey, WriteOp};

use super::ids::ItemPlace;
use super::model::{Body, ServedModel, TypeIndex};
use super::names::interned;
use super::reads::is_deleted;
use super::unique::{UniqueReservation, holder_is, keys_of};
use super::{closed_accounts, computed_values, renames};
use crate::domain::containers::ACCOUNTS;

/// The projections of a served model: of its read models, the move of values to renamed properties, computed
/// values, the end of deleted accounts, and the release of unique values.
#[must_use]
pub fn projections(model: &Arc<ServedModel>) -> Vec<Arc<dyn Projection>> {
    let mut projections = model.read_models().projections();
    projections.extend(renames::projections(model));
    projections.extend(computed_values::projections(model));
    projections.extend(closed_accounts::projection(model));
    for (ty, served) in model.types() {
        if !served.unique.is_empty() && served.item.owned_by.is_some() {
            let name = interned(&format!("{}.unique", served.name));
            let types = [served.type_value];
            projections.push(Arc::new(ReleasedValues { model: Arc::clone(model), ty, name, types }));
        }
    }
    projections
}

/// Deletes the reservations of deleted items of a type.
#[derive(Debug)]
struct ReleasedValues {
    model: Arc<ServedModel>,
    ty: TypeIndex,
    name: &'static str,
    types: [&'static str; 1],
}

impl Projection for ReleasedValues {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        self.model.ty(self.ty).container
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let body: Body = change.item.decode()?;
        if !is_deleted(&body) {
            return Ok(Step::done());
        }
        let keys: Vec<String> =
            keys_of(&self.model, self.ty, &body).into_iter().map(|(_, key)| key).collect();
        if input.is_first() {
            let read =
                |key: &String| ReadRequest::item(ACCOUNTS, PartitionKey::from(key.as_str()), key.clone());
            let reads: Vec<_> = keys.iter().map(read).collect();
            return Ok(if reads.is_empty() { Step::done() } else { Step::ask(reads) });
        }
        let place = ItemPlace { ty: self.ty, partition: change.partition_key.clone(), id: change.id.clone() };
        let mut releases = Vec::new();
        for (number, key) in keys.into_iter().enumerate() {
            let Some(found) = input.item(number)? else { continue };
            let reservation: UniqueReservation = found.decode()?;
            if holder_is(&self.model, &reservation, &place) {
                let partition_key = PartitionKey::from(key.as_str());
                let delete = WriteOp::Delete { id: key, if_match: Some(found.etag.clone()) };
                releases.push(IntendedWrite::one(ACCOUNTS, partition_key, delete));
            }
        }
        Ok(Step::done().after_writing(releases))
    }
}
