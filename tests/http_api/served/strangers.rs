//! Models as strangers write them from the language's documentation, each driven through its generated API.

use super::driver::{Driver, PlannedAnswers};

/// The steps of one run.
const STEPS: usize = 60;
/// The seeds of the runs of each model.
const SEEDS: [u64; 2] = [11, 12_345];

async fn drive(name: &str, text: &str) {
    let mut answers = PlannedAnswers::default();
    for seed in SEEDS {
        let mut driver = Driver::start(name, text, seed).await;
        driver.act(STEPS).await;
        assert!(driver.len() > 5, "{name} has {} items", driver.len());
        driver.check().await;
        driver.check_plans(&mut answers).await;
    }
    check_answers(name, &answers);
}

/// Every field has a plan or a reason to have none, and many documents have a plan.
fn check_answers(name: &str, answers: &PlannedAnswers) {
    let PlannedAnswers { valid, by_plan, planned, all, reasons } = answers;
    assert!(by_plan * 5 > *valid, "{name}: {by_plan} of {valid} valid documents by plans");
    let is_wrong = |field: &&String| planned.contains(*field) == reasons.contains_key(*field);
    let wrong: Vec<_> = all.iter().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "{name}: a plan and a reason, or neither: {wrong:#?}");
}

/// A model with items that their owners alone read.
#[tokio::test]
async fn plans_answer_owners_as_the_executor_does() {
    let (name, mut answers) = ("live_helpdesk", PlannedAnswers::default());
    for seed in SEEDS {
        let mut driver = Driver::start(name, include_str!("models/live_helpdesk.graphql"), seed).await;
        driver.create_many(STEPS).await;
        driver.check_plans(&mut answers).await;
    }
    check_answers(name, &answers);
}

macro_rules! served_models {
    ($($name:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $name() {
                let name = stringify!($name);
                drive(name, include_str!(concat!("models/", stringify!($name), ".graphql"))).await;
            }
        )*
    };
}

served_models!(
    polls,
    parcels,
    helpdesk,
    league,
    library,
    recipes,
    chat,
    tracker,
    events,
    photos,
    timetable,
    devices,
    forum,
    bakery,
    observatory,
    warehouse,
    freight,
    hospital,
    festival,
    clinic,
    tenants,
    auction,
    rental,
    music,
    university,
    newsroom,
    insurance,
    airline,
    museum,
    podcasts,
    wiki,
    crowdfunding,
    chess,
    parliament,
    hotel,
    laboratory,
    agency,
);
