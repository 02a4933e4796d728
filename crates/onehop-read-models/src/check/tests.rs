//! Each mistake of a declaration is refused by its name.

use super::*;
use crate::rule::{CopyTarget, copy, count, list, owns};

const AUTHORS: ContainerName = ContainerName("authors");
const BOOKS: ContainerName = ContainerName("books");
const NEWEST: ContainerName = ContainerName("newest");

const fn container(
    name: ContainerName,
    partition_key: &'static str,
    order_by: Option<&'static str>,
    newest_types: &'static [&'static str],
) -> ContainerSpec {
    ContainerSpec { name, partition_key, order_by, equality: &["authorId"], newest_types, soft_deletes: true }
}

const SPECS: &[ContainerSpec] = &[
    container(AUTHORS, "authorId", None, &[]),
    container(BOOKS, "id", Some("date"), &["book"]),
    container(NEWEST, "type", Some("date"), &[]),
];
const AUTHOR: ItemType = ItemType::new(AUTHORS, "author", &["authorId", "name"]);
const BOOK: ItemType = ItemType::new(BOOKS, "book", &["authorId", "authorName", "title", "date", "pages"]);
const PAGE: ItemType = ItemType::new(BOOKS, "page", &["bookId"]).partitioned_by("bookId");
const NAMES: &[CopyTarget] = &[CopyTarget::new(&BOOK, "authorName")];

fn errors(rules: &'static [Rule]) -> Vec<DeclarationError> {
    ReadModels::new(SPECS, rules).map(|_| Vec::new()).unwrap_or_else(|errors| errors)
}

#[test]
fn a_declaration_without_mistakes_has_a_projection_for_each_rule_and_a_catch_up() {
    const RULES: &[Rule] = &[
        copy("names").of(&AUTHOR, "name").to(NAMES, "authorId").follows("catch-up"),
        list("of-author")
            .of(&BOOK)
            .into(AUTHORS, ListPartition::Field("authorId"))
            .fields(&["authorId"])
            .immutable_partition()
            .all(),
        list("newest").of(&BOOK).into(NEWEST, ListPartition::Constant("book")).fields(&["date"]).newest(3),
        count(&PAGE).into(&BOOK, "pages", "bookId"),
        owns("deleted", &BOOK, &[&PAGE]),
    ];
    let declared = ReadModels::new(SPECS, RULES).unwrap();
    let names: Vec<_> = declared.projections().iter().map(|projection| projection.name()).collect();
    assert_eq!(names, ["names", "catch-up", "of-author", "newest", "deleted"]);
    assert_eq!(declared.mermaid().matches("-->").count(), 5);
}

#[test]
fn fields_that_no_item_has_are_named() {
    const RULES: &[Rule] = &[copy("names").of(&AUTHOR, "nmae").to(NAMES, "authorId").follows("catch-up")];
    assert_eq!(errors(RULES)[0].to_string(), "names: items of type `author` have no field `nmae`");
}

#[test]
fn two_rules_that_write_a_field_are_refused() {
    const RULES: &[Rule] = &[
        copy("names").of(&AUTHOR, "name").to(NAMES, "authorId").follows("catch-up"),
        copy("other-names").of(&AUTHOR, "authorId").to(NAMES, "authorId").follows("catch-up"),
    ];
    assert!(matches!(errors(RULES)[..], [DeclarationError::FieldTwice { field: "authorName", .. }]));
}

#[test]
fn a_bounded_list_needs_an_order() {
    const RULES: &[Rule] = &[list("newest")
        .of(&BOOK)
        .into(NEWEST, ListPartition::Constant("book"))
        .fields(&["title"])
        .newest(3)];
    assert!(matches!(errors(RULES)[..], [DeclarationError::NoOrder { .. }]));
}

#[test]
fn a_list_by_a_field_finds_an_entry_that_would_move() {
    const RULES: &[Rule] = &[list("of-author")
        .of(&BOOK)
        .into(AUTHORS, ListPartition::Field("authorId"))
        .fields(&["authorId"])
        .all()];
    let errors = errors(RULES);
    assert!(errors.iter().any(|error| error.to_string().contains("found by `id`")), "{errors:?}");
}

#[test]
fn a_bounded_list_reads_its_items_by_their_id() {
    const PAGES: &[Rule] = &[list("newest")
        .of(&PAGE_WITH_DATE)
        .into(NEWEST, ListPartition::Constant("page"))
        .fields(&["date"])
        .newest(3)];
    const PAGE_WITH_DATE: ItemType =
        ItemType::new(BOOKS, "page", &["bookId", "date"]).partitioned_by("bookId");
    let errors = errors(PAGES);
    assert!(errors.iter().any(|error| error.to_string().contains("their id as partition key")), "{errors:?}");
}

#[test]
fn a_list_needs_a_container_with_soft_deleted_entries() {
    const NONE: &[ContainerSpec] = &[
        SPECS[0],
        SPECS[1],
        ContainerSpec { soft_deletes: false, ..container(NEWEST, "type", Some("date"), &[]) },
    ];
    const RULES: &[Rule] =
        &[list("newest").of(&BOOK).into(NEWEST, ListPartition::Constant("book")).fields(&["date"]).newest(3)];
    let errors = ReadModels::new(NONE, RULES).map(|_| ()).unwrap_err();
    assert!(matches!(errors[..], [DeclarationError::Unsupported { .. }]), "{errors:?}");
}

#[test]
fn changes_that_lead_back_to_their_source_are_refused() {
    const BACK: &[CopyTarget] = &[CopyTarget::new(&AUTHOR, "name")];
    const RULES: &[Rule] = &[
        copy("names").of(&AUTHOR, "name").to(NAMES, "authorId").follows("catch-up"),
        copy("back").of(&BOOK, "title").to(BACK, "authorId").follows("catch-up-of-authors"),
    ];
    assert!(errors(RULES).iter().any(|error| matches!(error, DeclarationError::Cycle { .. })));
}

#[test]
fn targets_that_no_query_finds_are_refused() {
    const RULES: &[Rule] = &[copy("names").of(&AUTHOR, "name").to(NAMES, "title").follows("catch-up")];
    assert!(matches!(errors(RULES)[..], [DeclarationError::NotIndexed { field: "title", .. }]));
}

#[test]
fn names_are_taken_once() {
    const RULES: &[Rule] = &[owns("same", &BOOK, &[&PAGE]), owns("same", &BOOK, &[&PAGE])];
    assert!(matches!(errors(RULES)[..], [DeclarationError::NameTwice("same")]));
}
