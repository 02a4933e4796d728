//! Defaults of the language beyond the defaults of arguments: properties and numbers where a model states
//! none.

use crate::value::{Page, PropertyPath};

/// The property with the type of an item.
pub(crate) const TYPE_PROPERTY: &str = "type";

/// The property that marks a softly deleted item.
pub(crate) const DELETED_PROPERTY: &str = "deleted";

/// The time until a softly deleted item expires: 30 days.
pub(crate) const DELETED_TTL_SECONDS: u32 = 30 * 24 * 60 * 60;

/// The property of a currency code, beside the amount.
pub(crate) const CURRENCY_PROPERTY: &str = "currencyCode";

/// The version of items that the store itself increases.
pub(crate) const LOG_SEQUENCE_NUMBER: &str = "_lsn";

/// The pages of related items.
pub(crate) const PAGE: Page = Page { first: 20, max: 100, connection: true };

/// The property of a field: its name, and for a single reference its name with `Id`.
pub(crate) fn stored_property(field: &str, is_single_reference: bool) -> PropertyPath {
    PropertyPath::property(&if is_single_reference { format!("{field}Id") } else { field.to_owned() })
}
