//! Fit of a calibration: finds the constants that published charges determine, and their values by robust
//! least squares of the relative errors. All other constants stay.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use onehop_store::charges::{Calibration, Constant, SizeCurve};

use super::case::ChargeCase;
use super::check::kind;
use super::estimate::estimate;
use super::least_squares::{inverse_diagonal, solve};

/// The fewest cases in which a constant has to show.
const CASES_MIN: usize = 3;
/// A constant shows in a case whose charge changes by this share when the constant doubles.
const VISIBLE_SHARE: f64 = 0.005;
/// The least share of a constant's effect that no other constant has, as a length over all cases.
const OWN_EFFECT_MIN: f64 = 0.05;
/// Relative errors beyond this count by their size and not by their square (Huber), so that outliers do not
/// decide.
const ROBUST_ERROR: f64 = 0.002;
/// The step of numeric derivatives, as a share of a value, and the value that stands for a constant of 0.
const STEP: f64 = 1e-4;
const SMALL_VALUE: f64 = 0.05;
const ITERATIONS_MAX: usize = 60;
/// A charge that was printed in whole RU is met within this, RU.
const ROUNDING: f64 = 0.5;

/// A fitted calibration.
#[derive(Debug, Clone)]
pub struct CalibrationFit {
    /// The constants and points of curves that the cases determine.
    pub fitted: Vec<FittedConstant>,
    /// The calibration with the fitted values.
    pub calibration: Calibration,
}

/// A constant that the cases determine.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedConstant {
    /// The name of the constant, or of a curve's point: `writeSize at 10053 bytes`.
    pub name: String,
    pub before: f64,
    pub fitted: f64,
    /// The standard error of the fitted value, in its unit.
    pub standard_error: f64,
    /// The cases in which it shows.
    pub cases: usize,
    parameter: Parameter,
}

/// A value that a fit may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Constant(Constant),
    PointRead(usize),
    WriteSize(usize),
}

/// Fits a calibration to cases, beginning with the values of `base`. Cases that the model has no estimate for
/// do not count.
#[must_use]
pub fn calibrate(cases: &[ChargeCase], base: &Calibration) -> CalibrationFit {
    let cases: Vec<&ChargeCase> = cases
        .iter()
        .filter(|case| case.charge > 0.0 && estimate(case, base).is_some() && is_of_model(case))
        .collect();
    let mut fit = Fit { cases: &cases, parameters: Vec::new() };
    let determined = fit.determined(base);
    fit.parameters = determined;
    let calibration = fit.solve(base.clone());
    let fitted = fit.fitted(base, &calibration);
    CalibrationFit { fitted, calibration }
}

/// Queries of former engines and queries without an index follow no law of this model.
fn is_of_model(case: &ChargeCase) -> bool {
    kind(case) != "query, other" && kind(case) != "other"
}

struct Fit<'a> {
    cases: &'a [&'a ChargeCase],
    parameters: Vec<Parameter>,
}

impl Parameter {
    fn all(calibration: &Calibration) -> Vec<Self> {
        let constants = Constant::ALL.into_iter().map(Self::Constant);
        let point_read = (0..calibration.point_read_curve().points().len()).map(Self::PointRead);
        let write_size = (0..calibration.write_size_curve().points().len()).map(Self::WriteSize);
        constants.chain(point_read).chain(write_size).collect()
    }

    fn value(self, calibration: &Calibration) -> f64 {
        match self {
            Self::Constant(constant) => calibration.value(constant),
            Self::PointRead(place) => calibration.point_read_curve().points()[place].1,
            Self::WriteSize(place) => calibration.write_size_curve().points()[place].1,
        }
    }

    /// The calibration with another value; the same one where that makes no curve.
    fn with(self, calibration: &Calibration, value: f64) -> Calibration {
        let value = value.max(0.0);
        let moved = |curve: &SizeCurve, place: usize| {
            let mut points = curve.points().to_vec();
            points[place].1 = value;
            SizeCurve::through(points)
        };
        let (point_read, write_size) = (calibration.point_read_curve(), calibration.write_size_curve());
        match self {
            Self::Constant(constant) => calibration.clone().with_value(constant, value),
            Self::PointRead(place) => match moved(point_read, place) {
                Some(curve) => calibration.clone().with_curves(curve, write_size.clone()),
                None => calibration.clone(),
            },
            Self::WriteSize(place) => match moved(write_size, place) {
                Some(curve) => calibration.clone().with_curves(point_read.clone(), curve),
                None => calibration.clone(),
            },
        }
    }

    fn name(self, calibration: &Calibration) -> String {
        let at = |curve: &SizeCurve, place: usize| {
            format!("{} at {:.0} bytes", self.curve().unwrap_or_default(), curve.points()[place].0)
        };
        match self {
            Self::Constant(constant) => constant.name().to_owned(),
            Self::PointRead(place) => at(calibration.point_read_curve(), place),
            Self::WriteSize(place) => at(calibration.write_size_curve(), place),
        }
    }

    /// The name of the curve that the value is a point of.
    fn curve(self) -> Option<&'static str> {
        match self {
            Self::Constant(_) => None,
            Self::PointRead(_) => Some("pointRead"),
            Self::WriteSize(_) => Some("writeSize"),
        }
    }

    /// A doubling of the value, or a substitute where the value is 0.
    fn doubling(self, calibration: &Calibration) -> f64 {
        self.value(calibration).max(SMALL_VALUE)
    }
}

impl Fit<'_> {
    fn charges(&self, calibration: &Calibration) -> Vec<f64> {
        self.cases
            .iter()
            .map(|case| estimate(case, calibration).map_or(0.0, |parts| parts.total().0))
            .collect()
    }

    /// The relative change of each charge when a value doubles.
    fn effect(&self, parameter: Parameter, calibration: &Calibration, charges: &[f64]) -> Vec<f64> {
        let scale = parameter.doubling(calibration);
        let value = parameter.value(calibration);
        let [more, less] = [1.0, -1.0].map(|sign| parameter.with(calibration, value + sign * STEP * scale));
        let span = (parameter.value(&more) - parameter.value(&less)) / scale;
        if span <= 0.0 {
            return vec![0.0; charges.len()];
        }
        let (more, less) = (self.charges(&more), self.charges(&less));
        let change = |(place, case): (usize, &&ChargeCase)| (more[place] - less[place]) / span / case.charge;
        self.cases.iter().enumerate().map(change).collect()
    }

    /// The parameters whose effects the cases tell apart, the strongest first.
    fn determined(&self, base: &Calibration) -> Vec<Parameter> {
        let charges = self.charges(base);
        let mut candidates: Vec<(Parameter, Vec<f64>)> = Parameter::all(base)
            .into_iter()
            .map(|parameter| (parameter, self.effect(parameter, base, &charges)))
            .filter(|(_, effect)| {
                effect.iter().filter(|share| share.abs() > VISIBLE_SHARE).count() >= CASES_MIN
            })
            .collect();
        let length = |effect: &[f64]| effect.iter().map(|share| share * share).sum::<f64>().sqrt();
        candidates.sort_by(|one, other| length(&other.1).total_cmp(&length(&one.1)));
        let mut directions: Vec<Vec<f64>> = Vec::new();
        let mut determined = Vec::new();
        for (parameter, effect) in candidates {
            let mut own = effect;
            for direction in &directions {
                let along: f64 = own.iter().zip(direction).map(|(own, direction)| own * direction).sum();
                own.iter_mut().zip(direction).for_each(|(own, direction)| *own -= along * direction);
            }
            let rest = length(&own);
            if rest > OWN_EFFECT_MIN {
                own.iter_mut().for_each(|share| *share /= rest);
                directions.push(own);
                determined.push(parameter);
            }
        }
        determined
    }

    /// Relative errors; a rounded charge is met within its rounding.
    fn errors(&self, charges: &[f64]) -> Vec<f64> {
        let error = |(case, charge): (&&ChargeCase, &f64)| {
            let difference = charge - case.charge;
            let beyond = if case.rounded {
                (difference.abs() - ROUNDING).max(0.0).copysign(difference)
            } else {
                difference
            };
            beyond / case.charge
        };
        self.cases.iter().zip(charges).map(error).collect()
    }

    fn loss(&self, calibration: &Calibration) -> f64 {
        let errors = self.errors(&self.charges(calibration));
        errors.iter().map(|error| weight(*error) * error * error).sum()
    }

    /// The normal equations at a calibration: the matrix and the right side.
    fn equations(&self, calibration: &Calibration) -> (Vec<Vec<f64>>, Vec<f64>) {
        let charges = self.charges(calibration);
        let errors = self.errors(&charges);
        let effects: Vec<Vec<f64>> =
            self.parameters.iter().map(|parameter| self.effect(*parameter, calibration, &charges)).collect();
        let weights: Vec<f64> = errors.iter().map(|error| weight(*error)).collect();
        let product = |one: &[f64], other: &[f64]| -> f64 {
            weights.iter().zip(one.iter().zip(other)).map(|(weight, (one, other))| weight * one * other).sum()
        };
        let matrix =
            effects.iter().map(|one| effects.iter().map(|other| product(one, other)).collect()).collect();
        let right = effects.iter().map(|effect| -product(effect, &errors)).collect();
        (matrix, right)
    }

    /// Levenberg and Marquardt's steps from a calibration.
    fn solve(&self, start: Calibration) -> Calibration {
        let (mut best, mut damping) = (start, 1e-3);
        let mut loss = self.loss(&best);
        for _ in 0..ITERATIONS_MAX {
            let (mut matrix, right) = self.equations(&best);
            matrix
                .iter_mut()
                .enumerate()
                .for_each(|(place, row)| row[place] += damping * row[place].max(1e-6));
            let Some(steps) = solve(&matrix, &right) else { break };
            let mut next = best.clone();
            for (parameter, step) in self.parameters.iter().zip(&steps) {
                let value = parameter.value(&best) + step * parameter.doubling(&best);
                next = parameter.with(&next, value);
            }
            let next_loss = self.loss(&next);
            if next_loss < loss {
                let gained = (loss - next_loss) / loss;
                (best, loss, damping) = (next, next_loss, damping / 4.0);
                if gained < 1e-7 {
                    break;
                }
            } else {
                damping *= 8.0;
                if damping > 1e6 {
                    break;
                }
            }
        }
        best
    }

    fn fitted(&self, base: &Calibration, calibration: &Calibration) -> Vec<FittedConstant> {
        let (matrix, _) = self.equations(calibration);
        let charges = self.charges(calibration);
        let freedom = self.cases.len().saturating_sub(self.parameters.len()).max(1) as f64;
        let variance = self.loss(calibration) / freedom;
        let diagonal = inverse_diagonal(&matrix).unwrap_or_else(|| vec![f64::NAN; self.parameters.len()]);
        let fitted = |(place, parameter): (usize, &Parameter)| {
            let effect = self.effect(*parameter, calibration, &charges);
            FittedConstant {
                name: parameter.name(base),
                before: parameter.value(base),
                fitted: parameter.value(calibration),
                standard_error: (variance * diagonal[place]).sqrt() * parameter.doubling(calibration),
                cases: effect.iter().filter(|share| share.abs() > VISIBLE_SHARE).count(),
                parameter: *parameter,
            }
        };
        self.parameters.iter().enumerate().map(fitted).collect()
    }
}

/// Huber's weight of a relative error.
fn weight(error: f64) -> f64 {
    (ROBUST_ERROR / error.abs()).min(1.0)
}

impl CalibrationFit {
    /// The fit as a calibration file that extends `base` and has the fitted values alone.
    #[must_use]
    pub fn file(&self, name: &str, base: &str, source: &str) -> Value {
        let origin = |fitted: &FittedConstant| {
            let error = format!("standard error {:.5}, {} cases", fitted.standard_error, fitted.cases);
            (source.to_owned(), error)
        };
        let mut constants = Map::new();
        for fitted in &self.fitted {
            if let Parameter::Constant(constant) = fitted.parameter {
                let (source, error) = origin(fitted);
                constants.insert(
                    constant.name().to_owned(),
                    json!({ "value": fitted.fitted, "source": source, "error": error }),
                );
            }
        }
        let mut curves = Map::new();
        for (name, curve) in [
            ("pointRead", self.calibration.point_read_curve()),
            ("writeSize", self.calibration.write_size_curve()),
        ] {
            if let Some(first) = self.fitted.iter().find(|fitted| fitted.parameter.curve() == Some(name)) {
                let (source, error) = origin(first);
                curves.insert(
                    name.to_owned(),
                    json!({ "points": curve.points(), "source": source, "error": error }),
                );
            }
        }
        json!({ "name": name, "extends": base, "constants": constants, "curves": curves })
    }

    /// The kinds of operation of the cases, with their numbers.
    #[must_use]
    pub fn kinds(cases: &[ChargeCase]) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        cases.iter().for_each(|case| *kinds.entry(kind(case)).or_insert(0) += 1);
        kinds
    }
}
