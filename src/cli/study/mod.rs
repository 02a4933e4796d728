//! `onehop study`: compares designs of one's own data, and explains the plans of its requests.

mod account;
mod mcp;
mod measure;

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};

use super::{Exit, output};
use crate::config::CalibrationSettings;
pub(super) use measure::MeasuredAccount;
use measure::StudyCharges;
use onehop_study::bicep::bicep;
use onehop_study::data::{DataSurvey, SurveyProgress, SurveySpec};
use onehop_study::design_study::{DesignStudy, dearer, design_report, explain, plan_text};
use onehop_study::directory::StudyDirectory;
use onehop_study::init::init_study;
use onehop_study::keys::{KeyReport, add_candidates, key_table};
use onehop_study::render;
use onehop_study::report::StudyReport;

/// Arguments of `onehop study`.
#[derive(Debug, Args)]
pub struct StudyCommand {
    #[command(subcommand)]
    command: StudySubject,
}

#[derive(Debug, Subcommand)]
enum StudySubject {
    /// Write a first study from data files: types, ids, references, designs, and requests for each reference
    Init(Init),
    /// Print the plan of each request under each design, with its operations and their charges
    Explain(Explain),
    /// Compare the designs: charges, feasibility, throughput, bills and the verdict
    Run(Run),
    /// Grade every field by which a request finds something, and pairs of them, as partition key
    Keys(Keys),
    /// Compare the charges with an earlier report, for CI
    ///
    /// Exit status: 0 no request became dearer, 1 some did, 2 the study has mistakes.
    Check(Check),
    /// Print a Bicep template of the winning design: account, database, containers with keys, indexes, time
    /// to live and throughput
    Bicep(Bicep),
    /// Show the load of an account by its logs: rates, sizes, hours and skew, and write cases for a
    /// calibration
    ///
    /// It reads files that Log Analytics exported, and reaches no account.
    Account(account::Account),
    /// Serve the studies of a directory to agents by MCP (Model Context Protocol) over standard input and
    /// output
    ///
    /// Tools: describe, plan, estimate, compare, keys. They read the studies of the directory and change
    /// nothing. It ends when standard input ends.
    Mcp(mcp::Mcp),
}

#[derive(Debug, Args)]
struct Init {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Data files: JSON lines, a JSON array or CSV with headings, one file for each type, which is named
    /// after its file
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    from: Vec<PathBuf>,
}

#[derive(Debug, Args)]
struct Check {
    #[command(flatten)]
    input: StudyInput,

    /// Earlier report: the output of `study run --format json`
    #[arg(long, value_name = "FILE")]
    against: PathBuf,

    /// Percent by which the charge of a request may grow
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = positive)]
    tolerance: f64,
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

    #[command(flatten)]
    measured: MeasuredAccount,
}

#[derive(Debug, Args)]
struct Bicep {
    #[command(flatten)]
    input: StudyInput,

    /// Design by its name [default: the winner; where there is no difference, the unbeaten design with the
    /// smallest bill]
    #[arg(long, value_name = "NAME")]
    design: Option<String>,
}

#[derive(Debug, Args)]
struct Keys {
    #[command(flatten)]
    input: StudyInput,

    /// Format of the report
    #[arg(long, value_enum, default_value = "table")]
    format: ShortFormat,
}

#[derive(Debug, Args)]
struct Explain {
    #[command(flatten)]
    input: StudyInput,

    /// Format of the plans
    #[arg(long, value_enum, default_value = "table")]
    format: ShortFormat,
}

/// Format of plans and of a report on keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShortFormat {
    /// Table for a terminal
    Table,
    /// JSON
    Json,
}

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// Table for a terminal
    Table,
    /// Tables in Markdown
    Markdown,
    /// One line of Markdown for each request
    Summary,
    /// JSON, with the fields of docs/comparison-json.md
    Json,
    /// One HTML file with charts, plans and sortable tables; it needs no other file
    Html,
}

impl StudyCommand {
    /// # Errors
    /// A study with mistakes, all of them with file and line.
    pub async fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            StudySubject::Init(init) => init.run(),
            StudySubject::Check(check) => check.run(),
            StudySubject::Explain(explain) => explain.run(),
            StudySubject::Run(run) => run.run().await,
            StudySubject::Keys(keys) => keys.run(),
            StudySubject::Bicep(bicep) => bicep.run(),
            StudySubject::Account(account) => account.run(),
            StudySubject::Mcp(mcp) => mcp.run().await,
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

    /// Reads the data once, where wanted with the groupings of all keys, and calls `work` with the study.
    fn with_study(
        &self,
        with_keys: bool,
        work: impl FnOnce(&DesignStudy<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Exit> {
        let directory = self.directory()?;
        let mut spec = SurveySpec::of_designs(&directory);
        if with_keys {
            add_candidates(&directory, &mut spec);
        }
        let survey = survey(&directory, &spec)?;
        work(&DesignStudy::new(&directory, &survey, self.calibration.calibration()))?;
        Ok(Exit::Success)
    }
}

/// Reads the data, and notes properties without a field on standard error.
fn survey(directory: &StudyDirectory, spec: &SurveySpec) -> anyhow::Result<DataSurvey> {
    let mut progress = |read: &SurveyProgress<'_>| {
        eprintln!("{}: {} items so far", read.file, read.items);
        ControlFlow::Continue(())
    };
    let survey = DataSurvey::read(directory, spec, &mut progress).context("the data has mistakes")?;
    for (name, found) in &survey.types {
        for (property, lines) in &found.unknown {
            eprintln!("{name}: no field has the property `{property}` ({lines} lines); it is left out");
        }
    }
    Ok(survey)
}

impl Explain {
    fn run(self) -> anyhow::Result<Exit> {
        let format = self.format;
        self.input.with_study(false, |study| {
            let plans = explain(study);
            let text = match format {
                ShortFormat::Table => plan_text(&plans),
                ShortFormat::Json => serde_json::to_string_pretty(&plans)? + "\n",
            };
            output::write(&text)
        })
    }
}

impl Bicep {
    fn run(self) -> anyhow::Result<Exit> {
        let design = self.design;
        self.input.with_study(false, |study| output::write(&bicep(study, design.as_deref())?))
    }
}

impl Run {
    async fn run(self) -> anyhow::Result<Exit> {
        let directory = self.input.directory()?;
        let survey = survey(&directory, &SurveySpec::of_designs(&directory))?;
        let study = DesignStudy::new(&directory, &survey, self.input.calibration.calibration());
        if let Some(report) = report_on(study, &self.measured).await? {
            output::write(&self.format.show(&report)?)?;
        }
        Ok(Exit::Success)
    }
}

/// The report with estimated or measured charges; `None` where the budget was printed alone.
pub(super) async fn report_on(
    mut study: DesignStudy<'_>,
    account: &MeasuredAccount,
) -> anyhow::Result<Option<StudyReport>> {
    let measured;
    match account.charges(&study).await? {
        StudyCharges::Estimated => {}
        StudyCharges::BudgetOnly => return Ok(None),
        StudyCharges::Measured(charges) => {
            measured = charges;
            study.measured = Some(&measured);
        }
    }
    Ok(Some(design_report(&study)))
}

impl ReportFormat {
    pub(super) fn show(self, report: &StudyReport) -> anyhow::Result<String> {
        Ok(match self {
            Self::Table => render::table(report),
            Self::Markdown => render::markdown(report),
            Self::Summary => render::summary(report),
            Self::Json => serde_json::to_string_pretty(report)? + "\n",
            Self::Html => render::page(report),
        })
    }
}

impl Init {
    fn run(self) -> anyhow::Result<Exit> {
        let written = init_study(&self.directory, &self.from).context("no study was written")?;
        let names: Vec<String> = written.iter().map(|path| path.display().to_string()).collect();
        output::write(&format!(
            "{}\nNext: onehop study run {}\n",
            names.join("\n"),
            self.directory.display()
        ))?;
        Ok(Exit::Success)
    }
}

impl Check {
    fn run(self) -> anyhow::Result<Exit> {
        let earlier = std::fs::read_to_string(&self.against)
            .with_context(|| format!("cannot read {}", self.against.display()))?;
        let mut exit = Exit::Success;
        self.input.with_study(false, |study| {
            let found = dearer(&earlier, &design_report(study), self.tolerance / 100.0)?;
            if !found.is_empty() {
                exit = Exit::Drifted;
            }
            let lines: String = found.iter().map(|dearer| format!("{dearer}\n")).collect();
            let none = format!("no request became dearer by more than {} %\n", self.tolerance);
            output::write(if lines.is_empty() { &none } else { &lines })
        })?;
        Ok(exit)
    }
}

impl Keys {
    fn run(self) -> anyhow::Result<Exit> {
        let format = self.format;
        self.input.with_study(true, |study| {
            let report = KeyReport::of(study);
            let text = match format {
                ShortFormat::Table => key_table(&report),
                ShortFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
            };
            output::write(&text)
        })
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text:?} is no number above 0, such as 10"))
}
