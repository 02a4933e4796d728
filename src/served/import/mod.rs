//! Import of files into a served model: rows become items through the same checks, copies, counts and
//! reservations as creations. It is safe to repeat, and so resumes: items that are there stay.

mod files;
pub mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::unfold;
use onehop_runtime::blocking;
use onehop_store::{Fault, Ledger};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

pub use self::files::{FileRow, ImportError, ImportFile, files_of};
use self::rows::RowPlaces;
use super::commands::ServedCommands;
use super::commands::import::{ImportedRow, RefusedRow};
use super::model::{ServedModel, TypeIndex};
use super::related_fields::{leads_to, needs_target, references};

/// The rows that are written at the same time: they share commits.
const WRITES_AT_ONCE: usize = 64;
/// The rows that are read ahead.
const READ_AHEAD: usize = 256;
/// The rows that wait for rows they refer to.
const WAITING_MAX: usize = 100_000;

/// A row that was not imported.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Reject {
    /// The name of the file.
    pub file: String,
    /// The line on which the row begins.
    pub line: u64,
    /// The reason.
    pub reason: String,
}

/// The rows of one type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypeReport {
    /// Items that were written.
    pub created: u64,
    /// Items that were there.
    pub existed: u64,
    /// Rows that were not imported.
    pub rejected: u64,
}

/// An event of an import.
#[derive(Debug)]
pub enum ImportEvent {
    /// This many rows of a type are done.
    Progress {
        /// The name of the type.
        type_name: &'static str,
        /// The rows.
        rows: u64,
    },
    /// A row was rejected.
    Rejected(Reject),
}

/// An import that ended early.
#[derive(Debug, thiserror::Error)]
pub enum ImportFailure {
    /// A file cannot be read.
    #[error(transparent)]
    Files(#[from] ImportError),
    /// A fault of the store. The import can be repeated.
    #[error("the import has stopped, and can be repeated: {0}")]
    Fault(Fault),
    /// The reader of a file has failed.
    #[error("the reader of a file has failed")]
    Reader,
}

/// A row on its way.
struct Row {
    ty: TypeIndex,
    file: Arc<str>,
    line: u64,
    values: Map<String, Value>,
}

/// An import that runs.
struct Import<'a, F> {
    commands: &'a ServedCommands,
    places: RowPlaces,
    waiting: Vec<(Row, String)>,
    reports: BTreeMap<TypeIndex, TypeReport>,
    tell: F,
}

/// Imports files. Targets of references come first.
///
/// # Errors
/// A file cannot be read, or a fault of the store. Rejected rows are no errors.
pub async fn import(
    commands: &ServedCommands,
    files: &[ImportFile],
    tell: impl FnMut(ImportEvent),
) -> Result<Vec<(&'static str, TypeReport)>, ImportFailure> {
    let model = Arc::clone(commands.model());
    let order = in_order(&model);
    let mut import = Import {
        commands,
        places: RowPlaces::default(),
        waiting: Vec::new(),
        reports: BTreeMap::new(),
        tell,
    };
    let of_type = |ty: TypeIndex| files.iter().filter(move |file| file.ty == ty);
    for ty in order.iter().copied().filter(|ty| !RowPlaces::follow_from_ids(&model, *ty)) {
        for file in of_type(ty) {
            import.find_places(file).await?;
        }
    }
    for ty in order.iter().copied() {
        for file in of_type(ty) {
            import.file(file).await?;
        }
        import.again().await?;
    }
    import.reject_waiting();
    let reports = order.into_iter().filter_map(|ty| Some((model.ty(ty).name, *import.reports.get(&ty)?)));
    Ok(reports.collect())
}

/// The types in an order in which references lead back; within a circle those that items need.
fn in_order(model: &ServedModel) -> Vec<TypeIndex> {
    let mut order = Vec::new();
    let mut open = Vec::new();
    for (ty, _) in model.types() {
        add_after_targets(model, ty, &mut open, &mut order);
    }
    order
}

fn add_after_targets(
    model: &ServedModel,
    ty: TypeIndex,
    open: &mut Vec<TypeIndex>,
    order: &mut Vec<TypeIndex>,
) {
    if open.contains(&ty) || order.contains(&ty) {
        return;
    }
    open.push(ty);
    let (item, of) = (&model.ty(ty).item, model.model());
    for (field, target) in references(of, item) {
        let is_before = needs_target(field) || !leads_to(of, target, &item.name, |_| true);
        if let Some(target) = model.index_of(target).filter(|_| is_before) {
            add_after_targets(model, target, open, order);
        }
    }
    open.pop();
    order.push(ty);
}

/// Reads the rows of a file in the background.
fn rows_of(
    model: &Arc<ServedModel>,
    file: &ImportFile,
) -> (mpsc::Receiver<FileRow>, impl Future<Output = Result<(), ImportFailure>>) {
    let (sender, rows) = mpsc::channel(READ_AHEAD);
    let (model, file) = (Arc::clone(model), file.clone());
    let reading = async move {
        let read = blocking::run(move || file.read(&model, |row| sender.blocking_send(row).is_ok())).await;
        Ok(read.map_err(|_| ImportFailure::Reader)??)
    };
    (rows, reading)
}

impl<F: FnMut(ImportEvent)> Import<'_, F> {
    /// Remembers the places of the rows of a file.
    async fn find_places(&mut self, file: &ImportFile) -> Result<(), ImportFailure> {
        let (mut rows, reading) = rows_of(self.commands.model(), file);
        let consuming = async {
            while let Some(FileRow { row, .. }) = rows.recv().await {
                let Ok(row) = row else { continue };
                if let Some((id, place)) = self.commands.place_of_row(file.ty, &row, &self.places) {
                    self.places.insert(file.ty, id, place);
                }
            }
        };
        futures::join!(reading, consuming).0
    }

    /// Imports the rows of a file.
    async fn file(&mut self, file: &ImportFile) -> Result<(), ImportFailure> {
        let (rows, reading) = rows_of(self.commands.model(), file);
        let name: Arc<str> = file.name().into();
        let rows = unfold(rows, |mut rows| async move { rows.recv().await.map(|row| (row, rows)) });
        let rows = rows.map(|FileRow { line, row }| {
            let (file, ty) = (Arc::clone(&name), file.ty);
            row.map(|values| Row { ty, file: Arc::clone(&file), line, values }).map_err(|reason| Reject {
                file: file.to_string(),
                line,
                reason,
            })
        });
        let (read, written) = futures::join!(reading, self.rows(file.ty, rows));
        written?;
        read
    }

    /// Imports rows, many at a time.
    async fn rows(
        &mut self,
        ty: TypeIndex,
        rows: impl futures::Stream<Item = Result<Row, Reject>>,
    ) -> Result<(), ImportFailure> {
        let Self { commands, places, waiting, reports, tell } = self;
        let (commands, places) = (*commands, &*places);
        let written = rows.map(|row| async move {
            let row = row?;
            let outcome = commands.import(row.ty, &row.values, places, &Ledger::new()).await;
            Ok((row, outcome))
        });
        let mut written = Box::pin(written.buffer_unordered(WRITES_AT_ONCE));
        let name = commands.model().ty(ty).name;
        while let Some(outcome) = written.next().await {
            let report = reports.entry(ty).or_default();
            let reject = match outcome {
                Ok((_, Ok(ImportedRow::Created))) => {
                    report.created += 1;
                    None
                }
                Ok((_, Ok(ImportedRow::Existed))) => {
                    report.existed += 1;
                    None
                }
                Ok((_, Err(RefusedRow::Fault(fault)))) => return Err(ImportFailure::Fault(fault)),
                Ok((row, Err(RefusedRow::Missing(reason)))) if waiting.len() < WAITING_MAX => {
                    waiting.push((row, reason));
                    None
                }
                Ok((row, Err(RefusedRow::Missing(reason) | RefusedRow::Invalid(reason)))) => {
                    Some(Reject { file: row.file.to_string(), line: row.line, reason })
                }
                Err(reject) => Some(reject),
            };
            if let Some(reject) = reject {
                report.rejected += 1;
                tell(ImportEvent::Rejected(reject));
            }
            let TypeReport { created, existed, rejected } = *report;
            tell(ImportEvent::Progress { type_name: name, rows: created + existed + rejected });
        }
        Ok(())
    }

    /// Imports rows that have waited for others, as long as some succeed.
    async fn again(&mut self) -> Result<(), ImportFailure> {
        loop {
            let waiting = std::mem::take(&mut self.waiting);
            let before = waiting.len();
            if before == 0 {
                return Ok(());
            }
            let mut by_type: BTreeMap<TypeIndex, Vec<Row>> = BTreeMap::new();
            for (row, _) in waiting {
                by_type.entry(row.ty).or_default().push(row);
            }
            for (ty, rows) in by_type {
                self.rows(ty, futures::stream::iter(rows.into_iter().map(Ok))).await?;
            }
            if self.waiting.len() == before {
                return Ok(());
            }
        }
    }

    /// Rejects the rows whose references lead nowhere.
    fn reject_waiting(&mut self) {
        for (Row { ty, file, line, .. }, reason) in std::mem::take(&mut self.waiting) {
            self.reports.entry(ty).or_default().rejected += 1;
            (self.tell)(ImportEvent::Rejected(Reject { file: file.to_string(), line, reason }));
        }
    }
}
