//! Random commands of several users at the same time, with the read models catching up beside them, in between, or
//! only in the end.

use proptest::prelude::*;

use crate::properties::acts::{Phase, plans};
use crate::properties::agreement::assert_agreement;
use crate::properties::play::play;
use crate::properties::{block_on, cases};

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_data_models_agree_with_the_acknowledged_writes(plan in plans()) {
        block_on(check(plan));
    }
}

async fn check(plan: Vec<Phase>) {
    let (blog, model) = play(&plan).await;
    blog.drain().await;
    blog.assert_clean().await;
    assert_agreement(&blog, &model).await;

    let etags = blog.etags().await;
    blog.rebuild().await;
    blog.assert_untouched(&etags).await;

    let blog = blog.restart().await;
    blog.drain().await;
    blog.assert_untouched(&etags).await;
    blog.assert_clean().await;
    blog.end().await;
}
