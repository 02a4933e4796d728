//! Compiling: an operation of a validated document becomes a plan or is found ineligible, so that requests do
//! not repeat this work.

use async_graphql::Name;
use async_graphql::parser::types::{ExecutableDocument, Field, OperationDefinition, SelectionSet};

use super::arguments::{IdArgument, PageVariables, VariableArgument, has_only, model_of};
use super::objects::{FieldSource, IdFormat, ListItems, ListType, ObjectType, PointType, RootSource};
use super::plan::{
    ConnectionPlan, ConnectionValue, EdgeValue, Fields, ObjectValue, PageInfoValue, Plan, PlannedField,
    PointPlan, RootValue,
};
use super::root_fields::ROOT_FIELDS;
use super::selection::{Selected, Selections};
use onehop_graphql_server::json_length::key_length;

/// Bytes of numbers, of truth values and null, and of objects and lists in the response budget, for any
/// values.
const NUMBER_BYTES: usize = 8;
const WORD_BYTES: usize = 5;
const NESTED_BYTES: usize = 3;
/// Bytes of the shorter and the longer global ids, with their quotes.
const SHORT_ID_BYTES: usize = 23 + 2;
const LONG_ID_BYTES: usize = 44 + 2;

/// Compiles an operation, with the values that its directives' variables have.
pub(super) fn compile(
    document: &ExecutableDocument,
    operation: &OperationDefinition,
    is_set: &dyn Fn(&Name) -> Option<bool>,
) -> Option<Plan> {
    if !operation.directives.is_empty() {
        return None;
    }
    let selections = Selections { document, is_set };
    let mut compiler = Compiler { selections, operation, models: Vec::new() };
    let roots = compiler.roots()?;
    Some(Plan { roots, models: compiler.models })
}

struct Compiler<'d> {
    selections: Selections<'d>,
    operation: &'d OperationDefinition,
    models: Vec<VariableArgument>,
}

impl<V> Fields<V> {
    /// Adds a field that takes these bytes, without its key, from the response budget.
    fn push(&mut self, selected: &Selected<'_>, bytes: usize, value: V) {
        let punctuation = if self.fields.is_empty() { '{' } else { ',' };
        let before = format!("{punctuation}\"{}\":", selected.key).into_bytes().into_boxed_slice();
        let times = selected.fields.len();
        self.bytes += times * (key_length(selected.key) + bytes);
        self.fields.push(PlannedField { before, times, value });
    }

    /// Adds `__typename`, if it is that.
    fn push_type_name(&mut self, selected: &Selected<'_>, name: &str, constant: fn(Box<[u8]>) -> V) -> bool {
        let is_type_name = selected.name() == "__typename";
        if is_type_name {
            let value = format!("\"{name}\"").into_bytes().into_boxed_slice();
            self.push(selected, value.len(), constant(value));
        }
        is_type_name
    }
}

impl<'d> Compiler<'d> {
    fn roots(&mut self) -> Option<Fields<RootValue>> {
        let mut roots = Fields::default();
        for selected in self.selections.select(&[&self.operation.selection_set.node], "Query", false)? {
            if roots.push_type_name(&selected, "Query", RootValue::Constant) {
                continue;
            }
            let value = self.root(selected.only()?)?;
            roots.push(&selected, 0, value);
        }
        Some(roots)
    }

    fn root(&mut self, field: &'d Field) -> Option<RootValue> {
        let name = field.name.node.as_str();
        let root = ROOT_FIELDS.iter().find(|root| root.name == name)?;
        let arguments: &[&str] = match (root.source, root.has_model) {
            (RootSource::Point(_) | RootSource::Node(_), false) => &["id"],
            (RootSource::Point(_) | RootSource::Node(_), true) => &["id", "model"],
            (RootSource::Page(_), _) => &["first", "after", "model"],
            (RootSource::Caller(_) | RootSource::All(_), _) => &[],
        };
        if !has_only(field, arguments) {
            return None;
        }
        if root.has_model {
            self.models.extend(model_of(field, self.operation)?);
        }
        Some(match root.source {
            RootSource::Point(point) => RootValue::Point(self.id(field)?, point, self.point(field, point)?),
            RootSource::Node(points) => {
                let plans = points.iter().filter_map(|point| Some((*point, self.point(field, point)?)));
                let plans: Vec<_> = plans.collect();
                if plans.is_empty() {
                    return None;
                }
                RootValue::Node(self.id(field)?, plans)
            }
            RootSource::Caller(point) => RootValue::Caller(point, self.point(field, point)?),
            RootSource::Page(list) => RootValue::Page(self.connection(field, list)?),
            RootSource::All(items) => {
                let mut found = Found::default();
                let nodes = self.nodes(&[&field.selection_set.node], items, &mut found)?;
                RootValue::All(items, nodes)
            }
        })
    }

    fn id(&self, field: &Field) -> Option<IdArgument> {
        IdArgument::of(field, self.operation)
    }

    fn point(&mut self, field: &'d Field, point: &PointType) -> Option<PointPlan> {
        let mut found = Found::default();
        let mut within = Within { place: Place::Alone, found: &mut found };
        let object = self.object(&[&field.selection_set.node], point.object, &mut within)?;
        let Found { lists, likes_asked, .. } = found;
        Some(PointPlan { object, lists, likes_asked })
    }

    fn object(
        &mut self,
        sets: &[&'d SelectionSet],
        object: &ObjectType,
        within: &mut Within<'_>,
    ) -> Option<Fields<ObjectValue>> {
        let mut planned = Fields::default();
        for selected in self.selections.select(sets, object.name, true)? {
            if planned.push_type_name(&selected, object.name, ObjectValue::Constant) {
                continue;
            }
            let source = object.source(selected.name())?;
            let (bytes, value) = self.value(&selected, source, within)?;
            planned.push(&selected, bytes, value);
        }
        Some(planned)
    }

    /// The value of a field, and the bytes that it takes from the response budget each time it is selected.
    fn value(
        &mut self,
        selected: &Selected<'d>,
        source: &'static FieldSource,
        within: &mut Within<'_>,
    ) -> Option<(usize, ObjectValue)> {
        Some(match *source {
            FieldSource::Text(slot) => (0, ObjectValue::Text(slot)),
            FieldSource::WholeText(slot) if within.is_whole() => (0, ObjectValue::Text(slot)),
            FieldSource::Content { content, .. } if within.is_whole() => (0, ObjectValue::Text(content)),
            FieldSource::Content { content, excerpt } => {
                within.found.asks_contents = true;
                (0, ObjectValue::ContentOnPage { content, excerpt })
            }
            FieldSource::OptionalText(slot) => (0, ObjectValue::OptionalText(slot)),
            FieldSource::DateOfId(slot) => (0, ObjectValue::DateOfId(slot)),
            FieldSource::OuterText(slot) => (0, ObjectValue::OuterText(slot)),
            FieldSource::Count(slot) => (NUMBER_BYTES, ObjectValue::Count(slot)),
            FieldSource::TextVersion(slot) => (NUMBER_BYTES, ObjectValue::TextVersion(slot)),
            FieldSource::Summary { content, excerpt } => (0, ObjectValue::Summary { content, excerpt }),
            FieldSource::Amount(amount) => (0, ObjectValue::Amount(amount)),
            FieldSource::GlobalId(format) => (id_bytes(format), ObjectValue::GlobalId(format)),
            FieldSource::ViewerHasLiked => {
                within.found.likes_asked += selected.fields.len();
                (WORD_BYTES, ObjectValue::ViewerHasLiked)
            }
            FieldSource::ViewerRight(right) => (WORD_BYTES, ObjectValue::ViewerRight(right)),
            // Each object within is counted as often as it is selected; its selected fields, once each.
            FieldSource::Object(object) => {
                let fields = self.object(&selected.sets(), object, &mut within.at(Place::Part))?;
                (NESTED_BYTES, ObjectValue::Object(fields))
            }
            FieldSource::Objects(slot, shape, object) => {
                let fields = self.object(&selected.sets(), object, &mut within.at(Place::Part))?;
                (NESTED_BYTES, ObjectValue::Objects(slot, shape, fields))
            }
            FieldSource::Beside(object) if within.place == Place::Alone => {
                let fields = self.object(&selected.sets(), object, &mut within.at(Place::Beside))?;
                (NESTED_BYTES, ObjectValue::Beside(fields))
            }
            FieldSource::List(list) if within.place == Place::Alone => {
                let field = selected.only()?;
                if !has_only(field, &["first", "after"]) {
                    return None;
                }
                let connection = self.connection(field, list)?;
                within.found.lists.push(connection);
                (NESTED_BYTES, ObjectValue::List(within.found.lists.len() - 1))
            }
            FieldSource::WholeText(_) | FieldSource::Beside(_) | FieldSource::List(_) => return None,
        })
    }

    /// The selection of the items of a list.
    fn nodes(
        &mut self,
        sets: &[&'d SelectionSet],
        items: &ListItems,
        found: &mut Found,
    ) -> Option<Fields<ObjectValue>> {
        let place = if items.is_whole { Place::WholeInList } else { Place::CopyInList };
        self.object(sets, items.node, &mut Within { place, found })
    }

    fn connection(&mut self, field: &'d Field, list: &'static ListType) -> Option<ConnectionPlan> {
        let page = PageVariables::of(field, self.operation)?;
        let (mut planned, mut found) = (Fields::default(), Found::default());
        for selected in self.selections.select(&[&field.selection_set.node], list.connection, false)? {
            if planned.push_type_name(&selected, list.connection, ConnectionValue::Constant) {
                continue;
            }
            let sets = selected.sets();
            let value = match selected.name() {
                "nodes" => ConnectionValue::Nodes(self.nodes(&sets, &list.items, &mut found)?),
                "edges" => ConnectionValue::Edges(self.edges(&sets, list, &mut found)?),
                "pageInfo" => ConnectionValue::PageInfo(self.page_info(&sets)?),
                _ => return None,
            };
            planned.push(&selected, NESTED_BYTES, value);
        }
        let Found { likes_asked, asks_contents, .. } = found;
        Some(ConnectionPlan { list, page, fields: planned, asks_likes: likes_asked > 0, asks_contents })
    }

    fn edges(
        &mut self,
        sets: &[&'d SelectionSet],
        list: &'static ListType,
        found: &mut Found,
    ) -> Option<Fields<EdgeValue>> {
        let mut planned = Fields::default();
        for selected in self.selections.select(sets, list.edge, false)? {
            if planned.push_type_name(&selected, list.edge, EdgeValue::Constant) {
                continue;
            }
            match selected.name() {
                "node" => {
                    let node = self.nodes(&selected.sets(), &list.items, found)?;
                    planned.push(&selected, NESTED_BYTES, EdgeValue::Node(node));
                }
                "cursor" => planned.push(&selected, 0, EdgeValue::Cursor),
                _ => return None,
            }
        }
        Some(planned)
    }

    fn page_info(&self, sets: &[&'d SelectionSet]) -> Option<Fields<PageInfoValue>> {
        let mut planned = Fields::default();
        for selected in self.selections.select(sets, "PageInfo", false)? {
            if planned.push_type_name(&selected, "PageInfo", PageInfoValue::Constant) {
                continue;
            }
            let (bytes, value) = match selected.name() {
                "hasNextPage" => (WORD_BYTES, PageInfoValue::HasNextPage),
                "hasPreviousPage" => (WORD_BYTES, PageInfoValue::HasPreviousPage),
                "startCursor" => (0, PageInfoValue::StartCursor),
                "endCursor" => (0, PageInfoValue::EndCursor),
                _ => return None,
            };
            planned.push(&selected, bytes, value);
        }
        Some(planned)
    }
}

fn id_bytes(format: IdFormat) -> usize {
    match format {
        IdFormat::User(_)
        | IdFormat::Post(_)
        | IdFormat::Customer(_)
        | IdFormat::ProductCategory(_)
        | IdFormat::ProductTag(_) => SHORT_ID_BYTES,
        IdFormat::Comment(..) | IdFormat::Like(..) | IdFormat::SalesOrder(..) | IdFormat::Product(..) => {
            LONG_ID_BYTES
        }
    }
}

/// The reads of an object.
struct Within<'a> {
    place: Place,
    found: &'a mut Found,
}

/// Where an object is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Read by itself: lists may be read for it.
    Alone,
    /// Read together with another one.
    Beside,
    WholeInList,
    CopyInList,
    /// A part of another one.
    Part,
}

/// The further reads for an object, or for the objects of a page.
#[derive(Default)]
struct Found {
    lists: Vec<ConnectionPlan>,
    /// The number of selections of whether the caller likes a post.
    likes_asked: usize,
    /// Whether contents are selected of short copies of posts.
    asks_contents: bool,
}

impl Within<'_> {
    fn is_whole(&self) -> bool {
        matches!(self.place, Place::Alone | Place::Beside | Place::WholeInList)
    }

    fn at(&mut self, place: Place) -> Within<'_> {
        Within { place, found: self.found }
    }
}
