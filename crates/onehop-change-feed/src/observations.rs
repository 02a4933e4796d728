//! Observations of other instances: when each heartbeat was last seen to move, by the monotonic clock of this
//! instance.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::heartbeat::{Pulse, StoredHeartbeat};

/// Heartbeats of other instances, by the names of these.
#[derive(Debug, Default)]
pub(super) struct Observations(Mutex<BTreeMap<String, Observation>>);

#[derive(Debug, Clone)]
struct Observation {
    /// `None` for an owner of leases without a heartbeat.
    stored: Option<StoredHeartbeat>,
    /// Since when it has not moved (monotonic ms).
    since_ms: i64,
}

impl Observation {
    fn pulse(&self) -> Option<Pulse> {
        self.stored.as_ref().map(StoredHeartbeat::pulse)
    }
}

impl Observations {
    /// Records a listing of all heartbeats of other instances, and of all other owners of leases.
    pub(super) fn record<'a>(
        &self,
        listed: Vec<StoredHeartbeat>,
        owners: impl Iterator<Item = &'a str>,
        now_ms: i64,
    ) {
        let mut known = self.0.lock();
        let mut observed = BTreeMap::new();
        for stored in listed {
            let before = known.get(&stored.item.owner);
            let is_unmoved = |before: &&Observation| before.pulse() == Some(stored.pulse());
            let since_ms = before.filter(is_unmoved).map_or(now_ms, |before| before.since_ms);
            observed.insert(stored.item.owner.clone(), Observation { stored: Some(stored), since_ms });
        }
        for owner in owners {
            let since_ms = known.get(owner).map_or(now_ms, |before| before.since_ms);
            observed.entry(owner.to_owned()).or_insert(Observation { stored: None, since_ms });
        }
        *known = observed;
    }

    /// Records heartbeats that were read again. Returns whether all of them are there and alive.
    pub(super) fn record_again(
        &self,
        read: Vec<(StoredHeartbeat, Option<StoredHeartbeat>)>,
        now_ms: i64,
        expire_ms: i64,
    ) -> bool {
        let mut known = self.0.lock();
        let mut all_live = true;
        for (before, found) in read {
            let Some(observation) = known.get_mut(&before.item.owner) else { continue };
            match found {
                None => all_live = false,
                Some(found) => {
                    if observation.pulse() != Some(found.pulse()) {
                        observation.since_ms = now_ms;
                    }
                    observation.stored = Some(found);
                    all_live &= now_ms < observation.since_ms.saturating_add(expire_ms);
                }
            }
        }
        all_live
    }

    /// Whether the heartbeat of an instance has moved within the expiry.
    pub(super) fn is_live(&self, owner: &str, now_ms: i64, expire_ms: i64) -> bool {
        let known = self.0.lock();
        known.get(owner).is_some_and(|observation| now_ms < observation.since_ms.saturating_add(expire_ms))
    }

    /// The heartbeats of the other instances.
    pub(super) fn all(&self) -> Vec<StoredHeartbeat> {
        self.0.lock().values().filter_map(|observation| observation.stored.clone()).collect()
    }

    /// The heartbeats that have not moved within the expiry.
    pub(super) fn dead(&self, now_ms: i64, expire_ms: i64) -> Vec<StoredHeartbeat> {
        let mut all = self.all();
        all.retain(|stored| !self.is_live(&stored.item.owner, now_ms, expire_ms));
        all
    }

    /// Whether every instance has a heartbeat and is alive.
    pub(super) fn are_all_live(&self, now_ms: i64, expire_ms: i64) -> bool {
        let is_live = |observation: &Observation| {
            observation.stored.is_some() && now_ms < observation.since_ms.saturating_add(expire_ms)
        };
        self.0.lock().values().all(is_live)
    }

    pub(super) fn forget(&self, owner: &str) {
        self.0.lock().remove(owner);
    }

    /// The incarnations, which do not change while the same instances live.
    pub(super) fn incarnations(&self) -> Vec<(String, Option<u64>)> {
        let known = self.0.lock();
        let incarnation = |observation: &Observation| observation.pulse().map(|pulse| pulse.incarnation);
        known.iter().map(|(owner, observation)| (owner.clone(), incarnation(observation))).collect()
    }
}
