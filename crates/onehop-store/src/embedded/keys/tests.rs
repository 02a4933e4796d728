use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_text_survives_the_key(text in "\\PC*|[\\x00-\\x03]*", rest in proptest::collection::vec(any::<u8>(), 0..8)) {
        let mut key = Vec::new();
        push_text(&mut key, &text);
        key.extend_from_slice(&rest);
        let (back, left) = take_text(&key).expect("a segment");
        prop_assert_eq!(back, text);
        prop_assert_eq!(left, &rest[..]);
    }

    #[test]
    fn keys_sort_as_their_texts_do(one in "[\\x00-\\x03a-c]{0,6}", two in "[\\x00-\\x03a-c]{0,6}") {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        push_text(&mut first, &one);
        push_text(&mut second, &two);
        prop_assert_eq!(first.cmp(&second), one.cmp(&two));
    }
}

#[test]
fn an_id_survives_the_key() {
    let uuid = "0190a0b2-7c3d-7e4f-8a5b-6c7d8e9f0001";
    let upper = uuid.to_uppercase();
    let ids = [uuid, &upper, &uuid.replace('-', ""), "", "a", "a\u{1}", "\u{2}", "\u{2}\u{2}", "\u{1}\u{2}"];
    for partition_key in ids {
        for id in ids {
            let key = id_key(7, partition_key, id);
            assert_eq!(parse_id_key(&key), Some((7, partition_key.to_owned(), id.to_owned())));
            let place = ItemLocation { item_type: "like", order_value: "2026", deleted: false };
            let key = item_key(7, partition_key, place, id);
            let parts = Some((partition_key.to_owned(), id.to_owned()));
            assert_eq!(parse_item_key(&key[1..]), parts);
            assert_eq!(parse_item_key(&edit_key(&key)[1..]), parts);
            assert_eq!(base_key(&edit_key(&key)), Some(key.clone()));
            assert_eq!(base_key(&key), None);
            assert_eq!(partition_key_of_item(&key).as_deref(), Some(partition_key));
            assert!(log_value_has_type(&key[1..], &["like"]) && !log_value_has_type(&key[1..], &["lik"]));
            assert_eq!(live_prefix_of(&key), Some(&live_prefix(7, partition_key, "like")[..]));
            let entry = index_entry(Vec::new(), "2026", id, partition_key);
            let parts = Some(("2026".to_owned(), id.to_owned(), partition_key.to_owned()));
            assert_eq!(parse_index_entry(&entry), parts);
            let entry = expiry_entry(5, 7, partition_key, id);
            let parts = Some((7, partition_key.to_owned(), id.to_owned()));
            assert_eq!((parse_expiry_entry(&entry), parse_index_key(&entry)), (parts.clone(), parts.clone()));
            for prefix in [
                equality_prefix(7, 1, 0, id, "like"),
                newest_prefix(7, 1, "like"),
                order_prefix(7, 1, partition_key, "like"),
            ] {
                assert_eq!(parse_index_key(&index_entry(prefix, "2026", id, partition_key)), parts);
            }
        }
    }
    assert_eq!(id_key(7, uuid, uuid).len(), 1 + 2 * UUID_BYTES);
}

#[test]
fn an_edit_lies_between_its_item_and_the_next() {
    let place = ItemLocation { item_type: "like", order_value: "", deleted: false };
    let ids =
        ["0190a0b2-7c3d-7e4f-8a5b-6c7d8e9f0001", "0190a0b2-7c3d-7e4f-8a5b-6c7d8e9f00ff", "a", "a\u{1}", "a!"];
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for id in ids {
        let key = item_key(1, "p", place, id);
        keys.extend([key.clone(), edit_key(&key), behind_item(&key)]);
    }
    assert!(keys.is_sorted(), "{keys:02x?}");
}

#[test]
fn partition_keys_spread_evenly_over_physical_partitions() {
    let mut items = [0_u32; 8];
    for number in 0..8000 {
        items[usize::from(physical_partition(&format!("post-{number}"), 8))] += 1;
    }
    assert!(items.iter().all(|count| (800..1200).contains(count)), "{items:?}");
}

#[test]
fn the_end_of_a_prefix_is_the_next_key_without_it() {
    assert_eq!(prefix_end(&[1, 2]), vec![1, 3]);
    assert_eq!(prefix_end(&[1, 255]), vec![2]);
}
