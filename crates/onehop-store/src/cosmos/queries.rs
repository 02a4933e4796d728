//! Running SQL: pages of items, and counts.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use azure_data_cosmos::CosmosError;
use azure_data_cosmos::feed::FeedScope;
use azure_data_cosmos::options::{MaxItemCountHint, QueryOptions};
use futures::StreamExt;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::CosmosStore;
use super::container::CosmosContainer;
use super::document::item_of;
use super::error_mapping::{OperationContext, fault_of};
use super::retries::Retries;
use super::service_response::{ServiceResponse, charge_of, charge_of_error};
use super::sql::{QueryShape, Sql, top};
use crate::{ContainerSpec, Fault, Item, Ledger, OperationKind, Query, QueryPage, RequestCharge};

/// The client's own limit of physical partitions for one query, if ours is not higher.
const FAN_OUT_DEFAULT: u32 = 100;

/// The text of a query as the service gets it, with the names of its parameters.
#[must_use]
pub fn query_text(spec: &ContainerSpec, query: &Query<'_>) -> String {
    let (item_type, equality, order_by, direction, after, limit) = match *query {
        Query::Partition { item_type, order_by, direction, after, limit, .. }
        | Query::Newest { item_type, order_by, direction, after, limit, .. } => {
            (item_type, None, order_by, direction, after, limit)
        }
        Query::Equality { path, value, item_type, order_by, direction, after, limit, .. } => {
            (item_type, Some((path, value)), order_by, direction, after, limit)
        }
    };
    let order_by = order_by.or_else(|| spec.order_of(item_type));
    let shape = QueryShape { item_type, equality, order_by, direction, after, top: top(limit) };
    Sql::page(spec, shape).text
}

impl CosmosStore {
    /// Runs SQL to its end, or until `at_most` values are there.
    pub(super) async fn run_sql<T: DeserializeOwned + Send + 'static>(
        &self,
        container: &CosmosContainer,
        scope: &FeedScope,
        sql: &Sql,
        at_most: usize,
        ledger: &Ledger,
    ) -> ServiceResponse<Vec<T>> {
        let mut charge = RequestCharge::default();
        let mut retries = Retries::new(self.retry_policy);
        let outcome = loop {
            match self.run_sql_once(container, scope, sql, at_most, (&mut charge, ledger)).await {
                Ok(values) => break Ok(values),
                Err(PageFailure::Fault(fault)) => break Err(fault),
                Err(PageFailure::Service(error)) => {
                    // The charge of the failed attempt is in `charge` already.
                    if !retries.go_on_after(&error).await {
                        break Err(fault_of(*error, OperationContext::Reading));
                    }
                }
            }
        };
        ServiceResponse { charge, outcome }
    }

    async fn run_sql_once<T: DeserializeOwned + Send + 'static>(
        &self,
        container: &CosmosContainer,
        scope: &FeedScope,
        sql: &Sql,
        at_most: usize,
        (charge, ledger): (&mut RequestCharge, &Ledger),
    ) -> Result<Vec<T>, PageFailure> {
        let mut options = QueryOptions::default().with_operation_options(self.read_options(ledger));
        if let Some(limit) = u32::try_from(at_most).ok().and_then(NonZeroU32::new) {
            options = options.with_max_item_count(MaxItemCountHint::Limit(limit));
        }
        let fan_out = container.physical_partitions.load(Ordering::Relaxed).max(FAN_OUT_DEFAULT);
        let feed = options.feed.clone().with_max_fan_out(fan_out);
        let query = sql.clone().into_query()?;
        let items =
            container.client.query_items::<T>(query, scope.clone(), Some(options.with_feed_options(feed)));
        let mut pages = items.await.map_err(|error| failed(error, charge))?.into_pages();
        let mut values = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| failed(error, charge))?;
            charge.0 += charge_of(&page.diagnostics()).0;
            values.extend(page.into_items());
            if values.len() >= at_most {
                break;
            }
        }
        Ok(values)
    }

    pub(super) async fn page(
        &self,
        container: &CosmosContainer,
        scope: FeedScope,
        shape: QueryShape<'_>,
        ledger: &Ledger,
    ) -> ServiceResponse<QueryPage> {
        let limit = shape.top - 1;
        let sql = Sql::page(&container.spec, shape);
        let ServiceResponse { charge, outcome } =
            self.run_sql::<Box<RawValue>>(container, &scope, &sql, shape.top, ledger).await;
        let outcome = outcome.and_then(|values| {
            let has_more = values.len() > limit;
            let items: Result<Arc<[Item]>, Fault> =
                values.iter().take(limit).map(|value| item_of(value.get().as_bytes())).collect();
            Ok(QueryPage { items: items?, has_more })
        });
        ServiceResponse { charge, outcome }
    }
}

impl CosmosContainer {
    pub(super) fn finish_query(
        &self,
        answered: ServiceResponse<QueryPage>,
        is_across: bool,
        ledger: &Ledger,
    ) -> Result<QueryPage, Fault> {
        let items = answered.outcome.as_ref().map_or(0, |page| page.items.len());
        let partitions = if is_across { self.physical_partitions.load(Ordering::Relaxed) } else { 1 };
        let mut record = self.record(OperationKind::Query, items, answered.charge, partitions);
        record.basis.is_across = is_across;
        ledger.record(record);
        answered.outcome
    }
}

/// Why a page was not read.
pub(super) enum PageFailure {
    Service(Box<CosmosError>),
    Fault(Fault),
}

impl From<Fault> for PageFailure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A page that the service did not return, with its charge all the same.
pub(super) fn failed(error: CosmosError, charge: &mut RequestCharge) -> PageFailure {
    charge.0 += charge_of_error(&error).0;
    PageFailure::Service(Box::new(error))
}
