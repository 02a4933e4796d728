//! Calibration: values for the constants of the request charge model, each with its source and its error. It
//! is data: one JSON file.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::constants::Constant;
use super::size_curve::SizeCurve;

/// The names of the calibrations that come with this crate.
pub const CALIBRATION_NAMES: [&str; 2] = ["current", "article-2019"];

/// Bytes of a calibration file at most.
const FILE_BYTES_MAX: usize = 256 * 1024;

static CURRENT: LazyLock<Arc<Calibration>> =
    LazyLock::new(|| built_in(include_str!("calibrations/current.json")));
static ARTICLE_2019: LazyLock<Arc<Calibration>> =
    LazyLock::new(|| built_in(include_str!("calibrations/article-2019.json")));

/// A set of values for all constants and curves of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    name: String,
    title: String,
    values: [f64; Constant::ALL.len()],
    origins: BTreeMap<Constant, Origin>,
    /// RU of a point read by the bytes of the item.
    pub(super) point_read: SizeCurve,
    /// RU that the bytes of an item add to its create or delete.
    pub(super) write_size: SizeCurve,
    ordered_pages: OrderedPageClient,
    accuracy: Vec<OperationAccuracy>,
}

/// For how many items a client asks each physical partition of an ordered page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OrderedPageClient {
    /// This crate's adapter: the whole page and one more.
    #[default]
    Adapter,
    /// The clients for .NET and Java of 2019, with which the article measured: five times the even share
    /// (`PageSizeFactorForTop`).
    Sdk2019,
}

/// The multiple of its even share of an ordered page that the clients of 2019 ask each physical partition
/// for.
const ORDERED_PAGE_FACTOR: usize = 5;

impl OrderedPageClient {
    /// The number of items that each of this many physical partitions returns, if it has them, for the client
    /// to merge an ordered page of this many out of. All are charged, including items beyond the page.
    #[must_use]
    pub fn items_per_partition(self, physical_partitions: u32, page_items: usize) -> usize {
        match self {
            Self::Adapter => page_items + 1,
            Self::Sdk2019 => {
                let partitions = (physical_partitions as usize).max(1);
                (page_items.div_ceil(partitions) * ORDERED_PAGE_FACTOR).min(page_items)
            }
        }
    }
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The measurement or the document that the value comes from.
    pub source: String,
    /// The error of the value, as its source or its fit shows it.
    pub error: String,
    /// The range of an unsettled value: no measurement tells its ends apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
}

/// The error of a calibration for one kind of operation, over the published charges of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationAccuracy {
    /// The kind of operation, as the ledger names it: `create`.
    pub operation: String,
    /// Published charges of this kind.
    pub cases: usize,
    /// Median of the absolute relative errors: 0.01 is one percent.
    pub median: f64,
    /// The ninth decile of the absolute relative errors.
    pub p90: f64,
}

/// A reason why a text is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    #[error("a calibration has at most {FILE_BYTES_MAX} bytes, and this one {0}")]
    TooLarge(usize),
    #[error("the calibration cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("`extends` names the calibration {0:?}, which is none of: {names}", names = CALIBRATION_NAMES.join(", "))]
    UnknownBase(String),
    #[error("`constants` has {0:?}, which is no constant of the model")]
    UnknownConstant(String),
    #[error("`constants` lacks {0:?}, and the calibration extends none that has it")]
    MissingConstant(&'static str),
    #[error("`constants.{name}.value` is {value}: a number from 0 to {max} was expected", max = VALUE_MAX)]
    Value { name: &'static str, value: f64 },
    #[error("`curves` lacks {0:?}, and the calibration extends none that has it")]
    MissingCurve(&'static str),
    #[error("`curves.{0}.points` must be at least two pairs of bytes and RU, both rising")]
    Curve(&'static str),
}

/// The largest value of a constant.
const VALUE_MAX: f64 = 1_000_000.0;

/// A calibration as its file has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CalibrationFile {
    name: String,
    #[serde(default)]
    title: String,
    /// The calibration that has the values which are absent here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extends: Option<String>,
    #[serde(default)]
    constants: BTreeMap<String, ConstantFile>,
    #[serde(default)]
    curves: CurvesFile,
    /// The client whose over-read of ordered pages the charges include.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ordered_pages: Option<OrderedPageClient>,
    #[serde(default)]
    accuracy: Vec<OperationAccuracy>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ConstantFile {
    value: f64,
    #[serde(flatten)]
    origin: Origin,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CurvesFile {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    point_read: Option<CurveFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    write_size: Option<CurveFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CurveFile {
    points: Vec<(f64, f64)>,
    #[serde(flatten)]
    origin: Origin,
}

impl Calibration {
    /// The present engine: measurements of accounts since 2020, and write charges that did not move since
    /// 2016.
    #[must_use]
    pub fn current() -> Arc<Self> {
        Arc::clone(&CURRENT)
    }

    /// The engine of 2019, for the table of "How to model and partition data on Azure Cosmos DB using a
    /// real-world example" alone.
    #[must_use]
    pub fn article_2019() -> Arc<Self> {
        Arc::clone(&ARTICLE_2019)
    }

    /// The calibration of this name, one of [`CALIBRATION_NAMES`].
    #[must_use]
    pub fn named(name: &str) -> Option<Arc<Self>> {
        match name {
            "current" => Some(Self::current()),
            "article-2019" => Some(Self::article_2019()),
            _ => None,
        }
    }

    /// Reads a calibration file. Missing values are taken from the calibration that it extends.
    ///
    /// # Errors
    /// A text that is no such file; the error names the field and the expected form.
    pub fn parse(text: &str) -> Result<Self, CalibrationError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(CalibrationError::TooLarge(text.len()));
        }
        let file: CalibrationFile = serde_json::from_str(text)?;
        let base = match &file.extends {
            None => None,
            Some(name) => Some(Self::named(name).ok_or_else(|| CalibrationError::UnknownBase(name.clone()))?),
        };
        Self::of_file(file, base.as_deref())
    }

    fn of_file(mut file: CalibrationFile, base: Option<&Self>) -> Result<Self, CalibrationError> {
        if let Some(name) = file.constants.keys().find(|name| Constant::named(name).is_none()) {
            return Err(CalibrationError::UnknownConstant(name.clone()));
        }
        let mut values = [0.0; Constant::ALL.len()];
        let mut origins = base.map(|base| base.origins.clone()).unwrap_or_default();
        for constant in Constant::ALL {
            let name = constant.name();
            values[constant as usize] = match (file.constants.remove(name), base) {
                (Some(ConstantFile { value, .. }), _) if !(0.0..=VALUE_MAX).contains(&value) => {
                    return Err(CalibrationError::Value { name, value });
                }
                (Some(ConstantFile { value, origin }), _) => {
                    origins.insert(constant, origin);
                    value
                }
                (None, Some(base)) => base.value(constant),
                (None, None) => return Err(CalibrationError::MissingConstant(name)),
            };
        }
        let CurvesFile { point_read, write_size } = file.curves;
        let accuracy = match base {
            Some(base) if file.accuracy.is_empty() => base.accuracy.clone(),
            _ => file.accuracy,
        };
        Ok(Self {
            name: file.name,
            title: file.title,
            values,
            origins,
            point_read: curve("pointRead", point_read, base.map(|base| &base.point_read))?,
            write_size: curve("writeSize", write_size, base.map(|base| &base.write_size))?,
            ordered_pages: file
                .ordered_pages
                .or_else(|| base.map(|base| base.ordered_pages))
                .unwrap_or_default(),
            accuracy,
        })
    }

    /// Its name, such as `current`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its subject in a few words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The value of a constant, in its unit.
    #[must_use]
    pub fn value(&self, constant: Constant) -> f64 {
        self.values[constant as usize]
    }

    /// The same calibration with another value of one constant.
    #[must_use]
    pub fn with_value(mut self, constant: Constant, value: f64) -> Self {
        self.values[constant as usize] = value;
        self
    }

    /// The same calibration with other curves of sizes.
    #[must_use]
    pub fn with_curves(self, point_read: SizeCurve, write_size: SizeCurve) -> Self {
        Self { point_read, write_size, ..self }
    }

    /// RU of a point read by the bytes of the item.
    #[must_use]
    pub fn point_read_curve(&self) -> &SizeCurve {
        &self.point_read
    }

    /// RU that the bytes of an item add to its create or delete.
    #[must_use]
    pub fn write_size_curve(&self) -> &SizeCurve {
        &self.write_size
    }

    /// The client whose over-read of ordered pages the charges include.
    #[must_use]
    pub fn ordered_pages(&self) -> OrderedPageClient {
        self.ordered_pages
    }

    /// The origin of a constant's value.
    #[must_use]
    pub fn origin(&self, constant: Constant) -> Option<&Origin> {
        self.origins.get(&constant)
    }

    /// The constants whose value is unsettled, with their ranges.
    pub fn unsettled<'a>(&'a self) -> impl Iterator<Item = (Constant, &'a str)> {
        let unsettled =
            |(constant, origin): (&'a Constant, &'a Origin)| Some((*constant, origin.range.as_deref()?));
        self.origins.iter().filter_map(unsettled)
    }

    /// Its errors for each kind of operation of the ledger.
    #[must_use]
    pub fn accuracy(&self) -> &[OperationAccuracy] {
        &self.accuracy
    }

    /// Its error for one kind of operation, where the ledger has published charges of it.
    #[must_use]
    pub fn accuracy_of(&self, operation: &str) -> Option<&OperationAccuracy> {
        self.accuracy.iter().find(|accuracy| accuracy.operation == operation)
    }
}

fn curve(
    name: &'static str,
    file: Option<CurveFile>,
    base: Option<&SizeCurve>,
) -> Result<SizeCurve, CalibrationError> {
    match (file, base) {
        (Some(file), _) => SizeCurve::through(file.points).ok_or(CalibrationError::Curve(name)),
        (None, Some(base)) => Ok(base.clone()),
        (None, None) => Err(CalibrationError::MissingCurve(name)),
    }
}

fn built_in(text: &str) -> Arc<Calibration> {
    Arc::new(Calibration::parse(text).expect("a test reads each calibration of this crate"))
}
