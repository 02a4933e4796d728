//! Engine chores: the rotation of full memtables, the release of written ones and the deletion of obsolete
//! tables, on a thread of their own (a background purge, as RocksDB has one).
//!
//! The engine (fjall 3.1) deletes the files of a table when its last reference goes. Left to itself it drops
//! that reference where memtables are rotated, under a lock that commits and reads need: each file of 64 MiB
//! takes some 20 ms to delete. So this thread holds a reference to each version of a key space's tables, and
//! gives it back, outside of all locks, when the engine has no use for it.
//!
//! The same holds for the memory of a memtable that was written out: the engine would free its entries, some
//! hundred thousand, one by one under the lock that reads need, which takes 100 to 250 ms.

use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fjall::{AbstractTree as _, Keyspace};

/// The age at which a version that the engine has let go of is dropped: readers that began with it have ended
/// by then, and do not drop it themselves.
const READS_MAX: Duration = Duration::from_secs(1);
/// Interval of looks at versions and memtables that wait.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A reference to the tables of a key space, which keeps their files.
type HeldVersion = Box<dyn Any + Send>;

/// A reference to a memtable, which keeps its memory.
type HeldMemtable = Arc<dyn Any + Send + Sync>;

enum Chore {
    /// Write out the active memtable of a key space.
    Rotate(usize),
    /// Hold a version of the tables of a key space.
    Hold(usize, HeldVersion),
}

/// The thread of an open engine. Dropping this waits for the thread, which drops its versions.
pub(super) struct EngineChores {
    chores: Option<Sender<Chore>>,
    thread: Option<JoinHandle<()>>,
    spaces: Arc<[SpaceChores]>,
}

struct SpaceChores {
    space: Keyspace,
    /// Whether the thread has yet to rotate the memtable.
    is_rotating: AtomicBool,
    /// The last version that was handed over, plus one.
    held: AtomicU64,
}

impl EngineChores {
    pub(super) fn start(spaces: &[Keyspace]) -> std::io::Result<Self> {
        let new = |space: &Keyspace| SpaceChores {
            space: space.clone(),
            is_rotating: AtomicBool::new(false),
            held: AtomicU64::new(0),
        };
        let spaces: Arc<[SpaceChores]> = spaces.iter().map(new).collect();
        let (sender, receiver) = channel();
        let own = Arc::clone(&spaces);
        let thread = std::thread::Builder::new()
            .name("store-chores".to_owned())
            .spawn(move || run(&own, &receiver))?;
        Ok(Self { chores: Some(sender), thread: Some(thread), spaces })
    }

    /// Has the active memtable of a key space written out, unless that was asked for already.
    pub(super) fn rotate(&self, space: usize) {
        if !self.spaces[space].is_rotating.swap(true, Ordering::AcqRel) {
            self.send(Chore::Rotate(space));
        }
    }

    /// Hands over the versions of tables that are new since the last call. A version that came and went
    /// between two calls is not held: the engine then deletes the tables that no other version has.
    pub(super) fn hold_new_versions(&self) {
        for (place, chores) in self.spaces.iter().enumerate() {
            if let Some(version) = chores.new_version() {
                self.send(Chore::Hold(place, version));
            }
        }
    }

    /// Whether the thread works.
    pub(super) fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn send(&self, chore: Chore) {
        // The thread ends with this alone.
        if let Some(chores) = &self.chores {
            let _ = chores.send(chore);
        }
    }
}

impl SpaceChores {
    /// The present version of the tables, unless it was handed over before.
    fn new_version(&self) -> Option<HeldVersion> {
        let version = self.space.tree.current_version();
        let number = version.id() + 1;
        (self.held.swap(number, Ordering::Relaxed) != number).then(|| Box::new(version) as HeldVersion)
    }

    fn active_memtable(&self) -> HeldMemtable {
        self.space.tree.active_memtable()
    }
}

impl Drop for EngineChores {
    fn drop(&mut self) {
        self.chores = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the storage engine's chores panicked");
        }
    }
}

fn run(spaces: &[SpaceChores], chores: &Receiver<Chore>) {
    let mut held: Vec<HeldVersions> = spaces.iter().map(|_| HeldVersions::default()).collect();
    let mut memtables: Vec<HeldMemtables> =
        spaces.iter().map(|chores| HeldMemtables::of(chores.active_memtable())).collect();
    loop {
        match chores.recv_timeout(LOOK_INTERVAL) {
            Ok(Chore::Rotate(place)) => {
                let SpaceChores { space, is_rotating, .. } = &spaces[place];
                if let Err(error) = space.rotate_memtable() {
                    // The next commit meets the same failure.
                    tracing::warn!(%error, "full memory cannot be written out");
                }
                is_rotating.store(false, Ordering::Release);
            }
            Ok(Chore::Hold(place, version)) => held[place].current.push_back(version),
            // Merges go on where nothing is written.
            Err(RecvTimeoutError::Timeout) => {
                for (held, chores) in held.iter_mut().zip(spaces) {
                    held.current.extend(chores.new_version());
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
        for (held, chores) in held.iter_mut().zip(spaces) {
            held.release(chores.space.tree.version_free_list_len() + 1, Instant::now());
        }
        for (memtables, chores) in memtables.iter_mut().zip(spaces) {
            memtables.release(chores.active_memtable());
        }
    }
}

/// The held versions of one key space.
#[derive(Default)]
struct HeldVersions {
    /// Versions that the engine may have, the oldest first.
    current: VecDeque<HeldVersion>,
    /// Versions that only readers may still have, and since when.
    obsolete: VecDeque<(Instant, HeldVersion)>,
}

impl HeldVersions {
    /// Drops obsolete versions, where the engine itself has this many versions.
    fn release(&mut self, engine_versions: usize, now: Instant) {
        while self.current.len() > engine_versions {
            self.obsolete.extend(self.current.pop_front().map(|version| (now, version)));
        }
        while self.obsolete.front().is_some_and(|(since, _)| now.duration_since(*since) >= READS_MAX) {
            self.obsolete.pop_front();
        }
    }
}

/// The held memtables of one key space.
struct HeldMemtables {
    active: HeldMemtable,
    /// Memtables that were active before, until the engine has written them out and let go of them.
    sealed: Vec<HeldMemtable>,
}

impl HeldMemtables {
    fn of(active: HeldMemtable) -> Self {
        Self { active, sealed: Vec::new() }
    }

    /// Notes the active memtable, and drops former ones to which no other reference is left.
    fn release(&mut self, active: HeldMemtable) {
        if !std::ptr::addr_eq(Arc::as_ptr(&self.active), Arc::as_ptr(&active)) {
            self.sealed.push(mem::replace(&mut self.active, active));
        }
        self.sealed.retain(|memtable| Arc::strong_count(memtable) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memtable_is_held_until_the_engine_drops_it() {
        let memtables: Vec<Arc<u8>> = (0..2).map(Arc::new).collect();
        let of_engine = |number: usize| Arc::clone(&memtables[number]) as HeldMemtable;
        let mut held = HeldMemtables::of(of_engine(0));
        held.release(of_engine(0));
        assert!(held.sealed.is_empty(), "it is still the active one");
        held.release(of_engine(1));
        assert_eq!(held.sealed.len(), 1, "it is being written out");
        assert_eq!(Arc::strong_count(&memtables[0]), 2);
        let mut memtables = memtables;
        let first = Arc::downgrade(&memtables.remove(0));
        held.release(Arc::clone(&memtables[0]) as HeldMemtable);
        assert!(held.sealed.is_empty() && first.upgrade().is_none(), "the engine has let go of it");
    }

    #[test]
    fn a_version_is_held_until_engine_and_readers_let_go() {
        let versions: Vec<Arc<()>> = (0..3).map(|_| Arc::new(())).collect();
        let mut held = HeldVersions::default();
        for version in &versions {
            held.current.push_back(Box::new(Arc::clone(version)));
        }
        let is_held = || versions.iter().map(|version| Arc::strong_count(version) == 2).collect::<Vec<_>>();
        let start = Instant::now();
        held.release(3, start);
        held.release(3, start + READS_MAX);
        assert_eq!(is_held(), [true, true, true], "the engine has all");
        held.release(1, start + READS_MAX);
        held.release(1, start + 2 * READS_MAX - Duration::from_millis(1));
        assert_eq!(is_held(), [true, true, true], "readers may have the first two");
        held.release(1, start + 2 * READS_MAX);
        assert_eq!(is_held(), [false, false, true]);
    }
}
