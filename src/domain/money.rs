//! Money: an exact amount in the minor units of a currency. It is written as a decimal text outside and never
//! passes through a floating-point number.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest amount that a client may give, in minor units. The total of the largest order stays far within
/// 64 bits.
pub const AMOUNT_MAX: i64 = 999_999_999_999;
/// The most characters of an amount that are looked at.
const AMOUNT_CHARS_MAX: usize = 40;
/// Decimals of most currencies.
const DECIMALS_DEFAULT: u32 = 2;

/// Active currencies of ISO 4217, without funds and metals.
const CURRENCIES: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD \
    CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG \
    HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK \
    MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD \
    SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND \
    VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG";
/// Currencies without decimals, by ISO 4217.
const WITHOUT_DECIMALS: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
/// Currencies with three decimals, by ISO 4217.
const THREE_DECIMALS: &str = "BHD IQD JOD KWD LYD OMR TND";

/// An amount that is no amount of money. The text states the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MoneyError {
    #[error("must have a currency code of ISO 4217, such as EUR")]
    Currency,
    #[error("must have an amount of digits with an optional decimal point, such as \"12.50\"")]
    Form,
    #[error("must have at most {max} decimals in this currency, has {actual}")]
    Decimals { max: u32, actual: usize },
    #[error("must be at most {AMOUNT_MAX} minor units of its currency")]
    TooLarge,
}

/// The code of a currency, by ISO 4217.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CurrencyCode(String);

impl CurrencyCode {
    /// A currency by its code.
    ///
    /// # Errors
    /// [`MoneyError::Currency`] for any other text.
    pub fn parse(code: &str) -> Result<Self, MoneyError> {
        let is_known = CURRENCIES.split_ascii_whitespace().any(|known| known == code);
        is_known.then(|| Self(code.to_owned())).ok_or(MoneyError::Currency)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number of decimals of an amount.
    #[must_use]
    pub fn decimals(&self) -> u32 {
        decimals_of(&self.0)
    }
}

fn decimals_of(currency_code: &str) -> u32 {
    let is_among = |codes: &str| codes.split_ascii_whitespace().any(|code| code == currency_code);
    match () {
        () if is_among(WITHOUT_DECIMALS) => 0,
        () if is_among(THREE_DECIMALS) => 3,
        () => DECIMALS_DEFAULT,
    }
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    pub minor_units: i64,
    pub currency: CurrencyCode,
}

impl Money {
    /// An amount from its decimal text and the code of its currency.
    ///
    /// # Errors
    /// See [`MoneyError`]. An amount with more decimals than its currency has is refused, not rounded.
    pub fn parse(amount: &str, currency_code: &str) -> Result<Self, MoneyError> {
        let currency = CurrencyCode::parse(currency_code)?;
        if amount.len() > AMOUNT_CHARS_MAX {
            return Err(MoneyError::Form);
        }
        let (whole, fraction) = match amount.split_once('.') {
            Some((_, "")) => return Err(MoneyError::Form),
            Some(parts) => parts,
            None => (amount, ""),
        };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return Err(MoneyError::Form);
        }
        let max = currency.decimals();
        let missing = (max as usize)
            .checked_sub(fraction.len())
            .ok_or(MoneyError::Decimals { max, actual: fraction.len() })?;
        let digits = format!("{whole}{fraction}{}", "0".repeat(missing));
        let minor_units = digits.parse().map_err(|_| MoneyError::TooLarge)?;
        if minor_units > AMOUNT_MAX {
            return Err(MoneyError::TooLarge);
        }
        Ok(Self { minor_units, currency })
    }

    /// So many of them; `None` where that is more than 64 bits hold.
    #[must_use]
    pub fn times(&self, quantity: u32) -> Option<Self> {
        let minor_units = self.minor_units.checked_mul(i64::from(quantity))?;
        Some(Self { minor_units, currency: self.currency.clone() })
    }
}

impl fmt::Display for Money {
    /// The amount as an exact decimal text, without the currency.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (minor_units, currency_code) = (self.minor_units, self.currency.as_str());
        StoredAmount { minor_units, currency_code }.fmt(formatter)
    }
}

/// A stored amount, in a currency by its code.
#[derive(Debug, Clone, Copy)]
pub struct StoredAmount<'a> {
    pub minor_units: i64,
    pub currency_code: &'a str,
}

impl fmt::Display for StoredAmount<'_> {
    /// The amount as an exact decimal text, without the currency.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = decimals_of(self.currency_code) as usize;
        if decimals == 0 {
            return write!(formatter, "{}", self.minor_units);
        }
        let sign = if self.minor_units < 0 { "-" } else { "" };
        let digits = format!("{:0width$}", self.minor_units.unsigned_abs(), width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        write!(formatter, "{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_amount_is_written_with_the_decimals_of_its_currency() {
        for (amount, code, minor_units, written) in [
            ("12.5", "EUR", 1250, "12.50"),
            ("0.05", "EUR", 5, "0.05"),
            ("7", "USD", 700, "7.00"),
            ("007.10", "USD", 710, "7.10"),
            ("1200", "JPY", 1200, "1200"),
            ("1.234", "KWD", 1234, "1.234"),
            ("0", "CHF", 0, "0.00"),
        ] {
            let money = Money::parse(amount, code).unwrap();
            assert_eq!((money.minor_units, money.to_string().as_str()), (minor_units, written), "{amount}");
        }
    }

    #[test]
    fn what_is_no_exact_amount_of_a_currency_is_refused() {
        for (amount, error) in [
            ("", MoneyError::Form),
            (".5", MoneyError::Form),
            ("5.", MoneyError::Form),
            ("-1", MoneyError::Form),
            ("1e3", MoneyError::Form),
            ("1,5", MoneyError::Form),
            ("１", MoneyError::Form),
            ("1.2.3", MoneyError::Form),
            ("1.005", MoneyError::Decimals { max: 2, actual: 3 }),
            ("10000000000.00", MoneyError::TooLarge),
            ("99999999999999999999999999", MoneyError::TooLarge),
        ] {
            assert_eq!(Money::parse(amount, "EUR"), Err(error), "{amount}");
        }
        assert_eq!(Money::parse("1.5", "JPY"), Err(MoneyError::Decimals { max: 0, actual: 1 }));
        for code in ["", "eur", "EURO", "XXX", "E R"] {
            assert_eq!(Money::parse("1", code), Err(MoneyError::Currency), "{code}");
        }
    }

    #[test]
    fn every_exception_is_a_currency() {
        for code in WITHOUT_DECIMALS.split_ascii_whitespace().chain(THREE_DECIMALS.split_ascii_whitespace()) {
            assert!(CurrencyCode::parse(code).is_ok(), "{code}");
        }
    }

    #[test]
    fn the_total_of_the_largest_order_is_exact() {
        let price = Money::parse("9999999999.99", "EUR").unwrap();
        let line = price.times(1_000).unwrap();
        assert_eq!(line.to_string(), "9999999999990.00");
        assert!(line.minor_units.checked_mul(100).is_some());
    }

    proptest! {
        #[test]
        fn an_amount_survives_being_written_and_read(minor_units in 0..=AMOUNT_MAX, code in "EUR|JPY|KWD") {
            let money = Money { minor_units, currency: CurrencyCode::parse(&code).unwrap() };
            prop_assert_eq!(Money::parse(&money.to_string(), &code), Ok(money));
        }
    }
}
