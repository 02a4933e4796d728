//! Tests of first studies of documents: files with several types, ids of two properties, maps, and ids within
//! objects.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::tests::{field, run, run_without, write};

/// Tenants with their users and tasks, as one container has them.
fn container(type_property: &str, name: impl Fn(&str) -> String) -> impl Iterator<Item = String> {
    (0..200_usize).map(move |number| {
        let tenant = number % 9;
        let own = match number {
            0..9 => format!("\"{type_property}\": \"{}\", \"id\": \"t{tenant}\", \"plan\": \"pro\", \"name\": \"T {tenant}\"", name("tenant")),
            9..60 => format!(
                "\"{type_property}\": \"{}\", \"id\": \"u{number}\", \"email\": \"u{number}@example.com\", \"age\": {number}",
                name("user")
            ),
            _ => format!(
                "\"{type_property}\": \"{}\", \"id\": \"k{number}\", \"title\": \"Task {number}\", \"done\": true, \"assigneeId\": \"u{}\"",
                name("workItem"),
                9 + number % 51
            ),
        };
        format!("{{\"tenantId\": \"t{tenant}\", {own}}}")
    })
}

#[test]
fn a_container_with_several_types_gives_a_type_for_each() {
    let directory = tempfile::tempdir().unwrap();
    let file = write(directory.path(), "saas.jsonl", container("type", str::to_owned));
    let (study, report) = run_without(directory.path(), &[file], &["tenantId"]);
    let types: Vec<&str> = study.settings.data.keys().map(String::as_str).collect();
    assert_eq!(types, ["Tenant", "User", "WorkItem"]);
    assert_eq!(study.settings.conditions["WorkItem"]["type"], "workItem");
    assert_eq!(field(&study, "User", "tenant"), "tenant: Tenant! @reference");
    assert_eq!(field(&study, "WorkItem", "assignee"), "assignee: User! @reference");
    let tenant = study.designs[0].model.item("Tenant").unwrap();
    assert!(tenant.field("tenant").is_none(), "the partition key of a tenant is its id");
    assert_eq!(&*study.designs[0].model.item("WorkItem").unwrap().type_value, "workItem");
    let rows = &report.measurements.rows;
    assert!(rows.iter().any(|row| row.request == "WorkItemsOfUser"), "a request along each reference");
}

#[test]
fn other_properties_and_values_tell_types_too() {
    let directory = tempfile::tempdir().unwrap();
    let upper = |name: &str| if name == "workItem" { "WORK_ITEM".to_owned() } else { name.to_uppercase() };
    let file = write(directory.path(), "table.jsonl", container("entity_type", upper));
    let (study, _) = run_without(directory.path(), &[file], &["tenantId"]);
    assert_eq!(study.settings.conditions["WorkItem"]["entity_type"], "WORK_ITEM");
    let design = std::fs::read_to_string(study.path.join("designs/v1.graphql")).unwrap();
    assert!(design.contains("@where(path: \"entity_type\", is: \"WORK_ITEM\")"), "{design}");
}

#[test]
fn items_of_several_kinds_with_the_same_properties_are_one_type() {
    let directory = tempfile::tempdir().unwrap();
    let film = |number: usize| {
        format!(
            "{{\"id\": \"f{number}\", \"type\": \"{}\", \"title\": \"Film {number}\", \"year\": {}{}}}",
            ["movie", "series"][number % 2],
            1950 + number % 70,
            if number.is_multiple_of(2) { "" } else { ", \"seasons\": 3" }
        )
    };
    let file = write(directory.path(), "films.jsonl", (0..80).map(film));
    let (study, _) = run(directory.path(), &[file]);
    assert!(study.settings.conditions.is_empty());
    assert_eq!(field(&study, "Film", "filmType"), "filmType: String! @stored(former: \"type\")");
}

#[test]
fn a_type_of_two_files_has_the_name_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let user = |number: usize| format!("{{\"id\": \"s{number}\", \"name\": \"Staff {number}\"}}");
    let files = [
        write(path, "acme.jsonl", container("type", str::to_owned)),
        write(path, "users.jsonl", (0..30).map(user)),
    ];
    let (study, _) = run_without(path, &files, &["tenantId"]);
    let types: Vec<&str> = study.settings.data.keys().map(String::as_str).collect();
    assert_eq!(types, ["AcmeUser", "Tenant", "User", "WorkItem"]);
}

#[test]
fn two_properties_are_an_id_where_none_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let heading = |text: &str| std::iter::once(text.to_owned());
    let line = |number: usize| format!("{},{},{}", 1 + number / 3, 1 + number % 3 * 7, number % 5);
    let reading = |number: usize| format!("{{\"value\": {}, \"note\": \"n\"}}", number % 4);
    let files = [
        write(path, "lines.csv", heading("order_id,product_id,quantity").chain((0..90).map(line))),
        write(path, "readings.jsonl", (0..40).map(reading)),
    ];
    let (study, _) = run(path, &files);
    assert_eq!(study.settings.ids["Line"], ["order_id", "product_id"]);
    assert!(study.settings.ids["Reading"].is_empty(), "they are numbered");
}

#[test]
fn a_partition_key_and_a_sort_key_are_the_id() {
    let directory = tempfile::tempdir().unwrap();
    let item = |number: usize| {
        format!(
            "{{\"PK\": \"ORG#{}\", \"SK\": \"USER#{}\", \"GSI1PK\": \"{}\", \"email\": \"u{number}@example.com\"}}",
            number % 7,
            number / 7,
            number % 3
        )
    };
    let file = write(directory.path(), "members.jsonl", (0..60).map(item));
    let (study, _) = run(directory.path(), &[file]);
    assert_eq!(study.settings.ids["Member"], ["PK", "SK"]);
    assert_eq!(field(&study, "Member", "gsi1pk"), "gsi1pk: String! @stored(former: \"GSI1PK\")");
}

#[test]
fn an_object_whose_keys_are_data_is_one_value() {
    let directory = tempfile::tempdir().unwrap();
    let item = |number: usize| {
        format!(
            "{{\"id\": \"c{number}\", \"name\": \"C {number}\", \"tiers\": {{\"k{number}\": {{\"level\": 1}}, \"k{}\": {{\"level\": 2}}}}, \
             \"tags\": [], \"nothing\": null, \"_rid\": \"x\", \"_etag\": \"y\", \"_ts\": 1767225600}}",
            number + 1
        )
    };
    let file = write(directory.path(), "customers.jsonl", (0..60).map(item));
    let (study, report) = run_without(directory.path(), &[file], &["nothing"]);
    assert_eq!(field(&study, "Customer", "tiers"), "tiers: String!");
    assert_eq!(field(&study, "Customer", "tags"), "tags: String!");
    let row = report.measurements.rows.iter().find(|row| row.request == "CustomerById").unwrap();
    assert!(row.bytes > 60.0, "{} bytes, with those of the map", row.bytes);
}

#[test]
fn the_id_of_an_object_is_one_of_the_type_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let customer = |number: usize| {
        format!(
            "{{\"id\": {}, \"email\": \"c{number}@example.com\", \"address\": {{\"id\": {number}, \"customer_id\": {}}}}}",
            900 + number,
            900 + number
        )
    };
    let order = |number: usize| {
        format!(
            "{{\"id\": \"o{number}\", \"customer\": {{\"id\": {}, \"email\": \"c{}@example.com\"}}, \"labels\": [{{\"id\": {}}}]}}",
            900 + number % 40,
            number % 40,
            number % 3
        )
    };
    let files = [
        write(path, "customers.jsonl", (0..40).map(customer)),
        write(path, "orders.jsonl", (0..200).map(order)),
    ];
    let (study, _) = run(path, &files);
    let design = std::fs::read_to_string(study.path.join("designs/v1.graphql")).unwrap();
    assert!(design.contains("  customer: Customer! @reference @stored(as: \"id\")\n"), "{design}");
    assert!(design.contains("  customerId: Int! @stored(as: \"customer_id\")\n"), "its own item\n{design}");
    assert!(design.contains("type OrderLabels @embedded {\n  id: Int!\n"), "{design}");
}

#[test]
fn a_second_key_that_others_use_is_the_id() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let oid = |of: usize, number: usize| format!("{{\"$oid\": \"{of}{number:023}\"}}");
    let account = |number: usize| {
        format!("{{\"_id\": {}, \"account_id\": {}, \"limit\": 9}}", oid(1, number), 5_000 + number)
    };
    let customer = |number: usize| {
        format!(
            "{{\"_id\": {}, \"name\": \"C {number}\", \"accounts\": [{}, {}]}}",
            oid(2, number),
            5_000 + number,
            5_000 + number * 7 % 50
        )
    };
    let bucket = |number: usize| {
        format!("{{\"_id\": {}, \"account_id\": {}, \"count\": {number}}}", oid(3, number), 5_000 + number)
    };
    let files = [
        write(path, "accounts.jsonl", (0..50).map(account)),
        write(path, "customers.jsonl", (0..50).map(customer)),
        write(path, "buckets.jsonl", (0..50).map(bucket)),
    ];
    let (study, _) = run_without(path, &files, &["_id"]);
    assert_eq!(study.settings.ids["Account"], ["account_id"]);
    assert_eq!(field(&study, "Customer", "accounts"), "accounts: [Account!]! @reference");
    assert_eq!(
        field(&study, "Bucket", "account"),
        "account: Account! @reference @stored(former: \"account_id\")"
    );
}

#[test]
fn compressed_files_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let compress = |file: &str, text: &str| {
        let path = directory.path().join(file);
        let mut encoder = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
        path
    };
    let order = |number: usize| format!("o{number},c{}\n", number % 20);
    let orders: String = (0..200).map(order).collect();
    let customers: String =
        (0..20).map(|number| format!("{{\"id\": \"c{number}\", \"name\": \"C {number}\"}}\n")).collect();
    let files = [
        compress("customers.jsonl.gz", &customers),
        compress("orders.CSV.GZ", &format!("id,customer_id\n{orders}")),
    ];
    let (study, _) = run(directory.path(), &files);
    assert_eq!(study.settings.data["Order"], ["orders.CSV.GZ"]);
    assert_eq!(
        field(&study, "Order", "customer"),
        "customer: Customer! @reference @stored(former: \"customer_id\")"
    );
    std::fs::write(directory.path().join("customers.jsonl.gz"), "no gzip").unwrap();
    let errors = super::init_study(&directory.path().join("other"), &files).unwrap_err().to_string();
    assert!(errors.contains("customers.jsonl.gz") && errors.contains("the file cannot be read"), "{errors}");
}
