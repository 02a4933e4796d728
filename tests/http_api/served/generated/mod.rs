//! Generated models: each is accepted, served and driven, as models that strangers write are.

mod list_text;
mod model_text;

use std::env;
use std::ops::Range;

use super::driver::{Driver, PlannedAnswers};

/// The models that every run of the tests drives; `ONEHOP_GENERATED_MODELS` names others, as `100..300`.
const SEEDS: Range<u64> = 1..6;
/// The steps of one run.
const STEPS: usize = 50;

fn seeds() -> Range<u64> {
    let Ok(named) = env::var("ONEHOP_GENERATED_MODELS") else { return SEEDS };
    let bounds = named.split_once("..").and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    bounds.expect("ONEHOP_GENERATED_MODELS is a range such as 100..300")
}

#[tokio::test]
async fn generated_models_are_served_as_they_say() {
    for seed in seeds() {
        let text = model_text::model_text(seed);
        // A panic shows the model that failed.
        println!("model {seed}:\n{text}");
        let mut driver = Driver::start(&format!("model {seed}"), &text, seed).await;
        driver.act(STEPS).await;
        driver.check().await;
        driver.check_plans(&mut PlannedAnswers::default()).await;
    }
}
