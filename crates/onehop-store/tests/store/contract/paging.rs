//! Keyset paging: exact at its boundaries, and unmoved by writes in between.

use std::collections::HashSet;

use onehop_store::{Direction, Keyset, Query};
use serde_json::json;

use crate::contract::harness::{BOTH_DIRECTIONS, Subject, THINGS, id_of, ids, item, keyset_of, thing};

/// The three kinds of pages.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Partition,
    Equality,
    Newest,
}

const SHAPES: [Shape; 3] = [Shape::Partition, Shape::Equality, Shape::Newest];

async fn page(
    subject: &Subject,
    shape: Shape,
    direction: Direction,
    after: Option<&Keyset>,
    limit: usize,
) -> onehop_store::QueryPage {
    let home = "h0".into();
    let (container, item_type) = (THINGS, "thing");
    let query = match shape {
        Shape::Partition => Query::Partition {
            container,
            partition_key: &home,
            item_type,
            direction,
            after,
            limit,
            order_by: None,
        },
        Shape::Equality => Query::Equality {
            container,
            path: "owner",
            value: "ada",
            item_type,
            direction,
            after,
            limit,
            order_by: None,
        },
        Shape::Newest => Query::Newest {
            container,
            item_type,
            after,
            limit,
            order_by: None,
            direction: Direction::NewestFirst,
        },
    };
    subject.query(&query).await
}

/// Reads all pages and calls `between` after each.
async fn all_pages(
    subject: &Subject,
    shape: Shape,
    direction: Direction,
    limit: usize,
    mut between: impl AsyncFnMut(usize),
) -> Vec<String> {
    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = page(subject, shape, direction, after.as_ref(), limit).await;
        assert!(page.items.len() <= limit);
        found.extend(ids(&page));
        pages += 1;
        between(pages).await;
        let Some(last) = page.items.last() else { break };
        if !page.has_more {
            break;
        }
        assert_eq!(page.items.len(), limit, "a page before the last one is full");
        after = Some(keyset_of(last));
    }
    found
}

/// Things with many ties in their order value, in `homes` logical partitions.
async fn things_with_ties(subject: &Subject, homes: usize, things: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..things {
        let (home, id) = (format!("h{}", number % homes), format!("id{number:03}"));
        if number % 5 == 0 {
            let body = json!({"id": id, "home": home, "type": "thing", "owner": "ada"});
            subject.create(item(&body)).await;
        } else {
            subject.create(thing(&home, &id, &format!("2026-01-{:02}", number % 4))).await;
        }
        ids.push(id);
    }
    ids
}

pub async fn pages_of_every_size_hold_each_item_once(subject: Subject) {
    let mut expected = things_with_ties(&subject, 1, 23).await;
    expected.sort();
    for shape in SHAPES {
        for direction in BOTH_DIRECTIONS {
            let whole = ids(&page(&subject, shape, direction, None, 100).await);
            for limit in 1..=24 {
                let found = all_pages(&subject, shape, direction, limit, async |_| {}).await;
                assert_eq!(found, whole, "{shape:?} {direction:?} by {limit}");
            }
            let mut sorted = whole;
            sorted.sort();
            assert_eq!(sorted, expected);
        }
    }
}

pub async fn pages_across_partitions_hold_each_item_once(subject: Subject) {
    let mut expected = things_with_ties(&subject, 7, 40).await;
    expected.sort();
    for shape in [Shape::Equality, Shape::Newest] {
        for direction in BOTH_DIRECTIONS {
            let whole = ids(&page(&subject, shape, direction, None, 100).await);
            for limit in [1, 2, 3, 7, 39, 40, 41] {
                let found = all_pages(&subject, shape, direction, limit, async |_| {}).await;
                assert_eq!(found, whole, "{shape:?} {direction:?} by {limit}");
            }
            let mut sorted = whole;
            sorted.sort();
            assert_eq!(sorted, expected);
        }
    }
}

pub async fn has_more_is_exact_at_the_boundary(subject: Subject) {
    for number in 0..10 {
        subject.create(thing("h0", &format!("a{number}"), &format!("2026-01-{number:02}"))).await;
    }
    for shape in SHAPES {
        for direction in BOTH_DIRECTIONS {
            for (limit, has_more) in [(9, true), (10, false), (11, false)] {
                let page = page(&subject, shape, direction, None, limit).await;
                assert_eq!(page.has_more, has_more, "{shape:?} {direction:?} of {limit}");
            }
            let whole = page(&subject, shape, direction, None, 10).await;
            let fifth = keyset_of(&whole.items[4]);
            for (limit, has_more) in [(4, true), (5, false)] {
                let page = page(&subject, shape, direction, Some(&fifth), limit).await;
                assert_eq!((page.items.len(), page.has_more), (limit, has_more), "{shape:?} {direction:?}");
                assert_eq!(id_of(&page.items[0]), id_of(&whole.items[5]));
            }
            let last = keyset_of(&whole.items[9]);
            let behind = page(&subject, shape, direction, Some(&last), 5).await;
            assert_eq!((behind.items.len(), behind.has_more), (0, false), "{shape:?} {direction:?}");
        }
    }
}

pub async fn has_more_does_not_count_what_no_query_sees(subject: Subject) {
    for number in 0..4 {
        let mut body = json!({
            "id": format!("a{number}"), "home": "h0", "type": "thing", "owner": "ada", "date": format!("{number}")
        });
        body["deleted"] = (number >= 2).into();
        subject.create(item(&body)).await;
    }
    for shape in SHAPES {
        for direction in BOTH_DIRECTIONS {
            let page = page(&subject, shape, direction, None, 2).await;
            assert_eq!((page.items.len(), page.has_more), (2, false), "{shape:?} {direction:?}");
        }
    }
}

pub async fn inserts_between_pages_neither_repeat_nor_lose_an_item(subject: Subject) {
    let before: HashSet<String> = things_with_ties(&subject, 1, 30).await.into_iter().collect();
    for (round, shape) in SHAPES.into_iter().enumerate() {
        for direction in BOTH_DIRECTIONS {
            let found = all_pages(&subject, shape, direction, 4, async |number| {
                // Before, among and after everything that is there.
                for date in ["", "2026-01-02", "2026-01-99"] {
                    if number > 12 {
                        break;
                    }
                    let id = format!("new-{round}-{direction:?}-{number}-{date}");
                    subject.create(thing("h0", &id, date)).await;
                }
            })
            .await;
            let distinct: HashSet<String> = found.iter().cloned().collect();
            assert_eq!(distinct.len(), found.len(), "{shape:?} {direction:?}: an item came twice");
            assert!(before.is_subset(&distinct), "{shape:?} {direction:?}: an item was lost");
        }
    }
}

pub async fn deleting_the_keyset_item_keeps_the_next_page(subject: Subject) {
    for number in 0..6 {
        subject.create(thing("h0", &format!("a{number}"), "2026-01-01")).await;
    }
    for (shape, gone) in [(Shape::Partition, "a1"), (Shape::Equality, "a2"), (Shape::Newest, "a3")] {
        let after = Keyset { order_value: "2026-01-01".to_owned(), id: gone.to_owned() };
        let before = ids(&page(&subject, shape, Direction::NewestFirst, Some(&after), 10).await);
        subject.delete("h0", gone).await;
        let behind = ids(&page(&subject, shape, Direction::NewestFirst, Some(&after), 10).await);
        assert_eq!(behind, before, "{shape:?}");
    }
}

pub async fn any_keyset_is_a_place_between_items(subject: Subject) {
    for date in ["2026-01-01", "2026-01-03"] {
        subject.create(thing("h0", date, date)).await;
    }
    for shape in SHAPES {
        for (order_value, id, newer, older) in [
            ("2026-01-02", "", 1, 1),
            ("2026-01-02", "zzz", 1, 1),
            ("", "", 2, 0),
            ("\u{10ffff}", "\u{0}\u{1}\u{10ffff}", 0, 2),
            ("2026-01-01", "", 2, 0),
            ("2026-01-01", "2026-01-01", 1, 0),
            ("2026-01-01", "2026-01-011", 1, 1),
            ("2026-01-01\u{0}", "", 1, 1),
        ] {
            let after = Keyset { order_value: order_value.to_owned(), id: id.to_owned() };
            let found = page(&subject, shape, Direction::NewestFirst, Some(&after), 10).await;
            assert_eq!(found.items.len(), older, "{shape:?} before {after:?}");
            if !matches!(shape, Shape::Newest) {
                let found = page(&subject, shape, Direction::OldestFirst, Some(&after), 10).await;
                assert_eq!(found.items.len(), newer, "{shape:?} behind {after:?}");
            }
        }
    }
}
