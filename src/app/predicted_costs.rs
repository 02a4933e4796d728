//! Predicted request charges of a served model's read models on its present data, while it is served.

use std::sync::Arc;

use onehop_read_models::cost::{CostCharges, CostError, PredictedCost};
use onehop_store::charges::Calibration;
use onehop_store::{Fault, FeedRequest, Indexing, Ledger, ObservedOperation, ObservedStore, StoreObserver};
use thiserror::Error;

use super::operated::ServedDomain;

/// Items of a prediction. It reads each of them and keeps its key.
const ITEMS_MAX: u64 = 20_000;

/// Why nothing is predicted.
#[derive(Debug, Error)]
pub enum PredictionError {
    /// Reading all items would take long.
    #[error(
        "there are more than {0} items: `onehop read-models --costs --model FILE --data DIRECTORY` measures \
         request charges on a copy of the data"
    )]
    TooManyItems(u64),
    /// Another prediction is under way.
    #[error("another prediction is under way: try again later")]
    Busy,
    /// The data does not fit the rules.
    #[error(transparent)]
    Cost(#[from] CostError),
    /// A fault of the store.
    #[error(transparent)]
    Store(#[from] Fault),
}

/// Puts each operation of a store on the account of a request.
struct RequestAccount(Arc<Ledger>);

impl StoreObserver for RequestAccount {
    fn on_operation(&self, operation: &ObservedOperation<'_>) {
        for record in operation.records {
            self.0.record(*record);
        }
    }
}

impl ServedDomain {
    /// The predicted request charge of each kind of change. One prediction runs at a time.
    ///
    /// # Errors
    /// See [`PredictionError`].
    pub async fn predicted_costs(&self, ledger: &Arc<Ledger>) -> Result<Vec<PredictedCost>, PredictionError> {
        let Ok(_one_at_a_time) = self.predictions.try_acquire() else { return Err(PredictionError::Busy) };
        self.refuse_many_items(ledger).await?;
        let account: Arc<[Arc<dyn StoreObserver>]> = Arc::new([Arc::new(RequestAccount(Arc::clone(ledger)))]);
        let store = ObservedStore::new(Arc::clone(&self.engine.background), account);
        let calibration = self.engine.calibration().cloned().map_or_else(Calibration::current, Arc::new);
        let charges = CostCharges { indexing: Indexing::default(), calibration };
        Ok(self.model.read_models().predicted_costs(&store, &charges).await?)
    }

    async fn refuse_many_items(&self, ledger: &Ledger) -> Result<(), PredictionError> {
        let (store, mut items) = (&self.engine.background, 0);
        for spec in self.model.read_models().containers() {
            for range in store.feed_ranges(spec.name).await? {
                let request = FeedRequest {
                    container: spec.name,
                    range: &range,
                    continuation: None,
                    types: None,
                    limit: 1,
                };
                items += store.pending_changes(&request, ITEMS_MAX + 1, ledger).await?.0;
                if items > ITEMS_MAX {
                    return Err(PredictionError::TooManyItems(ITEMS_MAX));
                }
            }
        }
        Ok(())
    }
}
