//! Compiling: an operation of a validated document becomes a plan, or is found to be none for plans. Fragments are expanded,
//! directives decided, and fields with the same response key merged, so that nothing of it is left to the requests.

use async_graphql::parser::types::{
    Directive, ExecutableDocument, Field, OperationDefinition, Selection, SelectionSet,
};
use async_graphql::{Name, Positioned};
use async_graphql_value::Value as InputValue;

use super::arguments::{IdArgument, PageVariables, VariableArgument, has_only, model_of};
use super::fields;
use super::objects::{FieldSource, IdFormat, ListType, ObjectType};
use super::plan::{
    ConnectionPlan, ConnectionValue, EdgeValue, Fields, NodePlans, ObjectValue, PageInfoValue, Plan,
    PlannedField, PointPlan, RootValue,
};
use onehop_graphql_server::json_length::key_length;

/// The interface of what has an id.
const NODE: &str = "Node";
/// Bytes of numbers, of truth values and null, and of objects and lists in the response budget, whatever their values are.
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
    let mut compiler = Compiler { document, operation, is_set, is_for_anonymous: false, models: Vec::new() };
    let roots = compiler.roots()?;
    let Compiler { is_for_anonymous, models, .. } = compiler;
    Some(Plan { roots, is_for_anonymous, models })
}

struct Compiler<'d> {
    document: &'d ExecutableDocument,
    operation: &'d OperationDefinition,
    is_set: &'d dyn Fn(&Name) -> Option<bool>,
    is_for_anonymous: bool,
    models: Vec<VariableArgument>,
}

/// All that is selected under one response key.
struct Selected<'d> {
    key: &'d str,
    /// One for each time that it is selected.
    fields: Vec<&'d Field>,
}

impl<'d> Selected<'d> {
    fn name(&self) -> &'d str {
        self.fields.first().map_or("", |field| field.name.node.as_str())
    }

    /// The only field; one with arguments that is selected twice may take two reads.
    fn only(&self) -> Option<&'d Field> {
        match self.fields.as_slice() {
            [field] => Some(field),
            _ => None,
        }
    }

    fn sets(&self) -> Vec<&'d SelectionSet> {
        self.fields.iter().map(|field| &field.selection_set.node).collect()
    }
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
    /// What selection sets select of an object of a type, in order; `None` where a directive is none that is known here.
    fn select(&self, sets: &[&'d SelectionSet], type_name: &str, is_node: bool) -> Option<Vec<Selected<'d>>> {
        let mut selected = Vec::new();
        for set in sets {
            self.add(set, type_name, is_node, &mut selected)?;
        }
        Some(selected)
    }

    fn add(
        &self,
        set: &'d SelectionSet,
        type_name: &str,
        is_node: bool,
        selected: &mut Vec<Selected<'d>>,
    ) -> Option<()> {
        for selection in &set.items {
            if !self.is_included(selection.node.directives())? {
                continue;
            }
            let (condition, within) = match &selection.node {
                Selection::Field(field) => {
                    add_field(&field.node, selected)?;
                    continue;
                }
                Selection::InlineFragment(inline) => {
                    (inline.node.type_condition.as_ref(), &inline.node.selection_set)
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = self.document.fragments.get(&spread.node.fragment_name.node)?;
                    if !fragment.node.directives.is_empty() {
                        return None;
                    }
                    (Some(&fragment.node.type_condition), &fragment.node.selection_set)
                }
            };
            let on = condition.map_or(type_name, |condition| condition.node.on.node.as_str());
            if on == type_name || (is_node && on == NODE) {
                self.add(&within.node, type_name, is_node, selected)?;
            }
        }
        Some(())
    }

    fn is_included(&self, directives: &[Positioned<Directive>]) -> Option<bool> {
        let mut is_included = true;
        for directive in directives {
            let includes = match directive.node.name.node.as_str() {
                "include" => true,
                "skip" => false,
                _ => return None,
            };
            let is_set = match &directive.node.get_argument("if")?.node {
                InputValue::Boolean(is_set) => *is_set,
                InputValue::Variable(name) => (self.is_set)(name)?,
                _ => return None,
            };
            is_included &= is_set == includes;
        }
        Some(is_included)
    }

    fn roots(&mut self) -> Option<Fields<RootValue>> {
        let mut roots = Fields::default();
        for selected in self.select(&[&self.operation.selection_set.node], "Query", false)? {
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
        if name != "node" {
            self.models.extend(model_of(field, self.operation)?);
        }
        let id = || IdArgument::of(field, self.operation);
        let arguments: &[&str] = match name {
            "node" => &["id"],
            "user" | "post" => &["id", "model"],
            "feed" => &["first", "after", "model"],
            _ => return None,
        };
        if !has_only(field, arguments) {
            return None;
        }
        Some(match name {
            "user" => RootValue::User(id()?, self.point(field, &fields::USER)?),
            "post" => RootValue::Post(id()?, self.point(field, &fields::POST)?),
            "feed" => RootValue::List(self.connection(field, &fields::FEED)?),
            _ => {
                let (user, post) = (self.point(field, &fields::USER), self.point(field, &fields::POST));
                if user.is_none() && post.is_none() {
                    return None;
                }
                RootValue::Node(id()?, NodePlans { user, post })
            }
        })
    }

    fn point(&mut self, field: &'d Field, object: &ObjectType) -> Option<PointPlan> {
        let mut lists = Vec::new();
        let object = self.object(&[&field.selection_set.node], object, &mut Within::Item(&mut lists))?;
        Some(PointPlan { object, lists })
    }

    fn object(
        &mut self,
        sets: &[&'d SelectionSet],
        object: &ObjectType,
        within: &mut Within<'_>,
    ) -> Option<Fields<ObjectValue>> {
        let mut planned = Fields::default();
        for selected in self.select(sets, object.name, true)? {
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
            FieldSource::WholeText(slot) if within.is_item() => (0, ObjectValue::Text(slot)),
            FieldSource::OptionalText(slot) => (0, ObjectValue::OptionalText(slot)),
            FieldSource::Count(slot) => (NUMBER_BYTES, ObjectValue::Count(slot)),
            FieldSource::TextVersion(slot) => (NUMBER_BYTES, ObjectValue::TextVersion(slot)),
            FieldSource::Summary { content, excerpt } => (0, ObjectValue::Summary { content, excerpt }),
            FieldSource::GlobalId(format) => {
                let bytes = match format {
                    IdFormat::User(_) | IdFormat::Post(_) => SHORT_ID_BYTES,
                    IdFormat::Comment(..) | IdFormat::Like(..) => LONG_ID_BYTES,
                };
                (bytes, ObjectValue::GlobalId(format))
            }
            FieldSource::FalseForAnonymous => {
                self.is_for_anonymous = true;
                (WORD_BYTES, ObjectValue::Constant(Box::from(&b"false"[..])))
            }
            FieldSource::Object(object) => {
                let fields = self.object(&selected.sets(), object, &mut Within::List)?;
                // Each object within is counted as often as it is selected; what is selected of it, once each.
                (NESTED_BYTES, ObjectValue::Object(fields))
            }
            FieldSource::List(list) => {
                let Within::Item(lists) = within else { return None };
                let field = selected.only()?;
                if !has_only(field, &["first", "after"]) {
                    return None;
                }
                lists.push(self.connection(field, list)?);
                (NESTED_BYTES, ObjectValue::List(lists.len() - 1))
            }
            FieldSource::WholeText(_) => return None,
        })
    }

    fn connection(&mut self, field: &'d Field, list: &'static ListType) -> Option<ConnectionPlan> {
        let page = PageVariables::of(field, self.operation, list.cursor)?;
        let mut planned = Fields::default();
        for selected in self.select(&[&field.selection_set.node], list.connection, false)? {
            if planned.push_type_name(&selected, list.connection, ConnectionValue::Constant) {
                continue;
            }
            let sets = selected.sets();
            let value = match selected.name() {
                "nodes" => ConnectionValue::Nodes(self.object(&sets, list.node, &mut Within::List)?),
                "edges" => ConnectionValue::Edges(self.edges(&sets, list)?),
                "pageInfo" => ConnectionValue::PageInfo(self.page_info(&sets)?),
                _ => return None,
            };
            planned.push(&selected, NESTED_BYTES, value);
        }
        Some(ConnectionPlan { list, page, fields: planned })
    }

    fn edges(&mut self, sets: &[&'d SelectionSet], list: &'static ListType) -> Option<Fields<EdgeValue>> {
        let mut planned = Fields::default();
        for selected in self.select(sets, list.edge, false)? {
            if planned.push_type_name(&selected, list.edge, EdgeValue::Constant) {
                continue;
            }
            match selected.name() {
                "node" => {
                    let node = self.object(&selected.sets(), list.node, &mut Within::List)?;
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
        for selected in self.select(sets, "PageInfo", false)? {
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

/// What an object is read with.
enum Within<'a> {
    /// By itself: it is whole, and lists may be read for it.
    Item(&'a mut Vec<ConnectionPlan>),
    /// On a page, or as a part of another object.
    List,
}

impl Within<'_> {
    fn is_item(&self) -> bool {
        matches!(self, Self::Item(_))
    }
}

/// Adds a field under its response key; `None` where another field has it, or this one with other arguments.
fn add_field<'d>(field: &'d Field, selected: &mut Vec<Selected<'d>>) -> Option<()> {
    let key = field.response_key().node.as_str();
    match selected.iter_mut().find(|selected| selected.key == key) {
        Some(before) if before.name() != field.name.node.as_str() => return None,
        Some(before) => before.fields.push(field),
        None => selected.push(Selected { key, fields: vec![field] }),
    }
    Some(())
}
