//! How objects are resolved: what is at hand is written down at once, what has to be read is awaited.
//!
//! Most fields of an answer are in the item that was read. For these the general way of resolving (a boxed future
//! for each field of each object) is most of a list's cost, so an object first answers its whole selection without
//! futures, and takes the general way only when a selected field needs the store. Either way fields stand in the
//! order of the selection, and an error of a field that cannot be null makes its object null, not incomplete.
//!
//! Either way each field takes its bytes from the response budget of the request, so that a response that grows too
//! large is not built to its end.

use std::borrow::Cow;
use std::sync::Arc;

use async_graphql::indexmap::IndexMap;
use async_graphql::indexmap::map::Entry;
use async_graphql::parser::types::{Field, Selection, SelectionSet};
use async_graphql::registry::Registry;
use async_graphql::resolver_utils::ContainerType;
use async_graphql::{
    ContextBase, ContextSelectionSet, Name, OutputType, Positioned, ServerError, ServerResult, Value,
};
use futures::future::{BoxFuture, try_join_all};

use super::scope::RequestScope;
use onehop_graphql_server::json_length::{key_length, leaf_length};
use onehop_graphql_server::response_limits::ResponseRefused;

/// The interface that every object of this trait implements, unless it says otherwise.
const NODE: &str = "Node";

/// An object that knows which of its fields need no read.
pub(super) trait AtHand: Send + Sync {
    /// The object's name in the schema.
    const TYPE: &'static str;
    /// Whether the object is a `Node`.
    const IS_NODE: bool;

    /// The value of a field, or `None` when something has to be read for it.
    fn at_hand(&self, field: &Field, scope: Scope<'_>) -> Option<Value>;
}

impl<T: AtHand> AtHand for Arc<T> {
    const TYPE: &'static str = T::TYPE;
    const IS_NODE: bool = T::IS_NODE;

    fn at_hand(&self, field: &Field, scope: Scope<'_>) -> Option<Value> {
        T::at_hand(self, field, scope)
    }
}

impl<T: AtHand> AtHand for &T {
    const TYPE: &'static str = T::TYPE;
    const IS_NODE: bool = T::IS_NODE;

    fn at_hand(&self, field: &Field, scope: Scope<'_>) -> Option<Value> {
        T::at_hand(self, field, scope)
    }
}

/// Where a value is resolved: the request's context at some selection.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    context: &'a ContextSelectionSet<'a>,
    request: &'a RequestScope,
}

impl<'a> Scope<'a> {
    fn new(context: &'a ContextSelectionSet<'a>) -> Self {
        Self { context, request: super::scope::of(context) }
    }

    /// The request that is answered.
    pub(super) fn request(self) -> &'a RequestScope {
        self.request
    }

    /// Takes the bytes of a field from the response budget.
    fn take(self, key: &str, value: &Value) -> Result<(), ResponseRefused> {
        self.request().budget().take(key_length(key) + leaf_length(value))
    }

    /// An object within, if all that is selected of it is at hand.
    pub(super) fn object<T: AtHand>(self, field: &Field, object: &T) -> Option<Value> {
        self.fields::<T>(&field.selection_set.node, |field| object.at_hand(field, self))
    }

    /// A list of objects within, if all that is selected of them is at hand.
    pub(super) fn list<'o, T: AtHand + 'o>(
        self,
        field: &Field,
        objects: impl ExactSizeIterator<Item = &'o T>,
    ) -> Option<Value> {
        let mut values = Vec::with_capacity(objects.len());
        for object in objects {
            values.push(self.object(field, object)?);
        }
        Some(Value::List(values))
    }

    /// An object of type `T` whose fields are given by a function.
    pub(super) fn fields<T: AtHand>(
        self,
        selections: &SelectionSet,
        field: impl Fn(&Field) -> Option<Value>,
    ) -> Option<Value> {
        let mut values = IndexMap::with_capacity(selections.items.len());
        self.fill::<T>(selections, &field, &mut values)?;
        Some(Value::Object(values))
    }

    fn fill<T: AtHand>(
        self,
        selections: &SelectionSet,
        field_value: &impl Fn(&Field) -> Option<Value>,
        values: &mut IndexMap<Name, Value>,
    ) -> Option<()> {
        for selection in &selections.items {
            match &selection.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    let value = if field.name.node == "__typename" {
                        Value::String(T::TYPE.to_owned())
                    } else {
                        field_value(field)?
                    };
                    let key = &field.response_key().node;
                    self.take(key, &value).ok()?;
                    merge(values, key.clone(), value);
                }
                fragment => {
                    if let Some(selections) = self.applicable::<T>(fragment) {
                        self.fill::<T>(&selections.node, field_value, values)?;
                    }
                }
            }
        }
        Some(())
    }

    /// The fields that are selected of an object of type `T`, with fragments written out.
    fn collect<T: AtHand>(self, selections: &'a SelectionSet, fields: &mut Vec<&'a Positioned<Field>>) {
        for selection in &selections.items {
            match &selection.node {
                Selection::Field(field) => fields.push(field),
                fragment => {
                    if let Some(selections) = self.applicable::<T>(fragment) {
                        self.collect::<T>(&selections.node, fields);
                    }
                }
            }
        }
    }

    /// The selections of a fragment, if it applies to objects of type `T`.
    fn applicable<'s, T: AtHand>(self, fragment: &'s Selection) -> Option<&'s Positioned<SelectionSet>>
    where
        'a: 's,
    {
        let (condition, selections) = match fragment {
            Selection::Field(_) => return None,
            Selection::InlineFragment(inline) => {
                (inline.node.type_condition.as_ref(), &inline.node.selection_set)
            }
            Selection::FragmentSpread(spread) => {
                let fragment = self.context.query_env.fragments.get(&spread.node.fragment_name.node)?;
                (Some(&fragment.node.type_condition), &fragment.node.selection_set)
            }
        };
        let condition = condition.map(|condition| condition.node.on.node.as_str());
        condition.is_none_or(|on| on == T::TYPE || (T::IS_NODE && on == NODE)).then_some(selections)
    }
}

/// An object as the value of a field.
pub(super) struct One<T>(pub(super) T);

impl<T: AtHand + ContainerType> OutputType for One<T> {
    fn type_name() -> Cow<'static, str> {
        T::type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        T::create_type_info(registry)
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        _field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        resolve(ctx, &self.0).await
    }
}

/// A list of objects as the value of a field.
pub(super) struct Many<'a, T>(pub(super) Vec<&'a T>);

impl<T: AtHand + ContainerType> OutputType for Many<'_, T> {
    fn type_name() -> Cow<'static, str> {
        <Vec<T> as OutputType>::type_name()
    }

    fn qualified_type_name() -> String {
        <Vec<T> as OutputType>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <Vec<T> as OutputType>::create_type_info(registry)
    }

    async fn resolve(
        &self,
        ctx: &ContextSelectionSet<'_>,
        _field: &Positioned<Field>,
    ) -> ServerResult<Value> {
        let items = self.0.iter().enumerate().map(|(index, object)| {
            let ctx = ctx.with_index(index);
            async move { resolve(&ctx, *object).await }
        });
        Ok(Value::List(try_join_all(items).await?))
    }
}

/// A whole list of objects as the value of a field.
pub(super) struct All<T>(pub(super) Vec<T>);

impl<T: AtHand + ContainerType> OutputType for All<T> {
    fn type_name() -> Cow<'static, str> {
        <Vec<T> as OutputType>::type_name()
    }

    fn qualified_type_name() -> String {
        <Vec<T> as OutputType>::qualified_type_name()
    }

    fn create_type_info(registry: &mut Registry) -> String {
        <Vec<T> as OutputType>::create_type_info(registry)
    }

    async fn resolve(&self, ctx: &ContextSelectionSet<'_>, field: &Positioned<Field>) -> ServerResult<Value> {
        Many(self.0.iter().collect()).resolve(ctx, field).await
    }
}

/// Resolves what is selected of an object.
pub(super) async fn resolve<T: AtHand + ContainerType>(
    ctx: &ContextSelectionSet<'_>,
    object: &T,
) -> ServerResult<Value> {
    let scope = Scope::new(ctx);
    let at_hand = || scope.fields::<T>(&ctx.item.node, |field| object.at_hand(field, scope));
    if let Some(value) = within_budget(scope, at_hand).map_err(|refused| over_budget(ctx, refused))? {
        return Ok(value);
    }
    let mut fields = Vec::with_capacity(ctx.item.node.items.len());
    scope.collect::<T>(&ctx.item.node, &mut fields);
    let values = try_join_all(fields.iter().map(|field| resolve_field(ctx, object, field))).await?;
    let mut object = IndexMap::with_capacity(fields.len());
    for (field, value) in fields.into_iter().zip(values) {
        merge(&mut object, field.node.response_key().node.clone(), value);
    }
    Ok(Value::Object(object))
}

fn resolve_field<'a, T: AtHand + ContainerType>(
    ctx: &'a ContextSelectionSet<'a>,
    object: &'a T,
    field: &'a Positioned<Field>,
) -> BoxFuture<'a, ServerResult<Value>> {
    Box::pin(async move {
        let scope = Scope::new(ctx);
        let refuse = |refused| over_budget(&ctx.with_field(field), refused);
        let at_hand = if field.node.name.node == "__typename" {
            Some(Value::String(T::TYPE.to_owned()))
        } else {
            within_budget(scope, || object.at_hand(&field.node, scope)).map_err(refuse)?
        };
        let value = match at_hand {
            Some(value) => value,
            None => object.resolve_field(&ctx.with_field(field)).await?.unwrap_or_default(),
        };
        scope.take(&field.node.response_key().node, &value).map_err(refuse)?;
        Ok(value)
    })
}

/// What is at hand within the response budget. What was taken for something that is not gives its bytes back.
fn within_budget<T>(
    scope: Scope<'_>,
    at_hand: impl FnOnce() -> Option<T>,
) -> Result<Option<T>, ResponseRefused> {
    let budget = scope.request().budget();
    let used = budget.used();
    let value = at_hand();
    if value.is_none() {
        budget.check()?;
        budget.rewind(used);
    }
    Ok(value)
}

/// The error of a response that is over its budget, at the field that was resolved.
fn over_budget<T>(ctx: &ContextBase<'_, T>, refused: ResponseRefused) -> ServerError {
    ctx.set_error_path(refused.into())
}

/// Adds a value under its response key. The same key selected twice is the same field, with its selections together.
fn merge(values: &mut IndexMap<Name, Value>, key: Name, value: Value) {
    match values.entry(key) {
        Entry::Vacant(vacant) => {
            vacant.insert(value);
        }
        Entry::Occupied(mut before) => merge_values(before.get_mut(), value),
    }
}

fn merge_values(before: &mut Value, value: Value) {
    match (before, value) {
        (Value::Object(before), Value::Object(more)) => {
            for (key, value) in more {
                merge(before, key, value);
            }
        }
        (Value::List(before), Value::List(more)) => {
            for (before, value) in before.iter_mut().zip(more) {
                merge_values(before, value);
            }
        }
        _ => {}
    }
}
