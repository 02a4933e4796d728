//! The allocator of this program counts the peak bytes of each thread.

use onehop_testing::allocations::{CountingAllocator, peak_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[tokio::test]
async fn the_peak_is_what_was_there_at_once() {
    let (peak, kept) = peak_bytes(async {
        drop(vec![0_u8; 3_000_000]);
        let kept = vec![0_u8; 1_000_000];
        drop(vec![0_u8; 1_500_000]);
        kept
    })
    .await;
    assert!((3_000_000..3_010_000).contains(&peak), "{peak}");
    assert_eq!(kept.len(), 1_000_000);
}
