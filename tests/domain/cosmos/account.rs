//! Accounts with several regions: an account that writes in all of them is refused.

use std::time::Duration;

use azure_data_cosmos_driver::in_memory_emulator::WriteMode;
use onehop_store::FaultKind;
use onehop_testing::emulator::Emulator;

const NOW_MS: i64 = 1_750_000_000_000;
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_account_with_several_write_regions_is_refused() {
    let account = Emulator::in_two_regions(WriteMode::Multi);
    let regions = account.account_reader().write_regions(NOW_MS, LONG).await.unwrap();
    let refused = regions.require_one().unwrap_err();
    assert_eq!(refused.kind, FaultKind::Internal, "no retry can help");
    let words = refused.to_string();
    for part in ["East US, West US", "If-Match", "enableMultipleWriteLocations"] {
        assert!(words.contains(part), "{words}");
    }
}

#[tokio::test]
async fn further_regions_for_reading_are_fine() {
    let account = Emulator::in_two_regions(WriteMode::Single);
    let regions = account.account_reader().write_regions(NOW_MS, LONG).await.unwrap();
    assert!(regions.require_one().is_ok(), "{regions:?}");
}
