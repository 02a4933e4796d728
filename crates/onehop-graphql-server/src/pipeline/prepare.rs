//! Prepare: the cost of decoding, parsing and validating a request. It is charged to the caller's quota by
//! deterministic units, and large work waits for its turn in a fair queue by network. Knows amounts of work,
//! not how it is done.
//!
//! The charges are calibrated so that 1 RU stands for about 50 µs of one core. Time itself is never measured.

use std::thread::available_parallelism;

use super::rate_limit::RequestQuota;
use crate::client_address::Network;
use crate::fair_queue::{FairQueue, FairQueueLimits, FairTurn};
use crate::quota::QuotaAccount as _;
use crate::refusal::Refusal;

/// The charge of each request before anything of it is looked at, in request units.
pub const REQUEST_RU: f64 = 0.25;
/// Bytes that are decoded for 1 RU: of a body, without its coding, or of a document's text.
pub const DECODED_BYTES_PER_RU: u32 = 10 * 1024;
/// Tokens that are parsed for 1 RU.
pub const PARSED_TOKENS_PER_RU: u32 = 40;
/// Fields and fragments that are validated for 1 RU, each spread counted expanded.
pub const VALIDATED_FIELDS_PER_RU: u32 = 20;
/// Fields of introspection that are answered for 1 RU.
pub const INTROSPECTED_FIELDS_PER_RU: u32 = 20;

/// Work of up to this charge is done at once, and larger work waits for its turn.
const AT_ONCE_RU_MAX: f64 = 4.0;

/// Limit of requests that wait for their turn.
pub const WAITING_MAX: usize = 512;

/// The charges of preparation, and how many requests are prepared at once.
#[derive(Debug, Clone, Copy)]
pub struct PreparationLimits {
    /// Whether callers are charged.
    pub is_charged: bool,
    pub queue: FairQueueLimits,
}

impl Default for PreparationLimits {
    /// Half of the cores prepare large requests, so that the other half answers small ones meanwhile.
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        let at_once = (cores / 2).max(1);
        Self { is_charged: true, queue: FairQueueLimits { at_once, waiting_max: WAITING_MAX } }
    }
}

/// An amount of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PreparationWork {
    pub(crate) decoded_bytes: usize,
    pub(crate) parsed_tokens: usize,
    pub(crate) validated_fields: usize,
    pub(crate) introspected_fields: usize,
}

impl PreparationWork {
    pub(crate) fn decoding(bytes: usize) -> Self {
        Self { decoded_bytes: bytes, ..Self::default() }
    }

    pub(crate) fn parsing(tokens: usize) -> Self {
        Self { parsed_tokens: tokens, ..Self::default() }
    }

    pub(crate) fn validating(fields: usize) -> Self {
        Self { validated_fields: fields, ..Self::default() }
    }

    pub(crate) fn introspecting(fields: usize) -> Self {
        Self { introspected_fields: fields, ..Self::default() }
    }

    /// The charge, in request units.
    pub(crate) fn charge(self) -> f64 {
        let parts = [
            (self.decoded_bytes, DECODED_BYTES_PER_RU),
            (self.parsed_tokens, PARSED_TOKENS_PER_RU),
            (self.validated_fields, VALIDATED_FIELDS_PER_RU),
            (self.introspected_fields, INTROSPECTED_FIELDS_PER_RU),
        ];
        parts.into_iter().map(|(amount, per_ru)| amount as f64 / f64::from(per_ru)).sum()
    }
}

/// Prepares requests within the limits.
pub(crate) struct Preparations {
    limits: PreparationLimits,
    queue: FairQueue<Network>,
}

impl Preparations {
    pub(crate) fn new(limits: PreparationLimits) -> Self {
        Self { limits, queue: FairQueue::new(limits.queue) }
    }

    /// Begins to prepare a request whose quota is open, and takes the charge of every request.
    pub(crate) fn begin<'a>(&'a self, quota: &'a RequestQuota) -> Preparation<'a> {
        let preparation = Preparation { preparations: self, quota, begun: 0.0, turn: None };
        preparation.charge(REQUEST_RU);
        preparation
    }

    /// The charge of work, in request units.
    pub(crate) fn charge(&self, work: PreparationWork) -> f64 {
        if self.limits.is_charged { work.charge() } else { 0.0 }
    }
}

/// The preparation of one request. It has its turn from its first large work on.
pub(crate) struct Preparation<'a> {
    preparations: &'a Preparations,
    quota: &'a RequestQuota,
    /// The sum of the work that was begun, in request units, charged or not.
    begun: f64,
    turn: Option<FairTurn<Network>>,
}

impl Preparation<'_> {
    /// Charges work that is about to be done, and waits for a turn unless all of it is small.
    ///
    /// # Errors
    /// Too many requests wait, or the quota was spent while this one waited.
    pub(crate) async fn work(&mut self, work: PreparationWork) -> Result<(), Refusal> {
        let amount = work.charge();
        if self.begun + amount > AT_ONCE_RU_MAX {
            self.await_turn().await?;
        }
        self.done(work);
        Ok(())
    }

    /// Charges work that was done in a turn, since its amount was not known before.
    pub(crate) fn done(&mut self, work: PreparationWork) {
        let amount = work.charge();
        self.begun += amount;
        self.charge(amount);
    }

    /// Waits for a turn, for work whose amount is not known.
    ///
    /// # Errors
    /// As [`work`](Self::work).
    pub(crate) async fn await_turn(&mut self) -> Result<(), Refusal> {
        if self.turn.is_some() {
            return Ok(());
        }
        let turn = self.preparations.queue.turn(self.quota.client().network).await;
        self.turn = Some(turn.map_err(|_| Refusal::from(super::admit::Overloaded))?);
        // Other requests may have spent the same quota meanwhile.
        Ok(self.quota.check()?)
    }

    fn charge(&self, amount: f64) {
        if self.preparations.limits.is_charged {
            self.quota.charge(amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_charged_by_its_units() {
        let work = PreparationWork {
            decoded_bytes: 10 * 1024,
            parsed_tokens: 80,
            validated_fields: 10,
            introspected_fields: 40,
        };
        assert_eq!(work.charge(), 1.0 + 2.0 + 0.5 + 2.0);
    }
}
