//! Snapshots: an item, or the first items of a list, that are read again after writes to the items read
//! before.

use std::collections::HashMap;
use std::collections::VecDeque;

use futures::StreamExt as _;
use futures::stream::unfold;
use onehop_change_feed::Watch;
use onehop_model::Event;
use onehop_store::{Fault, FaultKind, Ledger, WriteMark};

use super::events::{EventsError, ItemEvent, ItemEvents};
use super::seen::digest_of;
use super::{FirstItems, ServedLive};
use crate::served::ids::ItemPlace;
use crate::served::reads::ServedItem;

/// The marks of one reading: a list is in one logical partition, or all over a container.
const MARKS_MAX: usize = 16;

/// Something that is read again after writes.
enum SnapshotSource {
    Item(ItemPlace),
    First(Box<FirstItems>),
}

/// The last reading of a subject.
struct Snapshot {
    items: Vec<ServedItem>,
    marks: Vec<WriteMark>,
    write: u64,
}

/// A subject with its last snapshot, and the events that are not handed out yet.
struct Watched {
    live: ServedLive,
    subject: SnapshotSource,
    watch: Watch,
    snapshot: Snapshot,
    events: VecDeque<ItemEvent>,
    has_ended: bool,
}

impl ServedLive {
    /// The events of one item. They end when it is removed.
    pub(super) async fn watch_item(&self, place: ItemPlace, ledger: &Ledger) -> Result<ItemEvents, Fault> {
        self.watch(SnapshotSource::Item(place), ledger).await
    }

    /// The events of the first items of a list.
    pub(super) async fn watch_first(
        &self,
        first: Box<FirstItems>,
        ledger: &Ledger,
    ) -> Result<ItemEvents, Fault> {
        self.watch(SnapshotSource::First(first), ledger).await
    }

    async fn watch(&self, subject: SnapshotSource, ledger: &Ledger) -> Result<ItemEvents, Fault> {
        let watch = self.0.outside.watches.watch(ledger).await?;
        let snapshot = self.snapshot(&subject, &watch, ledger).await?;
        let has_ended = has_gone(&subject, &snapshot);
        let events = VecDeque::new();
        let watched = Watched { live: self.clone(), subject, watch, snapshot, events, has_ended };
        Ok(unfold(Some(watched), |watched| async { watched?.next().await }).boxed())
    }

    async fn snapshot(
        &self,
        subject: &SnapshotSource,
        watch: &Watch,
        ledger: &Ledger,
    ) -> Result<Snapshot, Fault> {
        let own = Ledger::remembering_up_to(MARKS_MAX);
        let write = watch.last_write();
        let items = match subject {
            SnapshotSource::Item(place) => {
                let body = self.0.reads.item(place, &own).await;
                body.map(|body| body.map(|body| ServedItem::whole(place.clone(), body)).into_iter().collect())
            }
            SnapshotSource::First(first) => {
                let FirstItems { ty, list, owner, count } = &**first;
                self.items((*ty, list), owner.as_ref(), *count, &own).await.map(|(items, _)| items)
            }
        };
        ledger.absorb(&own);
        let marks =
            own.touched().ok_or_else(|| Fault::new(FaultKind::Internal, "a list has too many marks"))?;
        Ok(Snapshot { items: items?, marks, write })
    }
}

impl Watched {
    async fn next(mut self) -> Option<(Result<ItemEvent, EventsError>, Option<Self>)> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some((Ok(event), Some(self)));
            }
            if self.has_ended {
                return None;
            }
            self.watch.written(self.snapshot.marks.clone(), self.snapshot.write).await;
            let snapshot = self.live.snapshot(&self.subject, &self.watch, &Ledger::new()).await;
            let snapshot = match snapshot {
                Ok(snapshot) => snapshot,
                Err(fault) => return Some((Err(fault.into()), None)),
            };
            self.events = differences(&self.snapshot.items, &snapshot.items).into();
            for event in &mut self.events {
                // An entry has some fields alone.
                if event.kind == Event::Removed && event.item.entry_fields.is_some() {
                    let place = event.item.place.clone();
                    match self.live.0.reads.last_version(&place, &Ledger::new()).await {
                        Ok(Some(body)) => event.item = ServedItem::whole(place, body),
                        Ok(None) => {}
                        Err(fault) => return Some((Err(fault.into()), None)),
                    }
                }
            }
            self.has_ended = has_gone(&self.subject, &snapshot);
            self.snapshot = snapshot;
        }
    }
}

/// Whether the item that is watched is not there any more.
fn has_gone(subject: &SnapshotSource, snapshot: &Snapshot) -> bool {
    matches!(subject, SnapshotSource::Item(_)) && snapshot.items.is_empty()
}

/// The events between two snapshots: items that have left, then new and changed ones, in the order of the
/// list.
fn differences(before: &[ServedItem], after: &[ServedItem]) -> Vec<ItemEvent> {
    let by_id = |items: &[ServedItem]| -> HashMap<String, u64> {
        items.iter().map(|item| (item.place.id.clone(), digest_of(&item.body))).collect()
    };
    let (known, present) = (by_id(before), by_id(after));
    let left = before.iter().filter(|item| !present.contains_key(&item.place.id));
    let left = left.map(|item| ItemEvent { kind: Event::Removed, item: item.clone() });
    let news = after.iter().filter_map(|item| {
        let kind = match known.get(&item.place.id) {
            None => Event::Added,
            Some(digest) if *digest != digest_of(&item.body) => Event::Changed,
            Some(_) => return None,
        };
        Some(ItemEvent { kind, item: item.clone() })
    });
    left.chain(news).collect()
}
