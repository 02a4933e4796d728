//! Models that are refused: with all of their mistakes, before any data is touched.

use std::sync::Arc;

use onehop::cli::new;
use onehop::graphql::served::served_sdl;
use onehop::served::ServedModel;
use onehop_model::Model;

/// The findings of a sound model that the server cannot serve.
pub(super) fn refused(text: &str) -> Vec<String> {
    let model = Model::read("test.graphql", text).unwrap_or_else(|errors| panic!("{errors}"));
    let refused = ServedModel::new(model).map(drop).expect_err("the model is refused");
    refused.iter().map(ToString::to_string).collect()
}

#[test]
fn every_unsupported_part_is_named_at_once() {
    let found = refused(
        r#"
extend schema @model(name: "odd") @container(name: "things", key: "/thingId") @container(name: "leases", key: "/id")
type Thing @item(container: "things", partition: "id", write: CREATE) @auth(on: READ, claim: "role", has: "x") {
  id: ID!
  prices: [Money!]!
  price: Money!
  weight: Decimal! @stored(format: NUMBER)
  cost: Decimal! @computed(by: PRODUCT, from: ["price", "weight"])
  partName: String @copy(from: "Part.name", frozen: true)
  size: Int! @range(min: 1)
  odd: String! @pattern(is: "(")
  parts: [Part!]! @partition(by: "thing") @where(field: "isNew", is: true)
  gone: [Gone!]! @partition(by: "thing")
  partCount: Int! @count(of: "parts", kept: BEHIND)
}
type Part @item(container: "things", partition: "thing") {
  id: ID!
  thing: Thing! @reference
  isNew: Boolean!
  name: String!
}
type Gone @item(container: "things", write: [CREATE, DELETE], partition: "thing") @deletes(by: HARD) {
  id: ID!
  thing: Thing! @reference
}
type Box @embedded { secret: String @auth(on: UPDATE, allow: STAFF) }
type ThingEdge @item(container: "leases") { id: ID! }
type Query { thing(id: ID!): Thing }
type Mutation { make: Thing @writes(action: CREATE, rust: true) }
type Subscription { goneRemoved(thingId: ID!): Gone! @live(of: "Thing.gone", on: REMOVED) }
"#,
    );
    for expected in [
        "Thing.prices: Money is not served in a list",
        "Thing.cost: @computed(from) is an amount from one amount, and a number from numbers",
        "Thing.partName: @copy(from) is served from a type that one single reference leads to",
        "Thing.odd: @pattern is no regular expression of this server",
        "Box.secret: @auth on: UPDATE is not served in an embedded type",
        "ThingEdge: type has a name that the server adds to the schema",
        "Mutation.make: @writes(rust) needs a program with the command",
        "Subscription.goneRemoved: @live(on) cannot have REMOVED of HARD deletions",
    ] {
        assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}\n{found:#?}");
    }
}

#[test]
fn an_order_of_too_many_fields_is_refused_with_its_field() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let fields = names.map(|name| format!("{name}: String!")).join(" ");
    let order = names.map(|name| format!("@order(by: \"{name}\")")).join(" ");
    let found = refused(&format!(
        r#"
extend schema @model(name: "odd") @container(name: "things", key: "/type")
type Thing @item(container: "things", write: CREATE) {{ id: ID! {fields} }}
type Query {{ byAll: [Thing!] @partition {order} }}
"#
    ));
    let expected = "Query.byAll: @order is not served: an order has at most 6 fields";
    assert_eq!(found, [expected]);
}

/// The models that are in the repository.
fn known_models() -> Vec<(String, String)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/onehop-model/tests/model/models");
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "graphql"));
    let mut models: Vec<_> =
        files.map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap())).collect();
    models.push(("onehop new".to_owned(), new::MODEL.to_owned()));
    models
}

#[test]
fn every_sound_model_is_served_or_refused() {
    let (mut served, mut refused) = (0, 0);
    for (name, text) in known_models() {
        let Ok(model) = Model::read(&name, &text) else { continue };
        match ServedModel::new(model) {
            Ok(model) => {
                served += 1;
                served_sdl(&Arc::new(model)).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            Err(findings) => {
                refused += 1;
                assert!(findings.iter().all(|finding| !finding.place.is_empty()), "{name}: {findings:?}");
            }
        }
    }
    assert!(served > 0 && refused > 0, "{served} served, {refused} refused");
}

#[test]
fn a_key_that_is_an_amount_is_refused_with_its_field() {
    let found = refused(
        r#"
extend schema @model(name: "auction") @container(name: "bids", key: "/bid")
type Bid @item(container: "bids", write: CREATE) @auth(on: CREATE, allow: PUBLIC) { id: ID! bid: Money! }
type Query { bids: [Bid!]! @find }
"#,
    );
    assert!(found.iter().any(|line| line.contains("Bid") && line.contains("`Money`")), "{found:#?}");
}

#[test]
fn a_container_beyond_the_limit_is_named() {
    let containers: String =
        (0..251).map(|number| format!("  @container(name: \"c{number}\", key: \"/id\")\n")).collect();
    let model = |containers: &str| {
        format!(
            "extend schema @model(name: \"many\")\n{containers}\ntype Thing @item(container: \"c0\", write: CREATE) {{ id: ID! }}\n"
        )
    };
    let found = refused(&model(&containers));
    assert_eq!(found, ["container c250: @container is the 251st container, and a model has at most 250"]);
    let (fewer, _) = containers.trim_end().rsplit_once('\n').unwrap();
    ServedModel::new(Model::read("test.graphql", &model(fewer)).unwrap()).expect("250 containers are served");
}
