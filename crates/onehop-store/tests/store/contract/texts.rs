//! Texts of any kind in ids, partition keys and values.

use onehop_store::{Direction, Query, WriteOp};
use serde_json::json;

use crate::contract::harness::{BOTH_DIRECTIONS, Subject, THINGS, ids, item, keyset_of};

/// Texts that are hard on separators and escapes, in their order.
const TEXTS: [&str; 16] = [
    "\u{1}",
    "\u{1}\u{1}",
    "\u{1}\u{2}",
    "\u{2}",
    "\t",
    "\n\r",
    " ",
    "%41",
    "'; DROP",
    "+",
    "a",
    "a\u{1}",
    "ab",
    "é",
    "日本語",
    "😀\u{200d}😀",
];

/// The texts that an id may have here, in their order.
fn id_texts(subject: &Subject) -> Vec<&'static str> {
    let is_plain = |text: &&str| !text.chars().any(char::is_control);
    TEXTS.into_iter().filter(|text| subject.can().any_id || is_plain(text)).collect()
}

pub async fn every_text_is_a_good_id_partition_key_and_value(subject: Subject) {
    let id_texts = id_texts(&subject);
    for home in TEXTS {
        for &id in &id_texts {
            let body = json!({"id": id, "home": home, "type": "thing", "date": id, "owner": home});
            subject.create(item(&body)).await;
        }
    }
    for home in TEXTS {
        for &id in &id_texts {
            let value = subject.value(home, id).await.expect("an item");
            assert_eq!((&value["home"], &value["id"]), (&json!(home), &json!(id)));
        }
        assert_eq!(subject.count(home, "thing").await, id_texts.len() as u64, "{home:?}");
        assert_eq!(ids(&subject.page(home, Direction::OldestFirst, None, 100).await), id_texts, "{home:?}");
        let query = Query::Equality {
            container: THINGS,
            path: "owner",
            value: home,
            item_type: "thing",
            direction: Direction::OldestFirst,
            after: None,
            limit: 100,
            order_by: None,
        };
        assert_eq!(ids(&subject.query(&query).await), id_texts, "{home:?}");
    }
    let changes = subject.feed_from_beginning().await;
    assert_eq!(changes.len(), TEXTS.len() * id_texts.len());
    for change in changes {
        let value: serde_json::Value = change.item.decode().expect("JSON");
        assert_eq!(value["home"], change.partition_key.as_str());
        assert_eq!(value["id"], change.id);
    }
}

pub async fn pages_go_on_behind_any_text(subject: Subject) {
    for text in id_texts(&subject) {
        let body = json!({"id": text, "home": "h", "type": "thing", "date": text});
        subject.create(item(&body)).await;
    }
    for direction in BOTH_DIRECTIONS {
        let whole = subject.page("h", direction, None, 100).await;
        for (place, last) in whole.items.iter().enumerate() {
            let keyset = keyset_of(last);
            let behind = subject.page("h", direction, Some(&keyset), 100).await;
            assert_eq!(ids(&behind), ids(&whole)[place + 1..], "{direction:?} {keyset:?}");
        }
    }
}

pub async fn a_zero_character_is_fine_in_everything_but_an_id(subject: Subject) {
    for (home, date) in [("h", "d"), ("h\0", "d\0"), ("h\0\0", "d\0e")] {
        let body = json!({"id": "a", "home": home, "type": "t\0", "date": date, "owner": "o\0"});
        subject.create(item(&body)).await;
        assert_eq!(subject.value(home, "a").await.expect("an item")["date"], date);
        assert_eq!(subject.count(home, "t\0").await, 1);
        assert_eq!(subject.count(home, "t").await, 0);
    }
    let query = Query::Equality {
        container: THINGS,
        path: "owner",
        value: "o\0",
        item_type: "t\0",
        direction: Direction::OldestFirst,
        after: None,
        limit: 2,
        order_by: None,
    };
    let page = subject.query(&query).await;
    assert_eq!((page.items.len(), page.has_more), (2, true));
}

pub async fn the_feed_is_filtered_by_types_of_any_text(subject: Subject) {
    for (number, text) in TEXTS.into_iter().enumerate() {
        let body = json!({"id": format!("a{number}"), "home": "h", "type": text});
        subject.write("h", WriteOp::Create(item(&body))).await.expect("created");
    }
    let range = subject.range_of("h").await;
    for (number, text) in TEXTS.into_iter().enumerate() {
        let types = [text];
        let (changes, _) = subject.drain(&range, None, Some(&types), 10).await;
        let found: Vec<_> = changes.iter().map(|change| change.id.as_str()).collect();
        assert_eq!(found, [format!("a{number}")], "{text:?}");
    }
}
