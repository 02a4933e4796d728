//! Models as strangers write them from the language's documentation, each driven through its generated API.

use super::driver::{Driver, PlannedAnswers};

/// The steps of one run.
const STEPS: usize = 60;
/// The seeds of the runs of each model.
const SEEDS: [u64; 2] = [11, 12_345];

/// The fields that no plan answers, each with the reason.
const WITHOUT_PLAN: &[(&str, &str)] = &[];

async fn drive(name: &str, text: &str) {
    let mut answers = PlannedAnswers::default();
    for seed in SEEDS {
        let mut driver = Driver::start(name, text, seed).await;
        driver.act(STEPS).await;
        assert!(driver.len() > 5, "{name} has {} items", driver.len());
        driver.check().await;
        driver.check_plans(&mut answers).await;
    }
    let PlannedAnswers { valid, by_plan, planned, all } = &answers;
    assert!(by_plan * 5 > *valid, "{name}: {by_plan} of {valid} valid documents by plans");
    let has_reason = |field: &&String| WITHOUT_PLAN.iter().any(|(known, _)| *known == format!("{name} {field}"));
    let wrong: Vec<_> = all.iter().filter(|field| planned.contains(*field) == has_reason(field)).collect();
    assert!(wrong.is_empty(), "{name}: a plan and a reason, or neither: {wrong:#?}");
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
    hospital
);
