//! Tests of stored items: the JSON that a design stores.

use super::{DesignData, ItemWriter};
use crate::design_study::DesignStudy;
use crate::fixtures::Shop;
use onehop_store::charges::Calibration;
use serde_json::json;

fn with_design<T>(design: usize, work: impl FnOnce(&DesignData<'_>) -> T) -> T {
    let shop = Shop::new("");
    let survey = shop.survey();
    let study = DesignStudy::new(&shop.study, &survey, Calibration::current());
    work(&study.designs()[design])
}

#[test]
fn an_item_has_its_type_its_version_and_its_copies() {
    let visible = json!({"id": "o7", "customer": "c7", "status": "open", "day": "2026-11-08", "total": 7});
    let stored = |design| {
        with_design(design, |data| {
            let item = data.design.model.item("Order").unwrap();
            ItemWriter { data }.item(item, &visible)
        })
    };
    let plain = json!({
        "id": "o7", "type": "order", "version": 1, "customerId": "c7", "status": "open", "day": "2026-11-08",
        "total": 7, "createdAt": "2026-11-23T09:20:00.125Z",
    });
    assert_eq!(stored(0), plain);
    let mut copied = plain;
    copied["customerName"] = json!("Customer 7");
    assert_eq!(stored(1), copied);
}

#[test]
fn an_entry_has_the_fields_of_its_list() {
    let visible = json!({"id": "o7", "customer": "c7", "status": "open", "total": 7, "createdAt": "2026-11-08T10:00:00Z"});
    let entry = with_design(2, |data| {
        let list = data.lists()[0];
        ItemWriter { data }.entry((data.design.model.item("Order").unwrap(), list.list), &visible)
    });
    let expected = json!({
        "id": "o7", "type": "order", "version": 1, "total": 7, "customerId": "c7", "customerName": "Customer 7",
        "createdAt": "2026-11-08T10:00:00Z",
    });
    assert_eq!(entry, expected);
}

#[test]
fn the_largest_partition_follows_from_the_key() {
    let sizes = |design| with_design(design, |data| data.container_size("orders", 10.0));
    let (by_id, by_customer) = (sizes(0), sizes(1));
    assert_eq!(by_id.items, 4_000.0);
    let ratio = by_customer.partition_bytes_max / by_id.partition_bytes_max;
    assert!((90.0..130.0).contains(&ratio), "ten orders each, and few customers grow: {ratio}");
    let open = with_design(2, |data| data.container_size("openOrders", 1.0));
    assert!(open.is_single && open.bytes == open.partition_bytes_max);
}
