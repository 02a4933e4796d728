//! Backfills: projections that have yet to complete something before the checkpoint of a feed range, each
//! from a position of its own.
//!
//! A lease has one checkpoint for the projections that have completed everything before it. The live reader
//! serves these. A projection that is behind is served by a backfill, in the order of the feed, from its own
//! position on, until it has come as far as the live reader and joins it. That is background work: at low
//! priority, within the budget of a rebuild. There are three occasions:
//!
//! - a projection was added, and needs the history;
//! - the lease was held by a process that does not know the projection, as in a rolling deployment;
//! - the store refused the continuation of the checkpoint, so that all projections begin at the beginning.

use super::backfills::{BackfillGroup, BackfillOutcome, BackfillPage, BackfillState};
use super::feed_place::FeedPlace;
use super::page_error::PageError;
use super::pass::Pass;
use super::reader::{RangeReader, ReaderPosition};
use super::settings::milliseconds;
use super::source::SourcePage;
use onehop_runtime::planted;
use onehop_store::{FaultKind, Ledger};

/// Pages that a backfill reads while the live reader stands still for it to join.
const JOIN_PAGES_MAX: usize = 8;

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
        if page.drained
            || planted!("backfill-joins-early")
            || serves && group.place.has_reached(&live, &*context.store)
        {
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

    /// Has a group join the live reader, which stands still meanwhile. The changes between the two are read
    /// first, in a few pages at most.
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
        let mut has_reached = live.served.is_empty() && drained || planted!("backfill-joins-early");
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

    /// Reads a page and gives it to its projections; `None` where the store refused the place, and the group
    /// begins anew.
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
