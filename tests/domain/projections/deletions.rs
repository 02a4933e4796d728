//! The state after the deletion of a post.

use onehop::blog::items::types;

use crate::projections::world::{World, comment, deleted, like, post, user};

#[tokio::test]
async fn items_of_a_deleted_post_are_deleted_in_batches() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let (gone, kept) = (post(1, &ada), post(2, &ada));
    for written in [&gone, &kept] {
        world.put_post(written).await;
        for number in 0..230 {
            let comment = comment(number + 1000 * (written.id.0.as_u128() & 0xff), written, &ada);
            world.put_comment(&comment).await;
        }
        for number in 0..120 {
            world.put_like(&like(written, &user(number, "somebody"))).await;
        }
    }
    world.put_post(&deleted(&gone)).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!((world.count(gone.id, types::COMMENT).await, world.count(gone.id, types::LIKE).await), (0, 0));
    assert_eq!(
        (world.count(kept.id, types::COMMENT).await, world.count(kept.id, types::LIKE).await),
        (230, 120)
    );
}
