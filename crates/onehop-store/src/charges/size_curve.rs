//! Size curve: the share of a charge that depends on the size of an item, as straight lines between points.

use serde::{Deserialize, Serialize};

/// A charge by size: straight lines between points, the last of which goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SizeCurve(Vec<(f64, f64)>);

impl SizeCurve {
    /// A curve through points of bytes and RU.
    ///
    /// Returns `None` for fewer than two points, points out of order, and charges that fall or are no
    /// numbers.
    #[must_use]
    pub fn through(points: Vec<(f64, f64)>) -> Option<Self> {
        let is_finite = points.iter().all(|(bytes, charge)| bytes.is_finite() && charge.is_finite());
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
        let starts = points.first().is_some_and(|(bytes, charge)| *bytes >= 0.0 && *charge >= 0.0);
        (points.len() >= 2 && is_finite && rises && starts).then_some(Self(points))
    }

    /// The points, in bytes and RU.
    #[must_use]
    pub fn points(&self) -> &[(f64, f64)] {
        &self.0
    }

    /// The charge at a size, RU. Below the first point, the charge of the first point.
    #[must_use]
    pub fn at(&self, bytes: usize) -> f64 {
        let bytes = bytes as f64;
        let points = &self.0;
        if bytes <= points[0].0 {
            return points[0].1;
        }
        let next = points.iter().position(|(size, _)| bytes <= *size).unwrap_or(points.len() - 1);
        let ((left, low), (right, high)) = (points[next - 1], points[next]);
        low + (high - low) * (bytes - left) / (right - left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_flat_then_straight_and_goes_on() {
        let curve = SizeCurve::through(vec![(1_000.0, 1.0), (10_000.0, 1.9), (20_000.0, 4.0)]).unwrap();
        let charges = [0, 1_000, 5_500, 10_000, 15_000, 30_000].map(|bytes| curve.at(bytes));
        let expected = [1.0, 1.0, 1.45, 1.9, 2.95, 6.1];
        assert!(
            charges.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-9),
            "{charges:?}"
        );
    }

    #[test]
    fn points_out_of_order_are_no_curve() {
        for points in [
            vec![(1.0, 1.0)],
            vec![(2.0, 1.0), (1.0, 2.0)],
            vec![(1.0, 2.0), (2.0, 1.0)],
            vec![(1.0, f64::NAN), (2.0, 3.0)],
            vec![(-1.0, 0.0), (2.0, 3.0)],
        ] {
            assert_eq!(SizeCurve::through(points.clone()), None, "{points:?}");
        }
    }
}
