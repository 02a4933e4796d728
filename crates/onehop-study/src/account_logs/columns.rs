//! Columns of the exported tables, by the names of "Azure Monitor Logs reference".

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A column that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    TimeGenerated,
    DatabaseName,
    CollectionName,
    OperationName,
    RequestCharge,
    StatusCode,
    RequestLength,
    ResponseLength,
    RequestResourceType,
    PartitionKey,
    PartitionKeyRangeId,
}

/// The number of columns.
pub(super) const COLUMNS: usize = 11;

/// A table of an account's logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogTable {
    DataPlaneRequests,
    PartitionKeyConsumption,
}

/// An error of a whole file, with its line if there is one.
pub(super) type FileError = (Option<usize>, String);

/// The values of a row in the order of [`Column::ALL`].
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LogRow {
    pub line: usize,
    pub values: [Option<String>; COLUMNS],
}

impl Column {
    pub const ALL: [Self; COLUMNS] = [
        Self::TimeGenerated,
        Self::DatabaseName,
        Self::CollectionName,
        Self::OperationName,
        Self::RequestCharge,
        Self::StatusCode,
        Self::RequestLength,
        Self::ResponseLength,
        Self::RequestResourceType,
        Self::PartitionKey,
        Self::PartitionKeyRangeId,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::TimeGenerated => "TimeGenerated",
            Self::DatabaseName => "DatabaseName",
            Self::CollectionName => "CollectionName",
            Self::OperationName => "OperationName",
            Self::RequestCharge => "RequestCharge",
            Self::StatusCode => "StatusCode",
            Self::RequestLength => "RequestLength",
            Self::ResponseLength => "ResponseLength",
            Self::RequestResourceType => "RequestResourceType",
            Self::PartitionKey => "PartitionKey",
            Self::PartitionKeyRangeId => "PartitionKeyRangeId",
        }
    }

    /// The column of a heading. The portal writes `TimeGenerated [UTC]`.
    pub fn named(heading: &str) -> Option<Self> {
        let heading = heading.trim();
        let name = heading.strip_suffix("[UTC]").map_or(heading, str::trim_end);
        Self::ALL.into_iter().find(|column| column.name() == name)
    }
}

impl LogTable {
    /// The table that has these columns.
    pub fn of(has: impl Fn(Column) -> bool) -> Self {
        if has(Column::PartitionKey) || has(Column::PartitionKeyRangeId) {
            Self::PartitionKeyConsumption
        } else {
            Self::DataPlaneRequests
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::DataPlaneRequests => "CDBDataPlaneRequests",
            Self::PartitionKeyConsumption => "CDBPartitionKeyRUConsumption",
        }
    }

    /// An error that names the columns which are not there.
    pub fn check(self, has: impl Fn(Column) -> bool) -> Result<(), String> {
        let own: &[Column] = match self {
            Self::DataPlaneRequests => &[Column::StatusCode, Column::RequestLength, Column::ResponseLength],
            Self::PartitionKeyConsumption => &[Column::PartitionKey, Column::PartitionKeyRangeId],
        };
        let needed = Column::ALL[..5].iter().chain(own);
        let missing: Vec<&str> = needed.filter(|column| !has(**column)).map(|column| column.name()).collect();
        match missing.as_slice() {
            [] => Ok(()),
            [one] => Err(format!("{} needs the column {one}, which is missing", self.name())),
            several => {
                Err(format!("{} needs the columns {}, which are missing", self.name(), several.join(", ")))
            }
        }
    }
}

impl LogRow {
    pub fn get(&self, column: Column) -> Option<&str> {
        self.values[column as usize].as_deref().filter(|value| !value.is_empty())
    }

    pub fn text(&self, column: Column) -> &str {
        self.get(column).unwrap_or_default()
    }

    /// A number from 0 to 10^12.
    pub fn number(&self, column: Column) -> Result<f64, String> {
        let text = self.text(column);
        let number = text.parse::<f64>().ok().filter(|number| (0.0..=1e12).contains(number));
        number.ok_or_else(|| format!("`{}` is {text:?}; a number from 0 to 10^12 is expected", column.name()))
    }

    pub fn time(&self) -> Result<OffsetDateTime, String> {
        let text = self.text(Column::TimeGenerated);
        time_of(text).ok_or_else(|| {
            format!("`TimeGenerated` is {text:?}; a time in UTC such as 2026-11-23T09:20:00Z is expected")
        })
    }
}

/// A time as the service writes it, or as the portal does: `11/23/2026, 9:20:00.000 AM`.
fn time_of(text: &str) -> Option<OffsetDateTime> {
    if let Ok(found) = OffsetDateTime::parse(text, &Rfc3339) {
        return Some(found.to_offset(time::UtcOffset::UTC));
    }
    let (date, rest) = text.split_once(',')?;
    let mut date = date.trim().split('/').map(|part| part.parse::<u16>().ok());
    let (month, day, year) = (date.next()??, date.next()??, date.next()??);
    let (clock, half) = rest.trim().split_once(' ')?;
    let mut clock = clock.split(':');
    let (hour, minute): (u8, u8) = (clock.next()?.parse().ok()?, clock.next()?.parse().ok()?);
    let second: f64 = clock.next()?.parse().ok()?;
    let afternoon = match half.trim() {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date = time::Date::from_calendar_date(i32::from(year), month, u8::try_from(day).ok()?).ok()?;
    let hour = (1..=12).contains(&hour).then_some(hour % 12 + afternoon)?;
    // A float to an integer saturates.
    let time = time::Time::from_hms(hour, minute, second as u8).ok()?;
    Some(time::PrimitiveDateTime::new(date, time).assume_utc())
}

/// A time in UTC as a text.
pub(super) fn shown_time(time: OffsetDateTime) -> String {
    let (year, month, day) = time.to_calendar_date();
    let (hour, minute, second) = time.to_hms();
    format!("{year:04}-{:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z", u8::from(month))
}
