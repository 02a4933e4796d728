//! The ledger's record of each operation.

use onehop_store::{Direction, Ledger, OperationKind, OperationRecord, Query, WriteOp};

use crate::contract::harness::{Subject, THINGS, batch, numbered, thing};

/// The one operation that was recorded since the last call.
struct Watched {
    ledger: Ledger,
    charges_all: bool,
}

impl Watched {
    fn new(subject: &Subject) -> Self {
        Self { ledger: Ledger::new(), charges_all: subject.can().charges_all }
    }

    fn take(&mut self) -> OperationRecord {
        let operations = std::mem::take(&mut self.ledger).operations();
        assert_eq!(operations.len(), 1, "{operations:?}");
        assert_eq!(operations[0].container, THINGS);
        assert!(operations[0].charge.0 > 0.0 || !self.charges_all, "{operations:?}");
        operations[0]
    }

    fn expect(&mut self, kind: OperationKind, items: u32, physical_partitions: u32) {
        let record = self.take();
        assert_eq!(
            (record.kind, record.items, record.physical_partitions),
            (kind, items, physical_partitions)
        );
    }
}

pub async fn each_write_is_recorded_under_its_kind(subject: Subject) {
    let mut watched = Watched::new(&subject);
    let home = "h1".into();
    for (operation, kind) in [
        (WriteOp::Create(numbered("h1", "a", 1)), OperationKind::Create),
        (WriteOp::Upsert(numbered("h1", "a", 2)), OperationKind::Upsert),
        (WriteOp::Replace { item: numbered("h1", "a", 3), if_match: None }, OperationKind::Replace),
        (WriteOp::Delete { id: "a".to_owned(), if_match: None }, OperationKind::Delete),
    ] {
        subject.store.write(THINGS, &home, operation, &watched.ledger).await.expect("written");
        watched.expect(kind, 1, 1);
    }
    let creates = (0..7).map(|number| WriteOp::Create(numbered("h1", &format!("a{number}"), number)));
    subject.store.batch(batch("h1", creates.collect()), &watched.ledger).await.expect("done");
    watched.expect(OperationKind::Batch, 7, 1);
}

pub async fn a_refused_write_is_recorded_with_no_items(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let mut watched = Watched::new(&subject);
    let create = WriteOp::Create(numbered("h1", "a", 1));
    subject.store.write(THINGS, &"h1".into(), create, &watched.ledger).await.expect_err("refused");
    watched.expect(OperationKind::Create, 0, 1);
}

pub async fn reads_are_recorded_with_what_they_returned(subject: Subject) {
    for number in 0..5 {
        subject.create(thing("h1", &format!("a{number}"), "2026-01-01")).await;
    }
    let mut watched = Watched::new(&subject);
    let home = "h1".into();
    subject.store.read(THINGS, &home, "a1", &watched.ledger).await.expect("a read");
    watched.expect(OperationKind::PointRead, 1, 1);
    subject.store.read(THINGS, &home, "absent", &watched.ledger).await.expect("a read");
    watched.expect(OperationKind::PointRead, 0, 1);
    let (container, item_type, direction) = (THINGS, "thing", Direction::NewestFirst);
    let query = Query::Partition {
        container,
        partition_key: &home,
        item_type,
        direction,
        after: None,
        limit: 3,
        order_by: None,
    };
    subject.store.query(&query, &watched.ledger).await.expect("a page");
    watched.expect(OperationKind::Query, 3, 1);
    subject.store.count(THINGS, &home, "thing", &watched.ledger).await.expect("a count");
    watched.expect(OperationKind::Count, 1, 1);
}

pub async fn a_cross_partition_query_visits_all_physical_partitions(subject: Subject) {
    subject.create(thing("h1", "a", "2026-01-01")).await;
    let physical_partitions = subject.store.physical_partitions(THINGS);
    let mut watched = Watched::new(&subject);
    for (owner, items) in [("ada", 1), ("nobody", 0)] {
        let query = Query::Equality {
            container: THINGS,
            path: "owner",
            value: owner,
            item_type: "thing",
            direction: Direction::NewestFirst,
            after: None,
            limit: 10,
            order_by: None,
        };
        subject.store.query(&query, &watched.ledger).await.expect("a page");
        watched.expect(OperationKind::Query, items, physical_partitions);
    }
    let newest = Query::Newest {
        container: THINGS,
        item_type: "thing",
        after: None,
        limit: 10,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    subject.store.query(&newest, &watched.ledger).await.expect("a page");
    watched.expect(OperationKind::Query, 1, physical_partitions);
}

pub async fn many_reads_are_charged_as_so_many_point_reads(subject: Subject) {
    subject.create(thing("h1", "a", "2026-01-01")).await;
    let ledger = Ledger::new();
    let keys = ["a", "b", "a"].map(|id| ("h1".into(), id.to_owned()));
    subject.store.read_many(THINGS, &keys, &ledger).await.expect("items");
    let folded = ledger.folded();
    assert_eq!(folded.len(), 1);
    assert_eq!((folded[0].kind, folded[0].times, folded[0].items), (OperationKind::PointRead, 3, 2));
}

pub async fn a_page_of_the_feed_is_recorded(subject: Subject) {
    subject.create(thing("h1", "a", "2026-01-01")).await;
    let range = subject.range_of("h1").await;
    let before = subject.ledger.operations().len();
    subject.feed_page(&range, None, 10).await;
    let records = subject.ledger.operations();
    assert_eq!(records.len(), before + 1);
    let last = records[before];
    assert_eq!((last.kind, last.items, last.physical_partitions), (OperationKind::ChangeFeed, 1, 1));
}
