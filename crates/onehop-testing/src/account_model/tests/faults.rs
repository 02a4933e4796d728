//! Faults: the caller's answer, and the fate of the write.

use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use futures::future::poll_fn;
use onehop_store::{FaultKind, FeedRequest, Ledger, Rejection, SignalScope, WriteError, WriteOp};

use super::clients::{THINGS, World, number, ranges, thing, try_number, upsert, write};
use crate::account_model::{InjectedFault, ModelConsistency, Outcome, TimedOutWrite};

const THROTTLED: InjectedFault = InjectedFault::Throttled { retry_after: Some(Duration::from_millis(7)) };

fn create() -> WriteOp {
    WriteOp::Create(thing("h", "a", 1))
}

#[tokio::test]
async fn the_outcome_of_a_failed_write_is_the_told_one() {
    for (fault, kind, is_done) in [
        (THROTTLED, FaultKind::Throttled, false),
        (InjectedFault::TimedOut(TimedOutWrite::NotDone), FaultKind::Ambiguous, false),
        (InjectedFault::TimedOut(TimedOutWrite::Done), FaultKind::Ambiguous, true),
        (InjectedFault::RetryWith, FaultKind::Unavailable, false),
        (InjectedFault::Unavailable, FaultKind::Ambiguous, false),
        (InjectedFault::Gone, FaultKind::Unavailable, false),
        (InjectedFault::LostAnswer, FaultKind::Ambiguous, true),
        (InjectedFault::NotConnected, FaultKind::Unavailable, false),
    ] {
        let world = World::new(1);
        let store = world.account.store(ModelConsistency::Session);
        let signal = store.change_signal(&SignalScope::of(THINGS)).expect("a signal");
        let ledger = Ledger::new();
        world.next(Outcome::fault(fault));
        let error = store.write(THINGS, &"h".into(), create(), &ledger).await.expect_err("a fault");
        let WriteError::Fault(told) = error else { panic!("{fault:?}: refused") };
        assert_eq!(told.kind, kind, "{fault:?}");
        assert_eq!(told.retry_after.is_some(), fault == THROTTLED, "{fault:?}");
        assert_eq!(number(&*store, "h", "a").await.is_some(), is_done, "{fault:?}");
        assert_eq!(ledger.operations()[0].items, 0, "{fault:?}");
        assert_eq!(ledger.write_ends(THINGS), None, "{fault:?}");
        let may_be_done = kind == FaultKind::Ambiguous;
        assert_eq!(signal.has_changed().expect("it is open"), may_be_done, "{fault:?}");
        assert_eq!(world.count(fault.name()), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_write_that_is_sent_again_meets_its_own_effect() {
    let replace = |etag| WriteOp::Replace { item: thing("h", "a", 2), if_match: etag };
    let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    let sent_again = Outcome::fault(InjectedFault::SentAgain);
    let signal = store.change_signal(&SignalScope::of(THINGS)).expect("a signal");
    world.next(sent_again);
    let refused = write(&*store, "h", create()).await.expect_err("it is there");
    assert_eq!(refused.rejection(), Some(&Rejection::Conflict));
    assert!(signal.has_changed().expect("it is open"), "it was written all the same");
    let item = store.read(THINGS, &"h".into(), "a", &Ledger::new()).await.expect("a read").expect("an item");
    world.next(sent_again);
    let refused = write(&*store, "h", replace(Some(item.etag))).await.expect_err("it has changed");
    assert_eq!(refused.rejection(), Some(&Rejection::PreconditionFailed));
    assert_eq!(number(&*store, "h", "a").await, Some(2));
    world.next(sent_again);
    let refused = write(&*store, "h", delete).await.expect_err("it is gone");
    assert_eq!(refused.rejection(), Some(&Rejection::NotFound));
    world.next(sent_again);
    upsert(&*store, "h", "a", 3).await;
    assert_eq!(number(&*store, "h", "a").await, Some(3));
}

#[tokio::test]
async fn a_read_fails_and_the_next_one_succeeds() {
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    upsert(&*store, "h", "a", 1).await;
    for (fault, kind) in [
        (THROTTLED, FaultKind::Throttled),
        (InjectedFault::TimedOut(TimedOutWrite::Done), FaultKind::Unavailable),
        (InjectedFault::Unavailable, FaultKind::Unavailable),
        (InjectedFault::Gone, FaultKind::Unavailable),
        (InjectedFault::LostAnswer, FaultKind::Unavailable),
        (InjectedFault::NotConnected, FaultKind::Unavailable),
    ] {
        world.next(Outcome::fault(fault));
        let told = try_number(&*store, "h", "a").await.expect_err("a fault");
        assert_eq!(told.kind, kind, "{fault:?}");
        assert_eq!(number(&*store, "h", "a").await, Some(1), "{fault:?}");
    }
    world.next(Outcome::fault(InjectedFault::RetryWith));
    assert_eq!(number(&*store, "h", "a").await, Some(1), "a fault of writes");
    assert_eq!(world.count("fault_449"), 0);
    let range = ranges(&*store).await.remove(0);
    let request = FeedRequest { container: THINGS, range: &range, continuation: None, types: None, limit: 1 };
    world.next(Outcome::fault(THROTTLED));
    let told = store.read_change_feed(&request, &Ledger::new()).await.expect_err("a fault");
    assert_eq!((told.kind, told.retry_after), (FaultKind::Throttled, Some(Duration::from_millis(7))));
}

#[tokio::test]
async fn a_late_write_happens_when_its_time_has_come() {
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    let late = TimedOutWrite::DoneLater(Duration::from_secs(3));
    world.next(Outcome::fault(InjectedFault::TimedOut(late)));
    let error = write(&*store, "h", create()).await.expect_err("a fault");
    assert_eq!(error.fault().map(|fault| fault.kind), Some(FaultKind::Ambiguous));
    assert_eq!((number(&*store, "h", "a").await, world.account.writes_in_flight()), (None, 1));
    world.clock.advance_ms(2_999);
    assert_eq!(number(&*store, "h", "a").await, None);
    world.clock.advance_ms(1);
    assert_eq!((number(&*store, "h", "a").await, world.account.writes_in_flight()), (Some(1), 0));
}

/// Polls an operation until it has been pending this often, and drops it.
async fn drop_after(polls: usize, operation: impl Future) -> bool {
    let mut operation = Box::pin(operation);
    let mut is_done = false;
    for _ in 0..polls {
        poll_fn(|context| {
            is_done |= operation.as_mut().poll(context).is_ready();
            Poll::Ready(())
        })
        .await;
    }
    is_done
}

#[tokio::test]
async fn a_write_can_be_dropped_before_and_after_its_effect() {
    for (polls, there) in [(1, None), (2, Some(1))] {
        let world = World::new(1);
        let store = world.account.store(ModelConsistency::Session);
        assert!(!drop_after(polls, write(&*store, "h", create())).await, "it was under way");
        assert_eq!(number(&*store, "h", "a").await, there, "after {polls} polls");
    }
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    assert!(drop_after(3, write(&*store, "h", create())).await, "two await points");
}

#[tokio::test]
async fn a_dropped_write_in_flight_lands_unless_it_failed() {
    let lands = Outcome { lands_after_drop: Some(Duration::from_secs(1)), ..Outcome::default() };
    for (fault, there) in [(None, Some(1)), (Some(THROTTLED), None)] {
        let world = World::new(1);
        let store = world.account.store(ModelConsistency::Session);
        world.next(Outcome { fault, ..lands });
        assert!(write(&*store, "h", create()).now_or_never().is_none());
        assert_eq!(number(&*store, "h", "a").await, None);
        world.clock.advance_ms(1_000);
        assert_eq!(number(&*store, "h", "a").await, there, "{fault:?}");
    }
}

#[tokio::test]
async fn reads_have_an_await_point_on_each_side() {
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    assert!(!drop_after(2, number(&*store, "h", "a")).await);
    assert!(drop_after(3, number(&*store, "h", "a")).await);
}

#[tokio::test]
async fn latency_lies_before_the_effect_or_after_it() {
    let long = Duration::from_secs(3_600);
    let (before, after) =
        (Outcome { before: long, ..Outcome::default() }, Outcome { after: long, ..Outcome::default() });
    for (outcome, there) in [(before, None), (after, Some(1))] {
        let world = World::new(1);
        let store = world.account.store(ModelConsistency::Session);
        world.next(outcome);
        assert!(!drop_after(5, write(&*store, "h", create())).await);
        assert_eq!(number(&*store, "h", "a").await, there);
    }
}
