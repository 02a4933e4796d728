//! Figures as texts.

const DECIMALS_MAX: f64 = 9.0;

/// A figure with three significant digits, or as a whole number from 100 on.
#[must_use]
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding can add a digit before the point.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let decimals = (2.0 - rounded.abs().log10().floor()).clamp(0.0, DECIMALS_MAX) as usize;
    format!("{value:.decimals$}")
}

/// A share of 1 in percent: `12.5 %`.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", figure(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_three_significant_digits() {
        for (value, shown) in [
            (0.0, "0"),
            (26_839.4, "26839"),
            (100.0, "100"),
            (28.84, "28.8"),
            (99.99, "100"),
            (0.000_123_4, "0.000123"),
        ] {
            assert_eq!(figure(value), shown);
        }
        assert_eq!(percent(0.005), "0.500 %");
    }
}
