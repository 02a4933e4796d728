//! The service fails each kind of request once, three times, and until it is mended. A client without an
//! answer asks again; afterwards everything happened once.

use std::sync::Arc;

use azure_data_cosmos::fault_injection::{
    FaultInjectionConditionBuilder, FaultInjectionErrorType, FaultInjectionResultBuilder, FaultInjectionRule,
    FaultInjectionRuleBuilder, FaultOperationType,
};
use onehop::blog::commands::CommandError;

use crate::cosmos::acts::{ALL, Act, Scene};
use crate::cosmos::world::{Process, SHORT_PATIENCE, account};

/// The kinds of requests that are made of the data.
const REQUESTS: [FaultOperationType; 8] = [
    FaultOperationType::ReadItem,
    FaultOperationType::QueryItem,
    FaultOperationType::CreateItem,
    FaultOperationType::UpsertItem,
    FaultOperationType::ReplaceItem,
    FaultOperationType::DeleteItem,
    FaultOperationType::BatchItem,
    FaultOperationType::ChangeFeedItem,
];
/// Tries of a client that goes on asking.
const TRIES_MAX: usize = 12;

/// The number of failures of each kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Times {
    N(u32),
    UntilMended,
}

const TIMES: [Times; 3] = [Times::N(1), Times::N(3), Times::UntilMended];

/// Rules that fail requests of every kind.
fn rules(fault: FaultInjectionErrorType, times: Times) -> Vec<Arc<FaultInjectionRule>> {
    let rule = |request: FaultOperationType| {
        let result = FaultInjectionResultBuilder::new().with_error(fault).build();
        let condition = FaultInjectionConditionBuilder::new().with_operation_type(request).build();
        let rule = FaultInjectionRuleBuilder::new(format!("{request:?}"), result).with_condition(condition);
        let rule = match times {
            Times::N(times) => rule.with_hit_limit(times).build(),
            Times::UntilMended => rule.build(),
        };
        rule.disable();
        Arc::new(rule)
    };
    REQUESTS.map(rule).to_vec()
}

async fn every_command_happens_once(fault: FaultInjectionErrorType) {
    for times in TIMES {
        let account = account();
        let healthy = Process::over(account.open().await).await;
        for (number, act) in ALL.into_iter().enumerate() {
            let scene = Scene::set(&healthy, number).await;
            let rules = rules(fault, times);
            let store = account.open_with(rules.clone(), SHORT_PATIENCE).await;
            let process = Process::over(store).await;
            rules.iter().for_each(|rule| rule.enable());
            send_until_done(&process, &scene, act, times, &rules).await;
            assert!(rules.iter().any(|rule| rule.hit_count() > 0), "{act:?} {times:?}: nothing failed");
            scene.assert_done_once(&healthy, act).await;
        }
        healthy.assert_clean().await;
    }
}

/// Sends a command, and again for as long as there is no answer. Where the service has to be mended, that
/// happens after the first try.
async fn send_until_done(
    process: &Process,
    scene: &Scene,
    act: Act,
    times: Times,
    rules: &[Arc<FaultInjectionRule>],
) {
    for tried in 1..=TRIES_MAX {
        match scene.send(process, act).await {
            Ok(()) => return,
            Err(CommandError::Rejected(refusal)) => {
                assert!(tried > 1 && Scene::is_done(act, refusal.code), "{act:?} {times:?}: {refusal:?}");
                return;
            }
            Err(CommandError::Fault(fault)) => {
                assert!(fault.kind.is_transient(), "{act:?} {times:?}: {fault:?}");
            }
        }
        if times == Times::UntilMended {
            rules.iter().for_each(|rule| rule.disable());
        }
    }
    panic!("{act:?} {times:?}: no answer after {TRIES_MAX} tries");
}

async fn everything_is_projected(fault: FaultInjectionErrorType) {
    for times in TIMES {
        let account = account();
        let healthy = Process::over(account.open().await).await;
        let rules = rules(fault, times);
        let store = account.open_with(rules.clone(), SHORT_PATIENCE).await;
        let process = Process::over(store).await;
        for (number, act) in ALL.into_iter().enumerate() {
            let scene = Scene::set(&healthy, number).await;
            scene.send(&healthy, act).await.expect("done");
        }
        rules.iter().for_each(|rule| rule.enable());
        let mut drained = process.processor.drain().await;
        for _ in 0..TRIES_MAX {
            if drained.is_ok() {
                break;
            }
            if times == Times::UntilMended {
                rules.iter().for_each(|rule| rule.disable());
            }
            drained = process.processor.drain().await;
        }
        rules.iter().for_each(|rule| rule.disable());
        drained.unwrap_or_else(|error| panic!("{times:?}: {error:?}"));
        assert!(rules.iter().any(|rule| rule.hit_count() > 0), "{times:?}: nothing failed");
        let parked = process.processor.dead_letters().await.expect("a list").dead_letters;
        assert!(parked.is_empty(), "{times:?}: a fault of the service is no poison message: {parked:?}");
        healthy.assert_clean().await;
    }
}

macro_rules! faults {
    ($($name:ident $fault:ident)+) => {
        $(mod $name {
            use azure_data_cosmos::fault_injection::FaultInjectionErrorType;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn every_command_happens_once() {
                super::every_command_happens_once(FaultInjectionErrorType::$fault).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn everything_is_projected() {
                super::everything_is_projected(FaultInjectionErrorType::$fault).await;
            }
        })+
    };
}

faults! {
    throttled TooManyRequests
    unavailable ServiceUnavailable
    internal_error InternalServerError
    timeout Timeout
    partition_gone PartitionIsGone
    retry_with RetryWith
    connection_refused ConnectionError
    no_answer ResponseTimeout
    answer_lost_after_commit ResponseTimeoutAfterService
}
