//! Writes: checks, the request with its faults, and the announcement to the readers of the same process.

use std::time::Duration;

use onehop_store::adapter_rules::{can_exist, check_write};
use onehop_store::{
    Batch, ETag, Fault, FaultKind, Ledger, OperationKind, PartitionKey, Rejection, RequestCharge, WriteError,
    WriteOp,
};

use super::account::AccountModel;
use super::charges::{charge_of_refusal, charge_of_writes, record};
use super::client::AccountClient;
use super::commits::{CheckedBatch, Committed};
use super::faults::{AccountRequest, InjectedFault};
use super::hash_range::point_of;
use super::positions::write_end;
use super::process::Process;
use super::requests::{WriteCourse, course_of, fault_of_write, pause};

impl AccountClient {
    /// Checks the operations of a batch as the adapter does.
    pub(super) fn check(&self, container: usize, batch: Batch) -> Result<CheckedBatch, WriteError> {
        let spec = &self.account.specs[container];
        let mut operations = Vec::with_capacity(batch.operations.len());
        for (position, operation) in batch.operations.into_iter().enumerate() {
            let rejected = |reason| WriteError::Rejected { operation: position, reason };
            let properties = check_write(spec, &batch.partition_key, &operation).map_err(rejected)?;
            if !is_addressable(&batch.partition_key, operation.id()) {
                return Err(rejected(Rejection::InvalidId));
            }
            operations.push((operation, properties));
        }
        Ok(CheckedBatch { partition_key: batch.partition_key, operations })
    }

    /// Sends checked operations as one request.
    pub(super) async fn send(
        &self,
        container: usize,
        batch: CheckedBatch,
        kind: OperationKind,
        ledger: &Ledger,
    ) -> Result<Vec<Option<ETag>>, WriteError> {
        let name = self.account.specs[container].name;
        let request =
            if kind == OperationKind::Batch { AccountRequest::Batch } else { AccountRequest::Write };
        let mut under_way = WriteUnderWay::begin(self, container, &batch);
        let key = batch.partition_key.clone();
        let outcome = self.outcome_of(request, name, Some(key.as_str()));
        let begun_ms = self.account.monotonic_ms();
        let course = course_of(outcome.fault);
        let lands = outcome.lands_after_drop.filter(|_| course != WriteCourse::NotDone);
        let in_flight = InFlightWrite {
            account: &self.account,
            container,
            lands: lands.map(|delay| (begun_ms, delay, outcome.lag)),
            batch: Some(batch),
        };
        pause(outcome.before).await;
        let batch = in_flight.arrive();
        let mut committed = self.carry_out(container, &batch, course, (begun_ms, outcome.lag));
        pause(outcome.after).await;
        if course == WriteCourse::SentAgain {
            committed = Some(self.account.apply(container, &batch, (begun_ms, outcome.lag)));
            pause(outcome.after).await;
        }
        let charge = self.charge_of(container, &batch, committed.as_ref());
        let is_done = committed.as_ref().is_some_and(|committed| committed.outcome.is_ok());
        let items = if is_done { batch.operations.len() } else { 0 };
        ledger.record(record(name, kind, (items, 1), charge));
        let commit = committed.as_ref().map(|committed| committed.commit);
        ledger.wrote(name, &key, commit.map(|commit| write_end(point_of(name, &key), commit)));
        self.process.saw(name, commit.as_slice());
        let answer = answer_of(committed, outcome.fault);
        under_way.is_refused = match &answer {
            Ok(_) => false,
            Err(WriteError::Rejected { .. }) => outcome.fault != Some(InjectedFault::SentAgain),
            Err(WriteError::Fault(fault)) => fault.kind != FaultKind::Ambiguous,
        };
        answer
    }

    /// The first effect of a write; its answer, if it arrives.
    fn carry_out(
        &self,
        container: usize,
        batch: &CheckedBatch,
        course: WriteCourse,
        (begun_ms, lag): (i64, Duration),
    ) -> Option<Committed> {
        match course {
            WriteCourse::Answered => Some(self.account.apply(container, batch, (begun_ms, lag))),
            WriteCourse::Lost | WriteCourse::SentAgain => {
                self.account.apply(container, batch, (begun_ms, lag));
                None
            }
            WriteCourse::LostAndLate(delay) => {
                self.account.apply_later(container, batch.clone(), (begun_ms, delay, lag));
                None
            }
            WriteCourse::NotDone => None,
        }
    }

    fn charge_of(
        &self,
        container: usize,
        batch: &CheckedBatch,
        committed: Option<&Committed>,
    ) -> RequestCharge {
        let calibration = &self.account.calibration;
        let charge = |operations: &[(WriteOp, _)]| {
            let operations = operations.iter().map(|(operation, _)| operation);
            charge_of_writes(calibration, &self.account.policies[container], operations)
        };
        match committed.map(|committed| &committed.outcome) {
            None => RequestCharge::default(),
            Some(Ok(_)) => charge(&batch.operations),
            Some(Err((position, _))) => {
                charge(&batch.operations[..*position]) + charge_of_refusal(calibration)
            }
        }
    }
}

/// The answer to the caller of a write.
fn answer_of(
    committed: Option<Committed>,
    injected: Option<InjectedFault>,
) -> Result<Vec<Option<ETag>>, WriteError> {
    match (committed, injected) {
        (Some(committed), _) => {
            committed.outcome.map_err(|(operation, reason)| WriteError::Rejected { operation, reason })
        }
        (None, Some(injected)) => Err(fault_of_write(injected).into()),
        (None, None) => Err(Fault::new(FaultKind::Ambiguous, "a write was not answered").into()),
    }
}

/// The kind of an operation in the ledger.
pub(super) fn kind_of(operation: &WriteOp) -> OperationKind {
    match operation {
        WriteOp::Create(_) => OperationKind::Create,
        WriteOp::Upsert(_) => OperationKind::Upsert,
        WriteOp::Replace { .. } => OperationKind::Replace,
        WriteOp::Delete { .. } => OperationKind::Delete,
    }
}

/// Whether an item can be asked for: the client of the account makes the id a part of a URL's path.
pub(super) fn is_addressable(partition_key: &PartitionKey, id: &str) -> bool {
    let is_path = !id.contains(['/', '\\', '?', '#']) && !id.chars().any(char::is_control);
    can_exist(partition_key.as_str(), id) && is_path && !matches!(id, "" | "." | "..")
}

/// A write between its sending and its effect. Where the sender drops it, it may happen all the same.
struct InFlightWrite<'a> {
    account: &'a AccountModel,
    container: usize,
    /// When it was begun (monotonic ms), the time from a drop to the write, and the time for which lagging
    /// replicas lack it.
    lands: Option<(i64, Duration, Duration)>,
    batch: Option<CheckedBatch>,
}

impl InFlightWrite<'_> {
    /// The operations, which have arrived.
    fn arrive(mut self) -> CheckedBatch {
        self.batch.take().expect("a write arrives once")
    }
}

impl Drop for InFlightWrite<'_> {
    fn drop(&mut self) {
        if let (Some(batch), Some(lands)) = (self.batch.take(), self.lands) {
            self.account.count("dropped_writes_in_flight");
            self.account.apply_later(self.container, batch, lands);
        }
    }
}

/// A write under way. When it ends it wakes the readers of its process, unless it is known that nothing was
/// written: also where the answer was lost, and where the caller waits for it no more.
struct WriteUnderWay<'a> {
    process: &'a Process,
    container: usize,
    point: u64,
    types: Vec<String>,
    is_refused: bool,
}

impl<'a> WriteUnderWay<'a> {
    fn begin(client: &'a AccountClient, container: usize, batch: &CheckedBatch) -> Self {
        let mut types: Vec<String> = Vec::new();
        for properties in batch.operations.iter().filter_map(|(_, properties)| properties.as_ref()) {
            if !types.contains(&properties.item_type) {
                types.push(properties.item_type.clone());
            }
        }
        let point = point_of(client.account.specs[container].name, &batch.partition_key);
        Self { process: &client.process, container, point, types, is_refused: false }
    }
}

impl Drop for WriteUnderWay<'_> {
    fn drop(&mut self) {
        if !self.is_refused {
            self.process.signals(self.container).announce(self.point, &self.types);
        }
    }
}
