//! Closed accounts of a served model: a projection that ends the sessions of each deleted account and removes
//! its password. Commands do so themselves; this finishes the deletions of processes that died.

use std::sync::Arc;

use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, PartitionKey, WriteOp};
use uuid::Uuid;

use super::model::{Body, ServedModel};
use super::names::interned;
use super::reads::is_deleted;
use crate::accounts::account_id::AccountId;
use crate::domain::accounts::passwords::AccountPasswords;
use crate::domain::accounts::sessions::{sessions_place, without_sessions};
use crate::domain::containers::ACCOUNTS;

/// The projection of a model whose accounts can be deleted.
pub(super) fn projection(model: &Arc<ServedModel>) -> Option<Arc<dyn Projection>> {
    let served = model.ty(model.account()?);
    if !model.model().deletes(&served.item) {
        return None;
    }
    let (name, types) = (interned(&format!("{}.closed", served.name)), [served.type_value]);
    Some(Arc::new(ClosedAccounts { name, source: served.container, types }))
}

/// Removes the sessions and the password of deleted accounts.
#[derive(Debug)]
struct ClosedAccounts {
    name: &'static str,
    source: ContainerName,
    types: [&'static str; 1],
}

impl Projection for ClosedAccounts {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        self.source
    }

    fn types(&self) -> Option<&[&'static str]> {
        Some(&self.types)
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let body: Body = change.item.decode()?;
        let Some(account) = Uuid::try_parse(&change.id).ok().filter(|_| is_deleted(&body)) else {
            return Ok(Step::done());
        };
        let account = AccountId::user(account);
        let places = [sessions_place(account), AccountPasswords::place(account)];
        let key = |place: &String| PartitionKey::from(place.as_str());
        if input.is_first() {
            let reads = places.iter().map(|place| ReadRequest::item(ACCOUNTS, key(place), place.clone()));
            return Ok(Step::ask(reads.collect()));
        }
        let [sessions, password] = places;
        let mut writes = Vec::new();
        if let Some(item) = input.item(0)?
            && let Some(ended) = without_sessions(item)?
        {
            let replace = WriteOp::Replace { item: ended, if_match: Some(item.etag.clone()) };
            writes.push(IntendedWrite::one(ACCOUNTS, key(&sessions), replace));
        }
        if let Some(item) = input.item(1)? {
            let partition_key = key(&password);
            let delete = WriteOp::Delete { id: password, if_match: Some(item.etag.clone()) };
            writes.push(IntendedWrite::one(ACCOUNTS, partition_key, delete));
        }
        Ok(Step::done().after_writing(writes))
    }
}
