//! Postal addresses of customers.

use crate::domain::error::{InputStep, InvalidFields, Refusal};
use crate::domain::text::{check_length, check_line};
use crate::webstore::items::AddressItem;

/// The most addresses of a customer.
pub const ADDRESSES_MAX: usize = 10;
/// The most characters of a line, a city, a state or a country.
const LINE_CHARS_MAX: usize = 200;
/// The most characters of a postal code.
const ZIP_CODE_CHARS_MAX: usize = 20;

/// An address, as typed.
#[derive(Debug, Clone)]
pub struct TypedAddress {
    pub address_line1: String,
    pub address_line2: Option<String>,
    pub city: String,
    pub state: Option<String>,
    pub country: String,
    pub zip_code: String,
}

/// The addresses, each checked.
///
/// # Errors
/// `BAD_USER_INPUT` on `addresses`, or on all invalid fields of all addresses.
pub(super) fn parse_addresses(typed: Vec<TypedAddress>) -> Result<Vec<AddressItem>, Refusal> {
    if typed.len() > ADDRESSES_MAX {
        let rule = format_args!("must be at most {ADDRESSES_MAX}, are {}", typed.len());
        return Err(Refusal::bad_input("addresses", rule));
    }
    let mut invalid = InvalidFields::default();
    let mut addresses = Vec::with_capacity(typed.len());
    for (index, typed) in typed.into_iter().enumerate() {
        let steps = [InputStep::Field("addresses"), InputStep::Index(index)];
        addresses.extend(invalid.check_within(&steps, parse_address(typed)));
    }
    invalid.unless_any(addresses)
}

/// The address of a delivery, checked.
///
/// # Errors
/// `BAD_USER_INPUT` on all invalid fields of `shippingAddress`.
pub(super) fn parse_shipping_address(typed: Option<TypedAddress>) -> Result<Option<AddressItem>, Refusal> {
    let Some(typed) = typed else { return Ok(None) };
    let mut invalid = InvalidFields::default();
    let parsed = invalid.check_within(&[InputStep::Field("shippingAddress")], parse_address(typed));
    invalid.unless_any(parsed)
}

fn parse_address(typed: TypedAddress) -> Result<AddressItem, Refusal> {
    let mut invalid = InvalidFields::default();
    let TypedAddress { address_line1, address_line2, city, state, country, zip_code } = &typed;
    for (field, text) in [
        ("addressLine1", Some(address_line1)),
        ("addressLine2", address_line2.as_ref()),
        ("city", Some(city)),
        ("state", state.as_ref()),
        ("country", Some(country)),
    ] {
        invalid.check(text.map_or(Ok(()), |text| check(field, text, LINE_CHARS_MAX)));
    }
    invalid.check(check("zipCode", zip_code, ZIP_CODE_CHARS_MAX));
    let TypedAddress { address_line1, address_line2, city, state, country, zip_code } = typed;
    invalid.unless_any(AddressItem { address_line1, address_line2, city, state, country, zip_code })
}

fn check(field: &'static str, text: &str, chars_max: usize) -> Result<(), Refusal> {
    check_length(field, text, chars_max)?;
    check_line(field, text)
}
