//! Related fields of a model: its lists, of item types and of `Query`.

use onehop_model::{Field, FieldKind, Model, RelatedField};

/// The related field, if the field is one.
#[must_use]
pub fn related(field: &Field) -> Option<&RelatedField> {
    match &field.kind {
        FieldKind::Related(related) => Some(related),
        _ => None,
    }
}

/// All lists of a model, each with its type; `None` for `Query`.
pub fn lists(model: &Model) -> impl Iterator<Item = (Option<&str>, &RelatedField)> {
    let of_types = model.items().iter().flat_map(|item| {
        let fields = item.fields.iter().filter_map(related);
        fields.map(move |related| (Some(&*item.name), related))
    });
    let of_query = model.queries().iter().filter_map(|query| match &query.kind {
        onehop_model::QueryKind::Related(related) => Some((None, related)),
        _ => None,
    });
    of_types.chain(of_query)
}
