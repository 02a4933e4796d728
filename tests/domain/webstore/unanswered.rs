//! Writes without an answer whose item another process changes before the next look: the command may have had
//! its effect, so it is not refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onehop::domain::error::CommandError;
use onehop::webstore::containers::PRODUCT;
use onehop_store::{FaultKind, OperationKind};
use onehop_testing::stepped_store::SteppedStore;

use super::shop::{ProductEdit, Shop, key_of};
use crate::commands::harness::{Meddler, Meddling};
use crate::process::TestProcess;

#[tokio::test]
async fn a_change_of_a_product_that_is_deleted_behind_its_lost_answer_has_an_unknown_outcome() {
    let process = TestProcess::new().await;
    let other = Shop::new(&process.other_webstore_commands(Arc::clone(&process.app.store)));
    let bikes = other.create_category("Bikes").await.expect("a category");
    let product = key_of(&other.create_product("Bell", bikes, &[]).await.expect("a product"));
    let losing = Meddler::over(Arc::clone(&process.app.store));
    let reads = AtomicUsize::default();
    let store = SteppedStore::new(losing.clone(), move |operation| {
        let is_read = operation.container == PRODUCT && operation.kind == OperationKind::PointRead;
        is_read && reads.fetch_add(1, Ordering::SeqCst) == 1
    });
    let shop = Shop::new(&process.other_webstore_commands(store.clone()));
    losing.next(Meddling::LoseAnswer(0));
    let (changed, ()) = tokio::join!(
        shop.update_product(product, ProductEdit { name: Some("Horn"), ..ProductEdit::default() }),
        async {
            store.until_stopped().await;
            let deleted = other.delete_product(product).await.expect("it is there");
            assert_eq!(deleted.name, "Horn", "the change was made");
            store.resume();
        },
    );
    match changed {
        Err(CommandError::Fault(fault)) => assert_eq!(fault.kind, FaultKind::Ambiguous),
        other => panic!("{other:?}"),
    }
    let again = other.update_product(product, ProductEdit { name: Some("Gong"), ..ProductEdit::default() });
    assert!(matches!(again.await, Err(CommandError::Rejected(_))), "a change without an attempt is refused");
    process.end().await;
}
