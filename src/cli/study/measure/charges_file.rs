//! File of measured charges: JSON lines, one added as soon as its operation was measured.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context, ensure};

use serde::Serialize;

use onehop_study::design_study::{MeasuredCharges, MeasuredDatabase, MeasuredOperation};
use onehop_study::report::AccountSummary;

/// The charges so far, and where they are written.
pub(super) struct ChargesFile {
    file: Option<File>,
    pub(super) charges: MeasuredCharges,
}

/// The charges of a file.
///
/// # Errors
/// A file that cannot be read, or has no charges.
pub(super) fn read(path: &Path) -> anyhow::Result<MeasuredCharges> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> anyhow::Result<MeasuredCharges> {
    MeasuredCharges::read(text).with_context(|| format!("{} has no measured charges", path.display()))
}

impl ChargesFile {
    /// Opens a file, or begins it. Without a path, nothing is written.
    ///
    /// # Errors
    /// A file that cannot be read or written, or has the charges of another account.
    pub(super) fn open(path: Option<&Path>, account: AccountSummary) -> anyhow::Result<Self> {
        let new = MeasuredCharges::new(account);
        let Some(path) = path else { return Ok(Self { file: None, charges: new }) };
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let mut file = file.with_context(|| format!("{} cannot be opened", path.display()))?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("{} cannot be read", path.display()))?;
        let is_continued = !text.is_empty();
        let charges = if is_continued { parse(path, &text)? } else { new.clone() };
        ensure!(
            charges.account == new.account,
            "{} has charges of {} ({}), and not of {} ({})",
            path.display(),
            charges.account.endpoint,
            charges.account.databases.join(", "),
            new.account.endpoint,
            new.account.databases.join(", ")
        );
        // The beginning of a line that a killed run left goes.
        let whole = text.rfind('\n').map_or(0, |end| end + 1) as u64;
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        if !is_continued {
            writeln!(file, "{}", serde_json::to_string(&charges.account)?)?;
        }
        Ok(Self { file: Some(file), charges })
    }

    /// Adds an operation.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(&mut self, operation: MeasuredOperation) -> anyhow::Result<()> {
        self.write(&operation)?;
        self.charges.operations.push(operation);
        Ok(())
    }

    /// Notes that a database was made, or deleted: a later run uses and deletes no other database.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn note(&mut self, database: &str, is_there: bool) -> anyhow::Result<()> {
        let found = MeasuredDatabase { database: database.to_owned(), is_there };
        self.write(&found)?;
        self.charges.note(found);
        Ok(())
    }

    fn write(&mut self, line: &impl Serialize) -> anyhow::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = serde_json::to_string(line)? + "\n";
        file.write_all(line.as_bytes()).context("the file of charges cannot be written")
    }
}
