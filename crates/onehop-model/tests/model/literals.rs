//! Literals of defaults and conditions: their normal forms.

use onehop_model::{FieldKind, FieldTest, Literal, Model, QueryKind};

const SHELF: &str = r#"
extend schema @model(name: "shelf") @container(name: "books", key: "/bookId")
type Book @item(container: "books", partition: "id") {
  id: ID!
  tags: [String!]! @default(value: ["new", "unread"])
  moods: [Mood!]! @default(value: CALM)
  price: Decimal! @default(value: 12)
  size: Size
  readAt: DateTime
}
type Size @embedded { pages: Int! }
enum Mood { CALM LOUD }
type Query {
  long: [Book!]! @find @where(field: "size.pages", atLeast: 500)
  late: [Book!]! @find @where(field: "readAt", atLeast: "2027-01-01T00:00:00Z", below: "2028-02-29T23:59:59.1234Z")
}
"#;

fn default_of(model: &Model, field: &str) -> Literal {
    let field = model.item("Book").unwrap().field(field).unwrap();
    match &field.kind {
        FieldKind::Stored(stored) => stored.default.as_ref().unwrap().value.clone(),
        other => panic!("{other:?}"),
    }
}

fn tests_of(model: &Model, query: &str) -> Vec<(String, FieldTest)> {
    let query = model.queries().iter().find(|found| &*found.name == query).unwrap();
    let QueryKind::Related(related) = &query.kind else { panic!("no list") };
    related.conditions.iter().map(|one| (one.field.to_string(), one.test.clone())).collect()
}

#[test]
fn literals_have_the_form_of_stored_values() {
    let model = Model::read("shelf.graphql", SHELF).unwrap_or_else(|errors| panic!("{errors}"));
    let text = |text: &str| Literal::String(text.to_owned());
    assert_eq!(default_of(&model, "tags"), Literal::List(vec![text("new"), text("unread")]));
    assert_eq!(default_of(&model, "moods"), Literal::List(vec![Literal::Enum("CALM".to_owned())]));
    assert_eq!(default_of(&model, "price"), text("12"));
    let long = ("size.pages".to_owned(), FieldTest::AtLeast(Literal::Int(500)));
    assert_eq!(tests_of(&model, "long"), [long]);
    let late = [
        FieldTest::AtLeast(text("2027-01-01T00:00:00.000Z")),
        FieldTest::Below(text("2028-02-29T23:59:59.123Z")),
    ];
    assert_eq!(tests_of(&model, "late"), late.map(|test| ("readAt".to_owned(), test)));
    let again = Model::read("shelf.graphql", &model.print()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(again, model);
}

#[test]
fn a_day_that_no_calendar_has_is_refused() {
    for wrong in ["2027-02-29", "2027-13-01", "2027-00-10", "2027-04-31"] {
        let text = SHELF.replace("2027-01-01", wrong);
        let errors = Model::read("shelf.graphql", &text).expect_err(wrong).to_string();
        assert!(errors.contains("expected a time in UTC"), "{wrong}: {errors}");
    }
    for wrong in ["24:00:00", "10:60:00", "10:00:60"] {
        let text = SHELF.replace("2027-01-01T00:00:00", &format!("2027-01-01T{wrong}"));
        assert!(Model::read("shelf.graphql", &text).is_err(), "{wrong}");
    }
}
