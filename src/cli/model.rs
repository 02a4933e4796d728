//! `onehop model`: checks, prints, draws and compares models in the model language.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use onehop_model::limits::FILE_BYTES_MAX;
use onehop_model::{DIRECTIVES, Effect, Errors, Model, Severity, line_of};
use onehop_store::ContainerSpec;
use serde_json::json;

use super::{Exit, output};
use crate::app::{AcceptedChanges, AppOptions, RefusedChange, ServedApp, container_specs};
use crate::config::{Environment, StoreChoice, StoreSettings};
use crate::served::{ServedModel, Unsupported};

/// Arguments of `onehop model`.
#[derive(Debug, Args)]
pub struct ModelCommand {
    #[command(subcommand)]
    command: ModelAction,
}

#[derive(Debug, Subcommand)]
enum ModelAction {
    /// Check a model, and report every error with line, column, expected form and nearest name
    ///
    /// Exit status: 0 sound, 1 errors found, 2 the file could not be read.
    Check {
        /// Model file; - reads standard input
        file: PathBuf,
        /// Format of the report
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Print a model in its canonical form
    Print {
        /// Model file; - reads standard input
        file: PathBuf,
    },
    /// Print the definitions of the directives, for editors and graphql-js
    Directives,
    /// Print a model as a Mermaid diagram: containers, item types, lists and copies
    Diagram {
        /// Model file; - reads standard input
        file: PathBuf,
    },
    /// Compare two versions of a model, and state the effect of each change
    ///
    /// Exit status: 0 no effect needs attention, 1 an effect is breaking or refused, 2 a file could not be
    /// read or has errors.
    Diff {
        /// Model file of the present version
        old: PathBuf,
        /// Model file of the next version
        new: PathBuf,
        /// Format of the report
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl ModelCommand {
    /// # Errors
    /// A file that cannot be read; errors in a model that is to be printed, drawn or compared.
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            ModelAction::Check { file, format } => check(&file, format),
            ModelAction::Print { file } => {
                output::write(&sound(&file)?.print())?;
                Ok(Exit::Success)
            }
            ModelAction::Directives => {
                output::write(DIRECTIVES)?;
                Ok(Exit::Success)
            }
            ModelAction::Diagram { file } => {
                output::write(&sound(&file)?.diagram())?;
                Ok(Exit::Success)
            }
            ModelAction::Diff { old, new, format } => diff(&sound(&old)?, &sound(&new)?, format),
        }
    }
}

fn check(file: &Path, format: Format) -> anyhow::Result<Exit> {
    let read = read(file)?;
    match format {
        Format::Json => {
            let errors =
                read.as_ref().err().map_or_else(|| json!([]), |errors| json!(errors.iter().as_slice()));
            let omitted = read.as_ref().err().map_or(0, Errors::omitted);
            let report = json!({ "file": name_of(file), "errors": errors, "omitted": omitted });
            output::write(&format!("{report}\n"))?;
        }
        Format::Text => match &read {
            Ok(model) => output::write(&format!("{}\n", summary(file, model)))?,
            Err(errors) => output::write(&errors.to_string())?,
        },
    }
    Ok(if read.is_ok() { Exit::Success } else { Exit::Drifted })
}

fn diff(old: &Model, new: &Model, format: Format) -> anyhow::Result<Exit> {
    let diff = old.diff(new);
    let report = match format {
        Format::Json => format!("{}\n", serde_json::to_string(&diff).context("the effects are no JSON")?),
        Format::Text if diff.effects().is_empty() => "no effects\n".to_owned(),
        Format::Text => diff.to_string(),
    };
    output::write(&report)?;
    Ok(if diff.severity() < Severity::Breaking { Exit::Success } else { Exit::Drifted })
}

fn summary(file: &Path, model: &Model) -> String {
    let design = model.design().map(|design| format!(", design {design}")).unwrap_or_default();
    format!(
        "{}: {}{design}, version {}: {} containers, {} item types, {} queries; no errors",
        name_of(file),
        model.name(),
        model.version(),
        model.containers().len(),
        model.items().len(),
        model.queries().len(),
    )
}

/// A model that the server can serve, with its text. All parts that it cannot serve are reported at once.
pub(super) fn served_model(file: &Path) -> anyhow::Result<ServedFile> {
    let text = text_of(file)?;
    let model = sound_text(file, &text)?;
    let served = ServedModel::new(model).map_err(|refused| {
        let name = name_of(file);
        let line = |part: &Unsupported| format!("\n  {}{part}", line_prefix(file, &text, &part.place));
        let lines: String = refused.iter().map(line).collect();
        anyhow::anyhow!("{name} has parts that this server does not serve:{lines}")
    })?;
    Ok(ServedFile { file: file.to_owned(), text, model: Arc::new(served) })
}

/// The containers of a model file, or of the built-in domains without one.
pub(super) fn containers_of(model: Option<&Path>) -> anyhow::Result<Vec<ContainerSpec>> {
    match model {
        Some(file) => Ok(served_model(file)?.model.containers().to_vec()),
        None => Ok(container_specs()),
    }
}

/// A model file that the server can serve.
pub(super) struct ServedFile {
    file: PathBuf,
    text: String,
    pub(super) model: Arc<ServedModel>,
}

impl ServedFile {
    /// An error of opening data of the model; refused changes with the lines of their fields.
    pub(super) fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        match error.downcast_ref::<RefusedChange>() {
            Some(RefusedChange::Refused { refused }) => {
                let line = |effect: &Effect| {
                    let prefix = line_prefix(&self.file, &self.text, &effect.place);
                    format!("\n  {prefix}{} {}: {}", effect.severity, effect.place, effect.sentence)
                };
                let lines: String = refused.iter().map(line).collect();
                let hint = RefusedChange::hint(refused);
                anyhow::anyhow!("{}{lines}{hint}", RefusedChange::REFUSED)
            }
            _ => error,
        }
    }
}

/// The file and the line of a part of a model, as an editor finds them.
fn line_prefix(file: &Path, text: &str, place: &str) -> String {
    line_of(text, place).map_or_else(String::new, |line| format!("{}:{line}: ", name_of(file)))
}

/// Opens the store of a served model, for a command that works on it alone.
pub(super) async fn open_served(file: &Path, store: &StoreSettings) -> anyhow::Result<ServedApp> {
    open_served_choice(file, &store.choice(&Environment::of_process())?).await
}

/// The same with a chosen store.
pub(super) async fn open_served_choice(file: &Path, choice: &StoreChoice) -> anyhow::Result<ServedApp> {
    let served = served_model(file)?;
    let (model, accepted) = (Arc::clone(&served.model), AcceptedChanges::Compatible);
    let opened = ServedApp::open(model, choice, accepted, AppOptions::default()).await;
    opened.map_err(|error| served.explained(error))
}

/// A model without errors.
fn sound(file: &Path) -> anyhow::Result<Model> {
    sound_text(file, &text_of(file)?)
}

fn sound_text(file: &Path, text: &str) -> anyhow::Result<Model> {
    Model::read(&name_of(file), text).map_err(|errors| anyhow::anyhow!("the model has errors\n{errors}"))
}

/// Reads a model.
fn read(file: &Path) -> anyhow::Result<Result<Model, Errors>> {
    Ok(Model::read(&name_of(file), &text_of(file)?))
}

/// The text of a file. A file beyond the limit is read as far as the limit shows.
fn text_of(file: &Path) -> anyhow::Result<String> {
    let limit = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let opened = match is_standard_input(file) {
        true => std::io::stdin().take(limit).read_to_end(&mut bytes),
        false => std::fs::File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes)),
    };
    opened.with_context(|| format!("cannot read {}", name_of(file)))?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{} is not UTF-8 text: byte {offset} begins no character", name_of(file))
    })
}

fn is_standard_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

fn name_of(file: &Path) -> String {
    if is_standard_input(file) { "standard input".to_owned() } else { file.display().to_string() }
}
