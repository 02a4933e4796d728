//! Request documents: operations with rates, checked against each design.

use onehop_model::{Action, ArgumentValue, Model, RequestSet, Skew};

fn designs() -> [Model; 2] {
    [include_str!("models/blog-v1.graphql"), include_str!("models/blog-v3.graphql")]
        .map(|text| Model::read("blog.graphql", text).unwrap_or_else(|errors| panic!("{errors}")))
}

fn read(text: &str) -> Result<RequestSet, String> {
    let designs = designs();
    let designs: Vec<&Model> = designs.iter().collect();
    RequestSet::read("requests.graphql", text, &designs).map_err(|errors| errors.to_string())
}

#[test]
fn a_request_has_its_rate_and_its_selection() {
    let set = read(
        "query PostPage($id: ID!) @request(perSecond: 50, peak: 3, skew: ZIPF) {
           post(id: $id) { title comments(first: 5) { edges { node { content author { username } } } pageInfo { endCursor } } }
         }
         mutation Write($id: ID!) @request(perSecond: 1) { updatePost(input: {id: $id, title: $title}) { post { id } } }",
    )
    .unwrap();
    let [page, write] = set.requests() else { panic!("{set:?}") };
    assert_eq!((page.per_second, page.peak, page.skew), (50.0, 3.0, Some(Skew::Zipf)));
    let post = &page.fields[0];
    assert!(matches!(post.argument("id"), Some(ArgumentValue::Variable(name)) if &**name == "id"));
    let comments = &post.selections[1];
    assert_eq!(comments.number("first"), Some(5));
    let names: Vec<_> = comments.selections.iter().map(|inner| inner.field.to_string()).collect();
    assert_eq!(names, ["content", "author"]);
    assert!(write.is_write);
    let names: Vec<_> = write.fields[0].input_fields().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["id", "title"]);
}

#[test]
fn a_mutation_is_a_write_of_a_type() {
    let [design, _] = designs();
    let target =
        |name: &str| design.write_target(name).map(|target| (target.item_type.to_string(), target.action));
    assert_eq!(target("createPost"), Some(("Post".to_owned(), Action::Create)));
    assert_eq!(target("unlikePost"), Some(("Like".to_owned(), Action::Delete)));
    assert_eq!(target("createUser"), Some(("User".to_owned(), Action::Create)));
    assert_eq!(target("updateComment"), None);
}

#[test]
fn a_request_of_one_design_is_not_looked_for_in_the_others() {
    let one = "mutation A @request(perSecond: 1, designs: [\"V3\"]) { createPots { id } }";
    let errors = read(one).unwrap_err();
    assert!(errors.contains("in the design V3") && !errors.contains("in the design V1"), "{errors}");
    let unknown = read("query A @request(perSecond: 1, designs: \"V4\") { feed { title } }").unwrap_err();
    assert!(unknown.contains("names the design `V4`, which the study does not have"), "{unknown}");
    assert!(read("query A @request(perSecond: 1, designs: [\"V1\", \"V3\"]) { feed { title } }").is_ok());
    assert!(read("query A @request(perSecond: 1, designs: []) { feed { title } }").is_err());
}

#[test]
fn all_mistakes_come_at_once_with_their_lines() {
    let errors = read(
        "query A @request(perSecond: 1) {\n  post(id: \"1\") { titel }\n}\nquery B @request(perSecond: 1) { feed { title { id } author } }\n\
         mutation C @request(perSecond: 1) { createPots { id } }",
    )
    .unwrap_err();
    for expected in [
        "requests.graphql:2:19: unknown field `titel` of Post in the design V1; did you mean `title`?",
        "requests.graphql:4:41: `title` of Post has no fields of its own",
        "requests.graphql:4:54: `author` of Post needs a selection of fields: expected `author { .. }`",
        "unknown field `createPots` of Mutation in the design V3; did you mean `createPost`?",
    ] {
        assert!(errors.contains(expected), "{expected}\n{errors}");
    }
}

#[test]
fn a_request_without_a_name_or_a_rate_is_refused() {
    for (text, expected) in [
        ("{ feed { title } }", "expected a named operation"),
        ("query A { feed { title } }", "the operation `A` needs @request(perSecond: 10)"),
        ("query A @request(perSecond: -1) { feed { title } }", "`perSecond` from 0"),
        ("query A @request(perSecond: 1, peak: 0.5) { feed { title } }", "found `peak: 0.5`"),
        ("query A @request(perSecond: 1) { feed { ...F } }", "fragments have no place in requests"),
        ("query A @request(perSecond: 1) { feed { title }", "requests.graphql:1:"),
        ("subscription A @request(perSecond: 1) { postChanged { title } }", "subscriptions have no place"),
    ] {
        let errors = read(text).unwrap_err();
        assert!(errors.contains(expected), "{text}\n{errors}");
    }
    let twice = "query A @request(perSecond: 1) { feed { title } }";
    assert!(read(&format!("{twice} {twice}")).unwrap_err().contains("stands twice"));
}

proptest::proptest! {
    #[test]
    fn random_tokens_of_requests_never_panic(
        tokens in proptest::collection::vec(
            proptest::sample::select(vec![
                "query", "mutation", "A", "@request", "(", ")", "{", "}", "perSecond", ":", "1", "-1", "peak", "skew", "ZIPF",
                "post", "id", "title", "$", "[", "]", "...", "on", "\"", "nodes", "edges", "input", "é", "#", "\n", "feed",
            ]),
            0..60,
        )
    ) {
        // Sound or refused: both are answers.
        let _ = read(&tokens.join(" "));
    }
}

#[test]
fn fields_with_the_names_of_a_connection_are_fields() {
    let text =
        "extend schema @model(name: \"graphs\", design: \"V1\") @container(name: \"graphs\", key: \"/id\")
        @container(name: \"marks\", key: \"/graphId\")
        type Graph @item(container: \"graphs\") { id: ID!  cursor: String!  nodes: [GraphNode!]!
          marks: [Mark!]! @partition(by: \"graph\") }
        type Mark @item(container: \"marks\", partition: \"graph\") { id: ID!  graph: Graph! @reference
          node: String!  pageInfo: String! }
        type GraphNode @embedded { name: String! }
        type Query { graph(id: ID!): Graph }";
    let design = Model::read("graphs.graphql", text).unwrap_or_else(|errors| panic!("{errors}"));
    let read = |text: &str| {
        let set = RequestSet::read("requests.graphql", text, &[&design]);
        set.unwrap_or_else(|errors| panic!("{text}: {errors}")).requests()[0].fields[0].clone()
    };
    let names = |selection: &onehop_model::Selection| {
        selection.selections.iter().map(|inner| inner.field.to_string()).collect::<Vec<_>>()
    };
    let graph = read(
        "query A($id: ID!) @request(perSecond: 1) { graph(id: $id) { __typename cursor nodes { name }
           marks(first: 5) { nodes { node pageInfo } pageInfo { endCursor } } } }",
    );
    assert_eq!(names(&graph), ["cursor", "nodes", "marks"]);
    assert_eq!(names(&graph.selections[1]), ["name"]);
    assert_eq!(names(&graph.selections[2]), ["node", "pageInfo"]);
    for marks in
        ["marks { edges { cursor node { node pageInfo } } __typename }", "marks { node pageInfo id }"]
    {
        let graph =
            read(&format!("query A($id: ID!) @request(perSecond: 1) {{ graph(id: $id) {{ {marks} }} }}"));
        assert_eq!(names(&graph.selections[0])[..2], ["node", "pageInfo"], "{marks}");
    }
}
