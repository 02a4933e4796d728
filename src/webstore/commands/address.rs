//! Postal addresses of customers.

use crate::domain::error::Refusal;
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
/// `BAD_USER_INPUT` on `addresses` or on a field of one.
pub(super) fn parse_addresses(typed: Vec<TypedAddress>) -> Result<Vec<AddressItem>, Refusal> {
    if typed.len() > ADDRESSES_MAX {
        let rule = format_args!("must be at most {ADDRESSES_MAX}, are {}", typed.len());
        return Err(Refusal::bad_input("addresses", rule));
    }
    typed.into_iter().map(parse_address).collect()
}

fn parse_address(typed: TypedAddress) -> Result<AddressItem, Refusal> {
    let line = |field: &'static str, text: &str| check(field, text, LINE_CHARS_MAX);
    let optional = |field, text: &Option<String>| text.as_deref().map_or(Ok(()), |text| line(field, text));
    line("addressLine1", &typed.address_line1)?;
    optional("addressLine2", &typed.address_line2)?;
    line("city", &typed.city)?;
    optional("state", &typed.state)?;
    line("country", &typed.country)?;
    check("zipCode", &typed.zip_code, ZIP_CODE_CHARS_MAX)?;
    let TypedAddress { address_line1, address_line2, city, state, country, zip_code } = typed;
    Ok(AddressItem { address_line1, address_line2, city, state, country, zip_code })
}

fn check(field: &'static str, text: &str, chars_max: usize) -> Result<(), Refusal> {
    check_length(field, text, chars_max)?;
    check_line(field, text)
}
