//! The backfills of a lease, and the state of this instance's own backfills.

use tokio::sync::{Mutex, Notify};

use super::feed_place::{Backfill, FeedPlace};
use super::lease::LeaseItem;
use super::lease_scope::LeaseScope;
use super::read_progress::ReadProgress;
use super::source::SourcePage;
use onehop_runtime::planted;

/// Projections whose positions a lease keeps beside its checkpoint. Beyond them, the first that the owner
/// does not know are forgotten, and begin at the beginning should they come back.
const BACKFILLS_MAX: usize = 64;

impl LeaseItem {
    /// The backfills once an instance with this scope has acquired the lease.
    pub(super) fn backfills_for(&self, scope: &LeaseScope) -> Vec<Backfill> {
        let mut backfills = self.backfills.clone();
        let here = FeedPlace { continuation: self.continuation.clone(), progress: self.progress.clone() };
        if here.continuation.is_some() {
            // From now on they are not served.
            let unknown = self.projections.iter().filter(|name| !scope.projections.contains(name));
            backfills.extend(unknown.map(|name| Backfill::at(name, &here)));
            let is_new = |name: &&String| {
                !self.projections.contains(name)
                    && !self.backfills.iter().any(|backfill| backfill.projection == **name)
                    && !scope.without_history.contains(name)
            };
            let new = scope.projections.iter().filter(is_new);
            let first =
                if planted!("added-projection-skips-history") { here.clone() } else { FeedPlace::default() };
            backfills.extend(new.map(|name| Backfill::at(name, &first)));
        }
        let mut surplus = backfills.len().saturating_sub(BACKFILLS_MAX);
        backfills.retain(|backfill| {
            let is_forgotten = surplus > 0 && !scope.projections.contains(&backfill.projection);
            surplus -= usize::from(is_forgotten);
            !is_forgotten
        });
        backfills
    }

    /// The lease after the store refused its continuation: all projections begin at the beginning.
    pub(super) fn restarted(&self, scope: &LeaseScope) -> Self {
        let mut backfills = self.backfills.clone();
        backfills.retain(|backfill| !scope.projections.contains(&backfill.projection));
        let beginning = FeedPlace::default();
        backfills.extend(scope.projections.iter().map(|name| Backfill::at(name, &beginning)));
        Self {
            continuation: None,
            progress: ReadProgress::default(),
            projections: Vec::new(),
            backfills,
            change_checkpoints: Vec::new(),
            ..self.clone()
        }
    }

    /// The lease with the positions of these backfills.
    pub(super) fn with_backfills_at(&self, present: &[Backfill]) -> Self {
        let mut next = self.clone();
        for backfill in &mut next.backfills {
            if let Some(present) = present.iter().find(|present| present.projection == backfill.projection) {
                backfill.place.clone_from(&present.place);
            }
        }
        next
    }

    /// The lease after projections have come as far as the live reader. Where it serves no other, it goes on
    /// at their place.
    pub(super) fn joined(&self, projections: &[String], place: &FeedPlace) -> Self {
        let mut next = self.clone();
        if next.projections.is_empty() {
            next.continuation.clone_from(&place.continuation);
            next.progress.clone_from(&place.progress);
        }
        next.projections.extend(projections.iter().cloned());
        next.backfills.retain(|backfill| !projections.contains(&backfill.projection));
        next
    }
}

/// The backfills of a feed range that this instance works on.
#[derive(Default)]
pub(super) struct Backfills {
    /// Locked for a page, so that a task and an explicit step do not overlap.
    pub(super) state: Mutex<BackfillState>,
    present: parking_lot::Mutex<PresentBackfills>,
    /// There are others than before.
    pub(super) changed: Notify,
}

/// The backfills that have not joined the live reader.
#[derive(Default)]
struct PresentBackfills {
    backfills: Vec<Backfill>,
    /// Grows when the lease says others. A page from before is none of theirs.
    generation: u64,
}

#[derive(Default)]
pub(super) struct BackfillState {
    /// A page that some of its projections have not completed.
    pub(super) unfinished: Option<BackfillPage>,
    /// When positions were last written to the lease (monotonic ms).
    pub(super) saved_at_ms: i64,
}

/// A page of a group.
pub(super) struct BackfillPage {
    pub(super) group: BackfillGroup,
    pub(super) content: SourcePage,
    pub(super) next: FeedPlace,
    pub(super) drained: bool,
}

/// The projections that stand at one place.
#[derive(Clone)]
pub(super) struct BackfillGroup {
    pub(super) projections: Vec<String>,
    pub(super) place: FeedPlace,
    generation: u64,
}

impl BackfillGroup {
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.generation == other.generation && self.place.continuation == other.place.continuation
    }
}

/// The outcome of working on a backfill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BackfillOutcome {
    /// It read a page with this many changes.
    Page { changes: usize },
    /// The live reader serves all projections.
    Complete,
}

impl Backfills {
    /// The backfills of a lease, as far as this instance knows their projections.
    pub(super) fn of_lease(item: &LeaseItem, scope: &LeaseScope) -> Self {
        let backfills = Self::default();
        backfills.set(item, scope);
        backfills
    }

    pub(super) fn set(&self, item: &LeaseItem, scope: &LeaseScope) {
        let is_known = |backfill: &&Backfill| scope.projections.contains(&backfill.projection);
        let mut present = self.present.lock();
        present.backfills = item.backfills.iter().filter(is_known).cloned().collect();
        present.generation += 1;
        drop(present);
        self.changed.notify_one();
    }

    /// The backfills that have not joined the live reader.
    pub(super) fn present(&self) -> Vec<Backfill> {
        self.present.lock().backfills.clone()
    }

    /// The projections at the place of the first.
    pub(super) fn next_group(&self) -> Option<BackfillGroup> {
        let present = self.present.lock();
        let place = present.backfills.first()?.place.clone();
        let at_place = |backfill: &&Backfill| backfill.place.continuation == place.continuation;
        let projections = present.backfills.iter().filter(at_place);
        let projections = projections.map(|backfill| backfill.projection.clone()).collect();
        Some(BackfillGroup { projections, place, generation: present.generation })
    }

    /// Moves a group to another place, unless the lease says something else by now.
    pub(super) fn move_to(&self, group: &BackfillGroup, place: &FeedPlace) -> Option<BackfillGroup> {
        let mut present = self.present.lock();
        if present.generation != group.generation {
            return None;
        }
        let of_group = |backfill: &&mut Backfill| group.projections.contains(&backfill.projection);
        present.backfills.iter_mut().filter(of_group).for_each(|backfill| backfill.place = place.clone());
        Some(BackfillGroup { place: place.clone(), ..group.clone() })
    }

    pub(super) fn remove(&self, projections: &[String]) {
        self.present.lock().backfills.retain(|backfill| !projections.contains(&backfill.projection));
    }
}
