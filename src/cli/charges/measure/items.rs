//! Measurement of operations on items and of queries.

use serde_json::Value;

use super::bodies::{SIZES, Shape, home, item};
use super::case::{Cases, MeasuredCase};
use super::containers::{EVERY_PATH, FEW_PATHS, GROUP, ORDERED, TYPE, spec_of};
use onehop_store::{
    Batch, ContainerName, Direction, ETag, Fault, Ledger, NewItem, Query, Store, WriteError, WriteOp, cosmos,
};

/// Size of the items of which shapes and batches are measured, bytes.
const TYPICAL_BYTES: usize = 2_048;
/// Operations of a batch.
const BATCH_ITEMS: usize = 10;
/// Items in the logical partition that is queried, and their size in bytes.
const QUERIED_ITEMS: usize = 120;
const QUERIED_BYTES: usize = 1_024;
/// Items of a page.
const PAGES: [usize; 3] = [1, 10, 100];

/// Measures one operation of each kind, size and shape.
pub(super) async fn measure(store: &dyn Store, cases: &mut Cases) -> anyhow::Result<()> {
    for container in [EVERY_PATH, FEW_PATHS] {
        let measured = Measured { store, container };
        for bytes in SIZES {
            measured.life_of(&format!("{bytes}-bytes"), Shape::Flat, bytes, cases).await?;
        }
        for shape in Shape::ALL.into_iter().filter(|shape| *shape != Shape::Flat) {
            measured.life_of(shape.name(), shape, TYPICAL_BYTES, cases).await?;
        }
        measured.refusals(cases).await?;
        measured.batches(cases).await?;
    }
    let measured = Measured { store, container: ORDERED };
    measured.fill(cases).await?;
    measured.pages(cases).await?;
    measured.look_ups(cases).await
}

struct Measured<'a> {
    store: &'a dyn Store,
    container: ContainerName,
}

fn new_item(body: &Value) -> NewItem {
    NewItem::encode(body["id"].as_str().unwrap_or_default(), body)
}

fn bytes_of(body: &Value) -> Option<f64> {
    Some(body.to_string().len() as f64)
}

/// The name of an item of a measurement.
fn id(name: &str) -> String {
    format!("item-{name}")
}

impl Measured<'_> {
    async fn write(&self, operation: WriteOp, ledger: &Ledger) -> Result<Option<ETag>, WriteError> {
        self.store.write(self.container, &home(), operation, ledger).await
    }

    /// An item is created, read, replaced and deleted.
    async fn life_of(&self, name: &str, shape: Shape, bytes: usize, cases: &mut Cases) -> anyhow::Result<()> {
        let body = item(&id(name), shape, bytes);
        let case = |operation: &'static str| MeasuredCase {
            id: format!("{operation}/{name}"),
            operation,
            item_bytes: bytes_of(&body),
            ..MeasuredCase::default()
        };
        let ledger = Ledger::new();
        self.write(WriteOp::Create(new_item(&body)), &ledger).await?;
        cases.add(self.container, &ledger, MeasuredCase { item: Some(body.clone()), ..case("create") });

        let ledger = Ledger::new();
        self.store.read(self.container, &home(), &id(name), &ledger).await?;
        cases.add(self.container, &ledger, case("read"));

        let mut after = body.clone();
        after[GROUP] = "two".into();
        let ledger = Ledger::new();
        self.write(WriteOp::Replace { item: new_item(&after), if_match: None }, &ledger).await?;
        let replaced =
            MeasuredCase { item: Some(after.clone()), item_before: Some(body.clone()), ..case("replace") };
        cases.add(self.container, &ledger, replaced);

        let ledger = Ledger::new();
        self.write(WriteOp::Delete { id: id(name), if_match: None }, &ledger).await?;
        cases.add(self.container, &ledger, MeasuredCase { item: Some(after), ..case("delete") });
        Ok(())
    }

    /// A create of an existing item, a replace of another version, a read of a missing item.
    async fn refusals(&self, cases: &mut Cases) -> anyhow::Result<()> {
        let body = item(&id("refused"), Shape::Flat, TYPICAL_BYTES);
        let (ledger, create) = (Ledger::new(), || WriteOp::Create(new_item(&body)));
        self.write(create(), &ledger).await?;
        cases.pay(&ledger);
        let other_version = Some(ETag::from_text("\"another\""));
        let refused = [
            ("refused/409", "a create of an item that exists: 409", create()),
            (
                "refused/412",
                "a replace with another ETag: 412",
                WriteOp::Replace { item: new_item(&body), if_match: other_version },
            ),
        ];
        for (name, note, operation) in refused {
            let ledger = Ledger::new();
            match self.write(operation, &ledger).await {
                Err(WriteError::Rejected { .. }) => {}
                Err(WriteError::Fault(fault)) => return Err(fault.into()),
                Ok(_) => anyhow::bail!("{name}: the write was not refused"),
            }
            let case = MeasuredCase {
                id: name.to_owned(),
                operation: "refused",
                item: Some(body.clone()),
                item_bytes: bytes_of(&body),
                note: Some(note),
                ..MeasuredCase::default()
            };
            cases.add(self.container, &ledger, case);
        }
        let ledger = Ledger::new();
        self.store.read(self.container, &home(), "nobody", &ledger).await?;
        let case = MeasuredCase {
            id: "read/404".to_owned(),
            operation: "read",
            note: Some("404 not found"),
            ..MeasuredCase::default()
        };
        cases.add(self.container, &ledger, case);
        Ok(())
    }

    async fn batches(&self, cases: &mut Cases) -> anyhow::Result<()> {
        let bodies: Vec<Value> = (0..BATCH_ITEMS)
            .map(|number| item(&id(&format!("batch-{number}")), Shape::Flat, TYPICAL_BYTES))
            .collect();
        let operations: Vec<_> = bodies.iter().map(|body| WriteOp::Create(new_item(body))).collect();
        let ledger = Ledger::new();
        let batch = Batch { container: self.container, partition_key: home(), operations };
        self.store.batch(batch, &ledger).await?;
        let case = MeasuredCase {
            id: format!("batch/{BATCH_ITEMS}-creates"),
            operation: "batch",
            item: Some(Value::Array(bodies)),
            results: u32::try_from(BATCH_ITEMS).ok(),
            ..MeasuredCase::default()
        };
        cases.add(self.container, &ledger, case);
        Ok(())
    }

    /// Creates the items for queries and the change feed.
    async fn fill(&self, cases: &mut Cases) -> anyhow::Result<()> {
        for number in 0..QUERIED_ITEMS {
            let ledger = Ledger::new();
            let body = item(&queried_id(number), Shape::Flat, QUERIED_BYTES);
            self.write(WriteOp::Create(new_item(&body)), &ledger).await?;
            cases.pay(&ledger);
        }
        Ok(())
    }

    async fn query(&self, name: String, query: Query<'_>, cases: &mut Cases) -> Result<(), Fault> {
        let ledger = Ledger::new();
        let page = self.store.query(&query, &ledger).await?;
        let sql = spec_of(self.container).map(|(spec, _)| cosmos::query_text(&spec, &query));
        // One more is read than is returned, to know whether there is more.
        let read = page.items.len() + usize::from(page.has_more);
        let case = MeasuredCase {
            id: name,
            operation: "query",
            item_bytes: Some(QUERIED_BYTES as f64),
            results: u32::try_from(read).ok(),
            sql,
            ..MeasuredCase::default()
        };
        cases.add(self.container, &ledger, case);
        Ok(())
    }

    async fn pages(&self, cases: &mut Cases) -> anyhow::Result<()> {
        let (container, partition_key, direction) = (self.container, &home(), Direction::NewestFirst);
        for limit in PAGES {
            let in_partition = Query::Partition {
                container,
                partition_key,
                item_type: TYPE,
                direction,
                after: None,
                limit,
                order_by: None,
            };
            self.query(format!("query/partition-{limit}"), in_partition, cases).await?;
            let newest = Query::Newest {
                container,
                item_type: TYPE,
                after: None,
                limit,
                order_by: None,
                direction: Direction::NewestFirst,
            };
            self.query(format!("query/newest-{limit}"), newest, cases).await?;
            let equal = Query::Equality {
                container,
                path: GROUP,
                value: "one",
                item_type: TYPE,
                direction,
                after: None,
                limit,
                order_by: None,
            };
            self.query(format!("query/equality-{limit}"), equal, cases).await?;
        }
        Ok(())
    }

    /// A count, and a look-up of several items by their ids.
    async fn look_ups(&self, cases: &mut Cases) -> anyhow::Result<()> {
        let ledger = Ledger::new();
        let counted = self.store.count(self.container, &home(), TYPE, &ledger).await?;
        let case = MeasuredCase {
            id: "count".to_owned(),
            operation: "count",
            results: u32::try_from(counted).ok(),
            ..MeasuredCase::default()
        };
        cases.add(self.container, &ledger, case);
        let keys: Vec<_> = (0..BATCH_ITEMS).map(|number| (home(), queried_id(number))).collect();
        let ledger = Ledger::new();
        let found = self.store.read_many(self.container, &keys, &ledger).await?;
        let case = MeasuredCase {
            id: format!("read-many/{BATCH_ITEMS}"),
            operation: "readMany",
            item_bytes: Some(QUERIED_BYTES as f64),
            results: u32::try_from(found.iter().flatten().count()).ok(),
            ..MeasuredCase::default()
        };
        cases.add(self.container, &ledger, case);
        Ok(())
    }
}

fn queried_id(number: usize) -> String {
    id(&format!("queried-{number:03}"))
}
