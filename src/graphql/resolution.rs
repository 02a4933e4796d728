//! Resolution of objects by the general executor: fields in the order of the selection, null propagation, and
//! the response budget.
//!
//! async-graphql writes fields in the order in which they are ready, and leaves failed fields out. Here they
//! stand in the order of the selection, and an error of a field that cannot be null makes its object null,
//! not incomplete.
//!
//! The fields of an object, and the objects of a list, are resolved at the same time. Most are in the item
//! that was read and wait for nothing. So each future is polled where it was made, and only a waiting one
//! keeps its memory.
//!
//! Each field takes its bytes from the response budget of the request, so that a response that grows too
//! large is not built to its end.

use std::borrow::Cow;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use async_graphql::indexmap::IndexMap;
use async_graphql::indexmap::map::Entry;
use async_graphql::parser::types::{Field, Selection, SelectionSet};
use async_graphql::registry::Registry;
use async_graphql::resolver_utils::ContainerType;
use async_graphql::{Context, ContextSelectionSet, Name, OutputType, Positioned, ServerResult, Value};
use futures::future::{BoxFuture, OptionFuture, try_join_all};

use super::scope;
use onehop_graphql_server::json_length::{key_length, leaf_length};

/// An object as the value of a field.
pub(super) struct One<T>(pub(super) T);

impl<T: ContainerType> OutputType for One<T> {
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
        // Types contain one another: without this box a future would contain itself.
        let object: BoxFuture<'_, ServerResult<Value>> = Box::pin(resolve(ctx, &self.0));
        object.await
    }
}

/// A list of objects as the value of a field.
pub(super) struct Many<'a, T>(pub(super) Vec<&'a T>);

impl<T: ContainerType> OutputType for Many<'_, T> {
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
        let fields = selected_fields::<T>(ctx);
        let fields = fields.as_slice();
        let objects = self.0.iter().enumerate().map(|(index, object)| {
            let ctx = ctx.with_index(index);
            async move { resolve_fields(&ctx, *object, fields).await }
        });
        Ok(Value::List(join_in_order(objects).await?))
    }
}

/// A whole list of objects as the value of a field.
pub(super) struct All<T>(pub(super) Vec<T>);

impl<T: ContainerType> OutputType for All<T> {
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

/// Resolves the selected fields of an object.
pub(super) async fn resolve<T: ContainerType>(
    ctx: &ContextSelectionSet<'_>,
    object: &T,
) -> ServerResult<Value> {
    resolve_fields(ctx, object, &selected_fields::<T>(ctx)).await
}

async fn resolve_fields<T: ContainerType>(
    ctx: &ContextSelectionSet<'_>,
    object: &T,
    fields: &[&Positioned<Field>],
) -> ServerResult<Value> {
    let values = join_in_order(fields.iter().map(|field| resolve_field(ctx, object, field))).await?;
    Ok(object_of(fields, values))
}

fn object_of(fields: &[&Positioned<Field>], values: Vec<Value>) -> Value {
    let mut object = IndexMap::with_capacity(fields.len());
    for (field, value) in fields.iter().zip(values) {
        merge(&mut object, field.node.response_key().node.clone(), value);
    }
    Value::Object(object)
}

async fn resolve_field<T: ContainerType>(
    ctx: &ContextSelectionSet<'_>,
    object: &T,
    field: &Positioned<Field>,
) -> ServerResult<Value> {
    let ctx = ctx.with_field(field);
    let value = if field.node.name.node == "__typename" {
        Value::String(T::type_name().into_owned())
    } else {
        object.resolve_field(&ctx).await?.unwrap_or_default()
    };
    take_bytes(&ctx, field, &value)?;
    Ok(value)
}

/// Takes the bytes of a field from the response budget.
fn take_bytes(ctx: &Context<'_>, field: &Positioned<Field>, value: &Value) -> ServerResult<()> {
    let bytes = key_length(&field.node.response_key().node) + leaf_length(value);
    let taken = scope::of(ctx).budget().take(bytes);
    taken.map_err(|refused| ctx.set_error_path(refused.into()))
}

/// The fields that are selected of an object of type `T`, with fragments expanded.
fn selected_fields<'a, T: ContainerType>(ctx: &'a ContextSelectionSet<'a>) -> Vec<&'a Positioned<Field>> {
    let mut fields = Vec::with_capacity(ctx.item.node.items.len());
    add_fields(ctx, &T::type_name(), &ctx.item.node, &mut fields);
    fields
}

fn add_fields<'a>(
    ctx: &'a ContextSelectionSet<'a>,
    type_name: &str,
    selections: &'a SelectionSet,
    fields: &mut Vec<&'a Positioned<Field>>,
) {
    for selection in &selections.items {
        let (condition, selections) = match &selection.node {
            Selection::Field(field) => {
                fields.push(field);
                continue;
            }
            Selection::InlineFragment(inline) => {
                (inline.node.type_condition.as_ref(), &inline.node.selection_set.node)
            }
            Selection::FragmentSpread(spread) => {
                let Some(fragment) = ctx.query_env.fragments.get(&spread.node.fragment_name.node) else {
                    continue;
                };
                (Some(&fragment.node.type_condition), &fragment.node.selection_set.node)
            }
        };
        let condition = condition.map(|condition| condition.node.on.node.as_str());
        let is_interface = |condition: &str| {
            let interfaces = ctx.schema_env.registry.implements.get(type_name);
            interfaces.is_some_and(|interfaces| interfaces.contains(condition))
        };
        if condition.is_none_or(|condition| condition == type_name || is_interface(condition)) {
            add_fields(ctx, type_name, selections, fields);
        }
    }
}

/// Runs futures at the same time, and returns their values in their order. The first error ends all.
async fn join_in_order<'a, F>(mut futures: impl ExactSizeIterator<Item = F>) -> ServerResult<Vec<Value>>
where
    F: Future<Output = ServerResult<Value>> + Send + 'a,
{
    let mut values = Vec::with_capacity(futures.len());
    let mut waiting: Vec<(usize, Waiting<'a>)> = Vec::new();
    poll_fn(|context| {
        let mut place = new_place();
        for future in futures.by_ref() {
            place.set(Some(future).into());
            match place.as_mut().poll(context) {
                Poll::Ready(value) => values.push(value.transpose()?.unwrap_or_default()),
                Poll::Pending => {
                    let future = std::mem::replace(&mut place, new_place());
                    waiting.push((values.len(), future));
                    values.push(Value::Null);
                }
            }
        }
        Poll::Ready(ServerResult::Ok(()))
    })
    .await?;
    if !waiting.is_empty() {
        wait(&mut values, waiting).await?;
    }
    Ok(values)
}

/// A future that was polled once, without its type: the code that awaits it is compiled once, not for every
/// type of the API.
type Waiting<'a> = BoxFuture<'a, Option<ServerResult<Value>>>;

/// Awaits futures, and puts their values in their places.
async fn wait(values: &mut [Value], waiting: Vec<(usize, Waiting<'_>)>) -> ServerResult<()> {
    let (indexes, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().unzip();
    let waiting = waiting.into_iter().map(|future| async move { future.await.transpose() });
    for (index, value) in indexes.into_iter().zip(try_join_all(waiting).await?) {
        if let Some(place) = values.get_mut(index) {
            *place = value.unwrap_or_default();
        }
    }
    Ok(())
}

/// The memory of one future after another.
fn new_place<F>() -> Pin<Box<OptionFuture<F>>> {
    Box::pin(None.into())
}

/// Adds a value under its response key. The same key selected twice is the same field, with its
/// selections together.
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

#[cfg(test)]
mod tests {
    use async_graphql::ServerError;

    use super::*;

    async fn number(number: u32) -> ServerResult<Value> {
        if number.is_multiple_of(2) {
            onehop_runtime::tasks::yield_now().await;
        }
        Ok(Value::from(number))
    }

    #[tokio::test]
    async fn values_stand_in_the_order_of_their_futures() {
        let numbers = 0..70;
        let values = join_in_order(numbers.clone().map(number)).await.unwrap();
        assert_eq!(values, numbers.map(Value::from).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn the_first_error_ends_all_futures() {
        let fails = |index: u32| async move {
            match index {
                0 => std::future::pending().await,
                1 => number(1).await,
                _ => {
                    number(index).await?;
                    Err(ServerError::new(index.to_string(), None))
                }
            }
        };
        for (futures, first) in [(0..4, "3"), (0..3, "2")] {
            let error = join_in_order(futures.map(fails)).await.unwrap_err();
            assert_eq!(error.message, first);
        }
    }
}
