//! Text of fields, with the directives of each kind.

use super::authorization;
use super::directive::{DirectiveText, description};
use super::related::related;
use crate::defaults::{CURRENCY_PROPERTY, stored_property};
use crate::value::{
    Checks, Computed, CopyOrigin, CurrencyProperty, Field, FieldKind, Format, Kept, Keyword, Model, Name,
    Normalize, PropertyPath, ReferenceField, StoredField, ValueSource,
};

/// A field on one line, after its description.
pub(super) fn field(model: &Model, ty: &str, field: &Field) -> String {
    let mut directives = match &field.kind {
        FieldKind::Stored(stored) => self::stored(field, stored),
        FieldKind::Reference(reference) => self::reference(field, reference),
        FieldKind::Related(it) => {
            let target = model.item(&it.item_type).map_or("", |item| &item.type_value);
            related(it, target, &format!("{ty}.{}", field.name))
        }
        FieldKind::Count(count) => self::count(field, &count.of, &count.kept),
        FieldKind::HasCaller(list) => vec![DirectiveText::new("caller").text("in", list).build()],
    };
    directives.extend(checks(&field.checks));
    directives.extend(authorization::of_field(&field.authorization));
    directives.extend(field.hidden.then(|| "@hidden".to_owned()));
    let directives: String = directives.iter().map(|directive| format!(" {directive}")).collect();
    let text = description(field.description.as_deref(), "  ");
    format!("{text}  {}: {}{directives}\n", field.name, field.ty)
}

/// `@stored`, where the property, the format or former properties differ from the default.
fn stored_directive(
    field: &Field,
    property: &PropertyPath,
    former: &[PropertyPath],
    format: Format,
) -> Option<String> {
    let is_reference = matches!(field.kind, FieldKind::Reference(_)) && field.ty.list.is_none();
    let default = stored_property(&field.name, is_reference);
    let property = Some(property).filter(|property| **property != default);
    let format = Some(format).filter(|format| *format != Format::Iso);
    let differs = property.is_some() || format.is_some() || !former.is_empty();
    let text = DirectiveText::new("stored").optional_text("as", property);
    differs.then(|| text.optional("format", format.map(Keyword::name)).texts("former", former).build())
}

fn stored(field: &Field, stored: &StoredField) -> Vec<String> {
    let of = |name, of: &[Name]| Some(DirectiveText::new(name).texts("of", of).build());
    let mut directives = Vec::new();
    directives.extend(match &stored.source {
        ValueSource::Id | ValueSource::Input => None,
        ValueSource::Created => Some("@created".to_owned()),
        ValueSource::Updated(fields) => of("updated", fields),
        ValueSource::Version(fields) => of("version", fields),
        ValueSource::Computed(computed) => Some(self::computed(computed)),
        ValueSource::Copied(copy) => {
            let from = match &copy.from {
                CopyOrigin::Reference { reference, field } => format!("{reference}.{field}"),
                CopyOrigin::Type { item_type, field } => format!("{item_type}.{field}"),
            };
            Some(DirectiveText::new("copy").text("from", from).flag("frozen", copy.frozen).build())
        }
    });
    directives.extend(stored_directive(field, &stored.property, &stored.former, stored.format));
    directives.extend(stored.default.as_ref().map(|default| {
        DirectiveText::new("default").raw("value", &default.value).flag("sparse", default.sparse).build()
    }));
    directives.extend(stored.unique.map(|normalize| {
        let normalize = Some(normalize).filter(|normalize| *normalize != Normalize::Exact);
        DirectiveText::new("unique").optional("normalize", normalize.map(Keyword::name)).build()
    }));
    let path = stored.currency.as_ref().map(|currency| match currency {
        CurrencyProperty::OfItem(path) => path.slashed(),
        CurrencyProperty::Beside(path) => path.to_string(),
    });
    let path = path.filter(|path| path != CURRENCY_PROPERTY);
    directives.extend(path.map(|path| DirectiveText::new("money").text("currency", path).build()));
    directives.extend(stored.immutable.then(|| "@immutable".to_owned()));
    directives
}

fn computed(computed: &Computed) -> String {
    DirectiveText::new("computed")
        .raw("by", computed.function.name())
        .texts("from", &computed.from)
        .optional("length", computed.length)
        .flag("stored", computed.stored)
        .build()
}

fn reference(field: &Field, reference: &ReferenceField) -> Vec<String> {
    let mut directives =
        vec![DirectiveText::new("reference").texts("partition", &reference.partition).build()];
    directives.extend(stored_directive(field, &reference.property, &reference.former, Format::Iso));
    directives.extend(reference.caller.then(|| "@caller".to_owned()));
    directives.extend((!reference.copies.is_empty()).then(|| {
        let fields: Vec<&Name> = reference.copies.iter().map(|copy| &copy.field).collect();
        DirectiveText::new("copy").texts("fields", &fields).flag("frozen", reference.frozen).build()
    }));
    directives.extend(reference.immutable.then(|| "@immutable".to_owned()));
    directives
}

fn count(field: &Field, of: &Name, kept: &Kept) -> Vec<String> {
    let text = DirectiveText::new("count").text("of", of);
    let (text, stored) = match kept {
        Kept::Batch { property, former } => (text, Some((property, former))),
        Kept::Behind { property, former, within_seconds } => {
            (text.raw("kept", "BEHIND").optional("within", *within_seconds), Some((property, former)))
        }
        Kept::Query => (text.raw("kept", "QUERY"), None),
    };
    let stored = stored.and_then(|(property, former)| stored_directive(field, property, former, Format::Iso));
    std::iter::once(text.build()).chain(stored).collect()
}

fn checks(checks: &Checks) -> Vec<String> {
    let mut directives = Vec::new();
    if checks.length_min.is_some() || checks.length_max.is_some() {
        let text = DirectiveText::new("length").optional("min", checks.length_min);
        directives.push(text.optional("max", checks.length_max).build());
    }
    if checks.range_min.is_some() || checks.range_max.is_some() {
        let text = DirectiveText::new("range").optional("min", checks.range_min.as_ref());
        directives.push(text.optional("max", checks.range_max.as_ref()).build());
    }
    directives.extend(checks.pattern.as_ref().map(|it| DirectiveText::new("pattern").text("is", it).build()));
    directives
}
