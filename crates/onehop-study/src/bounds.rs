//! Bounds: an interval of an uncertain input or of a figure that follows from it.

use serde::Serialize;

/// The lowest and the highest value. An end without a limit is infinite, which JSON shows as null.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    pub low: f64,
    pub high: f64,
}

impl Bounds {
    /// A known value.
    #[must_use]
    pub fn certain(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Whether both ends are the same.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        self.low >= self.high
    }

    /// The different ends, the lowest first.
    #[must_use]
    pub fn ends(&self) -> Vec<f64> {
        if self.is_certain() { vec![self.high] } else { vec![self.low, self.high] }
    }

    /// The smallest interval with all of these values; `None` without a value.
    #[must_use]
    pub fn hull(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values = values.into_iter();
        let first = Self::certain(values.next()?);
        Some(values.fold(first, |hull, value| Self { low: hull.low.min(value), high: hull.high.max(value) }))
    }

    /// Whether every value is less than every value of the other.
    #[must_use]
    pub fn is_below(&self, other: &Self) -> bool {
        self.high < other.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(-1e9..1e9_f64, 1..8)
    }

    #[test]
    fn a_known_value_has_one_end() {
        assert_eq!(Bounds::certain(2.0).ends(), [2.0]);
        assert_eq!(Bounds { low: 1.0, high: 3.0 }.ends(), [1.0, 3.0]);
        assert_eq!(Bounds::hull([]), None);
    }

    proptest! {
        #[test]
        fn a_hull_has_all_values_and_ends_at_two_of_them(values in values()) {
            let hull = Bounds::hull(values.iter().copied()).unwrap();
            prop_assert!(values.iter().all(|value| (hull.low..=hull.high).contains(value)));
            prop_assert!(hull.ends().iter().all(|end| values.contains(end)));
        }

        #[test]
        fn an_interval_is_below_another_where_all_values_are(one in values(), other in values()) {
            let [below, above] = [&one, &other].map(|values| Bounds::hull(values.iter().copied()).unwrap());
            let all_are_below = one.iter().all(|low| other.iter().all(|high| low < high));
            prop_assert_eq!(below.is_below(&above), all_are_below);
            prop_assert!(!(below.is_below(&above) && above.is_below(&below)), "not both");
            prop_assert!(!below.is_below(&below));
        }
    }
}
