//! Diagrams of the sample models.

use onehop_model::Model;

fn diagram(file: &str, text: &str) -> String {
    Model::read(file, text).unwrap_or_else(|errors| panic!("{errors}")).diagram()
}

#[test]
fn the_diagram_shows_containers_copies_lists_and_counts() {
    insta::assert_snapshot!("blog-v3", diagram("blog-v3", include_str!("models/blog-v3.graphql")));
    insta::assert_snapshot!(
        "webstore-v4",
        diagram("webstore-v4", include_str!("models/webstore-v4.graphql"))
    );
    insta::assert_snapshot!("followed", diagram("followed", include_str!("models/example-followed.graphql")));
}
