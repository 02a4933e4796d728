//! Tests of first studies: they are found, written and run at once.

use std::sync::Arc;

use super::*;
use crate::data::{DataSurvey, SurveySpec};
use crate::design_study::{DesignStudy, design_report};
use crate::directory::StudyDirectory;
use onehop_store::charges::Calibration;

pub(super) fn write(directory: &Path, file: &str, lines: impl Iterator<Item = String>) -> PathBuf {
    let path = directory.join(file);
    std::fs::write(&path, lines.map(|line| line + "\n").collect::<String>()).unwrap();
    path
}

fn data(directory: &Path) -> Vec<PathBuf> {
    let customer = |number: usize| {
        format!(
            "{{\"id\": \"c{number}\", \"name\": \"Customer {number}\", \"address\": {{\"city\": \"Graz\", \"zip-code\": \"8010\"}}}}"
        )
    };
    let order = |number: usize| {
        format!(
            "{{\"id\": \"o{number}\", \"customer_id\": \"c{}\", \"status\": \"{}\", \"createdAt\": \"2026-11-{:02}T10:00:00Z\", \
             \"lines\": [{{\"sku\": \"s\", \"quantity\": {number}}}], \"tags\": [\"a\", \"b\"], \"mixed\": {}}}",
            number % 40,
            ["open", "shipped"][number % 2],
            1 + number % 28,
            if number.is_multiple_of(2) { "1" } else { "\"1\"" }
        )
    };
    let customers = write(directory, "customers.jsonl", (0..40).map(customer));
    vec![customers, write(directory, "orders.jsonl", (0..400).map(order))]
}

#[test]
fn a_first_study_runs_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let files = data(directory.path());
    let written = init_study(directory.path(), &files).unwrap();
    assert_eq!(written.len(), 5);
    let study = StudyDirectory::read(directory.path()).unwrap_or_else(|errors| panic!("{errors}"));
    let order = study.designs[0].model.item("Order").unwrap();
    assert!(order.field("customer").is_some() && order.field("lines").is_some());
    assert_eq!(field(&study, "Order", "mixed"), "mixed: String!", "values of several types count");
    assert_eq!(study.settings.data["Order"], ["orders.jsonl"]);
    let survey = DataSurvey::read(&study, &SurveySpec::of_designs(&study), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let study = DesignStudy::new(&study, &survey, Calibration::current());
    let report = design_report(&study);
    let charge = |request: &str, model: &str| {
        let row = report
            .measurements
            .rows
            .iter()
            .find(|row| row.request == request && row.plan.to_string() == model);
        row.unwrap_or_else(|| panic!("{request} {model}")).request_charge
    };
    assert_eq!(charge("OrderById", "V1"), 2.0, "the order and its customer");
    assert_eq!(charge("OrderById", "V2"), 1.0, "the name is copied");
    assert!(charge("OrdersOfCustomer", "V1") >= charge("OrdersOfCustomer", "V2"));
    assert!(Arc::strong_count(&study.calibration) > 0 && report.verdict.is_some());
}

#[test]
fn a_directory_with_a_study_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let files = data(directory.path());
    init_study(directory.path(), &files).unwrap();
    let errors = init_study(directory.path(), &files).unwrap_err().to_string();
    assert!(errors.contains("study.toml: the file exists already"), "{errors}");
}

/// Reads a first study, runs it, and returns it with its report. Every property has a field.
pub(super) fn run(directory: &Path, files: &[PathBuf]) -> (StudyDirectory, crate::report::StudyReport) {
    run_without(directory, files, &[])
}

/// [`run`], of data with properties that have no field.
pub(super) fn run_without(
    directory: &Path,
    files: &[PathBuf],
    properties: &[&str],
) -> (StudyDirectory, crate::report::StudyReport) {
    init_study(directory, files).unwrap_or_else(|errors| panic!("{errors}"));
    let study = StudyDirectory::read(directory).unwrap_or_else(|errors| panic!("{errors}"));
    let spec = SurveySpec::of_designs(&study);
    let survey = DataSurvey::read(&study, &spec, &mut |_| std::ops::ControlFlow::Continue(()));
    let survey = survey.unwrap_or_else(|errors| panic!("{errors}"));
    let unknown: Vec<&String> = survey.types.values().flat_map(|found| found.unknown.keys()).collect();
    assert_eq!(unknown, properties);
    let report = design_report(&DesignStudy::new(&study, &survey, Calibration::current()));
    assert!(report.verdict.is_some());
    (study, report)
}

pub(super) fn field(study: &StudyDirectory, ty: &str, field: &str) -> String {
    let design = std::fs::read_to_string(study.path.join("designs/v1.graphql")).unwrap();
    let of_type = design.split("\ntype ").find(|part| part.starts_with(&format!("{ty} "))).unwrap();
    let line = of_type.lines().find(|line| line.trim_start().starts_with(&format!("{field}:")));
    line.unwrap_or_else(|| panic!("{field} of {ty}\n{design}")).trim().to_owned()
}

#[test]
fn ids_and_references_have_names_of_many_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let agent = |number: usize| format!("{{\"agent_id\": {number}, \"full_name\": \"Agent {number}\"}}");
    let ticket = |number: usize| {
        format!(
            "{{\"ticketId\": \"T-{number}\", \"type\": \"bug\", \"assignee_id\": {}, \"watcher_ids\": [{}, {}], \
             \"parent_ticket\": {}, \"priority\": {}, \"steps\": [{{\"by\": 1, \"notes\": [{{\"text\": \"x\"}}]}}], \
             \"opened\": {}}}",
            1 + number % 30,
            1 + number % 7,
            1 + number % 11,
            if number > 9 { format!("\"T-{}\"", number % 9) } else { "null".to_owned() },
            number % 5,
            1_767_225_600 + number * 60,
        )
    };
    let comment = |number: usize| {
        format!(
            "{{\"comment_id\": \"c{number}\", \"TicketID\": \"T-{}\", \"author_id\": {}, \"posted_on\": \"2026-03-{:02} 10:00:00\"}}",
            number % 200,
            1 + number % 30,
            1 + number % 28
        )
    };
    let files = [
        write(path, "agents.jsonl", (1..=30).map(agent)),
        write(path, "tickets.jsonl", (0..200).map(ticket)),
        write(path, "comments.jsonl", (0..900).map(comment)),
    ];
    let (study, report) = run(path, &files);
    assert_eq!(study.settings.ids["Agent"], ["agent_id"]);
    assert_eq!(study.designs.len(), 3, "comments can lie with their ticket");
    let expected = [
        ("Ticket", "assignee", "assignee: Agent! @reference @stored(former: \"assignee_id\")"),
        ("Ticket", "watchers", "watchers: [Agent!]! @reference @stored(former: \"watcher_ids\")"),
        ("Ticket", "parentTicket", "parentTicket: Ticket @reference @stored(former: \"parent_ticket\")"),
        ("Ticket", "priority", "priority: Int!"),
        ("Ticket", "ticketType", "ticketType: String! @stored(former: \"type\")"),
        ("Ticket", "opened", "opened: DateTime! @stored(format: EPOCH_SECONDS)"),
        (
            "Ticket",
            "comments",
            "comments: [Comment!]! @find(by: \"ticket\") @order(by: \"postedOn\", desc: true)",
        ),
        ("Comment", "author", "author: Agent! @reference @stored(former: \"author_id\")"),
    ];
    for (ty, name, line) in expected {
        assert_eq!(field(&study, ty, name), line);
    }
    let together = study.designs[2].model.item("Comment").unwrap();
    assert_eq!(&*together.container, "tickets", "a comment shares the partition of its ticket");
    let charge = |model: &str| {
        let row = |row: &&crate::measurement::MeasurementRow| {
            row.request == "CommentsOfTicket" && row.plan.to_string() == model
        };
        report.measurements.rows.iter().find(row).unwrap().request_charge
    };
    assert!(charge("V3") > 2.0, "four comments are found by the id of their ticket");
}

#[test]
fn rows_of_csv_and_an_array_become_items() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let visit = |number: usize| format!("V{number},{},\"Ward {}, east\",{}", number % 40, number % 3, number);
    let visits = std::iter::once("VisitID,PatientID,Ward,Cost".to_owned()).chain((0..400).map(visit));
    let patient = |number: usize| format!("  {{\"PatientID\": {number}, \"name\": \"Patient {number}\"}}");
    let patients: Vec<String> = (0..40).map(patient).collect();
    let files = [
        write(path, "visits.csv", visits),
        write(path, "patients.json", std::iter::once(format!("[\n{}\n]", patients.join(",\n")))),
    ];
    let (study, report) = run(path, &files);
    assert_eq!(
        field(&study, "Visit", "patient"),
        "patient: Patient! @reference @stored(former: \"PatientID\")"
    );
    assert_eq!(field(&study, "Visit", "cost"), "cost: Int! @stored(former: \"Cost\")");
    assert!(report.captions.data_set.contains("400 Visit"), "{}", report.captions.data_set);
}

#[test]
fn a_hot_parent_gets_a_hierarchical_key() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let tenant = |number: usize| format!("{{\"id\": \"t{number}\", \"name\": \"Tenant {number}\"}}");
    let event = |number: usize| {
        let tenant = if number.is_multiple_of(3) { 1 + number % 49 } else { 0 };
        format!("{{\"id\": \"e{number}\", \"tenantId\": \"t{tenant}\", \"text\": \"event {number}\"}}")
    };
    let files =
        [write(path, "tenants.jsonl", (0..50).map(tenant)), write(path, "events.jsonl", (0..900).map(event))];
    let (study, _) = run(path, &files);
    assert_eq!(study.designs.len(), 2, "no children beside a parent with most of the data");
    let key = &study.designs[1].model.container("events").unwrap().key;
    let key: Vec<String> = key.iter().map(|path| path.slashed()).collect();
    assert_eq!(key, ["/tenantId", "/id"]);
}

#[test]
fn items_without_an_id_are_numbered() {
    let directory = tempfile::tempdir().unwrap();
    let lines = ["{\"a\": 1}", "{\"a\": 1}"].map(str::to_owned);
    let file = write(directory.path(), "things.jsonl", lines.into_iter());
    let (study, report) = run(directory.path(), &[file]);
    assert!(study.settings.ids["Thing"].is_empty());
    assert!(report.captions.data_set.contains("2 Thing"), "{}", report.captions.data_set);
}

#[test]
fn a_file_without_items_is_refused_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = write(directory.path(), "things.csv", std::iter::once("a,b".to_owned()));
    let errors = init_study(directory.path(), &[file]).unwrap_err().to_string();
    assert!(errors.contains("things.csv: the file has no item"), "{errors}");
}

#[test]
fn embedded_objects_have_references_which_cost_reads_or_copies() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let named = |letter: char, number: usize| {
        format!("{{\"id\": \"{letter}{number}\", \"name\": \"Name {number}\"}}")
    };
    let order = |number: usize| {
        let (customer, carrier) = (number % 20, number % 4);
        let line = |product: usize| {
            format!(
                "{{\"productId\": \"p{product}\", \"quantity\": 2, \"note\": {{\"by\": \"k{carrier}\"}}}}"
            )
        };
        let lines = [line(number % 50), line((number + 7) % 50)].join(", ");
        format!(
            "{{\"id\": \"o{number}\", \"customerId\": \"c{customer}\", \"customerName\": \"Name {customer}\", \
             \"lines\": [{lines}], \"shipping\": {{\"carrier_id\": \"k{carrier}\", \"carrier\": \"van\"}}}}"
        )
    };
    let files = [
        write(path, "products.jsonl", (0..50).map(|number| named('p', number))),
        write(path, "customers.jsonl", (0..20).map(|number| named('c', number))),
        write(path, "carriers.jsonl", (0..4).map(|number| named('k', number))),
        write(path, "orders.jsonl", (0..400).map(order)),
    ];
    let (study, report) = run(path, &files);
    let expected = [
        ("OrderLines", "product", "product: Product! @reference"),
        ("OrderLines", "quantity", "quantity: Int!"),
        ("OrderLinesNote", "by", "by: Carrier! @reference @stored(as: \"by\")"),
        ("OrderShipping", "carrier", "carrier: String!"),
        (
            "OrderShipping",
            "carrierReference",
            "carrierReference: Carrier! @reference @stored(as: \"carrier_id\")",
        ),
        ("Order", "customerName", "customerName: String!"),
    ];
    for (ty, name, line) in expected {
        assert_eq!(field(&study, ty, name), line);
    }
    let row = |request: &str, model: &str| {
        let rows = &report.measurements.rows;
        rows.iter().find(|row| row.request == request && row.plan.to_string() == model).unwrap()
    };
    let reads = "the order, its customer, two products, the carrier of each line, and the carrier";
    assert_eq!(row("OrderById", "V1").request_charge, 7.0, "{reads}");
    assert_eq!(row("OrderById", "V2").request_charge, 2.0, "the order, and its customer, whose name is data");
    assert_eq!(row("UpdateProduct", "V1").projection_charge, 0.0);
    let following = row("UpdateProduct", "V2").projection_charge;
    let replaces = 16.0 * 5.0;
    assert!(following > replaces, "sixteen orders have the product: {following}");
    let charge = |model| row("CreateOrder", model).request_charge;
    assert!(charge("V2") > charge("V1") + 5.0, "five reads for the copies, and longer items");
}

#[test]
fn an_embedded_copy_a_stock_number_and_a_list_of_numbers_are_references() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let order = |number: usize| {
        let (customer, product) = (number % 10, number % 20);
        format!(
            "{{\"id\": \"o{number}\", \"customer\": {{\"id\": \"c{customer}\", \"name\": \"Name {customer}\"}}, \
             \"items\": [{{\"sku\": \"s-{product}\"}}], \"offers\": [{}, {}]}}",
            number % 30,
            (number + 1) % 30
        )
    };
    let files = [
        write(path, "orders.jsonl", (0..100).map(order)),
        write(
            path,
            "customers.jsonl",
            (0..10).map(|number| format!("{{\"id\": \"c{number}\", \"name\": \"Name {number}\"}}")),
        ),
        write(
            path,
            "products.jsonl",
            (0..20).map(|number| format!("{{\"name\": \"Name {number}\", \"sku\": \"s-{number}\"}}")),
        ),
        write(path, "offers.jsonl", (0..30).map(|number| format!("{{\"id\": {number}, \"percent\": 5}}"))),
    ];
    let (study, _) = run(path, &files);
    assert_eq!(study.settings.ids["Product"], ["sku"]);
    let expected = [
        ("OrderCustomer", "customer", "customer: Customer! @reference @stored(as: \"id\")"),
        ("OrderCustomer", "name", "name: String!"),
        ("OrderItems", "sku", "sku: Product! @reference @stored(as: \"sku\")"),
        ("Order", "offers", "offers: [Offer!]! @reference"),
    ];
    for (ty, name, line) in expected {
        assert_eq!(field(&study, ty, name), line);
    }
    let copied = std::fs::read_to_string(path.join("designs/v2.graphql")).unwrap();
    assert!(copied.contains("  customer: Customer! @reference @stored(as: \"id\")\n"), "{copied}");
}

#[test]
fn a_natural_key_that_others_use_is_the_id() {
    let directory = tempfile::tempdir().unwrap();
    let countries = ["AT", "DE", "FR", "IT"].into_iter().enumerate().map(|(number, code)| {
        format!("{{\"id\": \"30267{number}\", \"code\": \"{code}\", \"name\": \"Country {number}\"}}")
    });
    let airport = |number: usize| {
        let country = ["AT", "DE", "FR", "IT"][number % 4];
        format!("{{\"id\": \"{number}\", \"ident\": \"LO{number}\", \"iso_country\": \"{country}\"}}")
    };
    let files = [
        write(directory.path(), "countries.jsonl", countries),
        write(directory.path(), "airports.jsonl", (0..60).map(airport)),
    ];
    init_study(directory.path(), &files).unwrap();
    let study = StudyDirectory::read(directory.path()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(study.settings.ids["Country"], ["code"]);
    assert!(!study.settings.ids.contains_key("Airport"), "nobody refers to an airport");
    let model = &study.designs[0].model;
    let country = model.item("Airport").unwrap().field("isoCountry").unwrap();
    assert_eq!(country.ty.to_string(), "Country!");
    assert!(model.item("Country").unwrap().field("airports").is_some());
    assert!(model.item("Country").unwrap().field("countryId").is_none(), "its number is left out");
}

#[test]
fn an_id_in_any_letters_is_the_id_and_numbers_refer_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let category = |number: usize| format!("{{\"Id\": {number}, \"CategoryName\": \"Category {number}\"}}");
    let supplier = |number: usize| {
        format!("{{\"Id\": {}, \"CompanyName\": \"C {number}\", \"PostalCode\": \"P{number}\"}}", big(number))
    };
    let product = |number: usize| {
        format!(
            "{{\"Id\": {number}, \"ProductName\": \"P {number}\", \"CategoryId\": {}, \"SupplierId\": {}, \
             \"ReorderCode\": {}, \"Categories\": {}}}",
            1 + number % 8,
            big(number % 5),
            1 + number % 7,
            1 + number % 3
        )
    };
    let files = [
        write(path, "categories.jsonl", (1..=8).map(category)),
        write(path, "suppliers.jsonl", (0..5).map(supplier)),
        write(path, "products.jsonl", (1..=77).map(product)),
    ];
    let (study, _) = run(path, &files);
    let ids: Vec<&str> = study.settings.ids.values().flatten().map(String::as_str).collect();
    assert_eq!(ids, ["Id", "Id", "Id"]);
    let expected = [
        ("category", "category: Category! @reference @stored(former: \"CategoryId\")"),
        ("supplier", "supplier: Supplier! @reference @stored(former: \"SupplierId\")"),
        ("reorderCode", "reorderCode: Int! @stored(former: \"ReorderCode\")"),
        ("categories", "categories: Int! @stored(former: \"Categories\")"),
    ];
    for (name, line) in expected {
        assert_eq!(field(&study, "Product", name), line);
    }
}

/// A number beyond 32 bits.
fn big(number: usize) -> u64 {
    7_000_000_000 + number as u64
}

#[test]
fn of_two_keys_that_others_use_the_id_is_the_id() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let country = |number: usize| {
        format!("{{\"id\": {}, \"name\": \"Country {number}\", \"iso2\": \"{}\"}}", number + 1, iso(number))
    };
    let state = |number: usize| {
        format!(
            "{{\"id\": {}, \"name\": \"State {number}\", \"country_id\": {}, \"country_code\": \"{}\"}}",
            number + 500,
            1 + number % 20,
            iso(number % 20)
        )
    };
    let files = [
        write(path, "countries.jsonl", (0..20).map(country)),
        write(path, "states.jsonl", (0..90).map(state)),
    ];
    let (study, _) = run(path, &files);
    assert!(study.settings.ids.is_empty());
    assert_eq!(
        field(&study, "State", "country"),
        "country: Country! @reference @stored(former: \"country_id\")"
    );
    assert_eq!(
        field(&study, "State", "countryCode"),
        "countryCode: String! @stored(former: \"country_code\")"
    );
}

fn iso(number: usize) -> String {
    let letter = |number: usize| char::from(b'A' + number as u8 % 26);
    format!("{}{}", letter(number / 5), letter(number))
}

#[test]
fn cells_that_say_that_a_number_is_missing_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let heading = |text: &str| std::iter::once(text.to_owned());
    let plane = |number: usize| {
        format!("N{number},{}", if number.is_multiple_of(7) { "NA".to_owned() } else { number.to_string() })
    };
    // A part of the planes is unknown.
    let flight = |number: usize| format!("{number},N{},{},NA", number % 60, ["EU", "NA"][number % 2]);
    let files = [
        write(path, "planes.csv", heading("tailnum,seats").chain((0..40).map(plane))),
        write(path, "flights.csv", heading("id,tailnum,continent,note").chain((0..300).map(flight))),
    ];
    let (study, _) = run(path, &files);
    assert_eq!(field(&study, "Plane", "seats"), "seats: Int");
    assert_eq!(field(&study, "Flight", "continent"), "continent: String!");
    assert_eq!(field(&study, "Flight", "note"), "note: String!");
    assert_eq!(field(&study, "Flight", "tailnum"), "tailnum: Plane! @reference");
}

#[test]
fn items_that_embedded_objects_refer_to_lie_by_their_ids() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let brand = |number: usize| format!("{{\"id\": \"b{number}\", \"name\": \"Brand {number}\"}}");
    let product = |number: usize| {
        format!("{{\"id\": \"p{number}\", \"name\": \"P {number}\", \"brandId\": \"b{}\"}}", number % 10)
    };
    let order = |number: usize| {
        format!(
            "{{\"id\": \"o{number}\", \"lines\": [{{\"productId\": \"p{}\", \"quantity\": 1}}]}}",
            number % 60
        )
    };
    let files = [
        write(path, "brands.jsonl", (0..10).map(brand)),
        write(path, "products.jsonl", (0..60).map(product)),
        write(path, "orders.jsonl", (0..200).map(order)),
    ];
    let (study, _) = run(path, &files);
    let copied = &study.designs[1].model;
    let key: Vec<String> =
        copied.container("products").unwrap().key.iter().map(|path| path.slashed()).collect();
    assert_eq!(key, ["/id"]);
}
