//! Quotas and charge records: the port between the chargers of a request (the service, the pipeline) and the
//! keepers of callers' quotas.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use async_graphql::{ServerError, Value};
use async_trait::async_trait;

use super::caller::{Caller, RequestRejection};

/// The quota that a request is charged to.
pub trait QuotaAccount: Send + Sync {
    /// Opens the quota of a caller; `None` is an anonymous one.
    ///
    /// # Errors
    /// The quota is spent.
    fn open(&self, caller: Option<&Caller>) -> Result<(), RequestRejection>;

    /// Whether the quota is spent by now, even if it was open before.
    ///
    /// # Errors
    /// It is.
    fn check(&self) -> Result<(), RequestRejection>;

    /// Charges this many request units, also for an execution that was given up.
    fn charge(&self, request_charge: f64);
}

/// Admission control of the events of a subscription: the concurrency limit, and the quotas of the payers.
#[async_trait]
pub trait EventAdmission: Send + Sync {
    /// Waits until an event may be executed, which it may for as long as the permit is kept.
    ///
    /// # Errors
    /// No quota is left: nothing more is executed.
    async fn admit(&self) -> Result<EventPermit, ServerError>;
}

/// The right to execute an event, given back when it is dropped.
pub type EventPermit = Box<dyn Any + Send>;

/// A quota without a limit.
#[derive(Debug, Clone, Copy)]
pub struct Unmetered;

impl QuotaAccount for Unmetered {
    fn open(&self, _caller: Option<&Caller>) -> Result<(), RequestRejection> {
        Ok(())
    }

    fn check(&self) -> Result<(), RequestRejection> {
        Ok(())
    }

    fn charge(&self, _request_charge: f64) {}
}

/// The service's own record of its work for a request and its charges: the ledger of its store, say. The
/// server adds it up; the service, which made it, knows its type and gets it back by `dyn Any`.
pub trait ChargeRecord: Any + fmt::Debug + Send + Sync {
    /// The sum of all charges, in request units.
    fn request_charge(&self) -> f64;
}

/// The record of a service that charges nothing before an execution.
#[derive(Debug, Clone, Copy)]
pub struct NoCharges;

impl ChargeRecord for NoCharges {
    fn request_charge(&self) -> f64 {
        0.0
    }
}

/// The charge in the extensions of an execution, in request units.
pub(crate) fn charge_of(extensions: &BTreeMap<String, Value>) -> f64 {
    match extensions.get("requestCharge") {
        Some(Value::Number(charge)) => charge.as_f64().unwrap_or(0.0),
        _ => 0.0,
    }
}
