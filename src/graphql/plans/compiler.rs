//! The compiler of plans: its document, its results so far, and the reads of the object that is compiled.

use async_graphql::parser::types::OperationDefinition;
use onehop_model::Name;

use super::arguments::DesignArgument;
use super::forms::Form;
use super::plan::{CallerItem, Fields, ListPlan, PlannedField};
use super::schema::PlannedSchema;
use super::selection::{Selected, Selections};
use onehop_graphql_server::json_length::key_length;

/// Bytes that an allocation takes beside its content.
const ALLOCATION_BYTES: usize = 16;

/// Compiles one operation.
pub(super) struct Compiler<'d> {
    pub(super) schema: &'d PlannedSchema,
    pub(super) selections: Selections<'d>,
    pub(super) operation: &'d OperationDefinition,
    pub(super) designs: Vec<DesignArgument>,
    /// The batches of point reads that a data loader would make.
    pub(super) loads: usize,
    /// Bytes of memory of the plan so far, estimated.
    pub(super) bytes: usize,
}

impl<'d> Compiler<'d> {
    /// Adds a field that takes these bytes, without its key, from the response budget.
    pub(super) fn push<V>(
        &mut self,
        planned: &mut Fields<V>,
        selected: &Selected<'_>,
        bytes: usize,
        value: V,
    ) {
        let punctuation = if planned.fields.is_empty() { '{' } else { ',' };
        let before = format!("{punctuation}\"{}\":", selected.key).into_bytes().into_boxed_slice();
        let times = selected.fields.len();
        planned.bytes += times * (key_length(selected.key) + bytes);
        self.bytes += size_of::<PlannedField<V>>() + before.len() + ALLOCATION_BYTES;
        planned.fields.push(PlannedField { before, times, value });
    }

    /// Adds `__typename`, if it is that.
    pub(super) fn push_type_name<V>(
        &mut self,
        planned: &mut Fields<V>,
        selected: &Selected<'_>,
        name: &str,
        constant: fn(Box<[u8]>) -> V,
    ) -> bool {
        let is_type_name = selected.name() == "__typename";
        if is_type_name {
            let value = format!("\"{name}\"").into_bytes().into_boxed_slice();
            let (bytes, counted) = (value.len(), planned.bytes);
            self.push(planned, selected, bytes, constant(value));
            if !self.schema.rules.counts_type_names {
                planned.bytes = counted;
            }
        }
        is_type_name
    }
}

/// The reads of an object.
pub(super) struct ObjectReads<'a, 'd> {
    pub(super) place: Placement,
    pub(super) fetched: &'a mut Fetched<'d>,
    pub(super) outer: Option<Outer<'a, 'd>>,
}

/// The item that an object is below, or that is read together with it.
#[derive(Clone, Copy)]
pub(super) struct Outer<'a, 'd> {
    /// The reference of the object to it.
    pub(super) reference: &'a Name,
    pub(super) form: &'a Form<'d>,
}

/// Where an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// Read by itself: lists may be read for it.
    Alone,
    /// An item of a list.
    Listed,
    /// Read together with another one.
    Beside,
    /// A part of another one.
    Part,
}

/// The further reads for an object, or for the objects of a page.
#[derive(Default)]
pub(super) struct Fetched<'d> {
    pub(super) lists: Vec<ListPlan>,
    pub(super) caller_item: Option<CallerItem>,
    /// The form of the whole items of entries, where fields are selected that entries lack.
    pub(super) whole: Option<Form<'d>>,
    /// Whether cursors are selected.
    pub(super) has_cursors: bool,
}
