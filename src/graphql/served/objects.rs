//! Object types of a served model: the fields of items, and the values that resolve them.

use std::sync::Arc;

use async_graphql::dynamic::{Field, FieldFuture, FieldValue, Object, ResolverContext, TypeRef};
use async_graphql::{Error, Name, Result, Value};
use onehop_model::{
    CountField, FieldKind, FieldType, Function, Grants, Kept, ListElements, ReferenceField, TypeOf,
    ValueSource,
};
use onehop_read_models::list_conditions;
use serde_json::Value as Json;

use super::lists::{ListField, list_field};
use super::money::amount;
use super::scope::{self, ServedScope};
use crate::graphql::errors::{self, Code};
use crate::served::formats::{currency_roots, decoded, format_of, is_money};
use crate::served::{
    Body, Decision, ItemPlace, ServedItem, ServedModel, TypeIndex, caller_reference, copied_part,
    derived_place, elements, frozen_copies, is_derived_of_caller, place_of_id, property_name, related,
    stored, target_place,
};

/// The interface of all items.
pub(super) const NODE: &str = "Node";

/// The end of a block string.
const BLOCK_END: &str = "\"\"\"";

/// An object within an item.
pub(super) struct EmbeddedValue {
    pub(super) object: Body,
    /// The properties of the item, which may have the currency of its amounts.
    pub(super) item: Arc<Body>,
}

/// A field of an item type, by the places of type and field in the model.
#[derive(Clone)]
pub(super) struct ItemField {
    pub(super) model: Arc<ServedModel>,
    pub(super) ty: TypeIndex,
    pub(super) index: usize,
}

impl ItemField {
    pub(super) fn declaration(&self) -> &onehop_model::Field {
        &self.model.ty(self.ty).item.fields[self.index]
    }

    /// Whether everything that the field's value needs is known without another read.
    fn is_known(&self, item: &ServedItem) -> bool {
        let root = property_of(self.declaration());
        let is_beside = |by: &onehop_model::Name| {
            let field = self.model.ty(self.ty).item.field(by);
            field.and_then(property_of).is_none_or(|property| item.knows(property))
        };
        // A target is found by the fields of its partition key, which an entry may lack, and so may frozen
        // copies be, whose values the target has not any more.
        let is_found = match &self.declaration().kind {
            FieldKind::Reference(reference) => {
                reference.partition.iter().all(is_beside)
                    && frozen_copies(self.declaration(), reference).all(|property| item.knows(property))
            }
            _ => true,
        };
        let list = match &self.declaration().kind {
            FieldKind::Count(CountField { of, kept: Kept::Query }) | FieldKind::HasCaller(of) => Some(of),
            _ => None,
        };
        let list = list.and_then(|of| self.model.ty(self.ty).item.field(of)).and_then(related);
        let place = list.and_then(|list| self.model.list_place(Some(self.ty), list));
        place.is_none_or(|place| item.knows_partition_of(&place))
            && is_found
            && root.is_none_or(|property| item.knows(property))
            && currency_roots(self.model.model(), self.declaration()).iter().all(|root| item.knows(root))
    }
}

/// The object type of an item type.
pub(super) fn item_object(model: &Arc<ServedModel>, ty: TypeIndex) -> Object {
    let item = &model.ty(ty).item;
    let mut object = Object::new(&*item.name);
    if let Some(description) = &item.description {
        object = object.description(escaped(description));
    }
    if item.is_node() {
        object = object.implement(NODE);
    }
    for (index, field) in item.fields.iter().enumerate().filter(|(_, field)| !field.hidden) {
        let item_field = ItemField { model: Arc::clone(model), ty, index };
        let resolved = match related(field) {
            Some(found) => list_field(ListField::of_item(item_field, found)),
            None => {
                let item_field = Arc::new(item_field);
                Field::new(&*field.name, type_ref(&field.ty), move |ctx| {
                    resolve_field(&item_field, ctx).into_future()
                })
            }
        };
        object = object.field(described(resolved, field.description.as_deref()));
    }
    object
}

/// The part of a reference's target that its copies tell.
pub(super) fn known_target(
    model: &ServedModel,
    reference: &ReferenceField,
    place: ItemPlace,
    copies: &Body,
    has: impl Fn(&str) -> bool,
) -> ServedItem {
    let (mut part, known) = copied_part(model, reference, place.ty, copies, has);
    part.insert("id".to_owned(), Json::from(place.id.as_str()));
    ServedItem { place, body: Arc::new(part), entry_fields: Some(known.into()), is_own: false }
}

/// The result of a resolver.
pub(super) enum Resolved<'a> {
    /// A value that needed no read.
    Now(Result<Option<FieldValue<'a>>>),
    /// A value that is read.
    Later(FieldFuture<'a>),
}

impl<'a> Resolved<'a> {
    pub(super) fn into_future(self) -> FieldFuture<'a> {
        match self {
            Self::Now(Ok(value)) => FieldFuture::Value(value),
            Self::Now(Err(error)) => FieldFuture::new(async move { Err::<Option<FieldValue<'a>>, _>(error) }),
            Self::Later(future) => future,
        }
    }
}

/// Resolves a field of an item that is no list.
fn resolve_field<'a>(field: &Arc<ItemField>, ctx: ResolverContext<'a>) -> Resolved<'a> {
    let item = match ctx.parent_value.try_downcast_ref::<ServedItem>() {
        Ok(item) => item,
        Err(error) => return Resolved::Now(Err(error)),
    };
    let declaration = field.declaration();
    let is_free = declaration.authorization.read.is_none();
    let is_stored = matches!(declaration.kind, FieldKind::Stored(_) | FieldKind::Count(_));
    if is_free && is_stored && property_of(declaration).is_some() && field.is_known(item) {
        return Resolved::Now(value_of(field, item));
    }
    let (field, scope) = (Arc::clone(field), scope::of(ctx.ctx));
    Resolved::Later(FieldFuture::new(async move { later(&field, item, scope).await }))
}

/// The value of a field that needs a read or a decision about the caller.
async fn later<'a>(
    field: &ItemField,
    item: &ServedItem,
    scope: &ServedScope,
) -> Result<Option<FieldValue<'a>>> {
    let declaration = field.declaration();
    if let Some(grants) = declaration.authorization.read.as_ref().filter(|_| !item.is_own) {
        let whole = whole(scope, item).await?;
        authorize(scope, grants, &whole).await?;
    }
    let read = if field.is_known(item) { None } else { Some(whole(scope, item).await) };
    let known = match &read {
        None => item,
        Some(Ok(whole)) => whole,
        Some(Err(error)) => {
            return excerpt_of(field, item).map_or_else(|| Err(error.clone()), |excerpt| Ok(Some(excerpt)));
        }
    };
    match &declaration.kind {
        FieldKind::Stored(_) => value_of(field, known),
        FieldKind::Count(count) => match known_count(field, known) {
            Some(value) => Ok(Some(value)),
            None => {
                let list = field.model.ty(field.ty).item.field(&count.of).and_then(related);
                let place = list.and_then(|list| {
                    let counted = field.model.index_of(&list.item_type)?;
                    Some((counted, field.model.list_place(Some(field.ty), list)?))
                });
                let (counted, list) =
                    place.ok_or_else(|| errors::error(Code::Internal, "The list is unknown."))?;
                let counted = scope.reads().count((counted, &list), known, scope.ledger()).await;
                let counted = counted.map_err(|fault| scope.fault(&fault))?;
                let counted = counted.ok_or_else(|| {
                    errors::limit_exceeded(format!("{} has too many items to be counted.", count.of))
                })?;
                Ok(Some(FieldValue::value(i32::try_from(counted).unwrap_or(i32::MAX))))
            }
        },
        FieldKind::Reference(_) => reference(field, known, scope).await,
        FieldKind::HasCaller(list) => has_caller(field, list, known, scope).await,
        FieldKind::Related(_) => Ok(None),
    }
}

/// The excerpt of a text that an entry has, in place of the text of a deleted item.
fn excerpt_of<'a>(field: &ItemField, item: &ServedItem) -> Option<FieldValue<'a>> {
    let declaration = field.declaration();
    let fields = &field.model.ty(field.ty).item.fields;
    let is_excerpt = |candidate: &&onehop_model::Field| match &candidate.kind {
        FieldKind::Stored(stored) => match &stored.source {
            ValueSource::Computed(rule) => {
                let from = rule.from.first().and_then(|path| path.single());
                rule.function == Function::Excerpt && from == Some(&declaration.name)
            }
            _ => false,
        },
        _ => false,
    };
    let excerpt = fields.iter().find(is_excerpt)?;
    let property = property_of(excerpt).filter(|property| item.knows(property))?;
    let text = item.body.get(property).and_then(Json::as_str)?;
    Some(FieldValue::value(text))
}

fn known_count<'a>(field: &ItemField, item: &ServedItem) -> Option<FieldValue<'a>> {
    property_of(field.declaration())?;
    value_of(field, item).ok().flatten()
}

/// Whether the caller has an item in a list: a point read of the id that is derived from both, or a look
/// through the pages of the list.
async fn has_caller<'a>(
    field: &ItemField,
    list: &str,
    item: &ServedItem,
    scope: &ServedScope,
) -> Result<Option<FieldValue<'a>>> {
    let Some(account) = scope.requester().account else { return Ok(Some(FieldValue::value(false))) };
    let owner = field.model.ty(field.ty);
    let listed = owner.item.field(list).and_then(related);
    if let Some(list) = listed
        && let Some(ty) = field.model.model().item(&list.item_type)
        && !is_derived_of_caller(owner.name, list, ty)
    {
        let place = field.model.list_place(Some(field.ty), list).zip(caller_reference(ty));
        let Some((place, (_, caller))) = place else { return Ok(Some(FieldValue::value(false))) };
        let found =
            scope.reads().has_reference(&place, item, (&caller.property, account), scope.ledger()).await;
        return Ok(Some(FieldValue::value(found.map_err(|fault| scope.fault(&fault))?)));
    }
    let place = listed.and_then(|list| {
        derived_place(&field.model, field.model.index_of(&list.item_type)?, &item.place, account)
    });
    let (Some(listed), Some(place)) = (listed, place) else { return Ok(Some(FieldValue::value(false))) };
    let found = scope.loader().load(&place).await.map_err(|fault| scope.fault(&fault))?;
    // The support check has refused conditions that a list cannot have.
    let is_listed = |found: &Body| {
        let conditions = list_conditions(field.model.model(), list, listed).unwrap_or_default();
        conditions.iter().all(|condition| condition.holds_for(found))
    };
    Ok(Some(FieldValue::value(found.is_some_and(|found| is_listed(&found)))))
}

/// The target of a reference, with the part that its copies tell.
async fn reference<'a>(
    field: &ItemField,
    item: &ServedItem,
    scope: &ServedScope,
) -> Result<Option<FieldValue<'a>>> {
    let declaration = field.declaration();
    let FieldKind::Reference(reference) = &declaration.kind else { return Ok(None) };
    if declaration.ty.list.is_some() {
        let mut values = Vec::new();
        for (id, copies) in elements(reference, &item.body) {
            let Some(place) = place_of_id(&field.model, field.ty, reference, &id, &item.body) else {
                continue;
            };
            values.push(FieldValue::owned_any(
                readable(scope, known_target(&field.model, reference, place, &copies, |_| true)).await?,
            ));
        }
        return Ok(Some(FieldValue::list(values)));
    }
    match target_place(&field.model, field.ty, declaration, &item.body) {
        Some(place) => {
            let has = |property: &str| item.knows(property);
            let target = known_target(&field.model, reference, place, &item.body, has);
            let target = readable(scope, target).await?;
            Ok(Some(FieldValue::owned_any(target)))
        }
        None => absent(declaration),
    }
}

/// The item, if the caller may read it.
///
/// # Errors
/// `UNAUTHENTICATED`, `FORBIDDEN`; `NOT_FOUND` where the item has gone.
pub(super) async fn readable(scope: &ServedScope, item: ServedItem) -> Result<ServedItem> {
    let model = scope.reads().model();
    let grants = &model.ty(item.place.ty).item.authorization.read;
    readable_by(scope, grants, item).await
}

/// The item, if these grants let the caller read it.
pub(super) async fn readable_by(
    scope: &ServedScope,
    grants: &Grants,
    item: ServedItem,
) -> Result<ServedItem> {
    match scope.requester().decide_without_item(grants) {
        Some(Decision::Allowed) => Ok(item),
        Some(decision) => Err(refused(decision)),
        None => {
            let by_id = grants.owner.iter().all(|path| path.single().is_some_and(|name| &**name == "id"));
            let known = if by_id { item.clone() } else { whole(scope, &item).await? };
            authorize(scope, grants, &known).await?;
            Ok(item)
        }
    }
}

async fn authorize(scope: &ServedScope, grants: &Grants, item: &ServedItem) -> Result<()> {
    let subject = (item.place.ty, &*item.body);
    let decision = scope.requester().decide(scope.reads(), grants, subject, scope.ledger()).await;
    match decision.map_err(|fault| scope.fault(&fault))? {
        Decision::Allowed => Ok(()),
        decision => Err(refused(decision)),
    }
}

/// The error of a caller without a grant.
pub(super) fn refused(decision: Decision) -> Error {
    match crate::served::commands::refusal_of(decision) {
        Err(refusal) => errors::refusal(&refusal),
        Ok(()) => errors::error(Code::Internal, "Something went wrong on the server."),
    }
}

/// The whole item of an entry or a reference.
///
/// # Errors
/// `NOT_FOUND` where it has gone.
pub(super) async fn whole(scope: &ServedScope, item: &ServedItem) -> Result<ServedItem> {
    if item.entry_fields.is_none() {
        return Ok(item.clone());
    }
    let found = scope.loader().load(&item.place).await.map_err(|fault| scope.fault(&fault))?;
    let found = found.ok_or_else(|| {
        let name = scope.reads().model().ty(item.place.ty).type_value;
        errors::error(Code::NotFound, format!("This {name} no longer exists."))
    })?;
    Ok(ServedItem { is_own: item.is_own, ..ServedItem::whole(item.place.clone(), found) })
}

/// The property of the items that has a field's value; `None` where the items have no such property.
fn property_of(field: &onehop_model::Field) -> Option<&'static str> {
    let path = match (&field.kind, field.property()) {
        (_, Some(path)) => path,
        (FieldKind::Stored(stored), None) => &stored.property,
        (_, None) => return None,
    };
    Some(property_name(path))
}

/// The value of a stored field or count.
fn value_of<'a>(field: &ItemField, item: &ServedItem) -> Result<Option<FieldValue<'a>>> {
    let declaration = field.declaration();
    if let FieldKind::Stored(stored) = &declaration.kind
        && matches!(stored.source, ValueSource::Id)
    {
        return Ok(Some(FieldValue::value(item.place.encode(&field.model))));
    }
    let fields = &field.model.ty(field.ty).item.fields;
    output((&field.model, fields), declaration, (&item.body, &item.body))
}

/// A stored value as the value of a field.
pub(super) fn output<'a>(
    (model, fields): (&ServedModel, &[onehop_model::Field]),
    field: &onehop_model::Field,
    (object, item): (&Body, &Arc<Body>),
) -> Result<Option<FieldValue<'a>>> {
    let value = stored::value_of(model.model(), fields, field, object);
    if is_money(field) {
        return amount((model, fields), field, (object, item), &value);
    }
    match decoded(format_of(field), value) {
        Json::Null => absent(field),
        Json::Array(values) if field.ty.list.is_some() => {
            let values: Result<Vec<_>> =
                values.into_iter().map(|value| single(model, &field.ty.of, value, item)).collect();
            Ok(Some(FieldValue::list(values?)))
        }
        value => Ok(Some(single(model, &field.ty.of, value, item)?)),
    }
}

/// The value of an absent property.
pub(super) fn absent<'a>(field: &onehop_model::Field) -> Result<Option<FieldValue<'a>>> {
    match (field.ty.non_null, field.ty.list) {
        (false, _) => Ok(None),
        (true, Some(_)) => Ok(Some(FieldValue::list(Vec::<FieldValue<'a>>::new()))),
        (true, None) if !field.former().is_empty() => {
            let message = format!("The value of {} has not moved yet: try again later.", field.name);
            Err(errors::error(Code::Unavailable, message))
        }
        (true, None) => {
            let message = format!("The item has no value of {}, which is non-null.", field.name);
            Err(errors::error(Code::Internal, message))
        }
    }
}

fn single<'a>(model: &ServedModel, of: &TypeOf, value: Json, item: &Arc<Body>) -> Result<FieldValue<'a>> {
    Ok(match (of, value) {
        (_, Json::Null) => FieldValue::NULL,
        (TypeOf::Embedded(_), Json::Object(body)) => {
            FieldValue::owned_any(EmbeddedValue { object: body, item: Arc::clone(item) })
        }
        (TypeOf::Enum(of), Json::String(text)) => {
            let name = model.model().enum_type(of).and_then(|of| stored::enum_name(of, &text));
            let unknown = || errors::error(Code::Internal, format!("The stored value is no {of}."));
            FieldValue::value(Value::Enum(Name::new(name.ok_or_else(unknown)?)))
        }
        (_, value) => FieldValue::value(Value::from_json(value)?),
    })
}

/// A type of the model as a type of the schema.
pub(super) fn type_ref(ty: &FieldType) -> TypeRef {
    wrapped(ty.of.name(), ty)
}

/// A name with the list and non-null wrappers of a field's type.
pub(super) fn wrapped(name: &str, ty: &FieldType) -> TypeRef {
    let named = TypeRef::named(name);
    let inner = match ty.list {
        None => named,
        Some(ListElements::Nullable) => TypeRef::List(Box::new(named)),
        Some(ListElements::NonNull) => TypeRef::List(Box::new(TypeRef::NonNull(Box::new(named)))),
    };
    if ty.non_null { TypeRef::NonNull(Box::new(inner)) } else { inner }
}

/// A description of a model, without the end of a block string: async-graphql writes it into the SDL without
/// escapes.
pub(super) fn escaped(description: &str) -> String {
    description.replace(BLOCK_END, "\\\"\"\"")
}

/// A field with its description.
pub(super) fn described(field: Field, description: Option<&str>) -> Field {
    match description {
        Some(description) => field.description(escaped(description)),
        None => field,
    }
}
