//! `onehop study`: compares designs of one's own data, and explains the plans of its requests.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};

use super::{Exit, output};
use crate::config::CalibrationSettings;
use onehop_study::data::{DataSurvey, SurveySpec};
use onehop_study::design_study::{DesignStudy, design_report, explain};
use onehop_study::directory::StudyDirectory;
use onehop_study::render;

/// Arguments of `onehop study`.
#[derive(Debug, Args)]
pub struct StudyCommand {
    #[command(subcommand)]
    command: StudySubject,
}

#[derive(Debug, Subcommand)]
enum StudySubject {
    /// Print the plan of each request under each design, with its operations and their charges
    Explain(StudyInput),
    /// Compare the designs: charges, feasibility, throughput, bills and the verdict
    Run(Run),
}

/// A study and the constants of its charges.
#[derive(Debug, Args)]
struct StudyInput {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Data scale: how many times the data of the files there is [default: `scale` of study.toml, else 1]
    #[arg(long, value_name = "FACTOR", value_parser = positive)]
    scale: Option<f64>,

    #[command(flatten)]
    calibration: CalibrationSettings,
}

#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    input: StudyInput,

    /// Format of the report
    #[arg(long, value_enum, default_value = "table")]
    format: ReportFormat,
}

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// Table for a terminal
    Table,
    /// Tables in Markdown
    Markdown,
    /// JSON
    Json,
    /// One HTML file with charts, without scripts
    Html,
}

impl StudyCommand {
    /// # Errors
    /// A study with mistakes, all of them with file and line.
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            StudySubject::Explain(input) => input.with_study(|study| Ok(output::write(&explain(study))?)),
            StudySubject::Run(run) => run.run(),
        }
    }
}

impl StudyInput {
    fn directory(&self) -> anyhow::Result<StudyDirectory> {
        let mut directory = StudyDirectory::read(&self.directory)
            .with_context(|| format!("the study {} has mistakes", self.directory.display()))?;
        if let Some(scale) = self.scale {
            directory.settings.scale = scale;
        }
        Ok(directory)
    }

    /// Reads the data once, and calls `work` with the study.
    fn with_study(&self, work: impl FnOnce(&DesignStudy<'_>) -> anyhow::Result<()>) -> anyhow::Result<Exit> {
        let directory = self.directory()?;
        let survey = survey(&directory, &SurveySpec::of_designs(&directory))?;
        work(&DesignStudy {
            directory: &directory,
            survey: &survey,
            calibration: self.calibration.calibration(),
        })?;
        Ok(Exit::Success)
    }
}

/// Reads the data, and notes properties without a field on standard error.
fn survey(directory: &StudyDirectory, spec: &SurveySpec) -> anyhow::Result<DataSurvey> {
    let mut progress = |file: &str, items: u64| eprintln!("{file}: {items} items so far");
    let survey = DataSurvey::read(directory, spec, &mut progress).context("the data has mistakes")?;
    for (name, found) in &survey.types {
        for (property, lines) in &found.unknown {
            eprintln!("{name}: no field has the property `{property}` ({lines} lines); it is left out");
        }
    }
    Ok(survey)
}

impl Run {
    fn run(self) -> anyhow::Result<Exit> {
        let format = self.format;
        self.input.with_study(|study| {
            let report = design_report(study);
            let text = match format {
                ReportFormat::Table => render::table(&report),
                ReportFormat::Markdown => render::markdown(&report),
                ReportFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
                ReportFormat::Html => render::page(&report),
            };
            Ok(output::write(&text)?)
        })
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text:?} is no number above 0, such as 10"))
}
