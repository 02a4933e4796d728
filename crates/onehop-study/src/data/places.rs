//! Places: the paths at which data files may have a field.

use onehop_model::{Field, FieldKind};
use serde_json::Value;

/// The value at the first path that has one; null counts as absent.
pub(crate) fn value_at<'v>(places: &[Vec<String>], line: &'v Value) -> Option<&'v Value> {
    let at = |place: &Vec<String>| {
        let found = place.iter().try_fold(line, |value, property| value.get(property))?;
        (!found.is_null()).then_some(found)
    };
    places.iter().find_map(at)
}

/// The paths at which data files may have a field of an item or of an embedded object.
pub(crate) fn places_of(field: &Field) -> Vec<Vec<String>> {
    let mut places = vec![vec![field.name.to_string()]];
    if matches!(field.kind, FieldKind::Reference(_)) {
        places.push(vec![format!("{}Id", field.name)]);
    }
    places.extend(field.property().map(|path| path.properties().to_vec()));
    let former = match &field.kind {
        FieldKind::Stored(stored) => stored.former.as_slice(),
        FieldKind::Reference(reference) => reference.former.as_slice(),
        _ => &[],
    };
    places.extend(former.iter().map(|path| path.properties().to_vec()));
    places
}
