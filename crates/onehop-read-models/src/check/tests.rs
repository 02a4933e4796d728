//! Each mistake of a declaration is refused by its name.

use std::sync::LazyLock;

use super::*;
use crate::rule::CopyTarget;
use crate::rule_builders::{copy, count, list, owns};
use onehop_store::interned;

const AUTHORS: ContainerName = ContainerName("authors");
const BOOKS: ContainerName = ContainerName("books");
const NEWEST: ContainerName = ContainerName("newest");

const fn container(
    name: ContainerName,
    partition_key: &'static str,
    order_by: Option<&'static str>,
    newest_types: &'static [&'static str],
) -> ContainerSpec {
    ContainerSpec {
        name,
        partition_key,
        order_by,
        orders: &[],
        ttl_s: None,
        equality: &["authorId"],
        newest_types,
        soft_deletes: true,
    }
}

const SPECS: &[ContainerSpec] = &[
    container(AUTHORS, "authorId", None, &[]),
    container(BOOKS, "id", Some("date"), &["book"]),
    container(NEWEST, "type", Some("date"), &[]),
];
static AUTHOR: LazyLock<ItemType> = LazyLock::new(|| ItemType::new(AUTHORS, "author", &["authorId", "name"]));
static BOOK: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(BOOKS, "book", &["authorId", "authorName", "title", "date", "pages"]));
static PAGE: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(BOOKS, "page", &["bookId"]).partitioned_by("bookId"));
fn author_name() -> [CopyTarget; 1] {
    [CopyTarget::new(&BOOK, "authorName", "authorId")]
}

fn errors(rules: Vec<Rule>) -> Vec<DeclarationError> {
    ReadModels::new(SPECS, rules).map(|_| Vec::new()).unwrap_or_else(|errors| errors)
}

#[test]
fn a_declaration_without_mistakes_has_a_projection_for_each_rule_and_a_catch_up() {
    let rules = vec![
        copy("names").of(&AUTHOR, "name").to(author_name()).follows("catch-up"),
        list("of-author")
            .of(&BOOK)
            .into(AUTHORS, ListPartition::Field("authorId"))
            .fields(&["authorId"])
            .immutable_partition()
            .all(),
        list("newest").of(&BOOK).into(NEWEST, ListPartition::Constant("book")).fields(&["date"]).newest(3),
        count(&PAGE).into(&BOOK, "pages", "bookId"),
        owns("deleted", &BOOK, [&*PAGE]),
    ];
    let declared = ReadModels::new(SPECS, rules).unwrap();
    let names: Vec<_> = declared.projections().iter().map(|projection| projection.name()).collect();
    assert_eq!(names, ["names", "catch-up", "of-author", "newest", "deleted"]);
    assert_eq!(declared.mermaid().matches("-->").count(), 5);
}

#[test]
fn fields_that_no_item_has_are_named() {
    let rules = vec![copy("names").of(&AUTHOR, "nmae").to(author_name()).follows("catch-up")];
    assert_eq!(errors(rules)[0].to_string(), "names: items of type `author` have no field `nmae`");
}

#[test]
fn two_rules_that_write_a_field_are_refused() {
    let rules = vec![
        copy("names").of(&AUTHOR, "name").to(author_name()).follows("catch-up"),
        copy("other-names").of(&AUTHOR, "authorId").to(author_name()).follows("catch-up"),
    ];
    assert!(matches!(errors(rules)[..], [DeclarationError::FieldTwice { field: "authorName", .. }]));
}

#[test]
fn a_bounded_list_needs_an_order() {
    let rules = vec![
        list("newest").of(&BOOK).into(NEWEST, ListPartition::Constant("book")).fields(&["title"]).newest(3),
    ];
    assert!(matches!(errors(rules)[..], [DeclarationError::NoOrder { .. }]));
}

#[test]
fn a_list_by_a_field_finds_an_entry_that_moves() {
    let rules = vec![
        list("of-author")
            .of(&BOOK)
            .into(AUTHORS, ListPartition::Field("authorId"))
            .fields(&["authorId"])
            .all(),
    ];
    let errors = errors(rules);
    assert!(errors.iter().any(|error| error.to_string().contains("found by `id`")), "{errors:?}");
}

#[test]
fn a_bounded_list_reads_its_items_by_their_id() {
    let page_with_date = ItemType::new(BOOKS, "page", &["bookId", "date"]).partitioned_by("bookId");
    let pages = vec![
        list("newest")
            .of(&page_with_date)
            .into(NEWEST, ListPartition::Constant("page"))
            .fields(&["date"])
            .newest(3),
    ];
    let errors = errors(pages);
    assert!(errors.iter().any(|error| error.to_string().contains("their id as partition key")), "{errors:?}");
}

#[test]
fn a_list_needs_a_container_with_soft_deleted_entries() {
    const NONE: &[ContainerSpec] = &[
        SPECS[0],
        SPECS[1],
        ContainerSpec { soft_deletes: false, ..container(NEWEST, "type", Some("date"), &[]) },
    ];
    let rules = vec![
        list("newest").of(&BOOK).into(NEWEST, ListPartition::Constant("book")).fields(&["date"]).newest(3),
    ];
    let errors = ReadModels::new(NONE, rules).map(|_| ()).unwrap_err();
    assert!(matches!(errors[..], [DeclarationError::Unsupported { .. }]), "{errors:?}");
}

#[test]
fn changes_that_lead_back_to_their_source_are_refused() {
    let is_cycle = |error: &DeclarationError| matches!(error, DeclarationError::Cycle { .. });
    let back = |field| {
        let to = [CopyTarget::new(&AUTHOR, "name", "authorId")];
        copy("back").of(&BOOK, field).to(to).follows("catch-up-of-authors")
    };
    let names = || copy("names").of(&AUTHOR, "name").to(author_name()).follows("catch-up");
    assert!(errors(vec![names(), back("authorName")]).iter().any(is_cycle));
    // The containers have copies of one another, and no field of its own.
    assert!(!errors(vec![names(), back("title")]).iter().any(is_cycle));
}

#[test]
fn targets_that_no_query_finds_are_refused() {
    let rules = vec![
        copy("names")
            .of(&AUTHOR, "name")
            .to([CopyTarget::new(&BOOK, "authorName", "title")])
            .follows("catch-up"),
    ];
    assert!(matches!(errors(rules)[..], [DeclarationError::NotIndexed { field: "title", .. }]));
}

#[test]
fn names_are_taken_once() {
    let rules = vec![owns("same", &BOOK, [&*PAGE]), owns("same", &BOOK, [&*PAGE])];
    assert!(matches!(errors(rules)[..], [DeclarationError::NameTwice("same")]));
}

#[test]
fn a_declaration_is_built_from_names_read_at_run_time() {
    let line = String::from("authors author name | books book authorName authorId");
    let (source, target) = line.split_once(" | ").unwrap();
    let names = |text: &str| -> Vec<_> { text.split(' ').map(|name| interned(name).unwrap()).collect() };
    let (source, target) = (names(source), names(target));
    let author = ItemType::new(ContainerName::named(source[0]).unwrap(), source[1], &source[2..]);
    let book = ItemType::new(ContainerName::named(target[0]).unwrap(), target[1], &target[2..]);
    drop(line);
    let rule = copy("names").of(&author, source[2]).to([CopyTarget::new(&book, target[2], target[3])]);
    let declared = ReadModels::new(SPECS, vec![rule.follows("catch-up")]).unwrap();
    assert_eq!(declared.projections()[0].source(), AUTHORS);
}
