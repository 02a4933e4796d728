//! Admission of password hashing: a concurrency limit with fair queueing by network, in three lanes.
//!
//! Each lane has places of its own and serves the networks that wait in it in turn; within a /48 it serves
//! the /64s in turn. When a lane is full, a newcomer takes the place of the network that has the most, unless
//! that has hardly more than the newcomer. So neither a network with many requests nor a flood of sign-ups
//! keeps others from their turn.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::network_prefixes::{AttemptOrigin, Prefix};

/// The lane that a caller waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lane {
    /// A sign-in from a network that signed in at this name before.
    Known,
    /// Any other sign-in.
    #[default]
    SignIn,
    SignUp,
}

/// The order in which lanes are served; an empty lane is passed over.
const TURNS: [Lane; 4] = [Lane::Known, Lane::SignIn, Lane::Known, Lane::SignUp];
const LANES: usize = 3;

/// The caller who wants a password hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HashingCaller {
    pub lane: Lane,
    pub origin: AttemptOrigin,
}

impl HashingCaller {
    /// The network of the caller.
    #[must_use]
    pub fn network(&self) -> Prefix {
        self.origin.address()
    }
}

/// Concurrency limits of hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashingLimits {
    /// Computed at once; each takes a blocking thread and the memory of its cost.
    pub at_once: usize,
    /// Waiting for their turn in each lane; beyond it callers get [`Busy`].
    pub waiting_max: usize,
}

impl Default for HashingLimits {
    /// Two at once take 38 MiB at the cost of OWASP; 64 waiting take about a second.
    fn default() -> Self {
        Self { at_once: 2, waiting_max: 64 }
    }
}

/// The lane is full, and no network in it has more places than its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// The places of password hashing. Cheap to clone; clones share them.
#[derive(Clone)]
pub struct HashingQueue(Arc<Shared>);

struct Shared {
    limits: HashingLimits,
    state: Mutex<HashingState>,
}

#[derive(Default)]
struct HashingState {
    running: usize,
    lanes: [FairQueue; LANES],
    /// The next place in [`TURNS`].
    turn: usize,
    waiters: u64,
}

/// The right to compute one hash. It goes to the next caller when it is dropped.
pub struct Permit(Arc<Shared>);

/// A place in a lane, which is given up when it is dropped.
struct LanePlace {
    shared: Arc<Shared>,
    lane: Lane,
    id: u64,
}

impl HashingQueue {
    /// Places for this many.
    #[must_use]
    pub fn new(limits: HashingLimits) -> Self {
        Self(Arc::new(Shared { limits, state: Mutex::default() }))
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// There is no place, or another network has taken it.
    pub async fn acquire(&self, caller: HashingCaller) -> Result<Permit, Busy> {
        let (place, turn) = {
            let mut state = self.0.lock();
            if state.running < self.0.limits.at_once {
                state.running += 1;
                return Ok(Permit(Arc::clone(&self.0)));
            }
            state.waiters += 1;
            let (sender, turn) = oneshot::channel();
            let waiter = Waiter { id: state.waiters, sender };
            let place = LanePlace { shared: Arc::clone(&self.0), lane: caller.lane, id: waiter.id };
            let lane = &mut state.lanes[caller.lane as usize];
            if !lane.push(caller.origin, waiter, self.0.limits.waiting_max) {
                drop(state);
                return Err(Busy);
            }
            (place, turn)
        };
        let permit = turn.await.map_err(|_displaced| Busy);
        drop(place);
        permit
    }
}

impl Shared {
    /// The state is whole after every step.
    fn lock(&self) -> MutexGuard<'_, HashingState> {
        self.state.lock()
    }
}

impl HashingState {
    fn next(&mut self) -> Option<Waiter> {
        for offset in 0..TURNS.len() {
            let turn = (self.turn + offset) % TURNS.len();
            if let Some(waiter) = self.lanes[TURNS[turn] as usize].pop() {
                self.turn = turn + 1;
                return Some(waiter);
            }
        }
        None
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.lock();
            let next = state.next();
            if next.is_none() {
                state.running -= 1;
            }
            next
        };
        if let Some(waiter) = next {
            // A permit whose waiter is gone is dropped here, and goes on to the next.
            drop(waiter.sender.send(Self(Arc::clone(&self.0))));
        }
    }
}

impl Drop for LanePlace {
    fn drop(&mut self) {
        self.shared.lock().lanes[self.lane as usize].remove(self.id);
    }
}

impl fmt::Debug for HashingQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HashingQueue").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Permit")
    }
}

struct Waiter {
    id: u64,
    sender: oneshot::Sender<Permit>,
}

/// Waiters by site, and within a site by address; both are served in turn.
#[derive(Default)]
struct FairQueue {
    sites: VecDeque<Site>,
    waiting: usize,
}

struct Site {
    network: Prefix,
    addresses: VecDeque<Address>,
}

struct Address {
    network: Prefix,
    waiters: VecDeque<Waiter>,
}

impl Site {
    fn waiting(&self) -> usize {
        self.addresses.iter().map(|address| address.waiters.len()).sum()
    }
}

impl FairQueue {
    /// Adds a waiter; `false` when there is no place for it.
    fn push(&mut self, origin: AttemptOrigin, waiter: Waiter, waiting_max: usize) -> bool {
        if self.waiting >= waiting_max && !self.displace_for(origin) {
            return false;
        }
        let site = find_or_add(
            &mut self.sites,
            |site| site.network == origin.site(),
            || Site { network: origin.site(), addresses: VecDeque::new() },
        );
        let address = find_or_add(
            &mut site.addresses,
            |address| address.network == origin.address(),
            || Address { network: origin.address(), waiters: VecDeque::new() },
        );
        address.waiters.push_back(waiter);
        self.waiting += 1;
        true
    }

    /// The first waiter of the address whose turn it is in the site whose turn it is.
    fn pop(&mut self) -> Option<Waiter> {
        let mut site = self.sites.pop_front()?;
        let mut address = site.addresses.pop_front()?;
        let waiter = address.waiters.pop_front();
        if !address.waiters.is_empty() {
            site.addresses.push_back(address);
        }
        if !site.addresses.is_empty() {
            self.sites.push_back(site);
        }
        self.waiting -= usize::from(waiter.is_some());
        waiter
    }

    /// Sends away the newest waiter of who has the most places, if that is fairer.
    fn displace_for(&mut self, origin: AttemptOrigin) -> bool {
        let own_site = self.sites.iter().find(|site| site.network == origin.site());
        let of_site = own_site.map_or(0, Site::waiting);
        let own_address = own_site
            .and_then(|site| site.addresses.iter().find(|address| address.network == origin.address()));
        let of_address = own_address.map_or(0, |address| address.waiters.len());
        let Some((largest, most)) = self
            .sites
            .iter()
            .enumerate()
            .map(|(at, site)| (at, site.waiting()))
            .max_by_key(|(_, most)| *most)
        else {
            return false;
        };
        let place = if most >= of_site + 2 {
            Some(largest)
        } else {
            self.sites.iter().position(|site| site.network == origin.site()).filter(|_| most == of_site)
        };
        let Some(site) = place.and_then(|place| self.sites.get(place)) else { return false };
        let of_others = site.addresses.iter().map(|address| address.waiters.len()).max().unwrap_or(0);
        if site.network == origin.site() && of_others < of_address + 2 {
            return false;
        }
        let newest = site.addresses.iter().filter(|address| address.waiters.len() == of_others);
        let newest = newest.filter_map(|address| address.waiters.back()).map(|waiter| waiter.id).max();
        newest.is_some_and(|id| self.remove(id))
    }

    fn remove(&mut self, id: u64) -> bool {
        let before = self.waiting;
        for site in &mut self.sites {
            for address in &mut site.addresses {
                address.waiters.retain(|waiter| waiter.id != id);
            }
            site.addresses.retain(|address| !address.waiters.is_empty());
        }
        self.sites.retain(|site| !site.addresses.is_empty());
        self.waiting = self.sites.iter().map(Site::waiting).sum();
        self.waiting < before
    }
}

fn find_or_add<T>(all: &mut VecDeque<T>, is_it: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let place = all.iter().position(is_it).unwrap_or_else(|| {
        all.push_back(make());
        all.len() - 1
    });
    &mut all[place]
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;

    use futures::FutureExt as _;

    use super::*;

    type Acquiring = Pin<Box<dyn Future<Output = Result<Permit, Busy>>>>;

    fn queue(waiting_max: usize) -> HashingQueue {
        HashingQueue::new(HashingLimits { at_once: 1, waiting_max })
    }

    /// A caller that has begun to wait.
    fn begin(queue: &HashingQueue, lane: Lane, origin: AttemptOrigin) -> Acquiring {
        let queue = queue.clone();
        let mut acquiring: Acquiring =
            Box::pin(async move { queue.acquire(HashingCaller { lane, origin }).await });
        assert!(acquiring.as_mut().now_or_never().is_none_or(|turned| turned.is_err()), "none is ahead");
        acquiring
    }

    fn sign_in(queue: &HashingQueue, address: u32) -> Acquiring {
        begin(queue, Lane::SignIn, AttemptOrigin::v4(address))
    }

    /// In which order these callers are served, one after another, once the permit is given back.
    fn order(permit: Permit, mut waiting: Vec<(&'static str, Acquiring)>) -> Vec<&'static str> {
        drop(permit);
        let mut served = Vec::new();
        while !waiting.is_empty() {
            let ready = waiting.iter_mut().enumerate().find_map(|(index, (_, acquiring))| {
                acquiring.as_mut().now_or_never().map(|turn| (index, turn))
            });
            let (index, turn) = ready.expect("a turn");
            served.push(waiting.remove(index).0);
            drop(turn);
        }
        served
    }

    fn held(queue: &HashingQueue) -> Permit {
        queue.acquire(HashingCaller::default()).now_or_never().unwrap().unwrap()
    }

    #[test]
    fn networks_are_served_in_turn() {
        let queue = queue(10);
        let permit = held(&queue);
        let waiting = [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("c1", 3), ("b2", 2)];
        let waiting = waiting.into_iter().map(|(name, address)| (name, sign_in(&queue, address))).collect();
        assert_eq!(order(permit, waiting), ["a1", "b1", "c1", "a2", "b2", "a3"]);
    }

    #[test]
    fn a_site_of_ipv6_has_one_turn_whatever_its_networks() {
        let queue = queue(10);
        let permit = held(&queue);
        let site = |subnet: u64| AttemptOrigin::v6(0x2001_0db8_0000_0000 + subnet);
        let mut waiting: Vec<_> = [("s1", 1), ("s1 again", 1), ("s2", 2), ("s3", 3)]
            .into_iter()
            .map(|(name, subnet)| (name, begin(&queue, Lane::SignIn, site(subnet))))
            .collect();
        waiting.push(("other", sign_in(&queue, 9)));
        assert_eq!(order(permit, waiting), ["s1", "other", "s2", "s3", "s1 again"]);
    }

    #[test]
    fn a_full_lane_takes_a_place_from_the_network_with_the_most() {
        let queue = queue(3);
        let permit = held(&queue);
        let mut flood: Vec<_> = (0..3).map(|_| sign_in(&queue, 1)).collect();
        let stranger = sign_in(&queue, 2);
        let turned_away = flood[2].as_mut().now_or_never();
        assert!(matches!(turned_away, Some(Err(Busy))), "the newest of the flood gives way");
        let late = queue.acquire(HashingCaller { lane: Lane::SignIn, origin: AttemptOrigin::v4(1) });
        assert!(matches!(late.now_or_never(), Some(Err(Busy))), "the flood wins nothing back");
        flood.truncate(1);
        let waiting = vec![("flood", flood.remove(0)), ("stranger", stranger)];
        assert_eq!(order(permit, waiting), ["flood", "stranger"]);
    }

    #[test]
    fn within_a_full_site_the_network_with_the_most_gives_way() {
        let queue = queue(3);
        let permit = held(&queue);
        let site = |subnet: u64| AttemptOrigin::v6(0x2001_0db8_0000_0000 + subnet);
        let mut flood: Vec<_> = (0..3).map(|_| begin(&queue, Lane::SignIn, site(1))).collect();
        let neighbour = begin(&queue, Lane::SignIn, site(2));
        assert!(matches!(flood.pop().unwrap().now_or_never(), Some(Err(Busy))));
        let second = flood.pop().unwrap();
        let waiting = vec![("flood", flood.remove(0)), ("second", second), ("neighbour", neighbour)];
        assert_eq!(order(permit, waiting), ["flood", "neighbour", "second"]);
    }

    #[test]
    fn lanes_have_places_and_turns_of_their_own() {
        let queue = queue(2);
        let permit = held(&queue);
        let lanes = [
            ("known 1", Lane::Known, 1),
            ("known 2", Lane::Known, 2),
            ("sign-in 1", Lane::SignIn, 3),
            ("sign-in 2", Lane::SignIn, 4),
            ("sign-up 1", Lane::SignUp, 5),
            ("sign-up 2", Lane::SignUp, 6),
        ];
        let mut waiting: Vec<_> = lanes
            .into_iter()
            .map(|(name, lane, address)| (name, begin(&queue, lane, AttemptOrigin::v4(address))))
            .collect();
        let crowd = queue.acquire(HashingCaller { lane: Lane::SignUp, origin: AttemptOrigin::v4(7) });
        assert!(matches!(crowd.now_or_never(), Some(Err(Busy))));
        waiting.reverse();
        let served = order(permit, waiting);
        assert_eq!(served, ["known 1", "sign-in 1", "known 2", "sign-up 1", "sign-in 2", "sign-up 2"]);
    }

    #[test]
    fn who_gives_up_leaves_the_place_to_another() {
        let queue = queue(1);
        let permit = held(&queue);
        drop(sign_in(&queue, 1));
        let waiting = vec![("next", sign_in(&queue, 2))];
        assert_eq!(order(permit, waiting), ["next"]);
        let free = queue.acquire(HashingCaller::default()).now_or_never();
        assert!(matches!(free, Some(Ok(_))), "the permit came back");
    }

    #[test]
    fn a_turn_that_nobody_takes_goes_on() {
        let queue = queue(2);
        let permit = held(&queue);
        let (gone, next) = (sign_in(&queue, 1), sign_in(&queue, 2));
        drop(permit);
        drop(gone);
        assert!(matches!(next.now_or_never(), Some(Ok(_))));
    }
}
