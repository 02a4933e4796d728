//! Object types of the embedded types of a served model: their fields, and the callers who may read them.

use std::sync::Arc;

use async_graphql::Result;
use async_graphql::dynamic::{Field, FieldFuture, FieldValue, Object, ResolverContext};
use onehop_model::{FieldKind, ReferenceField};

use super::objects::{
    EmbeddedValue, Resolved, absent, described, escaped, known_target, output, readable, refused, type_ref,
};
use super::scope;
use crate::served::{Decision, ServedModel, embedded_places};

/// The object type of an embedded type.
pub(super) fn embedded_object(model: &Arc<ServedModel>, embedded: &onehop_model::EmbeddedType) -> Object {
    let mut object = Object::new(&*embedded.name);
    if let Some(description) = &embedded.description {
        object = object.description(escaped(description));
    }
    for field in embedded.fields.iter().filter(|field| !field.hidden) {
        let (model, declaration) = (Arc::clone(model), field.clone());
        let fields: Arc<[onehop_model::Field]> = embedded.fields.clone().into();
        if let FieldKind::Reference(reference) = &field.kind {
            let resolved = embedded_reference(&model, &fields, field, reference);
            object = object.field(described(resolved, field.description.as_deref()));
            continue;
        }
        let resolved = Field::new(&*field.name, type_ref(&field.ty), move |ctx| {
            let value = ctx.parent_value.try_downcast_ref::<EmbeddedValue>();
            let resolved = check_reader(&ctx, &declaration).and(value).and_then(|embedded| {
                output((&model, &fields), &declaration, (&embedded.object, &embedded.item))
            });
            Resolved::Now(resolved).into_future()
        });
        object = object.field(described(resolved, field.description.as_deref()));
    }
    object
}

/// A reference in an embedded object: the target, with the fields that its copies hold, or the targets of a
/// list of references.
fn embedded_reference(
    model: &Arc<ServedModel>,
    fields: &Arc<[onehop_model::Field]>,
    field: &onehop_model::Field,
    reference: &ReferenceField,
) -> Field {
    let (model, fields) = (Arc::clone(model), Arc::clone(fields));
    let (declaration, reference) = (Arc::new(field.clone()), Arc::new(reference.clone()));
    Field::new(&*field.name, type_ref(&field.ty), move |ctx| {
        let (model, fields) = (Arc::clone(&model), Arc::clone(&fields));
        let (declaration, reference) = (Arc::clone(&declaration), Arc::clone(&reference));
        FieldFuture::new(async move {
            check_reader(&ctx, &declaration)?;
            let EmbeddedValue { object, .. } = ctx.parent_value.try_downcast_ref::<EmbeddedValue>()?;
            let mut targets = Vec::new();
            for place in embedded_places(&model, &fields, &reference, object) {
                let target = known_target(&model, &reference, place, object, |_| true);
                targets.push(FieldValue::owned_any(readable(scope::of(ctx.ctx), target).await?));
            }
            if declaration.ty.list.is_some() {
                return Ok(Some(FieldValue::list(targets)));
            }
            targets.pop().map_or_else(|| absent(&declaration), |target| Ok(Some(target)))
        })
    })
}

/// Whether the caller may read a field of an object. The support check has refused rules that ask for the
/// owner.
///
/// # Errors
/// `UNAUTHENTICATED`, `FORBIDDEN`.
fn check_reader(ctx: &ResolverContext<'_>, field: &onehop_model::Field) -> Result<()> {
    let Some(grants) = &field.authorization.read else { return Ok(()) };
    let decision = scope::of(ctx.ctx).requester().decide_without_item(grants);
    match decision.unwrap_or(Decision::Forbidden) {
        Decision::Allowed => Ok(()),
        decision => Err(refused(decision)),
    }
}
