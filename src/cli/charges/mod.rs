//! `onehop charges`: published request charges beside the estimates, the fit of a calibration, and one charge
//! as its sum.

mod measure;

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::{Args, Subcommand, ValueEnum};

use crate::cli::{Exit, output};
use crate::config::CalibrationSettings;
use onehop_store::charges::Calibration;
use onehop_study::ledger::{
    CalibrationFit, CaseExplanation, ChargeCase, LEDGER, LedgerCheck, calibrate, explain, read_cases,
};

/// Bytes of a ledger that is read.
const LEDGER_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Arguments of `onehop charges`.
#[derive(Debug, Args)]
pub struct Charges {
    #[command(subcommand)]
    command: ChargesCommand,
}

#[derive(Debug, Subcommand)]
enum ChargesCommand {
    /// Print the estimate beside each published charge, and the errors of each kind of operation
    ///
    /// A charge that was printed in whole RU is met within half a RU; a case without an estimate counts as an
    /// error of 100 %.
    Check(Check),
    /// Fit a calibration to published charges, and print the constants that they determine
    ///
    /// All other constants keep their values. The calibration goes to standard output, as a file for
    /// --calibration; the list of fitted constants goes to standard error.
    Calibrate(Calibrate),
    /// Print one charge as its sum: base, indexed paths by name, size, physical partitions
    Explain(Explain),
    /// Measure the charges of an account: print the budget, run each operation once, write a ledger and a
    /// report
    Measure(Box<measure::Measure>),
}

/// Form of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Table for a terminal
    Table,
    /// JSON: one line for each case, then the summary
    Json,
}

#[derive(Debug, Args)]
struct Check {
    /// Ledger: one JSON object a line, as in docs/request-charges.md; `-` for standard input [default: the
    /// ledger of this program]
    #[arg(value_name = "FILE")]
    ledger: Option<PathBuf>,

    /// Format of the result
    #[arg(long, value_enum, env = "ONEHOP_FORMAT", default_value = "table")]
    format: Format,

    #[command(flatten)]
    calibration: CalibrationSettings,
}

#[derive(Debug, Args)]
struct Calibrate {
    /// Ledger: one JSON object a line, as in docs/request-charges.md; `-` for standard input [default: the
    /// ledger of this program]
    #[arg(value_name = "CASES")]
    ledger: Option<PathBuf>,

    /// Name of the fitted calibration
    #[arg(long, value_name = "NAME", default_value = "fitted")]
    name: String,

    #[command(flatten)]
    calibration: CalibrationSettings,
}

#[derive(Debug, Args)]
struct Explain {
    /// Case as JSON, such as '{"operation": "create", "item": {"id": "1"}}', or its id in the ledger
    #[arg(value_name = "CASE|ID")]
    case: String,

    /// Ledger that has the id [default: the ledger of this program]
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,

    #[command(flatten)]
    calibration: CalibrationSettings,
}

impl Charges {
    pub async fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            ChargesCommand::Check(command) => command.run(),
            ChargesCommand::Calibrate(command) => command.run(),
            ChargesCommand::Explain(command) => command.run(),
            ChargesCommand::Measure(command) => command.run().await,
        }
    }
}

impl Check {
    fn run(self) -> anyhow::Result<Exit> {
        let cases = cases(self.ledger.as_deref())?;
        let check = LedgerCheck::of(&cases, &self.calibration.calibration());
        let text = match self.format {
            Format::Table => check.table(),
            Format::Json => json_lines(&check)?,
        };
        output::write(&text)?;
        Ok(Exit::Success)
    }
}

fn json_lines(check: &LedgerCheck) -> anyhow::Result<String> {
    let mut text = String::new();
    for case in &check.cases {
        let _ = writeln!(text, "{}", serde_json::to_string(case)?);
    }
    let _ = writeln!(text, "{}", serde_json::json!({ "summary": check.summary }));
    Ok(text)
}

impl Calibrate {
    fn run(self) -> anyhow::Result<Exit> {
        let cases = cases(self.ledger.as_deref())?;
        let base = self.calibration.calibration();
        let fit = calibrate(&cases, &base);
        let source = self.ledger.as_ref().map_or_else(
            || "the ledger of published charges".to_owned(),
            |path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        );
        print_fitted(&fit);
        eprintln!("\nerrors before\n{}", LedgerCheck::of(&cases, &base).summary_table());
        eprintln!("errors after\n{}", LedgerCheck::of(&cases, &fit.calibration).summary_table());
        let extended = if Calibration::named(base.name()).is_some() { base.name() } else { "current" };
        let file = serde_json::to_string_pretty(&fit.file(&self.name, extended, &source))?;
        output::write(&(file + "\n"))?;
        Ok(Exit::Success)
    }
}

fn print_fitted(fit: &CalibrationFit) {
    eprintln!("{:32} {:>10} {:>10} {:>14} {:>6}", "constant", "before", "fitted", "standard error", "cases");
    for constant in &fit.fitted {
        let (name, before, fitted) = (&constant.name, constant.before, constant.fitted);
        eprintln!(
            "{name:32} {before:>10.5} {fitted:>10.5} {:>14.5} {:>6}",
            constant.standard_error, constant.cases
        );
    }
}

impl Explain {
    fn run(self) -> anyhow::Result<Exit> {
        let case = self.find()?;
        let calibration = self.calibration.calibration();
        let explained = explain(&case, &calibration)
            .with_context(|| format!("`operation` is {:?}, which the model does not know", case.operation))?;
        output::write(&text_of(&case, &explained, &calibration))?;
        Ok(Exit::Success)
    }

    fn find(&self) -> anyhow::Result<ChargeCase> {
        if self.case.trim_start().starts_with('{') {
            let mut case: serde_json::Value =
                serde_json::from_str(&self.case).context("the case is no JSON")?;
            if case["id"].is_null() {
                case["id"] = "case".into();
            }
            let mut cases = read_cases(&case.to_string())?;
            return cases.pop().context("there is no case");
        }
        let mut cases = cases(self.ledger.as_deref())?.into_iter();
        let found = cases.find(|case| case.id == self.case);
        found.with_context(|| format!("the ledger has no case {:?}", self.case))
    }
}

/// The parts of a charge, the indexed paths by name, and the constants whose value is unsettled.
fn text_of(case: &ChargeCase, explained: &CaseExplanation, calibration: &Calibration) -> String {
    let mut text = format!("{} under the calibration {}\n\n", case.operation, calibration.name());
    let mut line = |title: &str, charge: f64| {
        let _ = writeln!(text, "{title:32} {charge:>9.4} RU");
    };
    explained.parts.charged().for_each(|(part, charge)| line(part.title(), charge));
    line("estimated", explained.parts.total().0);
    if case.charge > 0.0 {
        line("published", case.charge);
    }
    if !explained.paths.is_empty() {
        text.push_str("\nindexed paths\n");
    }
    for path in &explained.paths {
        let kind = if path.is_literal { ", null, true or false" } else { "" };
        let values =
            if path.terms > 1 { format!(", {} different values", path.terms) } else { String::new() };
        let _ = writeln!(text, "  {}{values}{kind}", path.path);
    }
    text.push_str("\nunsettled constants\n");
    for (constant, range) in calibration.unsettled() {
        let _ = writeln!(text, "  {}: {range}", constant.name());
    }
    text
}

fn cases(ledger: Option<&Path>) -> anyhow::Result<Vec<ChargeCase>> {
    let text = match ledger {
        None => return Ok(read_cases(LEDGER)?),
        Some(path) if path == Path::new("-") => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .take(LEDGER_BYTES_MAX)
                .read_to_string(&mut text)
                .context("standard input")?;
            text
        }
        Some(path) => {
            let file = || path.display().to_string();
            let bytes = std::fs::metadata(path).with_context(file)?.len();
            ensure!(
                bytes <= LEDGER_BYTES_MAX,
                "{}: {bytes} bytes, and {LEDGER_BYTES_MAX} are the limit",
                file()
            );
            std::fs::read_to_string(path).with_context(file)?
        }
    };
    read_cases(&text).with_context(|| ledger.map(|path| path.display().to_string()).unwrap_or_default())
}
