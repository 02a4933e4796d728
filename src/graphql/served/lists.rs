//! Lists of a served model: Relay connections with `first` and `after`, and plain lists.

use std::sync::Arc;

use async_graphql::dynamic::{Field, FieldFuture, FieldValue, InputValue, Object, ResolverContext, TypeRef};
use async_graphql::{Result, Value};
use onehop_model::{Grants, RelatedField};

use super::objects::{ItemField, described, readable_by};
use super::scope::{self, ServedScope};
use crate::graphql::errors;
use crate::served::LINKS_MAX;
use crate::served::{ItemPage, ListPlace, ListPosition, ServedItem, ServedModel, TypeIndex, cursor};

/// The type of the positions of a page.
const PAGE_INFO: &str = "PageInfo";

/// A list field.
#[derive(Clone)]
pub(super) struct ListField {
    name: String,
    /// Identifies the list to its cursors.
    label: String,
    ty: TypeIndex,
    type_name: String,
    place: Option<Arc<ListPlace>>,
    first: u32,
    max: u32,
    is_connection: bool,
    is_non_null: bool,
    /// The callers of a field of an item, by the item; `None` as for the item.
    owner_grants: Option<Grants>,
    /// The callers of a field of `Query`, by the listed items; `None` as for the items.
    grants: Option<Grants>,
    model: Arc<ServedModel>,
}

/// A page as the value of a connection.
struct ConnectionValue {
    page: ItemPage,
    label: String,
    has_previous: bool,
}

/// An edge of a connection.
struct EdgeValue {
    item: ServedItem,
    cursor: String,
}

impl ListField {
    /// A list of an item type.
    pub(super) fn of_item(field: ItemField, related: &RelatedField) -> Self {
        let declaration = field.declaration();
        let label = format!("{}.{}", field.model.ty(field.ty).name, declaration.name);
        let grants = declaration.authorization.read.clone();
        let (name, is_non_null) = (declaration.name.to_string(), declaration.ty.non_null);
        let list = Self::new(&field.model, (name, label), Some(field.ty), related, is_non_null);
        Self { owner_grants: grants, ..list }
    }

    /// A list of `Query`.
    pub(super) fn of_query(
        model: &Arc<ServedModel>,
        query: &onehop_model::Query,
        related: &RelatedField,
    ) -> Self {
        let names = (query.name.to_string(), format!("Query.{}", query.name));
        let list = Self::new(model, names, None, related, query.ty.non_null);
        Self { grants: query.authorization.clone(), ..list }
    }

    fn new(
        model: &Arc<ServedModel>,
        (name, label): (String, String),
        owner: Option<TypeIndex>,
        related: &RelatedField,
        is_non_null: bool,
    ) -> Self {
        let ty = model.index_of(&related.item_type);
        Self {
            name,
            label,
            ty: ty.unwrap_or_else(|| unreachable!("the model resolves the types of its lists")),
            type_name: related.item_type.to_string(),
            place: model.list_place(owner, related).map(Arc::new),
            first: related.page.first,
            max: related.page.max,
            is_connection: related.page.connection,
            is_non_null,
            owner_grants: None,
            grants: None,
            model: Arc::clone(model),
        }
    }

    /// The page that the arguments ask for.
    async fn page(&self, ctx: &ResolverContext<'_>, owner: Option<&ServedItem>) -> Result<ConnectionValue> {
        let scope = scope::of(ctx.ctx);
        if let (Some(grants), Some(owner)) = (&self.owner_grants, owner) {
            readable_by(scope, grants, owner.clone()).await?;
        }
        let label = match owner {
            Some(owner) => format!("{} {}", self.label, owner.place.id),
            None => self.label.clone(),
        };
        let first = match self.is_connection {
            true => ctx.args.try_get("first")?.i64()?,
            false => i64::from(self.max),
        };
        let (min, max) = (1, i64::from(self.max));
        if !(min..=max).contains(&first) {
            return Err(errors::bad_input("first", format_args!("must be {min} to {max}, is {first}")));
        }
        let after = ctx.args.get("after").filter(|after| !after.is_null());
        let after = after.map(|after| after.string()).transpose()?;
        let after = after.map(|after| cursor::decode(&label, after)).transpose();
        let after = after.map_err(|invalid| errors::bad_input("after", invalid))?;
        let Some(place) = &self.place else {
            return Ok(ConnectionValue { page: ItemPage::default(), label, has_previous: false });
        };
        let (first, has_previous) = (usize::try_from(first).unwrap_or(0), after.is_some());
        let page = scope.reads().page(self.ty, place, owner, (first, after.as_ref()), scope.ledger()).await;
        let page = page.map_err(|fault| scope.fault(&fault))?;
        if page.is_too_long {
            let message = format!("This list has more than {LINKS_MAX} links.");
            return Err(errors::limit_exceeded(message));
        }
        let page = self.readable(scope, page).await?;
        Ok(ConnectionValue { page, label, has_previous })
    }

    /// The page, if the caller may read all of its items.
    async fn readable(&self, scope: &ServedScope, mut page: ItemPage) -> Result<ItemPage> {
        let grants = self.grants.as_ref().unwrap_or(&self.model.ty(self.ty).item.authorization.read);
        if let Some(decision) = scope.requester().decide_without_item(grants) {
            return match decision {
                crate::served::Decision::Allowed => Ok(page),
                decision => Err(super::objects::refused(decision)),
            };
        }
        let items = std::mem::take(&mut page.items);
        let items = items.into_iter().map(|item| readable_by(scope, grants, item));
        page.items = futures::future::try_join_all(items).await?;
        Ok(page)
    }
}

/// The field of a list.
pub(super) fn list_field(list: ListField) -> Field {
    let ty = match list.is_connection {
        true => TypeRef::named(format!("{}Connection", list.type_name)),
        false => TypeRef::List(Box::new(TypeRef::named_nn(&list.type_name))),
    };
    let ty = if list.is_non_null { TypeRef::NonNull(Box::new(ty)) } else { ty };
    let (name, is_connection, default, max) = (list.name.clone(), list.is_connection, list.first, list.max);
    let list = Arc::new(list);
    let field = Field::new(name, ty, move |ctx| {
        let list = Arc::clone(&list);
        FieldFuture::new(async move {
            let owner = ctx.parent_value.try_downcast_ref::<ServedItem>().ok();
            let page = list.page(&ctx, owner).await?;
            Ok(Some(match list.is_connection {
                true => FieldValue::owned_any(page),
                false => FieldValue::list(page.page.items.into_iter().map(FieldValue::owned_any)),
            }))
        })
    });
    if !is_connection {
        return field;
    }
    let first = InputValue::new("first", TypeRef::named_nn(TypeRef::INT)).default_value(default);
    let first = first.description(format!("The number of items, 1 to {max}."));
    let after = InputValue::new("after", TypeRef::named(TypeRef::STRING));
    field.argument(first).argument(after.description("The cursor after which the page begins."))
}

/// The types of a connection of an item type: the connection and its edge.
pub(super) fn connection_types(type_name: &str) -> [Object; 2] {
    let (connection, edge) = (format!("{type_name}Connection"), format!("{type_name}Edge"));
    let edges = Field::new("edges", TypeRef::named_nn_list_nn(&edge), |ctx| {
        now(ctx.parent_value.try_downcast_ref::<ConnectionValue>().map(|value| {
            let edges = value.page.items.iter().zip(&value.page.positions).map(|(item, position)| {
                let cursor = cursor::encode(&value.label, position);
                FieldValue::owned_any(EdgeValue { item: item.clone(), cursor })
            });
            FieldValue::list(edges)
        }))
    });
    let nodes = Field::new("nodes", TypeRef::named_nn_list_nn(type_name), |ctx| {
        now(ctx.parent_value.try_downcast_ref::<ConnectionValue>().map(|value| {
            FieldValue::list(value.page.items.iter().map(|item| FieldValue::borrowed_any(item)))
        }))
    });
    let page_info = Field::new("pageInfo", TypeRef::named_nn(PAGE_INFO), |ctx| {
        now(ctx
            .parent_value
            .try_downcast_ref::<ConnectionValue>()
            .map(|value| FieldValue::borrowed_any(value)))
    });
    let node = Field::new("node", TypeRef::named_nn(type_name), |ctx| {
        now(ctx
            .parent_value
            .try_downcast_ref::<EdgeValue>()
            .map(|value| FieldValue::borrowed_any(&value.item)))
    });
    let cursor = Field::new("cursor", TypeRef::named_nn(TypeRef::STRING), |ctx| {
        now(ctx
            .parent_value
            .try_downcast_ref::<EdgeValue>()
            .map(|value| FieldValue::value(value.cursor.as_str())))
    });
    [
        Object::new(connection)
            .description("A page of a list.")
            .field(described(edges, Some("The items with their cursors, in the order of the list.")))
            .field(described(nodes, Some("The items alone, in the order of the list.")))
            .field(described(page_info, Some("Where the page stands in the list."))),
        Object::new(edge)
            .description("An item of a list.")
            .field(described(node, Some("The item.")))
            .field(described(cursor, Some("Where the item stands in the list."))),
    ]
}

/// The type of the position of a page.
pub(super) fn page_info() -> Object {
    let flag = |name: &str, read: fn(&ConnectionValue) -> bool| {
        Field::new(name, TypeRef::named_nn(TypeRef::BOOLEAN), move |ctx| {
            now(ctx
                .parent_value
                .try_downcast_ref::<ConnectionValue>()
                .map(|value| FieldValue::value(read(value))))
        })
    };
    let cursor = |name: &str, read: fn(&ItemPage) -> Option<&ListPosition>| {
        Field::new(name, TypeRef::named(TypeRef::STRING), move |ctx| {
            now(ctx.parent_value.try_downcast_ref::<ConnectionValue>().map(|value| {
                let cursor = read(&value.page).map(|position| cursor::encode(&value.label, position));
                FieldValue::value(cursor.map_or(Value::Null, Value::from))
            }))
        })
    };
    let next = flag("hasNextPage", |value| value.page.has_next);
    let previous = flag("hasPreviousPage", |value| value.has_previous);
    let start = cursor("startCursor", |page| page.positions.first());
    let end = cursor("endCursor", |page| page.end.as_ref().or(page.positions.last()));
    Object::new(PAGE_INFO)
        .description("Where a page stands in its list.")
        .field(described(next, Some("Whether more items follow this page.")))
        .field(described(previous, Some("Whether items precede this page: true whenever `after` was given.")))
        .field(described(start, Some("The cursor of the first item; null on an empty page.")))
        .field(described(
            end,
            Some("The cursor of the last item, to be given as `after` for the next page; null on an empty page."),
        ))
}

/// A value that needed no read.
fn now<'a>(value: Result<FieldValue<'a>>) -> FieldFuture<'a> {
    super::objects::Resolved::Now(value.map(Some)).into_future()
}
