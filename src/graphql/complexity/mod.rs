//! Query complexity, worked out before an operation runs: its fields, with fields of a list as often as
//! `first` says. It follows the types of the SDL and reads nothing. Introspection is counted on the schema
//! itself, which is its data.

mod introspection;
mod operation_input;

use std::collections::HashMap;

use async_graphql::parser::types::{
    BaseType, ExecutableDocument, Field, FieldDefinition, OperationDefinition, OperationType, SelectionSet,
    Type, TypeKind, TypeSystemDefinition,
};
use async_graphql::parser::{Error as ParserError, parse_schema};
use async_graphql::{Executor, InputType as _, ServerResult, Value, Variables};

use super::comparison::ReadRequest;
use crate::blog::commands::TAGS_MAX;
use crate::blog::reads::FIRST_MAX;
use crate::blog::study::read_path::ReadPath;
use crate::webstore::commands::{ADDRESSES_MAX, TAGS_PER_PRODUCT_MAX};
pub(super) use introspection::Introspected;
use onehop_graphql_server::limit_exceeded::LimitExceeded;
use onehop_graphql_server::selections::fields;
use operation_input::{FIRST, IDS, LAST, OperationInput};

/// The complexity of reading a list, beside its fields: nested lists are one read for each of their
/// parents.
const LIST_READ: usize = 10;
/// The complexity of each operation of a comparison, beside its fields. All six requests with their
/// largest pages fit into one document.
const COMPARED_OPERATION: usize = 5;
/// The fields of texts, and as how many fields each counts: by the length that a text may have, so that
/// a request cannot repeat long texts as cheaply as counts and dates.
const TEXTS: [(&str, &str, usize); 3] =
    [("Post", "content", 20), ("Comment", "content", 2), ("Product", "description", 2)];
/// The fields that are whole lists, and as how many items each counts: as many as it may have, or more
/// than most have where a few have many (an order has at most 100 lines).
const LISTS: [(&str, &str, usize); 7] = [
    ("Query", "productCategories", 100),
    ("Query", "productTags", 100),
    ("Post", "tags", TAGS_MAX),
    ("Product", "tags", TAGS_PER_PRODUCT_MAX),
    ("Customer", "addresses", ADDRESSES_MAX),
    ("SalesOrder", "lines", 20),
    ("ReadPlan", "operations", 10),
];
/// The fields that count more than once, by type and name.
#[derive(Debug, Default)]
pub(super) struct FieldWeights {
    /// Texts, and as how many fields each counts.
    pub(super) texts: Vec<((String, String), usize)>,
    /// Whole lists, and as how many items each counts.
    pub(super) lists: Vec<((String, String), usize)>,
    /// Whether `Query.comparison` counts by its request.
    pub(super) has_comparison: bool,
}

impl FieldWeights {
    /// The fields of the built-in domains.
    pub(super) fn built_in() -> Self {
        let owned = |fields: &[(&str, &str, usize)]| {
            let owned =
                fields.iter().map(|(on, name, number)| (((*on).to_owned(), (*name).to_owned()), *number));
            owned.collect()
        };
        Self { texts: owned(&TEXTS), lists: owned(&LISTS), has_comparison: true }
    }
}

/// The number of introspection fields that count as one: no store is asked for them.
const INTROSPECTED_FIELDS: usize = 2;

/// The schema's statements about the fields of its types, and the complexity limit of a request.
pub(super) struct Complexity {
    types: HashMap<String, HashMap<String, Counted>>,
    introspected: Introspected,
    max: usize,
}

/// The count of a field.
struct Counted {
    returns: String,
    by: By,
}

enum By {
    /// Once, with its selection.
    Itself,
    /// As this many fields.
    Text(usize),
    /// Its selection, once for each of this many items.
    List(usize),
    /// Its selection for each item of a page, of this size unless `first` says otherwise.
    Page { items_default: usize },
    /// The same of a list that is read from either end, by `first` or `last`.
    Range { items_default: usize },
    /// Its selection for each of the ids, and a read of each.
    Ids,
    /// Its selection for each plan, and the reads of the plans.
    Comparison { items_default: usize },
}

impl Complexity {
    /// # Errors
    /// The schema's own SDL does not parse.
    pub(super) fn of_schema(schema: &impl Executor, sdl: &str, max: usize) -> Result<Self, ParserError> {
        Self::new(sdl, Introspected::of_schema(schema), &FieldWeights::built_in(), max)
    }

    /// # Errors
    /// The schema's own SDL does not parse.
    pub(super) fn new(
        sdl: &str,
        introspected: Introspected,
        weights: &FieldWeights,
        max: usize,
    ) -> Result<Self, ParserError> {
        let weights = WeightIndex::of(weights);
        let mut types = HashMap::new();
        for definition in parse_schema(sdl)?.definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let fields = match definition.node.kind {
                TypeKind::Object(object) => object.fields,
                TypeKind::Interface(interface) => interface.fields,
                _ => continue,
            };
            let name = definition.node.name.node.to_string();
            let fields = fields.into_iter().map(|field| counted(&name, field.node, &weights)).collect();
            types.insert(name, fields);
        }
        Ok(Self { types, introspected, max })
    }

    /// Whether so much may be asked.
    ///
    /// # Errors
    /// It is more than the limit.
    pub(super) fn check(&self, complexity: usize) -> Result<(), LimitExceeded> {
        let unit = "fields, those of a list counted for each of its items";
        LimitExceeded::new("complexity-max", self.max, "The request asks for more than", unit)
            .unless(complexity <= self.max)
    }

    /// The complexity of an operation with these variables, or something beyond the limit. Its document is
    /// within the limits of documents.
    ///
    /// # Errors
    /// The size of a page is no number.
    pub(super) fn of(
        &self,
        document: &ExecutableDocument,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> ServerResult<usize> {
        let root = match operation.ty {
            OperationType::Query => "Query",
            OperationType::Mutation => "Mutation",
            OperationType::Subscription => "Subscription",
        };
        let input = OperationInput { document, definitions: &operation.variable_definitions, variables };
        self.selections(&input, &operation.selection_set.node, root)
    }

    fn selections(
        &self,
        input: &OperationInput<'_>,
        selections: &SelectionSet,
        on: &str,
    ) -> ServerResult<usize> {
        let mut sum = 0_usize;
        for (field, on) in fields(input.document, selections, on) {
            sum = sum.saturating_add(self.field(input, &field.node, on)?);
            if sum > self.max {
                break;
            }
        }
        Ok(sum)
    }

    fn field(&self, input: &OperationInput<'_>, field: &Field, on: &str) -> ServerResult<usize> {
        if matches!(field.name.node.as_str(), "__schema" | "__type") {
            let max = self.max.saturating_mul(INTROSPECTED_FIELDS);
            return Ok(self.introspected.fields(input, field, max).div_ceil(INTROSPECTED_FIELDS));
        }
        // A field outside the schema is not resolved: validation refuses it.
        let known = self.types.get(on).and_then(|fields| fields.get(field.name.node.as_str()));
        let Some(Counted { returns, by }) = known else { return Ok(1) };
        let within = self.selections(input, &field.selection_set.node, returns)?;
        Ok(match *by {
            By::Itself => within.saturating_add(1),
            By::Text(fields) => fields,
            By::List(items) => within.saturating_mul(items).saturating_add(1),
            By::Page { items_default } => page(input.items(field, items_default)?, within),
            By::Range { items_default } => page(input.items_of_range(field, items_default)?, within),
            By::Ids => within.saturating_add(1).saturating_mul(input.ids(field)),
            By::Comparison { items_default } => {
                let request = input.argument(field, "request");
                // Without a valid request, which validation asks for, nothing is compared.
                let request = ReadRequest::parse(request).unwrap_or(ReadRequest::Q6);
                comparison(request, input.items(field, items_default)?, within)
            }
        })
    }
}

/// A page counts its fields for each of the items asked for, and the read.
fn page(items: usize, fields: usize) -> usize {
    fields.saturating_mul(items).saturating_add(LIST_READ)
}

/// A comparison counts its fields for each of its plans, and every operation that these may take.
fn comparison(request: ReadRequest, items: usize, fields: usize) -> usize {
    let operations = request.operations_max(items) * COMPARED_OPERATION;
    fields.saturating_mul(ReadPath::ALL.len()).saturating_add(operations)
}

/// The weights of fields by type and name.
struct WeightIndex<'a> {
    texts: HashMap<(&'a str, &'a str), usize>,
    lists: HashMap<(&'a str, &'a str), usize>,
    has_comparison: bool,
}

impl<'a> WeightIndex<'a> {
    fn of(weights: &'a FieldWeights) -> Self {
        let index = |fields: &'a [((String, String), usize)]| {
            fields.iter().map(|((on, name), number)| ((on.as_str(), name.as_str()), *number)).collect()
        };
        let FieldWeights { texts, lists, has_comparison } = weights;
        Self { texts: index(texts), lists: index(lists), has_comparison: *has_comparison }
    }
}

fn counted(on: &str, field: FieldDefinition, weights: &WeightIndex<'_>) -> (String, Counted) {
    let items_default = field.arguments.iter().find(|argument| argument.node.name.node == FIRST).map(
        |argument| match argument.node.default_value.as_ref().map(|default| &default.node) {
            Some(Value::Number(number)) => {
                number.as_i64().and_then(|items| usize::try_from(items).ok()).unwrap_or(FIRST_MAX)
            }
            _ => FIRST_MAX,
        },
    );
    let is_compared =
        weights.has_comparison && field.arguments.iter().any(|argument| argument.node.name.node == "request");
    let place = (on, field.name.node.as_str());
    let (text, list) = (weights.texts.get(&place).copied(), weights.lists.get(&place).copied());
    let has_last = field.arguments.iter().any(|argument| argument.node.name.node == LAST);
    let has_ids = field.arguments.iter().any(|argument| argument.node.name.node == IDS);
    let by = match items_default {
        None if has_ids => By::Ids,
        None => text.map(By::Text).or(list.map(By::List)).unwrap_or(By::Itself),
        Some(items_default) if is_compared => By::Comparison { items_default },
        Some(items_default) if has_last => By::Range { items_default },
        Some(items_default) => By::Page { items_default },
    };
    (field.name.node.to_string(), Counted { returns: named(&field.ty.node).to_owned(), by })
}

/// The type's name without lists.
fn named(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name.as_str(),
        BaseType::List(item) => named(item),
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_query;
    use serde_json::json;

    use super::*;

    fn checked(document: &str, variables: serde_json::Value) -> ServerResult<usize> {
        let document = parse_query(document).unwrap();
        let (_, operation) = document.operations.iter().next().unwrap();
        let schema = crate::graphql::schema::schema(crate::graphql::SchemaOptions::default());
        let complexity = Complexity::of_schema(&schema, &crate::graphql::sdl(), usize::MAX).unwrap();
        complexity.of(&document, &operation.node, &Variables::from_json(variables))
    }

    fn complexity_with(document: &str, variables: serde_json::Value) -> usize {
        checked(document, variables).unwrap()
    }

    fn complexity(document: &str) -> usize {
        complexity_with(document, json!({}))
    }

    #[test]
    fn each_field_counts_once_and_those_of_a_page_for_each_item() {
        assert_eq!(complexity("{ viewer { id username } }"), 3);
        assert_eq!(complexity("{ feed(first: 7) { nodes { id title } } }"), 7 * 3 + LIST_READ);
        assert_eq!(complexity("{ feed { nodes { id } } }"), 20 * 2 + LIST_READ);
        let nested = "{ feed(first: 3) { nodes { comments(first: 5) { nodes { id } } } } }";
        assert_eq!(complexity(nested), 3 * (1 + 5 * 2 + LIST_READ) + LIST_READ);
    }

    #[test]
    fn nodes_count_their_fields_and_a_read_for_each_id() {
        assert_eq!(complexity("{ nodes(ids: [\"a\", \"b\", \"c\"]) { id } }"), 3 * 2);
        let given = "query($ids: [ID!]!) { nodes(ids: $ids) { id __typename } }";
        assert_eq!(complexity_with(given, json!({ "ids": ["a", "b"] })), 2 * 3);
        let many = vec!["a"; 1000];
        assert_eq!(complexity_with(given, json!({ "ids": many })), 100 * 3);
    }

    #[test]
    fn a_text_counts_as_several_fields() {
        assert_eq!(complexity("{ feed(first: 7) { nodes { id content } } }"), 7 * 22 + LIST_READ);
        let comments = "{ post(id: \"x\") { content a: content comments(first: 3) { nodes { content } } } }";
        assert_eq!(complexity(comments), 1 + 2 * 20 + 3 * 3 + LIST_READ);
    }

    #[test]
    fn a_whole_list_counts_its_fields_for_the_items_that_it_may_have() {
        assert_eq!(complexity("{ productCategories { id name } }"), 100 * 2 + 1);
        let nested = "{ productTags { products(first: 3) { nodes { id tags { name } } } } }";
        assert_eq!(complexity(nested), 100 * (3 * (1 + 1 + 10 + 1) + LIST_READ) + 1);
    }

    #[test]
    fn an_embedded_list_counts_the_items_that_it_may_have() {
        let orders =
            "{ viewerCustomer { salesOrders(first: 7) { nodes { lines { name } } } addresses { city } } }";
        assert_eq!(complexity(orders), 1 + (7 * (1 + 20 + 1) + LIST_READ) + (10 + 1));
        let schema = parse_schema(crate::graphql::sdl()).unwrap();
        for definition in schema.definitions {
            let TypeSystemDefinition::Type(definition) = definition else { continue };
            let TypeKind::Object(object) = definition.node.kind else { continue };
            let name = definition.node.name.node.as_str();
            for field in object.fields.iter().map(|field| &field.node) {
                let is_bounded = |name: &str| matches!(name, FIRST | IDS);
                let has_first =
                    field.arguments.iter().any(|argument| is_bounded(argument.node.name.node.as_str()));
                let (BaseType::List(_), field) = (&field.ty.node.base, field.name.node.as_str()) else {
                    continue;
                };
                // A connection counts the items of its page itself.
                let is_counted = LISTS.iter().any(|(on, list, _)| (*on, *list) == (name, field));
                let is_page = name.ends_with("Connection") || has_first;
                assert!(is_counted || is_page, "{name}.{field} counts as one item");
            }
        }
    }

    #[test]
    fn fragments_count_on_the_types_that_they_name() {
        let document = "{ node(id: \"x\") { ...P ... on User { posts(first: 2) { nodes { id } } } } }
                        fragment P on Post { likes(first: 3) { nodes { id } } }";
        assert_eq!(complexity(document), 1 + (3 * 2 + LIST_READ) + (2 * 2 + LIST_READ));
    }

    #[test]
    fn a_page_size_may_be_a_variable_with_or_without_a_default() {
        let document = "query($n: Int! = 9) { feed(first: $n) { nodes { id } } }";
        assert_eq!(complexity(document), 9 * 2 + LIST_READ);
        assert_eq!(complexity_with(document, json!({ "n": 4 })), 4 * 2 + LIST_READ);
        let missing = "query($n: Int) { feed(first: $n) { nodes { id } } }";
        assert_eq!(complexity(missing), 20 * 2 + LIST_READ);
    }

    #[test]
    fn complexity_of_invalid_page_sizes_does_not_overflow() {
        assert_eq!(complexity("{ feed(first: -5) { nodes { id } } }"), 2 + LIST_READ);
        assert_eq!(complexity("{ feed(first: 2000000000) { nodes { id } } }"), FIRST_MAX * 2 + LIST_READ);
        assert_eq!(complexity("{ nothing { at { all } } }"), 1);
        assert_eq!(page(usize::MAX, usize::MAX), usize::MAX);
    }

    #[test]
    fn a_page_size_that_is_no_number_is_refused_where_it_stands() {
        for first in ["99999999999", "1.5", "\"7\"", "null", "[7]", "$list"] {
            let document = format!("query($list: [Int]) {{ feed(first: {first}) {{ nodes {{ id }} }} }}");
            let error = checked(&document, json!({ "list": [7] })).unwrap_err();
            assert_eq!(error.locations[0].column, 35, "{first}: {error:?}");
        }
    }

    #[test]
    fn a_comparison_counts_what_all_of_its_plans_may_read() {
        let of = |request, items| {
            let document = format!("{{ comparison(request: {request}, first: {items}) {{ model }} }}");
            complexity(&document)
        };
        assert_eq!(of("Q1", 100), 4 + COMPARED_OPERATION * 4);
        assert_eq!(of("Q6", 100), 4 + COMPARED_OPERATION * (2 * 301 + 2));
        assert!(of("Q6", 10) < of("Q6", 100));
    }
}
