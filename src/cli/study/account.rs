//! `onehop study account`: the logs of an account as rates, sizes, hours and skew, and as cases for a
//! calibration.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use super::{ShortFormat, survey};
use crate::cli::{Exit, output};
use crate::config::CalibrationSettings;
use onehop_study::account_logs::{AccountLog, AccountReport, StoredItems, account_text};
use onehop_study::data::SurveySpec;
use onehop_study::designs::DesignData;
use onehop_study::directory::StudyDirectory;
use onehop_study::ledger::{LedgerCheck, read_cases};

/// Arguments of `onehop study account`.
#[derive(Debug, Args)]
pub struct Account {
    /// Exports of CDBDataPlaneRequests and CDBPartitionKeyRUConsumption from Log Analytics: CSV, a list of
    /// JSON objects, or an object on each line
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    logs: Vec<PathBuf>,

    /// File for calibration cases: charges of the account with everything that an estimate needs, for
    /// `onehop charges calibrate`
    #[arg(long, value_name = "FILE")]
    cases: Option<PathBuf>,

    /// Study whose items stand for created ones of the same length in the cases
    #[arg(long, value_name = "DIR", requires = "cases")]
    study: Option<PathBuf>,

    /// Design that the account has now [default: the first of the study]
    #[arg(long, value_name = "NAME", requires = "study")]
    design: Option<String>,

    /// Format of the report
    #[arg(long, value_enum, default_value = "table")]
    format: ShortFormat,

    #[command(flatten)]
    calibration: CalibrationSettings,
}

impl Account {
    /// # Errors
    /// Logs or a study with mistakes, all of them with file and line.
    pub fn run(self) -> anyhow::Result<Exit> {
        let log = AccountLog::read(&self.logs).context("the logs have mistakes")?;
        if let Some(file) = &self.cases {
            let lines = log.cases(&self.stored_items()?).into_iter().map(|case| format!("{case}\n"));
            let lines: String = lines.collect();
            std::fs::write(file, &lines).with_context(|| format!("cannot write {}", file.display()))?;
            let cases = read_cases(&lines)?;
            eprintln!("{} cases in {}, beside their estimates", cases.len(), file.display());
            eprintln!("{}", LedgerCheck::of(&cases, &self.calibration.calibration()).summary_table());
        }
        let report = AccountReport::of(&log);
        let text = match self.format {
            ShortFormat::Table => account_text(&report),
            ShortFormat::Json => serde_json::to_string_pretty(&report)? + "\n",
        };
        output::write(&text)?;
        Ok(Exit::Success)
    }

    fn stored_items(&self) -> anyhow::Result<StoredItems> {
        let Some(study) = &self.study else { return Ok(StoredItems::default()) };
        let directory = StudyDirectory::read(study)
            .with_context(|| format!("the study {} has mistakes", study.display()))?;
        let is_named = |name: &str| self.design.as_ref().is_none_or(|design| *design == *name);
        let design = directory.designs.iter().find(|design| is_named(&design.name)).with_context(|| {
            let names: Vec<&str> = directory.designs.iter().map(|design| design.name.as_str()).collect();
            format!("the study has no such design; expected one of {}", names.join(", "))
        })?;
        let survey = survey(&directory, &SurveySpec::of_designs(&directory))?;
        Ok(StoredItems::of(&DesignData::new(design, &survey), directory.settings.consistency_level))
    }
}
