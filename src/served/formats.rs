//! Formats of fields: of times and decimals, and the currencies of amounts.

use onehop_model::{CurrencyProperty, EmbeddedType, Field, FieldKind, Format, Model, Scalar, TypeOf};
pub use onehop_read_models::{decoded, encoded, text_of};

use super::names::interned;

/// The digits that a JSON number keeps in every reader.
pub const NUMBER_DIGITS_MAX: usize = 15;

/// The format of a field's values.
#[must_use]
pub fn format_of(field: &Field) -> Format {
    match &field.kind {
        FieldKind::Stored(stored) => stored.format,
        _ => Format::Iso,
    }
}

/// Whether a JSON number keeps all digits of a decimal.
#[must_use]
pub fn fits_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '0', '.']);
    digits.bytes().filter(u8::is_ascii_digit).count() <= NUMBER_DIGITS_MAX
}

/// Whether the currency of a field is at the root of the item, for a field of an embedded type.
#[must_use]
pub fn is_currency_of_item(field: &Field) -> bool {
    matches!(&field.kind, FieldKind::Stored(stored)
        if matches!(stored.currency, Some(CurrencyProperty::OfItem(_))))
}

/// Whether a field is an amount.
#[must_use]
pub fn is_money(field: &Field) -> bool {
    field.ty.of == TypeOf::Scalar(Scalar::Money)
}

/// The properties at the root of an item with currencies of a field: of an amount, or of amounts in its
/// objects.
#[must_use]
pub fn currency_roots(model: &Model, field: &Field) -> Vec<&'static str> {
    let mut roots = Vec::new();
    if is_money(field) {
        roots.extend(field.currency().and_then(|path| path.properties().first()).map(|root| interned(root)));
    }
    if let TypeOf::Embedded(of) = &field.ty.of {
        add_inner_roots(model, model.embedded_type(of), &mut roots, DEPTH_MAX);
    }
    roots
}

/// The levels of objects within objects that are looked at.
const DEPTH_MAX: usize = 16;

fn add_inner_roots(
    model: &Model,
    embedded: Option<&EmbeddedType>,
    roots: &mut Vec<&'static str>,
    depth: usize,
) {
    let (Some(embedded), Some(depth)) = (embedded, depth.checked_sub(1)) else { return };
    for field in &embedded.fields {
        if is_money(field)
            && is_currency_of_item(field)
            && let Some(root) = field.currency().and_then(|path| path.properties().first())
        {
            let root = interned(root);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        if let TypeOf::Embedded(of) = &field.ty.of {
            add_inner_roots(model, model.embedded_type(of), roots, depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_keeps_fifteen_digits() {
        assert!(fits_number("-0.00123456789012345"));
        assert!(!fits_number("1234567890123.456"));
    }
}
