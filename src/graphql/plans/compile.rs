//! Compiling: an operation of a validated document becomes a plan or is found ineligible, so that requests do
//! not repeat this work.

use async_graphql::Name;
use async_graphql::parser::types::{ExecutableDocument, Field, OperationDefinition, SelectionSet};
use onehop_model::{FieldKind, Grants, QueryKind};

use super::arguments::{DesignArgument, IdsArgument, has_only};
use super::compiler::{Compiler, Fetched, ObjectReads, Outer, Placement};
use super::forms::Form;
use super::plan::{BesidePlan, Fields, ObjectValue, Plan, PointPlan, RootValue};
use super::schema::{PlannedSchema, PlannedType};
use super::selection::Selections;

/// The types for all of which `node` is compiled. A schema with more has plans for the named ones.
const NODE_TYPES_MAX: usize = 32;

/// Compiles an operation, with the values that its directives' variables have.
pub(super) fn compile(
    schema: &PlannedSchema,
    document: &ExecutableDocument,
    operation: &OperationDefinition,
    is_set: &dyn Fn(&Name) -> Option<bool>,
) -> Option<Plan> {
    if !operation.directives.is_empty() {
        return None;
    }
    let selections = Selections { document, is_set };
    let mut compiler = Compiler { schema, selections, operation, designs: Vec::new(), loads: 0, bytes: 0 };
    let roots = compiler.roots()?;
    if schema.rules.has_loader && compiler.loads > 1 {
        // The loads of one request share their items.
        return None;
    }
    let bytes = size_of::<Plan>() + compiler.bytes;
    Some(Plan { roots, designs: compiler.designs, bytes })
}

impl<'d> Compiler<'d> {
    fn roots(&mut self) -> Option<Fields<RootValue>> {
        let mut roots = Fields::default();
        for selected in self.selections.select(&[&self.operation.selection_set.node], "Query", false)? {
            if self.push_type_name(&mut roots, &selected, "Query", RootValue::Constant) {
                continue;
            }
            let value = self.root(selected.only()?)?;
            self.push(&mut roots, &selected, 0, value);
        }
        Some(roots)
    }

    fn root(&mut self, field: &'d Field) -> Option<RootValue> {
        let name = field.name.node.as_str();
        let sets = [&field.selection_set.node];
        match name {
            "node" => {
                let points = self.nodes(&sets);
                return Some(RootValue::Node(
                    self.ids(field, "id")?,
                    (!points.is_empty()).then_some(points)?,
                ));
            }
            "nodes" if self.schema.rules.has_nodes && self.schema.query(name).is_none() => {
                let points = self.nodes(&sets);
                let points: Vec<_> = points.into_iter().filter(PointPlan::is_alone).collect();
                self.loads += 1;
                return Some(RootValue::Nodes(
                    self.ids(field, "ids")?,
                    (!points.is_empty()).then_some(points)?,
                ));
            }
            _ => {}
        }
        let schema = self.schema;
        let (model, query) = schema.query(name)?;
        let of = schema.type_of(model, &query.item_type)?;
        let planned = schema.model(of);
        if planned.leaves_out("Query", name) {
            return None;
        }
        let design = planned.additions.and_then(|additions| additions.design_argument);
        let design = design.zip(planned.model.model().design());
        let mut arguments = match &query.kind {
            QueryKind::ById => vec!["id"],
            QueryKind::ByUnique(_) => return None,
            QueryKind::Related(related) if !related.arguments().is_empty() => return None,
            QueryKind::Caller => Vec::new(),
            QueryKind::Related(related) if related.page.connection => {
                vec!["first", "after", "last", "before"]
            }
            QueryKind::Related(_) => Vec::new(),
        };
        arguments.extend(design.map(|(argument, _)| argument));
        if !has_only(field, &arguments) {
            return None;
        }
        if let Some((argument, design)) = design {
            self.designs.extend(DesignArgument::of(field, argument, design, self.operation)?);
        }
        let grants = query.authorization.as_ref();
        Some(match &query.kind {
            QueryKind::ById => RootValue::Point(self.ids(field, "id")?, self.point(&sets, of, grants)?),
            QueryKind::Caller if schema.account_type(model) == Some(of) => {
                RootValue::Caller(self.point(&sets, of, grants)?)
            }
            QueryKind::Related(related) => {
                RootValue::List(Box::new(self.list(field, ("Query", name), None, related, grants)?))
            }
            QueryKind::Caller | QueryKind::ByUnique(_) => return None,
        })
    }

    fn ids(&self, field: &Field, argument: &str) -> Option<IdsArgument> {
        has_only(field, &[argument, "model"]).then_some(())?;
        IdsArgument::of(field, argument, self.operation)
    }

    /// The plans of all types for an object of any type.
    fn nodes(&mut self, sets: &[&'d SelectionSet]) -> Vec<PointPlan> {
        let schema = self.schema;
        let all: Vec<PlannedType> = schema.nodes().collect();
        let is_small = all.len() <= NODE_TYPES_MAX;
        let named = if is_small { Vec::new() } else { self.selections.conditions(sets) };
        let (mut points, before, mut most) = (Vec::new(), self.loads, self.loads);
        for of in all {
            if is_small || named.contains(&schema.model(of).model.ty(of.ty).name) {
                // The object is of one type.
                self.loads = before;
                points.extend(self.point(sets, of, None));
                most = most.max(self.loads);
            }
        }
        self.loads = most;
        points
    }

    /// An object that is read by itself, for callers with one of these grants, or with a grant of its type.
    fn point(
        &mut self,
        sets: &[&'d SelectionSet],
        of: PlannedType,
        grants: Option<&Grants>,
    ) -> Option<PointPlan> {
        let planned = self.schema.model(of);
        let form = Form::whole(planned, of);
        let grants = grants.unwrap_or(&planned.model.ty(of.ty).item.authorization.read);
        // A domain in Rust answers null where another one refuses.
        let (place_guard, guard) = match (grants.public, planned.additions) {
            (true, _) => (None, None),
            (false, Some(_)) => (Some(form.place_guard(grants)?), None),
            (false, None) => (None, form.guard(grants)?),
        };
        let read_with = planned.read_with(of.ty).and_then(|field| {
            let FieldKind::Reference(reference) = &field.kind else { return None };
            let target = self.schema.type_of(of.model, &reference.target)?;
            Some((field, target, Form::whole(planned, target)))
        });
        let mut fetched = Fetched::default();
        let outer = read_with.as_ref().map(|(field, _, form)| Outer { reference: &field.name, form });
        let mut within = ObjectReads { place: Placement::Alone, fetched: &mut fetched, outer };
        let object = self.object(sets, &form, &mut within)?;
        let beside = match &read_with {
            Some((_, target, form)) => Some(BesidePlan { ty: target.ty, item: form.item_shape()? }),
            None => None,
        };
        let Fetched { lists, caller_item, .. } = fetched;
        self.loads += usize::from(caller_item.is_some());
        let item = form.item_shape()?;
        Some(PointPlan { of, item, place_guard, guard, object, lists, beside, caller_item })
    }

    /// The selected fields of an object in a stored form.
    pub(super) fn object(
        &mut self,
        sets: &[&'d SelectionSet],
        form: &Form<'d>,
        within: &mut ObjectReads<'_, 'd>,
    ) -> Option<Fields<ObjectValue>> {
        let is_node = form.item_type().is_some_and(|of| form.planned.model.ty(of.ty).item.is_node());
        let mut planned = Fields::default();
        for selected in self.selections.select(sets, form.name, is_node)? {
            let constant = ObjectValue::Constant;
            if self.push_type_name(&mut planned, &selected, form.name, constant) {
                continue;
            }
            let (bytes, value) = self.value(&selected, form, within)?;
            self.push(&mut planned, &selected, bytes, value);
        }
        Some(planned)
    }
}

impl PointPlan {
    /// Whether the object takes one point read and nothing else, for every caller.
    fn is_alone(&self) -> bool {
        let has_reads = !self.lists.is_empty() || self.beside.is_some() || self.caller_item.is_some();
        !has_reads && self.place_guard.is_none()
    }
}
