//! `onehop compare`: the built-in study, the article's ten requests under each data model.

mod settings;

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap::builder::BoolishValueParser;

use super::study::{MeasuredAccount, ReportFormat, report_on};
use super::{Exit, output};
use crate::blog::study::built_in::BuiltInStudy;
use crate::config::CalibrationSettings;
use onehop_store::charges::Calibration;
use onehop_study::design_study::DesignStudy;
use onehop_study::report::{KnownPartitions, StudyReport};
use serde_json::json;
use settings::{SizeSettings, TrafficSettings};

/// Arguments of `onehop compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// Format of the report
    #[arg(long, value_enum, env = "ONEHOP_FORMAT", default_value = "table")]
    format: ReportFormat,

    /// Directory to write the study to, with its data, for `onehop study`; nothing is compared then [default:
    /// none]
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_WRITE")]
    write: Option<PathBuf>,

    /// Physical partitions as the article had them: 70 for each container. Without it their number follows
    /// from storage and throughput
    #[arg(long, env = "ONEHOP_AS_THE_ARTICLE", value_parser = BoolishValueParser::new())]
    as_the_article: bool,

    #[command(flatten)]
    calibration: CalibrationSettings,
    #[command(flatten)]
    size: SizeSettings,
    #[command(flatten)]
    traffic: TrafficSettings,
    #[command(flatten)]
    measured: MeasuredAccount,
}

impl Compare {
    /// # Errors
    /// A setting that no study may have, a directory that exists, an account that refuses.
    pub async fn run(self) -> anyhow::Result<Exit> {
        let built_in = self.traffic.study(self.size.dataset(), self.as_the_article);
        if let Some(path) = &self.write {
            built_in.write(path).with_context(|| format!("--write {}", path.display()))?;
            output::write(&format!("{}\nNext: onehop study run {0}\n", path.display()))?;
            return Ok(Exit::Success);
        }
        let mut directory = built_in.directory().context("the study has mistakes")?;
        let survey = built_in.survey(&mut directory).context("the data has mistakes")?;
        let study = DesignStudy::new(&directory, &survey, self.calibration.calibration());
        if let Some(mut report) = report_on(study, &self.measured).await? {
            self.complete(&mut report);
            output::write(&self.format.show(&report)?)?;
        }
        Ok(Exit::Success)
    }

    /// The article's figures are of its own engine and its own physical partitions, and stand beside no
    /// others.
    fn complete(&self, report: &mut StudyReport) {
        let SizeSettings { rng_seed, .. } = self.size;
        let users = self.size.users();
        BuiltInStudy::name_requests(report);
        report.captions.data_set = format!("{users} users, seed {rng_seed}");
        report.captions.subjects =
            "on the sampled users and posts nearest to the article's (27 posts; 20 comments, 50 likes)."
                .to_owned();
        report.parameters.insert("users".to_owned(), json!(users));
        report.parameters.insert("rngSeed".to_owned(), json!(rng_seed));
        if self.as_the_article {
            report.known_partitions = KnownPartitions::AsTheArticle;
            if report.calibration.name() == Calibration::article_2019().name() {
                BuiltInStudy::refer_to_the_article(report);
            }
        }
    }
}
