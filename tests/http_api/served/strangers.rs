//! Models as strangers write them from the language's documentation, each driven through its generated API.

use super::driver::Driver;

/// The steps of one run.
const STEPS: usize = 60;
/// The seeds of the runs of each model.
const SEEDS: [u64; 2] = [11, 12_345];

async fn drive(name: &str, text: &str) {
    for seed in SEEDS {
        let mut driver = Driver::start(name, text, seed).await;
        driver.act(STEPS).await;
        assert!(driver.len() > 5, "{name} has {} items", driver.len());
        driver.check().await;
    }
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
