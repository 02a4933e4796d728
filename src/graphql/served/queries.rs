//! Root fields of a served model: `node`, items by their ids and unique fields, the caller, and lists.

use std::sync::Arc;

use async_graphql::dynamic::{Field, FieldFuture, FieldValue, InputValue, Object, ResolverContext, TypeRef};
use async_graphql::{PathSegment, Result};
use onehop_model::{Grants, Query, QueryKind, Scalar, TypeOf};

use super::lists::{ListField, list_field};
use super::objects::{NODE, described, readable, readable_by, type_ref};
use super::scope::{self, ServedScope};
use crate::graphql::errors;
use crate::served::{ItemPlace, ServedItem, ServedModel, TypeIndex, WrittenItem, interned};

/// The name of the field of many objects.
pub(super) const NODES: &str = "nodes";
/// The most objects of one field.
pub(super) const NODES_MAX: usize = 50;

/// The root of all reads.
pub(super) fn query_root(model: &Arc<ServedModel>) -> Object {
    let mut root = Object::new("Query").description("The root of all reads.").field(node_field(model));
    if has_nodes(model) {
        root = root.field(nodes_field(model));
    }
    for query in model.model().queries() {
        let field = match &query.kind {
            QueryKind::Related(related) => list_field(ListField::of_query(model, query, related)),
            QueryKind::ById => by_id(model, query),
            QueryKind::ByUnique(field) => by_unique(model, query, field),
            QueryKind::Caller => caller(query),
        };
        root = root.field(described(field, query.description.as_deref()));
    }
    root
}

/// Any item by its id.
fn node_field(model: &Arc<ServedModel>) -> Field {
    let model = Arc::clone(model);
    let id = InputValue::new("id", TypeRef::named_nn(TypeRef::ID)).description("The id of the object.");
    let field = Field::new("node", TypeRef::named(NODE), move |ctx| {
        let model = Arc::clone(&model);
        FieldFuture::new(async move {
            let place = decoded(&model, &ctx, None)?;
            let ty = model.ty(place.ty);
            if !ty.item.is_node() {
                return Err(errors::bad_input("id", "is not an id of this API"));
            }
            let name = ty.name;
            let found = found(&ctx, place, None).await?;
            Ok(found.map(|value| value.with_type(name)))
        })
    });
    field.argument(id).description("Any object by its id; null where there is none.")
}

/// Whether the root has `nodes`, whose name a model may use itself.
pub(super) fn has_nodes(model: &ServedModel) -> bool {
    model.model().queries().iter().all(|query| &*query.name != NODES)
}

/// Many items by their ids, read in one batch.
fn nodes_field(model: &Arc<ServedModel>) -> Field {
    let model = Arc::clone(model);
    let ids = InputValue::new("ids", TypeRef::named_nn_list_nn(TypeRef::ID));
    let ids = ids.description(format!("The ids of the objects, at most {NODES_MAX}."));
    let field = Field::new(NODES, TypeRef::named_list_nn(NODE), move |ctx| {
        let model = Arc::clone(&model);
        FieldFuture::new(async move {
            let scope = scope::of(ctx.ctx);
            let ids = ctx.args.try_get("ids")?.list()?;
            if ids.len() > NODES_MAX {
                let rule = format_args!("must have at most {NODES_MAX} elements, has {}", ids.len());
                return Err(errors::bad_input("ids", rule));
            }
            let mut places = Vec::with_capacity(ids.len());
            for id in ids.iter() {
                let place = ItemPlace::decode(&model, id.string()?).ok();
                let place = place.filter(|place| model.ty(place.ty).item.is_node());
                places.push(place.ok_or_else(|| errors::bad_input("ids", "has no id of this API"))?);
            }
            let found = places.into_iter().map(|place| node_of(&model, scope, place));
            let found = futures::future::join_all(found).await.into_iter().enumerate();
            let nodes = found.map(|(index, found)| {
                found.unwrap_or_else(|error| {
                    let mut error = ctx.set_error_path(error.into_server_error(ctx.item.pos));
                    error.path.push(PathSegment::Index(index));
                    ctx.add_error(error);
                    FieldValue::NULL
                })
            });
            Ok(Some(FieldValue::list(nodes)))
        })
    });
    field.argument(ids).description("Objects by their ids, in the order of these; null where there is none.")
}

/// An item as an element of `nodes`; null where there is none.
async fn node_of<'a>(model: &ServedModel, scope: &ServedScope, place: ItemPlace) -> Result<FieldValue<'a>> {
    let body = scope.loader().load(&place).await.map_err(|fault| scope.fault(&fault))?;
    let Some(body) = body else { return Ok(FieldValue::NULL) };
    let name = model.ty(place.ty).name;
    let item = readable(scope, ServedItem::whole(place, body)).await?;
    Ok(FieldValue::owned_any(item).with_type(name))
}

fn by_id(model: &Arc<ServedModel>, query: &Query) -> Field {
    let (model, ty) = (Arc::clone(model), model.index_of(&query.item_type));
    let grants = query.authorization.clone();
    let id = InputValue::new("id", TypeRef::named_nn(TypeRef::ID));
    let field = Field::new(&*query.name, type_ref(&query.ty), move |ctx| {
        let (model, grants) = (Arc::clone(&model), grants.clone());
        FieldFuture::new(async move {
            let place = decoded(&model, &ctx, ty)?;
            found(&ctx, place, grants.as_ref()).await
        })
    });
    field.argument(id.description(format!("The id of the {}.", query.item_type)))
}

fn by_unique(model: &Arc<ServedModel>, query: &Query, field: &str) -> Field {
    let (ty, name, grants) = (model.index_of(&query.item_type), interned(field), query.authorization.clone());
    let unique = ty.and_then(|ty| model.ty(ty).item.field(field));
    let is_number = unique.is_some_and(|unique| unique.ty.of == TypeOf::Scalar(Scalar::Int));
    let value =
        InputValue::new(name, TypeRef::named_nn(if is_number { TypeRef::INT } else { TypeRef::STRING }));
    let field = Field::new(&*query.name, type_ref(&query.ty), move |ctx| {
        let grants = grants.clone();
        FieldFuture::new(async move {
            let (scope, Some(ty)) = (scope::of(ctx.ctx), ty) else { return Ok(None) };
            let given = ctx.args.try_get(name)?;
            let value = if is_number { given.i64()?.to_string() } else { given.string()?.to_owned() };
            let found = scope.lookups().item_with((ty, name), &value, scope.ledger()).await;
            match found.map_err(|fault| scope.fault(&fault))? {
                Some(found) => shown(&ctx, found, grants.as_ref()).await,
                None => Ok(None),
            }
        })
    });
    field.argument(value)
}

fn caller(query: &Query) -> Field {
    let grants = query.authorization.clone();
    Field::new(&*query.name, type_ref(&query.ty), move |ctx| {
        let grants = grants.clone();
        FieldFuture::new(async move {
            let scope = scope::of(ctx.ctx);
            let Some(account) = scope.requester().account else { return Ok(None) };
            let found = scope.lookups().account_item(account, scope.ledger()).await;
            match found.map_err(|fault| scope.fault(&fault))? {
                Some(found) => shown(&ctx, found, grants.as_ref()).await,
                None => Ok(None),
            }
        })
    })
}

/// The place behind the argument `id`.
fn decoded(model: &ServedModel, ctx: &ResolverContext<'_>, ty: Option<TypeIndex>) -> Result<ItemPlace> {
    let place = ItemPlace::decode(model, ctx.args.try_get("id")?.string()?);
    let place = place.map_err(|invalid| errors::bad_input("id", invalid))?;
    match ty {
        Some(ty) if ty != place.ty => {
            Err(errors::bad_input("id", format_args!("is not the id of {}", model.ty(ty).name)))
        }
        _ => Ok(place),
    }
}

/// The item of a place, if there is one.
async fn found<'a>(
    ctx: &ResolverContext<'a>,
    place: ItemPlace,
    grants: Option<&Grants>,
) -> Result<Option<FieldValue<'a>>> {
    let scope = scope::of(ctx.ctx);
    let body = scope.reads().item(&place, scope.ledger()).await.map_err(|fault| scope.fault(&fault))?;
    match body {
        Some(body) => shown(ctx, WrittenItem { place, body }, grants).await,
        None => Ok(None),
    }
}

/// The item as a value, if the caller may read it.
async fn shown<'a>(
    ctx: &ResolverContext<'a>,
    found: WrittenItem,
    grants: Option<&Grants>,
) -> Result<Option<FieldValue<'a>>> {
    let scope = scope::of(ctx.ctx);
    let item = ServedItem::whole(found.place, found.body);
    let item = match grants {
        Some(grants) => readable_by(scope, grants, item).await?,
        None => readable(scope, item).await?,
    };
    Ok(Some(FieldValue::owned_any(item)))
}
