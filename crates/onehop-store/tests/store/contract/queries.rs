//! The query shapes: their results, and the order.

use onehop_store::{
    Batch, Direction, Keyset, PartitionKey, Query, QueryPage, Rejection, WriteOp, order_value_of,
};
use serde_json::{Value, json};

use crate::contract::harness::{
    BOTH_DIRECTIONS, RANKED, RANKED_ORDER, RECORDS, Subject, THINGS, id_of, ids, item, refusal_of, thing,
};

async fn by_owner(subject: &Subject, owner: &str, direction: Direction) -> QueryPage {
    let query = Query::Equality {
        container: THINGS,
        path: "owner",
        value: owner,
        item_type: "thing",
        direction,
        after: None,
        limit: 100,
        order_by: None,
    };
    subject.query(&query).await
}

async fn newest(subject: &Subject, limit: usize) -> QueryPage {
    subject
        .query(&Query::Newest {
            container: THINGS,
            item_type: "thing",
            after: None,
            limit,
            order_by: None,
            direction: Direction::NewestFirst,
        })
        .await
}

fn in_direction(mut expected: Vec<&str>, direction: Direction) -> Vec<&str> {
    if direction == Direction::NewestFirst {
        expected.reverse();
    }
    expected
}

/// Six things in three homes whose order is c1, a1, b1, a2, b2, a3 from old to new.
async fn six_things(subject: &Subject) {
    for (home, id, date) in [
        ("a", "a3", "2026-03"),
        ("a", "a1", "2026-01-02"),
        ("b", "b2", "2026-02-02"),
        ("a", "a2", "2026-02-01"),
        ("c", "c1", "2026-01-01"),
        ("b", "b1", "2026-01-03"),
    ] {
        subject.create(thing(home, id, date)).await;
    }
}

pub async fn a_partition_is_answered_in_its_order_in_both_directions(subject: Subject) {
    six_things(&subject).await;
    for direction in BOTH_DIRECTIONS {
        let page = subject.page("a", direction, None, 10).await;
        assert_eq!(ids(&page), in_direction(vec!["a1", "a2", "a3"], direction));
        assert!(!page.has_more);
    }
}

pub async fn equality_is_answered_across_partitions_in_both_directions(subject: Subject) {
    six_things(&subject).await;
    let foreign = json!({"id": "x", "home": "a", "type": "thing", "date": "2026-02", "owner": "bob"});
    subject.create(item(&foreign)).await;
    for direction in BOTH_DIRECTIONS {
        let page = by_owner(&subject, "ada", direction).await;
        assert_eq!(ids(&page), in_direction(vec!["c1", "a1", "b1", "a2", "b2", "a3"], direction));
    }
    assert_eq!(ids(&by_owner(&subject, "bob", Direction::OldestFirst).await), ["x"]);
    assert!(by_owner(&subject, "ad", Direction::OldestFirst).await.items.is_empty(), "no prefix matches");
    assert!(by_owner(&subject, "adaa", Direction::OldestFirst).await.items.is_empty());
}

pub async fn the_newest_come_first_from_all_partitions(subject: Subject) {
    six_things(&subject).await;
    assert_eq!(ids(&newest(&subject, 10).await), ["a3", "b2", "a2", "b1", "a1", "c1"]);
    let page = newest(&subject, 2).await;
    assert_eq!((ids(&page), page.has_more), (vec!["a3".to_owned(), "b2".to_owned()], true));
}

pub async fn every_equality_path_has_its_own_answers(subject: Subject) {
    for (id, owner, colour) in [("a", "ada", "red"), ("b", "red", "ada"), ("c", "ada", "ada")] {
        let body =
            json!({"id": id, "home": "h", "type": "thing", "date": id, "owner": owner, "colour": colour});
        subject.create(item(&body)).await;
    }
    for (path, value, expected) in
        [("owner", "ada", vec!["a", "c"]), ("colour", "ada", vec!["b", "c"]), ("colour", "red", vec!["a"])]
    {
        let query = Query::Equality {
            container: THINGS,
            path,
            value,
            item_type: "thing",
            direction: Direction::OldestFirst,
            after: None,
            limit: 10,
            order_by: None,
        };
        assert_eq!(ids(&subject.query(&query).await), expected, "{path} = {value}");
    }
}

pub async fn items_of_other_types_are_in_no_answer(subject: Subject) {
    six_things(&subject).await;
    for (id, item_type) in [("t", "thin"), ("u", "things"), ("v", "other")] {
        let body = json!({"id": id, "home": "a", "type": item_type, "date": "2026-02", "owner": "ada"});
        subject.create(item(&body)).await;
    }
    subject.create(item(&json!({"id": "w", "home": "a", "date": "2026-02", "owner": "ada"}))).await;
    assert_eq!(subject.page("a", Direction::OldestFirst, None, 10).await.items.len(), 3);
    assert_eq!(by_owner(&subject, "ada", Direction::OldestFirst).await.items.len(), 6);
    assert_eq!(newest(&subject, 100).await.items.len(), 6);
    assert_eq!((subject.count("a", "thing").await, subject.count("a", "thin").await), (3, 1));
}

pub async fn ties_in_the_order_value_are_broken_by_id(subject: Subject) {
    for (home, id) in [("h1", "c"), ("h2", "b"), ("h1", "a"), ("h3", "d")] {
        subject.create(thing(home, id, "2026-01-01")).await;
    }
    for direction in BOTH_DIRECTIONS {
        let page = subject.page("h1", direction, None, 10).await;
        assert_eq!(ids(&page), in_direction(vec!["a", "c"], direction));
        let page = by_owner(&subject, "ada", direction).await;
        assert_eq!(ids(&page), in_direction(vec!["a", "b", "c", "d"], direction));
    }
    assert_eq!(ids(&newest(&subject, 10).await), ["d", "c", "b", "a"]);
}

pub async fn items_without_an_order_value_come_before_all_others(subject: Subject) {
    subject.create(thing("h", "dated", "0001")).await;
    for id in ["b", "a"] {
        subject.create(item(&json!({"id": id, "home": "h", "type": "thing", "owner": "ada"}))).await;
    }
    for direction in BOTH_DIRECTIONS {
        let expected = in_direction(vec!["a", "b", "dated"], direction);
        assert_eq!(ids(&subject.page("h", direction, None, 10).await), expected);
        assert_eq!(ids(&by_owner(&subject, "ada", direction).await), expected);
    }
    assert_eq!(ids(&newest(&subject, 10).await), ["dated", "b", "a"]);
}

/// Queries of things by their number: in a logical partition, by an equality, and of all.
fn by_number<'a>(
    home: &'a PartitionKey,
    direction: Direction,
    after: Option<&'a Keyset>,
    limit: usize,
) -> [Query<'a>; 3] {
    let (container, item_type, order_by) = (THINGS, "thing", Some("number"));
    let (path, value) = ("owner", "ada");
    [
        Query::Partition { container, partition_key: home, item_type, order_by, direction, after, limit },
        Query::Equality { container, path, value, item_type, order_by, direction, after, limit },
        Query::Newest { container, item_type, order_by, direction, after, limit },
    ]
}

pub async fn a_type_is_answered_in_each_of_its_orders(subject: Subject) {
    for (id, number) in [("ten", json!(10)), ("nine", json!(9)), ("half", json!(0.5)), ("minus", json!(-3))] {
        let body =
            json!({"id": id, "home": "h", "type": "thing", "owner": "ada", "date": id, "number": number});
        subject.create(item(&body)).await;
    }
    subject.create(thing("h", "none", "2026")).await;
    let home = PartitionKey::from("h");
    for direction in BOTH_DIRECTIONS {
        let expected = in_direction(vec!["none", "minus", "half", "nine", "ten"], direction);
        for place in 0..3 {
            let (mut found, mut after): (Vec<String>, Option<Keyset>) = (Vec::new(), None);
            loop {
                let page = subject.query(&by_number(&home, direction, after.as_ref(), 2)[place]).await;
                found.extend(ids(&page));
                let Some(last) = page.items.last().filter(|_| page.has_more) else { break };
                let body: Value = last.decode().expect("JSON");
                let order_value = onehop_store::order_value(&body["number"]).unwrap_or_default();
                after = Some(Keyset { order_value, id: id_of(last) });
            }
            assert_eq!(found, expected, "{direction:?}, query {place}");
        }
    }
    let moved =
        json!({"id": "ten", "home": "h", "type": "thing", "owner": "ada", "date": "ten", "number": 1});
    subject.upsert(item(&moved)).await;
    for query in by_number(&home, Direction::NewestFirst, None, 10) {
        assert_eq!(ids(&subject.query(&query).await), ["nine", "ten", "half", "minus", "none"]);
    }
}

pub async fn an_order_of_several_properties_goes_each_in_its_direction(subject: Subject) {
    let home = PartitionKey::from("h");
    let mut bodies = Vec::new();
    for (number, (rank, colour, size)) in [
        (json!(1), json!("red"), json!(0.5)),
        (json!(1), json!("red"), json!(-7)),
        (json!(1), json!("blue"), json!(3)),
        (json!(1), json!("rediß"), json!(3)),
        (json!(1), json!("red"), json!(0.5)),
        (json!(2), json!(null), json!(1)),
        (json!(2), json!("a"), json!(null)),
        (json!(-2), json!("a"), json!(9)),
        (json!(3), json!("a"), json!(1)),
        (json!(null), json!("b"), json!(1)),
        (json!(null), json!("b"), json!(2)),
        (json!(null), json!(null), json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = json!({ "id": format!("i{number:02}"), "home": "h", "type": "thing", "owner": "ada" });
        for (name, value) in [("rank", rank), ("colour", colour), ("size", size)] {
            if !value.is_null() {
                body[name] = value;
            }
        }
        let create = WriteOp::Create(item(&body));
        subject.store.write(RANKED, &home, create, &subject.ledger).await.expect("created");
        bodies.push(body);
    }
    let keyset_of = |body: &Value| {
        (order_value_of(RANKED_ORDER, |name| body.get(name)), body["id"].as_str().unwrap().to_owned())
    };
    bodies.sort_by_key(keyset_of);
    let expected: Vec<&str> = bodies.iter().map(|body| body["id"].as_str().unwrap()).collect();
    assert_eq!(
        expected,
        ["i09", "i10", "i11", "i07", "i03", "i01", "i00", "i04", "i02", "i06", "i05", "i08"][..],
        "ranks rise, colours fall, sizes rise"
    );
    for direction in BOTH_DIRECTIONS {
        let expected = in_direction(expected.clone(), direction);
        for limit in [1, 2, 5, 20] {
            for place in 0..3 {
                let (mut found, mut after): (Vec<String>, Option<Keyset>) = (Vec::new(), None);
                loop {
                    let (container, item_type, order_by) = (RANKED, "thing", None);
                    let (path, value, after_page) = ("owner", "ada", after.as_ref());
                    let query = match place {
                        0 => Query::Partition {
                            container,
                            partition_key: &home,
                            item_type,
                            order_by,
                            direction,
                            after: after_page,
                            limit,
                        },
                        1 => Query::Equality {
                            container,
                            path,
                            value,
                            item_type,
                            order_by,
                            direction,
                            after: after_page,
                            limit,
                        },
                        _ => Query::Newest {
                            container,
                            item_type,
                            order_by,
                            direction,
                            after: after_page,
                            limit,
                        },
                    };
                    let page = subject.query(&query).await;
                    found.extend(ids(&page));
                    let Some(last) = page.items.last().filter(|_| page.has_more) else { break };
                    let (order_value, id) = keyset_of(&last.decode().expect("JSON"));
                    after = Some(Keyset { order_value, id });
                }
                assert_eq!(found, expected, "{direction:?}, query {place}, pages of {limit}");
            }
        }
    }
}

pub async fn an_order_that_a_type_does_not_have_is_a_fault(subject: Subject) {
    let home = PartitionKey::from("h");
    let (direction, after) = (Direction::OldestFirst, None);
    let query = Query::Partition {
        container: THINGS,
        partition_key: &home,
        item_type: "other",
        order_by: Some("number"),
        direction,
        after,
        limit: 1,
    };
    assert!(subject.store.query(&query, &subject.ledger).await.is_err());
}

pub async fn a_soft_deleted_item_is_read_and_in_the_feed_but_in_no_query(subject: Subject) {
    six_things(&subject).await;
    let body = json!({"id": "a2", "home": "a", "type": "thing", "date": "2026-02-01", "owner": "ada", "deleted": true});
    let etag = subject.upsert(item(&body)).await;
    assert_eq!(subject.read("a", "a2").await.expect("an item").etag, etag);
    assert_eq!(ids(&subject.page("a", Direction::OldestFirst, None, 10).await), ["a1", "a3"]);
    assert_eq!(by_owner(&subject, "ada", Direction::OldestFirst).await.items.len(), 5);
    assert!(!ids(&newest(&subject, 10).await).contains(&"a2".to_owned()));
    assert_eq!(subject.count("a", "thing").await, 2);
    let changes = subject.feed_from_beginning().await;
    assert_eq!(changes.len(), 6);
    let change = changes.iter().find(|change| change.id == "a2").expect("a change");
    assert_eq!(change.item.etag, etag);
    let conflict = subject.refusal("a", WriteOp::Create(thing("a", "a2", "2026-02-01"))).await;
    assert_eq!(conflict, onehop_store::Rejection::Conflict, "it still has its id");
}

pub async fn a_soft_deleted_item_that_is_restored_is_found_again(subject: Subject) {
    subject.create(thing("h", "a", "2026-01-01")).await;
    for deleted in [true, false, true, false] {
        let body = json!({
            "id": "a", "home": "h", "type": "thing", "date": "2026-01-01", "owner": "ada", "deleted": deleted
        });
        subject.upsert(item(&body)).await;
        let expected = u64::from(!deleted);
        assert_eq!(subject.count("h", "thing").await, expected);
        assert_eq!(newest(&subject, 10).await.items.len() as u64, expected);
        assert_eq!(by_owner(&subject, "ada", Direction::OldestFirst).await.items.len() as u64, expected);
    }
}

pub async fn a_container_without_soft_deletes_refuses_them(subject: Subject) {
    let record = |id: &str, deleted: bool| {
        item(&json!({
            "id": id, "home": "h", "type": "thing", "date": "2026-01-01", "owner": "ada", "deleted": deleted
        }))
    };
    let home = PartitionKey::from("h");
    let (store, ledger) = (&subject.store, &subject.ledger);
    for id in ["a", "b"] {
        store.write(RECORDS, &home, WriteOp::Create(record(id, false)), ledger).await.expect("created");
    }
    let refused = store.write(RECORDS, &home, WriteOp::Upsert(record("b", true)), ledger).await;
    assert_eq!(refused.expect_err("refused").rejection(), Some(&Rejection::SoftDelete));
    let operations = vec![WriteOp::Upsert(record("a", false)), WriteOp::Upsert(record("b", true))];
    let refused = store.batch(Batch { operations, ..Batch::new(RECORDS, home.clone()) }, ledger).await;
    assert_eq!(refusal_of(refused), (1, Rejection::SoftDelete));

    for direction in BOTH_DIRECTIONS {
        let expected = if direction == Direction::OldestFirst { ["a", "b"] } else { ["b", "a"] };
        let (container, item_type, after, limit) = (RECORDS, "thing", None, 10);
        let in_partition = Query::Partition {
            container,
            partition_key: &home,
            item_type,
            direction,
            after,
            limit,
            order_by: None,
        };
        let (path, value) = ("owner", "ada");
        let by_owner =
            Query::Equality { container, path, value, item_type, direction, after, limit, order_by: None };
        assert_eq!(ids(&subject.query(&in_partition).await), expected);
        assert_eq!(ids(&subject.query(&by_owner).await), expected);
    }
    assert_eq!(store.count(RECORDS, &home, "thing", ledger).await.expect("a count"), 2);
}

pub async fn a_hard_deleted_item_is_in_no_answer(subject: Subject) {
    six_things(&subject).await;
    subject.delete("a", "a3").await;
    assert_eq!(ids(&subject.page("a", Direction::NewestFirst, None, 10).await), ["a2", "a1"]);
    assert_eq!(by_owner(&subject, "ada", Direction::OldestFirst).await.items.len(), 5);
    assert_eq!(ids(&newest(&subject, 1).await), ["b2"]);
    assert_eq!(subject.feed_from_beginning().await.len(), 5);
}

pub async fn a_query_without_an_index_is_a_fault(subject: Subject) {
    let path = Query::Equality {
        container: THINGS,
        path: "weight",
        value: "1",
        item_type: "thing",
        direction: Direction::OldestFirst,
        after: None,
        limit: 10,
        order_by: None,
    };
    let newest = Query::Newest {
        container: THINGS,
        item_type: "other",
        after: None,
        limit: 10,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    for query in [path, newest] {
        assert!(subject.store.query(&query, &subject.ledger).await.is_err(), "{query:?}");
    }
}

pub async fn counts_follow_every_write(subject: Subject) {
    for number in 0..10 {
        subject.create(thing("h", &format!("a{number}"), "2026-01-01")).await;
        assert_eq!(subject.count("h", "thing").await, number + 1);
    }
    subject.create(thing("h2", "a0", "2026-01-01")).await;
    for number in 0..10 {
        subject.delete("h", &format!("a{number}")).await;
        assert_eq!(subject.count("h", "thing").await, 9 - number);
    }
    assert_eq!(subject.count("h2", "thing").await, 1);
}
