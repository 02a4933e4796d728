//! Cases: published request charges with everything that an estimate needs, one JSON object a line.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of a ledger, and lines, at most.
const LEDGER_BYTES_MAX: usize = 256 * 1024 * 1024;
const CASES_MAX: usize = 1_000_000;

/// One measured request charge.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChargeCase {
    /// Its name in the ledger.
    pub id: String,
    /// `create`, `upsert`, `replace`, `patch`, `delete`, `batch`, `refused`, `read`, `readMany`, `query`,
    /// `count` or `changeFeed`.
    pub operation: String,
    /// The published charge, RU.
    #[serde(default)]
    pub charge: f64,
    /// Physical partitions that the operation asks.
    #[serde(default)]
    pub partitions: Option<f64>,
    /// The consistency level: `session`, `strong`, `bounded staleness`, ...
    #[serde(default)]
    pub consistency: Option<String>,
    /// The indexing policy: as Azure Cosmos DB's JSON, or in words such as `default`, `none (/* excluded)`,
    /// `/a/* only`.
    #[serde(default)]
    pub indexing: Option<Value>,
    /// The item after the operation, or the items of a batch.
    #[serde(default)]
    pub item: Option<Box<RawValue>>,
    /// The item before a replace or patch.
    #[serde(default)]
    pub item_before: Option<Box<RawValue>>,
    /// Bytes of the item's JSON without system properties; of a query, of each returned item in the mean.
    #[serde(default)]
    pub item_bytes: Option<f64>,
    /// Paths that a replace or a patch changes, including paths above a changed value.
    #[serde(default)]
    pub changed_paths: Option<f64>,
    /// Items that are returned, or operations of a batch or of a patch.
    #[serde(default)]
    pub results: Option<f64>,
    #[serde(default)]
    pub sql: Option<String>,
    /// Whether an indexed filter serves the query.
    #[serde(default)]
    pub filtered: Option<bool>,
    /// Whether the charge was printed in whole RU.
    #[serde(default)]
    pub rounded: bool,
    /// When the charge was measured: a text that begins with the year.
    #[serde(default)]
    pub date: Option<String>,
    #[serde(default)]
    pub note: Option<String>,
    /// The SQL of the page before, where this case is a later page of the same query.
    #[serde(skip)]
    pub(super) first_page_sql: Option<String>,
}

/// A line of a ledger that is no case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    #[error("line {line}: {source}")]
    Json { line: usize, source: serde_json::Error },
    #[error("line {line}, {id}: `{field}` is {value}: {expected}")]
    Value { line: usize, id: String, field: &'static str, value: String, expected: &'static str },
    #[error("the ledger has {0} bytes, and {LEDGER_BYTES_MAX} are the limit")]
    TooLarge(usize),
    #[error("the ledger has more than {CASES_MAX} cases")]
    TooMany,
}

impl ChargeCase {
    /// The year of the measurement; `None` where the date does not begin with one.
    #[must_use]
    pub fn year(&self) -> Option<u32> {
        self.date.as_deref()?.get(..4)?.parse().ok()
    }

    /// Bytes of an item, from the case or from the item itself.
    pub(super) fn bytes(&self) -> usize {
        match (self.item_bytes, &self.item) {
            (Some(bytes), _) => bytes as usize,
            (None, Some(item)) => item.get().len(),
            (None, None) => 0,
        }
    }

    pub(super) fn physical_partitions(&self) -> u32 {
        self.partitions.map_or(1, |partitions| partitions as u32).max(1)
    }

    pub(super) fn note(&self) -> String {
        self.note.as_deref().unwrap_or_default().to_lowercase()
    }

    /// The SQL of the query, also where the case says `the same`.
    pub(super) fn sql(&self) -> Option<&str> {
        self.first_page_sql.as_deref().or(self.sql.as_deref())
    }

    fn check(&self, line: usize) -> Result<(), CaseError> {
        let numbers = [
            ("charge", Some(self.charge)),
            ("partitions", self.partitions),
            ("itemBytes", self.item_bytes),
            ("changedPaths", self.changed_paths),
            ("results", self.results),
        ];
        let wrong = numbers.into_iter().find_map(|(field, value)| {
            let value = value?;
            (!(0.0..=1e12).contains(&value)).then_some((field, value))
        });
        match wrong {
            None => Ok(()),
            Some((field, value)) => Err(CaseError::Value {
                line,
                id: self.id.clone(),
                field,
                value: value.to_string(),
                expected: "a number from 0 to 10^12 was expected",
            }),
        }
    }
}

/// Reads a ledger: one JSON object a line, empty lines allowed.
///
/// # Errors
/// The first line that is no case, with its number.
pub fn read_cases(text: &str) -> Result<Vec<ChargeCase>, CaseError> {
    if text.len() > LEDGER_BYTES_MAX {
        return Err(CaseError::TooLarge(text.len()));
    }
    let mut cases: Vec<ChargeCase> = Vec::new();
    let mut last_sql: Option<String> = None;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if cases.len() == CASES_MAX {
            return Err(CaseError::TooMany);
        }
        let line_number = number + 1;
        let mut case: ChargeCase =
            serde_json::from_str(line).map_err(|source| CaseError::Json { line: line_number, source })?;
        case.check(line_number)?;
        match case.sql.as_deref() {
            Some(sql) if is_later_page(sql) => case.first_page_sql.clone_from(&last_sql),
            Some(sql) => last_sql = Some(sql.to_owned()),
            None => {}
        }
        cases.push(case);
    }
    Ok(cases)
}

/// Ledgers write `the same` for a further page of the query before.
fn is_later_page(sql: &str) -> bool {
    sql.trim_start().to_lowercase().starts_with("the same")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_case_is_named_by_its_number() {
        let error = read_cases("{\"id\":\"a\",\"operation\":\"read\"}\n\n{\"id\":1}\n").unwrap_err();
        assert!(error.to_string().starts_with("line 3: "), "{error}");
        let error = read_cases("{\"id\":\"a\",\"operation\":\"read\",\"itemBytes\":-1}").unwrap_err();
        assert_eq!(error.to_string(), "line 1, a: `itemBytes` is -1: a number from 0 to 10^12 was expected");
    }

    #[test]
    fn a_later_page_has_the_sql_of_the_first() {
        let lines = [
            r#"{"id":"1","operation":"query","sql":"SELECT * FROM c WHERE c.a LIKE 'x%'"}"#,
            r#"{"id":"2","operation":"query","sql":"the same, last page"}"#,
            r#"{"id":"3","operation":"query","sql":"SELECT 1"}"#,
        ];
        let cases = read_cases(&lines.join("\n")).unwrap();
        let sql: Vec<_> = cases.iter().map(|case| case.sql().unwrap()).collect();
        assert_eq!(
            sql,
            ["SELECT * FROM c WHERE c.a LIKE 'x%'", "SELECT * FROM c WHERE c.a LIKE 'x%'", "SELECT 1"]
        );
    }
}
