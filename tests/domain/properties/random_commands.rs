//! Random commands of several users at the same time, with the read models catching up beside them, in
//! between, or only in the end.

use proptest::prelude::*;

use crate::properties::acts::acts;
use crate::properties::agreement::assert_agreement;
use crate::properties::plan::{assert_at_rest, plans};
use crate::properties::play::play;
use crate::properties::webstore;
use crate::properties::{block_on, cases};

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn the_data_models_agree_with_the_acknowledged_writes(plan in plans(acts())) {
        block_on(async {
            let (process, model) = play(&plan).await;
            assert_at_rest(process, async |process| assert_agreement(process, &model).await).await;
        });
    }

    #[test]
    fn the_web_store_agrees_with_the_acknowledged_writes(plan in plans(webstore::acts())) {
        block_on(async {
            let (process, model) = webstore::play(&plan).await;
            assert_at_rest(process, async |process| webstore::assert_agreement(process, &model).await).await;
        });
    }
}
