//! Backfills: projections that have yet to complete something before the checkpoint of a feed range, each from a position of its own.
//!
//! A lease has one checkpoint for the projections that have completed everything before it. The live reader serves these. A projection that
//! is behind is served by a backfill, in the order of the feed, from its own position on, until it has come as far as the live reader and joins
//! it. That is background work: at low priority, within the budget of a rebuild. There are three occasions:
//!
//! - a projection was added, and needs the history;
//! - the lease was held by a process that does not know the projection, as in a rolling deployment;
//! - the store refused the continuation of the checkpoint, so that all projections begin at the beginning.

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Notify};

use super::lease::LeaseItem;
use super::lease_scope::LeaseScope;
use super::page_error::PageError;
use super::read_progress::ReadProgress;
use super::reader::{RangeReader, ReaderPosition};
use super::settings::milliseconds;
use super::source::{Pass, SourcePage};
use onehop_store::{Continuation, FaultKind, Ledger, Store};

/// Projections whose positions a lease keeps beside its checkpoint. Beyond them, the first that the owner does not know are forgotten,
/// and begin at the beginning should they come back.
const BACKFILLS_MAX: usize = 64;
/// Pages that a backfill reads while the live reader stands still for it to join.
const JOIN_PAGES_MAX: usize = 8;

/// A place in the change feed of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedPlace {
    /// `None` is the beginning.
    #[serde(default)]
    pub continuation: Option<Continuation>,
    /// The progress of the reader there.
    #[serde(default)]
    pub progress: ReadProgress,
}

impl FeedPlace {
    /// Whether this place is not before another, as far as the store can compare them.
    fn has_reached(&self, other: &Self, store: &dyn Store) -> bool {
        let is_past = |at: &Option<Continuation>, end: &Option<Continuation>| {
            at.as_ref().zip(end.as_ref()).is_some_and(|(at, end)| store.is_past(at, end))
        };
        other.continuation.is_none()
            || is_past(&self.continuation, &other.continuation)
            || is_past(&self.progress.passed, &other.progress.passed)
    }
}

/// A projection that has yet to complete something before the checkpoint of its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Backfill {
    /// The name of the projection.
    pub projection: String,
    /// What it has completed: everything before this place.
    #[serde(flatten)]
    pub place: FeedPlace,
}

impl Backfill {
    fn at(projection: &str, place: &FeedPlace) -> Self {
        Self { projection: projection.to_owned(), place: place.clone() }
    }
}

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
            backfills.extend(new.map(|name| Backfill::at(name, &FeedPlace::default())));
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

    /// The lease after projections have come as far as the live reader. Where it serves no other, it goes on at their place.
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
    state: Mutex<BackfillState>,
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
struct BackfillState {
    /// A page that some of its projections have not completed.
    unfinished: Option<BackfillPage>,
    /// When positions were last written to the lease (monotonic ms).
    saved_at_ms: i64,
}

/// A page of a group.
struct BackfillPage {
    group: BackfillGroup,
    content: SourcePage,
    next: FeedPlace,
    drained: bool,
}

/// The projections that stand at one place.
#[derive(Clone)]
struct BackfillGroup {
    projections: Vec<String>,
    place: FeedPlace,
    generation: u64,
}

impl BackfillGroup {
    fn is_same(&self, other: &Self) -> bool {
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

    /// Those that have not joined the live reader.
    pub(super) fn present(&self) -> Vec<Backfill> {
        self.present.lock().backfills.clone()
    }

    /// The projections at the place of the first.
    fn next_group(&self) -> Option<BackfillGroup> {
        let present = self.present.lock();
        let place = present.backfills.first()?.place.clone();
        let at_place = |backfill: &&Backfill| backfill.place.continuation == place.continuation;
        let projections = present.backfills.iter().filter(at_place);
        let projections = projections.map(|backfill| backfill.projection.clone()).collect();
        Some(BackfillGroup { projections, place, generation: present.generation })
    }

    /// Moves a group to another place, unless the lease says something else by now.
    fn move_to(&self, group: &BackfillGroup, place: &FeedPlace) -> Option<BackfillGroup> {
        let mut present = self.present.lock();
        if present.generation != group.generation {
            return None;
        }
        let of_group = |backfill: &&mut Backfill| group.projections.contains(&backfill.projection);
        present.backfills.iter_mut().filter(of_group).for_each(|backfill| backfill.place = place.clone());
        Some(BackfillGroup { place: place.clone(), ..group.clone() })
    }

    fn remove(&self, projections: &[String]) {
        self.present.lock().backfills.retain(|backfill| !projections.contains(&backfill.projection));
    }
}

impl RangeReader {
    /// Works on one page of a backfill, as background work.
    pub(super) async fn backfill_once(&self) -> Result<BackfillOutcome, PageError> {
        let context = &self.source.context;
        let mut state = self.backfills.state.lock().await;
        let Some(group) = self.backfills.next_group() else {
            state.unfinished = None;
            return Ok(BackfillOutcome::Complete);
        };
        if self.lease.is_lost() {
            return Err(PageError::LeaseLost);
        }
        // Never closed, so a permit always comes.
        let _turn = context.backfill_permits.acquire().await.ok();
        let ledger = Ledger::new().for_background();
        let outcome = self.advance(&mut state, group, &ledger).await;
        self.source.add_charge(&ledger);
        if let Err(error) = &outcome
            && error.stall_cause().is_some()
        {
            self.source.record_error(&error.to_string());
        }
        outcome
    }

    async fn advance(
        &self,
        state: &mut BackfillState,
        group: BackfillGroup,
        ledger: &Ledger,
    ) -> Result<BackfillOutcome, PageError> {
        let context = &self.source.context;
        let Some(page) = self.backfill_page(state, group, Pass::Backfill, ledger).await? else {
            return Ok(BackfillOutcome::Page { changes: 0 });
        };
        let changes = page.content.changes.len();
        let Some(group) = self.backfills.move_to(&page.group, &page.next) else {
            return Ok(BackfillOutcome::Page { changes });
        };
        let ReaderPosition { continuation, progress, serves, .. } = self.position();
        let live = FeedPlace { continuation, progress };
        let now_ms = context.clock.monotonic_ms();
        let interval_ms = milliseconds(context.settings.checkpoint_interval());
        if page.drained || serves && group.place.has_reached(&live, &*context.store) {
            self.join(state, group, page.drained).await?;
        } else if now_ms >= state.saved_at_ms.saturating_add(interval_ms) {
            // A lease is never written as background work: its reader may have to release it.
            let own = Ledger::new();
            let saved = self.save_backfills(&own).await;
            self.source.add_charge(&own);
            saved?;
            state.saved_at_ms = now_ms;
        }
        Ok(BackfillOutcome::Page { changes })
    }

    /// Writes the positions of backfills to the lease, if there are any.
    pub(super) async fn save_backfills(&self, ledger: &Ledger) -> Result<(), PageError> {
        let present = self.backfills.present();
        if !present.is_empty() {
            self.lease.save_backfills(&self.source.context, &present, ledger).await?;
        }
        Ok(())
    }

    /// Has a group join the live reader, which stands still meanwhile. What lies between the two is read first, in a few pages at most.
    async fn join(
        &self,
        state: &mut BackfillState,
        mut group: BackfillGroup,
        drained: bool,
    ) -> Result<(), PageError> {
        let context = &self.source.context;
        let mut live = self.live.lock().await;
        // The live reader is waited for, and not the budget of background work.
        let ledger = Ledger::new();
        let mut has_reached = live.served.is_empty() && drained;
        for _ in 0..JOIN_PAGES_MAX {
            has_reached |= !live.served.is_empty() && group.place.has_reached(&live.place(), &*context.store);
            if has_reached {
                break;
            }
            let Some(page) = self.backfill_page(state, group.clone(), Pass::Join, &ledger).await? else {
                break;
            };
            match self.backfills.move_to(&page.group, &page.next) {
                Some(moved) => group = moved,
                None => break,
            }
            // Nothing was left behind a position at which the live reader still stands.
            has_reached = page.drained;
        }
        if has_reached {
            self.lease.join(context, &group.projections, &group.place, &ledger).await?;
            live.serve(&group.projections, &group.place, &self.source);
            self.backfills.remove(&group.projections);
            let (container, range) = (self.source.container, &self.feed.range.0);
            tracing::info!(%container, range, projections = ?group.projections, "a backfill is complete");
        }
        self.publish(&live, false);
        self.source.add_charge(&ledger);
        Ok(())
    }

    /// Reads a page and gives it to its projections; `None` where the store refused the place, and the group begins anew.
    async fn backfill_page(
        &self,
        state: &mut BackfillState,
        group: BackfillGroup,
        pass: Pass,
        ledger: &Ledger,
    ) -> Result<Option<BackfillPage>, PageError> {
        let mut page = match state.unfinished.take().filter(|page| page.group.is_same(&group)) {
            Some(page) => page,
            None => match self.read_backfill_page(group, ledger).await? {
                Some(page) => page,
                None => return Ok(None),
            },
        };
        match self.source.run_page(&mut page.content, &self.lease, pass).await {
            Ok(()) => Ok(Some(page)),
            Err(error) => {
                state.unfinished = Some(page);
                Err(error)
            }
        }
    }

    async fn read_backfill_page(
        &self,
        group: BackfillGroup,
        ledger: &Ledger,
    ) -> Result<Option<BackfillPage>, PageError> {
        let at = group.place.continuation.as_ref();
        let page = match self.feed.page(at, ledger).await {
            Ok(page) => page,
            Err(fault) if fault.kind == FaultKind::InvalidContinuation && at.is_some() => {
                let container = self.source.container;
                tracing::warn!(%container, error = %fault, "a backfill begins at the beginning");
                self.backfills.move_to(&group, &FeedPlace::default());
                return Ok(None);
            }
            Err(fault) => return Err(fault.into()),
        };
        let progress = group.place.progress.clone().after(&page);
        let next = FeedPlace { continuation: Some(page.continuation), progress };
        let content = SourcePage::for_projections(page.changes, &self.source.runners, &group.projections);
        Ok(Some(BackfillPage { group, content, next, drained: page.drained }))
    }
}
