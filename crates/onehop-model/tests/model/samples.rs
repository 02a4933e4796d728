//! The sample models: each is accepted, and printing keeps it.

use onehop_model::Model;

const SAMPLES: [(&str, &str); 7] = [
    ("blog-v1", include_str!("models/blog-v1.graphql")),
    ("blog-v2", include_str!("models/blog-v2.graphql")),
    ("blog-v3", include_str!("models/blog-v3.graphql")),
    ("webstore-v4", include_str!("models/webstore-v4.graphql")),
    ("example-webstore-v1", include_str!("models/example-webstore-v1.graphql")),
    ("example-followed", include_str!("models/example-followed.graphql")),
    ("helpdesk", include_str!("models/helpdesk.graphql")),
];

fn read(file: &str, text: &str) -> Model {
    Model::read(file, text).unwrap_or_else(|errors| panic!("{errors}"))
}

#[test]
fn every_sample_is_printed_and_read_again() {
    for (file, text) in SAMPLES {
        let model = read(file, text);
        let printed = model.print();
        let again = read(file, &printed);
        assert_eq!(again, model, "{file}");
        assert_eq!(again.print(), printed, "{file}");
    }
}

#[test]
fn printed_samples_are_canonical() {
    for (file, text) in SAMPLES {
        insta::assert_snapshot!(file, read(file, text).print());
    }
}
