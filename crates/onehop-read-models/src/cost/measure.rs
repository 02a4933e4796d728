//! Measurement: writes sample changes to a store, has the projections follow each, and takes their charges.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_change_feed::{LEASES, Processor, Settings};
use onehop_runtime::clock::Clock;
use onehop_store::{
    Batch, ContainerName, ETag, Ledger, NewItem, OperationKind, PartitionKey, RequestCharge, Store,
    StoreCall, StoreDecorator, WriteOp,
};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::cost_error::CostError;
use super::prediction::{Charged, PredictedChange, RuleProjection};
use super::sample::{FieldEdit, SampleChange, SampleEdit};
use crate::body::Body;
use crate::declaration::ReadModels;
use crate::item_type::ItemType;
use crate::rule::{CountRule, OwnsRule};

/// The processor whose leases this measurement holds.
const PROCESSOR: &str = "read-model-costs";
/// The levels of owners above owned items, which may own others in turn.
const OWNED_LEVELS_MAX: usize = 8;

/// A store decorator that keeps charges without a rule apart: pages of the change feed, which are counted by
/// container, and operations on leases.
struct CostMeter {
    store: Arc<dyn Store>,
    pages: Mutex<BTreeMap<ContainerName, f64>>,
}

impl StoreDecorator for CostMeter {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let own = Ledger::new();
        let outcome = call.run(&*self.store, &own).await;
        for record in own.operations() {
            if record.kind == OperationKind::ChangeFeed {
                // A poll without changes belongs to the idle charge.
                let charge = if record.items > 0 { record.charge.0 } else { 0.0 };
                *self.pages.lock().entry(record.container).or_insert(0.0) += charge;
            } else if record.container != LEASES {
                ledger.record(record);
            }
        }
        outcome
    }
}

/// The projections of a declaration on a store that measurements may change.
pub(super) struct Measurement {
    declared: ReadModels,
    meter: Arc<CostMeter>,
    processor: Processor,
    new_items: u32,
}

impl Measurement {
    /// Has the projections follow the whole content of the store.
    pub(super) async fn open(
        declared: ReadModels,
        projections: &[Arc<dyn RuleProjection>],
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CostError> {
        let meter = Arc::new(CostMeter { store, pages: Mutex::default() });
        let projections = projections.iter().map(|projection| Arc::clone(projection) as _).collect();
        let settings = Settings { processor: PROCESSOR.to_owned(), ..Settings::new(PROCESSOR) };
        let port = Arc::clone(&meter) as _;
        let processor = Processor::open(port, clock, projections, settings, CancellationToken::new()).await?;
        processor.drain().await?;
        Ok(Self { declared, meter, processor, new_items: 0 })
    }

    /// The charges for a sample of each change. Deletions come last, so that no other change misses the
    /// deleted items.
    pub(super) async fn measure_all(
        &mut self,
        predicted: &[PredictedChange],
    ) -> Result<Vec<RequestCharge>, CostError> {
        let mut charges = vec![None; predicted.len()];
        let (mut deletions, others): (Vec<_>, Vec<_>) =
            (0..predicted.len()).partition(|place| predicted[*place].sample.edit.is_deletion());
        // Owned items go with their owners.
        deletions
            .sort_by_key(|place| self.owned_levels(&predicted[*place].sample.item_type, OWNED_LEVELS_MAX));
        for place in others.into_iter().chain(deletions) {
            if charges[place].is_some() {
                continue;
            }
            let PredictedChange { charged, sample, .. } = &predicted[place];
            if let Charged::Command(rule) = charged {
                charges[place] = Some(self.in_batch(sample, rule).await?);
                continue;
            }
            // The same change is written once for all rules that see it.
            let is_same = |other: &usize| {
                predicted[*other].sample == *sample
                    && !matches!(predicted[*other].charged, Charged::Command(_))
            };
            let same: Vec<_> = (0..predicted.len()).filter(is_same).collect();
            let charged: Vec<_> = same.iter().map(|place| &predicted[*place].charged).collect();
            for (place, charge) in same.into_iter().zip(self.measure(sample, &charged).await?) {
                charges[place] = Some(charge);
            }
        }
        Ok(charges.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// The levels of types that are deleted with an item of a type.
    fn owned_levels(&self, owner: &ItemType, levels_max: usize) -> usize {
        if levels_max == 0 {
            return 0;
        }
        let is_owner =
            |rule: &&Arc<OwnsRule>| (rule.owner.container, rule.owner.name) == (owner.container, owner.name);
        let owned = self.declared.owners().filter(is_owner).flat_map(|rule| &rule.owned);
        owned.map(|owned| 1 + self.owned_levels(&owned.item_type, levels_max - 1)).max().unwrap_or(0)
    }

    /// The charge of a change to each of these.
    async fn measure(
        &mut self,
        sample: &SampleChange,
        charged: &[&Charged],
    ) -> Result<Vec<RequestCharge>, CostError> {
        let before = self.charges(charged).await?;
        let (partition_key, operation) = self.operation(sample).await?;
        let container = sample.item_type.container;
        self.meter.store.write(container, &partition_key, operation, &Ledger::new()).await?;
        self.processor.drain().await?;
        let after = self.charges(charged).await?;
        Ok(before.iter().zip(after).map(|(before, after)| RequestCharge(after.0 - before.0)).collect())
    }

    async fn charges(&self, charged: &[&Charged]) -> Result<Vec<RequestCharge>, CostError> {
        let mut charges = Vec::with_capacity(charged.len());
        for charged in charged {
            charges.push(self.charge(charged).await?);
        }
        Ok(charges)
    }

    async fn charge(&self, charged: &Charged) -> Result<RequestCharge, CostError> {
        Ok(match charged {
            Charged::ChangeFeed(container) => {
                RequestCharge(self.meter.pages.lock().get(container).copied().unwrap_or(0.0))
            }
            Charged::Projection(name) => {
                let status = self.processor.status().await?;
                let found = status.iter().find(|status| status.projection == *name);
                found.map_or(RequestCharge(0.0), |status| status.request_charge)
            }
            Charged::Command(_) => RequestCharge(0.0),
        })
    }

    /// The difference between a batch with a counted item and its parent, and one with a counted item alone.
    async fn in_batch(
        &mut self,
        sample: &SampleChange,
        rule: &CountRule,
    ) -> Result<RequestCharge, CostError> {
        let (partition_key, alone) = self.operation(sample).await?;
        let (_, counted) = self.operation(sample).await?;
        let parent = self.parent(&counted, &partition_key, rule).await?;
        let container = rule.parent.container;
        let batch = |operations| Batch { container, partition_key: partition_key.clone(), operations };
        let (without, with) = (Ledger::new(), Ledger::new());
        self.meter.store.batch(batch(vec![alone]), &without).await?;
        self.meter.store.batch(batch(vec![counted, parent]), &with).await?;
        self.processor.drain().await?;
        Ok(RequestCharge(with.total().0 - without.total().0))
    }

    /// The parent of a counted item with one item more.
    async fn parent(
        &self,
        counted: &WriteOp,
        key: &PartitionKey,
        rule: &CountRule,
    ) -> Result<WriteOp, CostError> {
        let WriteOp::Create(item) = counted else { return Err(CostError::NoSample(rule.counted.name)) };
        let counted: serde_json::Map<_, _> =
            serde_json::from_slice(&item.body).map_err(|_| CostError::NoSample(rule.counted.name))?;
        let id = Body(counted).text(rule.by)?.to_owned();
        let container = rule.parent.container;
        let parent = self.meter.store.read(container, key, &id, &Ledger::new()).await?;
        let parent = parent.ok_or(CostError::NoSample(rule.parent.name))?;
        let edit = SampleEdit::Change(vec![FieldEdit::Alter(rule.field)]);
        self.edited(&edit, &rule.parent, Body::of(&parent)?, Some(parent.etag))
    }

    /// The write that a sample is, with the partition key.
    async fn operation(&mut self, sample: &SampleChange) -> Result<(PartitionKey, WriteOp), CostError> {
        let SampleChange { item_type, item, edit } = sample;
        let store = &self.meter.store;
        let stored = store.read(item_type.container, &item.partition_key, &item.id, &Ledger::new()).await?;
        let stored = stored.ok_or(CostError::NoSample(item_type.name))?;
        let body = Body::of(&stored)?;
        if body.is_deleted() {
            return Err(CostError::NoSample(item_type.name));
        }
        let operation = self.edited(edit, item_type, body, Some(stored.etag))?;
        let WriteOp::Create(new) = &operation else { return Ok((item.partition_key.clone(), operation)) };
        self.new_items += 1;
        let body = serde_json::from_slice(&new.body).map_err(|_| CostError::NoSample(item_type.name))?;
        Ok((Body(body).partition_key(item_type)?, operation))
    }

    fn edited(
        &self,
        edit: &SampleEdit,
        item_type: &ItemType,
        body: Body,
        if_match: Option<ETag>,
    ) -> Result<WriteOp, CostError> {
        let spec = self.declared.container(item_type.container).ok_or(CostError::NoSample(item_type.name))?;
        let item: NewItem = edit.apply(spec, body, self.new_items)?.into_item()?;
        Ok(match edit {
            SampleEdit::Create(_) => WriteOp::Create(item),
            SampleEdit::Change(_) | SampleEdit::Delete => WriteOp::Replace { item, if_match },
        })
    }
}
