//! Values for the tests of this crate.

use super::measurement::{MeasurementRow, ModelVariant, StudyRequest};

pub(crate) fn request(name: &str, is_write: bool) -> StudyRequest {
    StudyRequest { name: name.to_owned(), title: format!("Title of {name}"), is_write }
}

pub(crate) fn row(
    request: &str,
    plan: &ModelVariant,
    request_charge: f64,
    projection_charge: f64,
) -> MeasurementRow {
    MeasurementRow {
        request: request.to_owned(),
        plan: plan.clone(),
        request_charge,
        request_charge_p99: request_charge,
        estimated_request_charge: None,
        estimate_error: None,
        projection_charge,
        reference_request_charge: None,
        deviation: None,
        bytes: 0.0,
        operations: Vec::new(),
    }
}

/// A web shop as a study directory: 40 customers and 400 orders, of which a tenth are open, under three
/// designs.
pub(crate) struct Shop {
    pub study: crate::directory::StudyDirectory,
    _directory: tempfile::TempDir,
}

const CUSTOMER: &str = "type Customer @item(container: \"customers\", write: UPDATE) {
  id: ID!
  name: String!
  orderCount: Int! @count(of: \"orders\", kept: QUERY)
  orders: [Order!]! ORDERS @order(by: \"createdAt\", desc: true)
}";
const ORDER: &str = "type Order @item(container: \"orders\"PARTITION, write: [CREATE, UPDATE, DELETE]) {
  id: ID!
  customer: Customer! @reference COPY
  status: String!
  day: String!
  total: Int!
  createdAt: DateTime! @created
}
type Query { customer(id: ID!): Customer order(id: ID!): Order openOrders: [Order!] OPEN @where(field: \"status\", is: \"open\") @order(by: \"createdAt\", desc: true) }";

pub(crate) const SHOP_REQUESTS: &str = "query OrderPage($id: ID!) @request(perSecond: 100) { order(id: $id) { total customer { name } } }
query CustomerOrders($id: ID!) @request(perSecond: 50) { customer(id: $id) { orders(first: 5) { nodes { total customer { name } } } } }
query CustomerCount($id: ID!) @request(perSecond: 1) { customer(id: $id) { name orderCount } }
query OpenOrders @request(perSecond: 1) { openOrders(first: 20) { nodes { total } } }
mutation Place @request(perSecond: 10) { createOrder(input: $input) { order { id } } }
mutation Rename($id: ID!) @request(perSecond: 0.1) { updateCustomer(input: {id: $id, name: $name}) { customer { id } } }
";

impl Shop {
    pub fn new(settings: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let design = |name: &str, key: &str, [orders, partition, copy, open, more]: [&str; 5]| {
            let types = format!("{CUSTOMER}\n{ORDER}")
                .replace("ORDERS", orders)
                .replace("PARTITION", partition)
                .replace("COPY", copy)
                .replace("OPEN", open);
            format!(
                "extend schema @model(name: \"shop\", design: \"{name}\") @container(name: \"customers\", key: \"/id\") \
                 @container(name: \"orders\", key: \"{key}\") {more}\n{types}"
            )
        };
        let by_customer = "@partition(by: \"customer\")";
        let (partition, copy) = (", partition: \"customer\"", "@copy(fields: \"name\")");
        let designs = [
            design("V1", "/id", ["@find(by: \"customer\")", "", "", "@find", ""]),
            design("V2", "/customerId", [by_customer, partition, copy, "@find", ""]),
            design(
                "V3",
                "/customerId",
                [
                    by_customer,
                    partition,
                    copy,
                    "@list(into: \"openOrders\", fields: [\"total\", \"customer\"])",
                    "@container(name: \"openOrders\", key: \"/type\")",
                ],
            ),
        ];
        let customers: String = (0..40)
            .map(|number| format!("{{\"id\": \"c{number}\", \"name\": \"Customer {number}\"}}\n"))
            .collect();
        let order = |number: usize| {
            let (customer, day) = (number % 40, 1 + number % 28);
            let status =
                ["open", "sent", "sent", "sent", "sent", "sent", "sent", "sent", "sent", "lost"][number % 10];
            format!(
                "{{\"id\": \"o{number}\", \"customerId\": \"c{customer}\", \"status\": \"{status}\", \"total\": {number}, \
                 \"day\": \"2026-11-{day:02}\", \"createdAt\": \"2026-11-{day:02}T10:00:00.000Z\"}}\n"
            )
        };
        let settings =
            format!("{settings}\n[data]\nCustomer = \"customers.jsonl\"\nOrder = \"orders.jsonl\"\n");
        let files = [
            ("study.toml", settings),
            ("requests.graphql", SHOP_REQUESTS.to_owned()),
            ("customers.jsonl", customers),
            ("orders.jsonl", (0..400).map(order).collect()),
            ("designs/v1.graphql", designs[0].clone()),
            ("designs/v2.graphql", designs[1].clone()),
            ("designs/v3.graphql", designs[2].clone()),
        ];
        std::fs::create_dir(directory.path().join("designs")).expect("a directory");
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).expect("a file");
        }
        let study = crate::directory::StudyDirectory::read(directory.path());
        Self { study: study.unwrap_or_else(|errors| panic!("{errors}")), _directory: directory }
    }

    /// The data with the groupings of all keys.
    pub fn survey(&self) -> crate::data::DataSurvey {
        let mut spec = crate::data::SurveySpec::of_designs(&self.study);
        crate::keys::add_candidates(&self.study, &mut spec);
        crate::data::DataSurvey::read(&self.study, &spec, &mut |_| std::ops::ControlFlow::Continue(()))
            .unwrap_or_else(|errors| panic!("{errors}"))
    }
}

/// 200 devices with 20 readings each over 29 days, as a study directory: by the device, by the day, by both.
pub(crate) fn readings(settings: &str) -> (crate::directory::StudyDirectory, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let design = |name: &str, key: &str, partition: &str, of_device: &str, of_day: &str| {
        format!(
            "extend schema @model(name: \"iot\", design: \"{name}\") @container(name: \"devices\", key: \"/id\") \
             @container(name: \"days\", key: \"/id\") @container(name: \"readings\", key: {key})
             type Device @item(container: \"devices\") {{ id: ID! readings: [Reading!]! {of_device} }}
             type Day @item(container: \"days\") {{ id: ID! readings: [Reading!]! {of_day} }}
             type Reading @item(container: \"readings\", partition: {partition}, write: CREATE) {{
               id: ID! device: Device! @reference day: Day! @reference value: Float!
             }}"
        )
    };
    let (find_device, find_day) = ("@find(by: \"device\")", "@find(by: \"day\")");
    let partition_device = "@partition(by: \"device\")";
    let reading = |number: usize| {
        let (device, day) = (number % 200, 1 + number % 29);
        format!(
            "{{\"id\": \"r{number}\", \"device\": \"d{device}\", \"day\": \"2026-11-{day:02}\", \"value\": 1.5}}\n"
        )
    };
    let files = [
        ("study.toml", format!("{settings}\n[data]\nDevice = \"d.jsonl\"\nDay = \"y.jsonl\"\nReading = \"r.jsonl\"\n")),
        (
            "requests.graphql",
            "mutation Write @request(perSecond: 1000) { createReading(input: $input) { reading { id } } }
             query OfDevice($id: ID!) @request(perSecond: 10) { device(id: $id) { readings(first: 100) { value } } }"
                .to_owned(),
        ),
        ("d.jsonl", (0..200).map(|number| format!("{{\"id\": \"d{number}\"}}\n")).collect()),
        ("y.jsonl", (1..30).map(|day| format!("{{\"id\": \"2026-11-{day:02}\"}}\n")).collect()),
        ("r.jsonl", (0..4_000).map(reading).collect()),
        ("designs/1.graphql", design("device", "\"/deviceId\"", "\"device\"", partition_device, find_day)),
        ("designs/2.graphql", design("day", "\"/dayId\"", "\"day\"", find_device, "@partition(by: \"day\")")),
        ("designs/3.graphql", design("both", "[\"/deviceId\", \"/dayId\"]", "[\"device\", \"day\"]", find_device, find_day)),
    ];
    std::fs::create_dir(directory.path().join("designs")).expect("a directory");
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("a file");
    }
    let study = crate::directory::StudyDirectory::read(directory.path());
    (study.unwrap_or_else(|errors| panic!("{errors}")), directory)
}
