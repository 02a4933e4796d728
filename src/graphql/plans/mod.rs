//! Compiled plans: queries whose answers are written straight from stored JSON into the response.
//!
//! An operation of a validated document is compiled once, where each field that it selects is stored in an
//! item that is read, is a constant, or is computed from ids. Whether that is so is decided here, so that
//! requests ask nothing. A case that a plan was not made for ends it at run time, and the general executor
//! answers. Both give the same bytes. Types and fields come from models; no domain is named here.

mod arguments;
mod compile;
mod compiler;
mod computed;
mod fields;
mod forms;
mod guards;
mod lists;
mod plan;
mod read;
mod request;
mod scalars;
mod schema;
mod selection;
mod unplanned;
mod write;
mod write_lists;
mod write_values;

use std::ops::ControlFlow;
use std::sync::OnceLock;

use async_graphql::parser::types::{
    Directive, ExecutableDocument, Field, OperationDefinition, OperationType, Selection,
};
use async_graphql::{Name, Positioned, Value, Variables};
use async_graphql_value::Value as InputValue;

use self::plan::Plan;
use self::read::PlanReader;
pub(super) use self::request::{PlanCaller, PlanRequest};
pub use self::schema::PlannedDomain;
pub(super) use self::schema::{ExecutorRules, PlannedSchema};
use onehop_graphql_server::document::Document;
use onehop_graphql_server::selections::{SelectionVisitor, visit};
use onehop_graphql_server::written_response::WrittenData;

/// Variables of `@skip` and `@include` in one operation, at most: there is a plan for each combination
/// of their values.
const CONDITIONS_MAX: usize = 2;

/// Bytes of one plan. A larger one is not kept, and the general executor answers.
const PLAN_BYTES_MAX: usize = 128 * 1024;

/// The plans of one operation: one for each combination of the variables of its directives, made when
/// it is first needed.
#[derive(Debug)]
pub(super) struct OperationPlans {
    conditions: Vec<Name>,
    /// By the values of the conditions as bits; empty for an operation that no plan fits.
    variants: Vec<OnceLock<Option<Plan>>>,
}

/// A plan that fits a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct FittingPlan<'a>(&'a Plan);

impl OperationPlans {
    /// The plans of an operation of a validated document.
    pub(super) fn of(document: &ExecutableDocument, operation: &OperationDefinition) -> Self {
        let mut conditions = Conditions(Vec::new());
        let is_query = operation.ty == OperationType::Query;
        let selections = &operation.selection_set.node;
        if !is_query || conditions.collect(document, selections).is_break() {
            return Self { conditions: Vec::new(), variants: Vec::new() };
        }
        let variants = (0..1_usize << conditions.0.len()).map(|_| OnceLock::new()).collect();
        Self { conditions: conditions.0, variants }
    }

    /// Bytes of memory for the plans, without their content.
    pub(super) fn bytes(&self) -> usize {
        self.conditions.capacity() * size_of::<Name>()
            + self.variants.capacity() * size_of::<OnceLock<Option<Plan>>>()
    }

    /// The plan for a request with these variables, if there is one. A plan that is made here adds its
    /// bytes to the document's.
    pub(super) fn plan(
        &self,
        schema: &PlannedSchema,
        document: &Document,
        operation: &OperationDefinition,
        variables: &Variables,
    ) -> Option<FittingPlan<'_>> {
        let mut variant = 0_usize;
        for (bit, condition) in self.conditions.iter().enumerate() {
            match variables.get(condition) {
                Some(Value::Boolean(is_set)) => variant |= usize::from(*is_set) << bit,
                _ => return None,
            }
        }
        let is_set = |name: &Name| {
            let bit = self.conditions.iter().position(|condition| condition == name)?;
            Some(variant >> bit & 1 == 1)
        };
        let plan = self.variants.get(variant)?;
        let compile = || {
            let plan = compile::compile(schema, &document.definitions, operation, &is_set)?;
            let bytes = plan.bytes;
            let is_kept = bytes <= PLAN_BYTES_MAX;
            document.add_compiled_bytes(if is_kept { bytes } else { 0 });
            is_kept.then_some(plan)
        };
        let plan = plan.get_or_init(compile).as_ref()?;
        plan.designs.iter().all(|design| design.fits(variables)).then_some(FittingPlan(plan))
    }
}

impl FittingPlan<'_> {
    /// Reads, and writes the data of the response; `None` where something was not as the plan expects it.
    pub(super) async fn run(self, request: PlanRequest<'_>) -> Option<WrittenData> {
        let read = PlanReader(request).read(self.0).await.ok()?;
        write::write(self.0, &read, request).ok()
    }
}

/// The variables of all `@skip` and `@include` of an operation.
struct Conditions(Vec<Name>);

impl Conditions {
    fn collect<'a>(
        &mut self,
        document: &'a ExecutableDocument,
        selections: &'a async_graphql::parser::types::SelectionSet,
    ) -> ControlFlow<()> {
        // Fragments are visited wherever they are spread.
        let mut within = ConditionScope { conditions: self, fields: Vec::new() };
        visit(document, selections, "", &mut within)?;
        let fields = within.fields;
        fields.into_iter().try_for_each(|field| self.collect(document, &field.selection_set.node))
    }

    fn add(&mut self, directives: &[Positioned<Directive>]) -> ControlFlow<()> {
        for directive in directives {
            let Some(InputValue::Variable(name)) = directive.node.get_argument("if").map(|value| &value.node)
            else {
                continue;
            };
            if self.0.contains(name) {
                continue;
            }
            if self.0.len() == CONDITIONS_MAX {
                return ControlFlow::Break(());
            }
            self.0.push(name.clone());
        }
        ControlFlow::Continue(())
    }
}

struct ConditionScope<'c, 'a> {
    conditions: &'c mut Conditions,
    fields: Vec<&'a Field>,
}

impl<'a> SelectionVisitor<'a> for ConditionScope<'_, 'a> {
    type Break = ();

    fn field(&mut self, field: &'a Positioned<Field>, _on: &'a str) -> ControlFlow<()> {
        self.fields.push(&field.node);
        self.conditions.add(&field.node.directives)
    }

    fn fragment(&mut self, fragment: &'a Selection) -> ControlFlow<()> {
        self.conditions.add(fragment.directives())
    }
}
