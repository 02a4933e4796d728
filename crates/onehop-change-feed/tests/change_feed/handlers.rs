//! Handlers: effects outside of the store, at least once and in order, with retries and dead letters.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onehop_change_feed::{
    DeadLetterCause, Handler, HandlerCall, HandlerError, Processor, ProcessorError, Settings, StallCause,
    handler,
};
use onehop_store::{Change, ContainerName};

use crate::toy::{EXPIRY_MS, THINGS, Thing, World, shared};

/// The outcome of the calls for a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Fails,
    Parks,
    Hangs,
}

/// A call of a handler: logical partition, number, and whether it may be a repetition.
type Call = (String, u64, bool);

/// The world outside of the store.
#[derive(Default)]
struct Outside {
    calls: Mutex<Vec<Call>>,
    outcomes: Mutex<HashMap<u64, Outcome>>,
}

impl Outside {
    fn calls(&self) -> Vec<Call> {
        self.calls.lock().expect("no panic while locked").clone()
    }

    fn numbers(&self) -> Vec<u64> {
        self.calls().into_iter().map(|(_, number, _)| number).collect()
    }

    fn answer(&self, number: u64, outcome: Outcome) {
        self.outcomes.lock().expect("no panic while locked").insert(number, outcome);
    }

    fn mend(&self) {
        self.outcomes.lock().expect("no panic while locked").clear();
    }
}

struct Webhook {
    outside: Arc<Outside>,
    needs_history: bool,
}

#[async_trait]
impl Handler for Webhook {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn source(&self) -> ContainerName {
        THINGS
    }

    fn needs_history(&self) -> bool {
        self.needs_history
    }

    async fn handle(&self, change: &Change, call: HandlerCall<'_>) -> Result<(), HandlerError> {
        let thing: Thing = change.item.decode().map_err(HandlerError::park)?;
        // A real call would be a request over the network.
        tokio::task::yield_now().await;
        let entry = (thing.home, thing.number, call.may_be_repeated);
        self.outside.calls.lock().expect("no panic while locked").push(entry);
        let outcome =
            self.outside.outcomes.lock().expect("no panic while locked").get(&thing.number).copied();
        match outcome {
            None => Ok(()),
            Some(Outcome::Fails) => Err(HandlerError::retry("503 of the webhook")),
            Some(Outcome::Parks) => Err(HandlerError::park("410 of the webhook")),
            Some(Outcome::Hangs) => std::future::pending().await,
        }
    }
}

async fn instance(world: &World, outside: &Arc<Outside>, settings: Settings) -> Processor {
    let webhook = Webhook { outside: Arc::clone(outside), needs_history: true };
    world.instance_of(handler(webhook), settings).await
}

#[tokio::test]
async fn every_change_is_handled_in_order() {
    let (world, outside) = (World::new(4), Arc::<Outside>::default());
    let ada = instance(&world, &outside, shared("ada")).await;
    world.put_many(3).await;
    ada.drain().await.expect("drained");
    let calls = outside.calls();
    assert_eq!(calls.len(), 36);
    assert_eq!(calls.iter().map(|(_, number, _)| number).collect::<HashSet<_>>().len(), 36, "each once");
    let mut last: HashMap<&str, u64> = HashMap::new();
    for (home, number, may_be_repeated) in &calls {
        assert!(last.insert(home, *number).is_none_or(|before| before < *number), "{home} is in order");
        assert!(!may_be_repeated);
    }
}

#[tokio::test]
async fn a_failed_call_is_made_again_and_nothing_parked() {
    let (world, outside) = (World::new(1), Arc::<Outside>::default());
    let ada = instance(&world, &outside, shared("ada")).await;
    world.put(1, 1).await;
    world.put(1, 2).await;
    outside.answer(1, Outcome::Fails);
    for _ in 0..5 {
        ada.run_once().await.expect_err("the page fails");
    }
    let status = ada.status().await.expect("a status").remove(0);
    assert_eq!((status.dead_letters, status.stall_cause), (0, Some(StallCause::Handler)));
    assert_eq!(status.last_error.as_deref(), Some("the handler failed: 503 of the webhook"));
    assert!(outside.numbers().iter().all(|number| *number == 1), "the next change waits");
    assert!(outside.calls().last().is_some_and(|(_, _, may_be_repeated)| *may_be_repeated));
    outside.mend();
    ada.drain().await.expect("drained");
    assert_eq!(outside.numbers().last(), Some(&2));
    assert_eq!(ada.status().await.expect("a status")[0].stall_cause, None);
}

#[tokio::test]
async fn what_a_handler_gives_up_is_a_dead_letter() {
    let (world, outside) = (World::new(1), Arc::<Outside>::default());
    let ada = instance(&world, &outside, shared("ada")).await;
    world.put(1, 1).await;
    world.put(1, 2).await;
    world.put(2, 3).await;
    outside.answer(1, Outcome::Parks);
    ada.drain().await.expect("drained");
    assert_eq!(outside.numbers().into_iter().collect::<HashSet<_>>(), HashSet::from([1, 3]));
    let letter = ada.dead_letters().await.expect("the letters").dead_letters.remove(0);
    assert_eq!(letter.cause, Some(DeadLetterCause::Handler));
    assert_eq!(letter.error.as_deref(), Some("410 of the webhook"));
    outside.mend();
    assert_eq!(ada.replay(None).await.expect("replayed").items_replayed, 2);
    assert_eq!(outside.calls()[2..], [("home-1".into(), 1, true), ("home-1".into(), 2, true)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_ends_at_its_timeout() {
    let (world, outside) = (World::new(1), Arc::<Outside>::default());
    let ada = instance(&world, &outside, shared("ada")).await;
    world.put(1, 1).await;
    outside.answer(1, Outcome::Hangs);
    ada.run_once().await.expect_err("the page fails");
    let status = ada.status().await.expect("a status").remove(0);
    assert_eq!(status.last_error.as_deref(), Some("the handler failed: no end after 30s"));
}

#[tokio::test]
async fn a_process_that_dies_repeats_calls_and_loses_none() {
    let (world, outside) = (World::new(1), Arc::<Outside>::default());
    world.put_many(1).await;
    let ada = instance(&world, &outside, shared("ada")).await;
    outside.answer(3, Outcome::Fails);
    ada.run_once().await.expect_err("a page fails");
    // It writes no checkpoint any more, and gives no lease back.
    drop(ada);
    outside.mend();
    let bob = instance(&world, &outside, shared("bob")).await;
    bob.balance_leases().await.expect("balanced");
    world.clock.advance_ms(EXPIRY_MS);
    bob.drain().await.expect("drained");
    assert_eq!(outside.numbers().into_iter().collect::<HashSet<_>>(), (1..=12).collect());
}

#[tokio::test]
async fn a_handler_is_not_rebuilt() {
    let (world, outside) = (World::new(1), Arc::<Outside>::default());
    let ada = instance(&world, &outside, shared("ada")).await;
    world.put(1, 1).await;
    ada.drain().await.expect("drained");
    let refused = ada.rebuild("webhook", &|_| {}).await.expect_err("refused");
    assert!(matches!(refused, ProcessorError::HasEffects(name) if name == "webhook"));
    assert_eq!(outside.numbers(), [1]);
}

#[tokio::test]
async fn a_handler_beside_projections_begins_with_new_changes() {
    let (world, outside) = (World::new(1), Arc::<Outside>::default());
    world.put(1, 1).await;
    let settings = shared("ada");
    let ada = world.instance_with(settings.clone()).await;
    ada.drain().await.expect("drained");
    ada.release().await;
    drop(ada);
    let webhook = Webhook { outside: Arc::clone(&outside), needs_history: false };
    let projections = vec![world.copier(&settings), handler(webhook)];
    let bob = world.instance_of_all(projections, shared("bob")).await;
    world.put(1, 2).await;
    bob.drain().await.expect("drained");
    assert_eq!(outside.numbers(), [2]);
    world.assert_current().await;
}

#[test]
fn the_least_delay_of_a_failed_call_is_stated() {
    let error = HandlerError::retry_after("429", Duration::from_secs(7));
    assert_eq!(error, HandlerError::Retry { message: "429".into(), after: Some(Duration::from_secs(7)) });
    assert_eq!(error.to_string(), "429");
}
