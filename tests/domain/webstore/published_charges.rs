//! The study of the web store's four designs, beside the charges that a small account answered to the fourth
//! in 2020.

use std::fmt::Write as _;
use std::path::Path;

use onehop_store::charges::Calibration;
use onehop_study::data::{DataSurvey, SurveySpec};
use onehop_study::design_study::{DesignStudy, design_report};
use onehop_study::directory::StudyDirectory;
use onehop_study::report::StudyReport;

/// The charges, each with the request and the most by which the estimate differs, percent.
const PUBLISHED: [(&str, f64, f64); 6] = [
    // The customer's item.
    ("Customer", 1.0, 0.5),
    // The read of the category, and its replace.
    ("EditCategory", 11.67, 4.0),
    // 37 categories.
    ("Categories", 4.28, 2.0),
    // Five products of a category.
    ("ProductsOfCategory", 3.09, 1.0),
    // Two orders.
    ("SalesOrders", 3.1, 8.0),
    // The read of the customer, and the batch of its replace and the new order with two lines.
    ("CreateSalesOrder", 22.14, 5.0),
];

/// The data of the account, as its charges describe it.
fn write_data(directory: &Path) {
    let mut files: [(&str, String); 9] =
        ["customers", "addresses", "passwords", "orders", "lines", "products", "categories", "tags", "links"]
            .map(|name| (name, String::new()));
    let mut add = |name: &str, line: String| {
        let file = files.iter_mut().find(|(known, _)| *known == name).unwrap();
        writeln!(file.1, "{line}").unwrap();
    };
    let address = r#""addressLine1":"6 Park Lane","city":"Ottawa","state":"Ontario","country":"CA","zipCode":"K4B 1S2""#;
    let secret = r#""hash":"GQF7qjEgMk3NPyVpUwM4pU8b8qXyXH7kMdq1Rq5sI8Y=","salt":"09DD2E5F""#;
    for number in 0..20 {
        add(
            "customers",
            format!(
                r#"{{"id":"customer-{number:02}","title":"Ms.","firstName":"Franklin","lastName":"Ye","emailAddress":"franklin{number}@example.com","phoneNumber":"1 (11) 500 555-0139","creationDate":"2014-02-05T00:00:00","addresses":[{{{address}}}],"password":{{{secret}}}}}"#
            ),
        );
        add("addresses", format!(r#"{{"id":"a{number}","customer":"customer-{number:02}",{address}}}"#));
        add("passwords", format!(r#"{{"id":"p{number}","customer":"customer-{number:02}",{secret}}}"#));
        for order in 0..2 {
            let line = |line: usize| {
                format!(r#""sku":"FR-M94B-3{line}","name":"HL Mountain Frame","price":1364.5,"quantity":1"#)
            };
            let (id, date) = (format!("order-{number:02}-{order}"), "2014-02-16T00:00:00");
            add(
                "orders",
                format!(
                    r#"{{"id":"{id}","customer":"customer-{number:02}","orderDate":"{date}","shipDate":"{date}","lines":[{{{}}},{{{}}}]}}"#,
                    line(0),
                    line(1)
                ),
            );
            for number in 0..2 {
                add("lines", format!(r#"{{"id":"{id}-{number}","order":"{id}",{}}}"#, line(number)));
            }
        }
    }
    for number in 0..37 {
        add(
            "categories",
            format!(r#"{{"id":"category-{number:02}","name":"Components, Headsets {number}"}}"#),
        );
    }
    for number in 0..50 {
        add("tags", format!(r#"{{"id":"tag-{number:02}","name":"Tag-{number}"}}"#));
    }
    for number in 0..185 {
        let tags = [number % 50, (number + 7) % 50, (number + 19) % 50];
        let [one, two, three] = tags;
        let category = number % 37;
        add(
            "products",
            format!(
                r#"{{"id":"product-{number:03}","category":"category-{category:02}","sku":"HS-{number:04}","name":"LL Headset","description":"The product called LL Headset","price":34.2,"tags":["tag-{one:02}","tag-{two:02}","tag-{three:02}"]}}"#
            ),
        );
        for tag in tags {
            add("links", format!(r#"{{"product":"product-{number:03}","tag":"tag-{tag:02}"}}"#));
        }
    }
    for (name, text) in files {
        std::fs::write(directory.join(format!("{name}.jsonl")), text).unwrap();
    }
}

fn report() -> StudyReport {
    let directory = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/studies/web-store");
    std::fs::create_dir(directory.path().join("designs")).unwrap();
    for file in [
        "study.toml",
        "requests.graphql",
        "designs/v1.graphql",
        "designs/v2.graphql",
        "designs/v3.graphql",
        "designs/v4.graphql",
    ] {
        std::fs::copy(example.join(file), directory.path().join(file)).unwrap();
    }
    write_data(directory.path());
    let study = StudyDirectory::read(directory.path()).unwrap_or_else(|errors| panic!("{errors}"));
    let survey = DataSurvey::read(&study, &SurveySpec::of_designs(&study), &mut |_| {
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    design_report(&DesignStudy::new(&study, &survey, Calibration::current()))
}

#[test]
fn the_charges_of_the_fourth_design_are_near_the_published() {
    let report = report();
    let charge = |request: &str, design: &str| {
        let rows = &report.measurements.rows;
        let row = rows.iter().find(|row| row.request == request && row.plan.to_string() == design);
        row.unwrap_or_else(|| panic!("{request} {design}")).request_charge
    };
    let mut far = Vec::new();
    for (request, published, percent) in PUBLISHED {
        let estimated = charge(request, "V4");
        let error = (estimated / published - 1.0) * 100.0;
        if error.abs() > percent {
            far.push(format!("{request}: {estimated} RU, published {published}, {error:.1} %"));
        }
    }
    assert!(far.is_empty(), "{far:#?}");
    // Each design makes the page of a category cheaper.
    let pages = ["V1", "V2", "V3"].map(|design| charge("ProductsOfCategory", design));
    assert!(pages.is_sorted_by(|one, other| one > other), "{pages:?}");
}
