//! Lists of a served model: Relay connections with `first` and `after` or `last` and `before`, and plain
//! lists.

use std::sync::Arc;

use async_graphql::dynamic::{Field, FieldFuture, FieldValue, InputValue, Object, ResolverContext, TypeRef};
use async_graphql::{Result, Value};
use onehop_model::{Grants, RelatedField};
use serde_json::Value as Json;

use super::list_arguments::ListArgument;
use super::objects::{ItemField, described, readable_by, whole};
use super::scope::{self, ServedScope};
use crate::graphql::errors;
use crate::served::LINKS_MAX;
use crate::served::{
    ItemPage, ListPlace, ListPosition, ListRange, ServedItem, ServedModel, TypeIndex, cursor,
};

/// The type of the positions of a page.
const PAGE_INFO: &str = "PageInfo";
/// The arguments of a connection.
const FIRST: &str = "first";
const AFTER: &str = "after";
const LAST: &str = "last";
const BEFORE: &str = "before";

/// A list field.
#[derive(Clone)]
pub(super) struct ListField {
    name: String,
    /// Identifies the list to its cursors.
    label: String,
    ty: TypeIndex,
    type_name: String,
    place: Option<Arc<ListPlace>>,
    /// The arguments that name its logical partition.
    arguments: Vec<ListArgument>,
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
}

/// The range of a list that the arguments of a field name.
struct RangeArguments {
    items_max: usize,
    is_backward: bool,
    after: Option<ListPosition>,
    before: Option<ListPosition>,
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
            arguments: ListArgument::all_of(model, related),
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
        let values = ListArgument::values(&self.arguments, &self.model, ctx)?;
        let label = match owner {
            Some(owner) => format!("{} {}", self.label, owner.place.id),
            None if values.is_empty() => self.label.clone(),
            None => format!("{} {}", self.label, Json::Array(values.clone())),
        };
        let arguments = self.range(ctx, &label)?;
        let Some(place) = &self.place else {
            return Ok(ConnectionValue { page: ItemPage::default(), label });
        };
        let place = match values.is_empty() {
            true => Arc::clone(place),
            false => Arc::new(place.of_arguments(&values)),
        };
        let read = match owner {
            Some(owner) if !owner.knows_partition_of(&place) => Some(whole(scope, owner).await?),
            _ => None,
        };
        let owner = read.as_ref().or(owner);
        let range = ListRange {
            items_max: arguments.items_max,
            is_backward: arguments.is_backward,
            after: arguments.after.as_ref(),
            before: arguments.before.as_ref(),
        };
        let page = scope.reads().page(self.ty, &place, owner, range, scope.ledger()).await;
        let page = page.map_err(|fault| scope.fault(&fault))?;
        if page.is_too_long {
            let message = format!("This list has more than {LINKS_MAX} links.");
            return Err(errors::limit_exceeded(message));
        }
        let page = self.readable(scope, page).await?;
        Ok(ConnectionValue { page, label })
    }

    /// The range that the arguments name. A plain list has its first items.
    fn range(&self, ctx: &ResolverContext<'_>, label: &str) -> Result<RangeArguments> {
        let all =
            RangeArguments { items_max: self.max as usize, is_backward: false, after: None, before: None };
        if !self.is_connection {
            return Ok(all);
        }
        // A default is no wish of the client.
        let is_given = |name: &str| ctx.ctx.item.node.get_argument(name).is_some();
        let given = |name: &str| ctx.args.get(name).filter(|value| is_given(name) && !value.is_null());
        let items = |name: &'static str| -> Result<Option<usize>> {
            let Some(items) = given(name) else { return Ok(None) };
            let items = items.i64()?;
            let (min, max) = (1, i64::from(self.max));
            match usize::try_from(items) {
                Ok(number) if (min..=max).contains(&items) => Ok(Some(number)),
                _ => Err(errors::bad_input(name, format_args!("must be {min} to {max}, is {items}"))),
            }
        };
        let position = |name: &'static str| -> Result<Option<ListPosition>> {
            let cursor = given(name).map(|cursor| cursor.string()).transpose()?;
            let position = cursor.map(|cursor| cursor::decode(label, cursor)).transpose();
            position.map_err(|invalid| errors::bad_input(name, invalid))
        };
        let (first, last) = (items(FIRST)?, items(LAST)?);
        if first.is_some() && last.is_some() {
            return Err(errors::bad_input(LAST, "cannot be given together with first"));
        }
        Ok(RangeArguments {
            items_max: first.or(last).unwrap_or(self.first as usize),
            is_backward: last.is_some(),
            after: position(AFTER)?,
            before: position(BEFORE)?,
        })
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
    let arguments: Vec<InputValue> = list.arguments.iter().map(ListArgument::declared).collect();
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
    let field = arguments.into_iter().fold(field, Field::argument);
    if !is_connection {
        return field;
    }
    let int = |name: &str| InputValue::new(name, TypeRef::named(TypeRef::INT));
    let cursor = |name: &str| InputValue::new(name, TypeRef::named(TypeRef::STRING));
    let first = format!("The number of items from the start on, 1 to {max}.");
    let last = format!("The number of items up to the end, 1 to {max}, in place of `first`.");
    field
        .argument(int(FIRST).default_value(default).description(first))
        .argument(cursor(AFTER).description("The cursor after which the page begins."))
        .argument(int(LAST).description(last))
        .argument(cursor(BEFORE).description("The cursor before which the page ends."))
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
    let previous = flag("hasPreviousPage", |value| value.page.has_previous);
    let start = cursor("startCursor", |page| page.start.as_ref().or(page.positions.first()));
    let end = cursor("endCursor", |page| page.end.as_ref().or(page.positions.last()));
    Object::new(PAGE_INFO)
        .description("Where a page stands in its list.")
        .field(described(next, Some("Whether more items follow this page: true whenever `last` and `before` were given.")))
        .field(described(previous, Some("Whether items precede this page: true whenever `after` was given.")))
        .field(described(
            start,
            Some(
                "The cursor of the first item, to be given as `before` for the previous page; null on an empty page.",
            ),
        ))
        .field(described(
            end,
            Some("The cursor of the last item, to be given as `after` for the next page; null on an empty page."),
        ))
}

/// A value that needed no read.
fn now<'a>(value: Result<FieldValue<'a>>) -> FieldFuture<'a> {
    super::objects::Resolved::Now(value.map(Some)).into_future()
}
