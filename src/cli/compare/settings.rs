//! Settings of a comparison: size of the data set, store, indexing, and the traffic of the bill.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::ensure;
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};

use crate::app::container_specs;
use crate::blog::study::article;
use crate::blog::study::dataset::DEFAULT_RNG_SEED;
use crate::blog::study::report::ARTICLE_PARTITIONS;
use crate::config::{CalibrationSettings, CosmosSettings, Environment, StoreKind, ThroughputSettings};
use onehop_store::Indexing;
use onehop_store::charges::Calibration;
use onehop_study::bounds::Bounds;
use onehop_study::provisioning::{
    HighestThroughput, INDEX_SHARE_DEFAULT, PEAK_TO_MEAN_DEFAULT, Prices, ProvisioningInput,
};
use onehop_study::rates::{InvalidRequestRate, RequestRate};

const USERS_DEFAULT: u32 = 200;
/// With which requests run where their number is derived: as many as a container of up to 50 GB and 10,000
/// RU/s has.
const PHYSICAL_PARTITIONS_MEASURED: u16 = 1;

/// Settings of the data set and the samples.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data set and samples")]
pub(super) struct SizeSettings {
    /// Users of the data set, each with 5 to 50 posts [default: 200]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_USERS",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    users: Option<u32>,

    /// Seed of the random number generator. The same seed makes the same data set
    #[arg(long, value_name = "NUMBER", env = "ONEHOP_RNG_SEED", default_value_t = DEFAULT_RNG_SEED)]
    pub rng_seed: u64,

    /// Samples: how often each request runs under each data model
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_SAMPLES",
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub samples: u32,
}

/// Settings of the compared store.
#[derive(Debug, Args)]
#[command(next_help_heading = "Compared store")]
pub(super) struct PlaceSettings {
    /// Store whose request charges are compared
    #[arg(long, value_enum, env = "ONEHOP_STORE", default_value = "embedded")]
    pub store: StoreKind,

    /// Directory of the embedded store in which the databases are made, under `compare` [default: a temporary
    /// one]
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DATA")]
    pub data: Option<PathBuf>,

    /// Physical partitions as the article had them: 70 for each container. Without it their number follows
    /// from storage and throughput, and an account has its own
    #[arg(long, env = "ONEHOP_AS_THE_ARTICLE", value_parser = BoolishValueParser::new())]
    pub as_the_article: bool,

    /// Indexing policy, which decides the charge of a write
    #[arg(long, value_enum, env = "ONEHOP_INDEXING", default_value = "all")]
    indexing: IndexingSetting,

    #[command(flatten)]
    calibration: CalibrationSettings,

    /// Estimation error, with --store cosmos: print the embedded store's estimate of each charge beside it
    #[arg(long, env = "ONEHOP_ESTIMATE_ERROR", value_parser = BoolishValueParser::new())]
    pub estimate_error: bool,

    /// Clean-up, with --store cosmos: delete each of the comparison's databases when it was measured, also
    /// after a failure
    #[arg(long, env = "ONEHOP_DROP", value_parser = BoolishValueParser::new())]
    pub drop: bool,

    #[command(flatten)]
    pub cosmos: CosmosSettings,
    #[command(flatten)]
    pub throughput: ThroughputSettings,
}

/// The indexing policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IndexingSetting {
    /// Every property: Cosmos DB's default, and the article's setting
    All,
    /// Properties that queries need, as `onehop provision` creates them
    Needed,
}

impl From<IndexingSetting> for Indexing {
    fn from(setting: IndexingSetting) -> Self {
        match setting {
            IndexingSetting::All => Self::All,
            IndexingSetting::Needed => Self::Needed,
        }
    }
}

/// Settings of the traffic from which throughput and bill are computed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Traffic and bill")]
pub(super) struct TrafficSettings {
    /// Traffic as reads for each write: one write a second, spread evenly over the requests [default: none]
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_READS_PER_WRITE",
        conflicts_with = "rates",
        value_parser = non_negative
    )]
    reads_per_write: Option<f64>,

    /// Traffic as requests a second, such as Q3=100,C2=1 [default: none]
    #[arg(long, value_name = "RATES", env = "ONEHOP_RATES", value_delimiter = ',', value_parser = rate)]
    rates: Vec<RequestRate>,

    /// Price of 100 RU/s for an hour, for the monthly bill [default: none]
    #[arg(long, value_name = "PRICE", env = "ONEHOP_PRICE_PER_100_RU", value_parser = non_negative)]
    price_per_100_ru: Option<f64>,

    /// Prices of the ways of paying, such as autoscale=0.012,serverless=0.25: manual, autoscale and reserved
    /// for 100 RU/s and hour, serverless for a million RU, storage for a GB and month [default: none]
    #[arg(long, value_name = "PRICES", env = "ONEHOP_PRICES", value_delimiter = ',', value_parser = price)]
    prices: Vec<(PriceName, f64)>,

    /// Peak-to-mean ratio: how many times its mean the traffic is at its peak, as one number or as two ends
    /// such as 1..3. Throughput is provisioned for the higher end; the verdict holds for both [default: 1..3]
    #[arg(long, value_name = "RATIO", env = "ONEHOP_PEAK_TO_MEAN", value_parser = peak_to_mean)]
    peak_to_mean: Option<Bounds>,

    /// Data scale: how many times the measured data there is, for physical partitions, storage and skew
    #[arg(long, value_name = "FACTOR", env = "ONEHOP_DATA_SCALE", default_value_t = 1.0, value_parser = data_scale)]
    data_scale: f64,

    /// Regions of the account, each of which is provisioned and billed in full
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_REGIONS",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    regions: u32,

    /// Highest throughput that containers ever had, RU/s, such as posts=690000, or one number for each: it
    /// cannot be lowered below a hundredth of that, the maximum of autoscale not below a tenth [default:
    /// none]
    #[arg(
        long,
        value_name = "RU/S",
        env = "ONEHOP_HIGHEST_THROUGHPUT",
        value_delimiter = ',',
        value_parser = highest_throughput
    )]
    highest_throughput: Vec<(Option<String>, f64)>,

    /// Index share: size of the indexes as a share of the size of the items, for storage, as one number or as
    /// two ends. Microsoft states about 0.1 to 0.2 where every property is indexed, and nothing more exact
    /// [default: 0.1..0.2]
    #[arg(long, value_name = "SHARE", env = "ONEHOP_INDEX_SHARE", value_parser = share)]
    index_share: Option<Bounds>,
}

/// A way of paying that has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PriceName {
    Manual,
    Autoscale,
    Serverless,
    Reserved,
    Storage,
}

impl SizeSettings {
    pub fn users(&self) -> u32 {
        self.users.unwrap_or(USERS_DEFAULT)
    }
}

impl PlaceSettings {
    /// Whether each database is deleted when it has been measured: on request, and where it would not be
    /// found afterwards, so that a large data set takes the space of one and not of three.
    pub fn deletes(&self) -> bool {
        self.drop || (self.store == StoreKind::Embedded && self.data.is_none())
    }

    /// Of the embedded store, with which requests run.
    pub fn physical_partitions(&self) -> u16 {
        if self.as_the_article { ARTICLE_PARTITIONS } else { PHYSICAL_PARTITIONS_MEASURED }
    }

    pub fn indexing(&self) -> Indexing {
        self.indexing.into()
    }

    pub fn calibration(&self) -> Arc<Calibration> {
        self.calibration.calibration()
    }

    /// Refuses settings that are not for the compared store. The variable of `--data` may be set: it is for
    /// every command.
    pub fn check(&self, environment: &Environment) -> anyhow::Result<()> {
        match self.store {
            StoreKind::Embedded => {
                ensure!(
                    !self.estimate_error,
                    "--estimate-error needs --store cosmos: the charges of the embedded store are \
                     estimates"
                );
                ensure!(
                    !self.drop,
                    "--drop needs --store cosmos: without --data, the databases are in a temporary directory"
                );
            }
            StoreKind::Cosmos => {
                let data = self.data.as_ref().map(|data| data.display().to_string());
                ensure!(
                    data.is_none() || data == environment.get("ONEHOP_DATA"),
                    "--data is for --store embedded: --store cosmos makes its databases in the account"
                );
                ensure!(
                    !self.as_the_article,
                    "--as-the-article is for --store embedded: with --store cosmos the account has its own physical partitions"
                );
            }
        }
        Ok(())
    }
}

impl TrafficSettings {
    /// The input of provisioning beside the traffic.
    pub fn provisioning(&self) -> ProvisioningInput {
        let mut prices = Prices { manual: self.price_per_100_ru, ..Prices::default() };
        for (name, price) in &self.prices {
            let slot = match name {
                PriceName::Manual => &mut prices.manual,
                PriceName::Autoscale => &mut prices.autoscale,
                PriceName::Serverless => &mut prices.serverless,
                PriceName::Reserved => &mut prices.reserved,
                PriceName::Storage => &mut prices.storage,
            };
            *slot = Some(*price);
        }
        ProvisioningInput {
            hourly: None,
            peak_to_mean: self.peak_to_mean.unwrap_or(PEAK_TO_MEAN_DEFAULT),
            regions: self.regions,
            highest_throughput: self.highest_throughput(),
            index_share: self.index_share.unwrap_or(INDEX_SHARE_DEFAULT),
            data_scale: self.data_scale,
            prices,
        }
    }

    fn highest_throughput(&self) -> HighestThroughput {
        let mut highest = HighestThroughput::default();
        for (container, throughput) in &self.highest_throughput {
            match container {
                Some(container) => drop(highest.of_containers.insert(container.clone(), *throughput)),
                None => highest.of_each = *throughput,
            }
        }
        highest
    }

    /// `None` where no traffic is given.
    pub fn rates(&self) -> Option<Vec<RequestRate>> {
        let given = (!self.rates.is_empty()).then(|| self.rates.clone());
        self.reads_per_write.map(|ratio| RequestRate::even(&article::requests(), ratio)).or(given)
    }
}

/// The most times the measured data.
const DATA_SCALE_MAX: f64 = 1_000_000.0;

/// One number, or two ends such as `1..3`.
fn bounds(text: &str) -> Result<Bounds, String> {
    let Some((low, high)) = text.split_once("..") else { return non_negative(text).map(Bounds::certain) };
    let bounds = Bounds { low: non_negative(low)?, high: non_negative(high)? };
    if bounds.low <= bounds.high { Ok(bounds) } else { Err(format!("{text:?} ends before it begins")) }
}

/// Finite numbers of at least 1.
fn peak_to_mean(text: &str) -> Result<Bounds, String> {
    let bounds = bounds(text)?;
    if bounds.low >= 1.0 {
        Ok(bounds)
    } else {
        Err(format!("{text:?} is not a number of at least 1, or two such as 1..3"))
    }
}

fn data_scale(text: &str) -> Result<f64, String> {
    let number = non_negative(text)?;
    if (1.0..=DATA_SCALE_MAX).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{text:?} is not a number from 1 to {DATA_SCALE_MAX}"))
    }
}

/// RU/s of a container by its name, or of each.
fn highest_throughput(text: &str) -> Result<(Option<String>, f64), String> {
    let Some((name, throughput)) = text.split_once('=') else { return Ok((None, non_negative(text)?)) };
    let known = container_specs().into_iter().find(|spec| spec.name.0 == name);
    let container = known.ok_or_else(|| format!("{name:?} is no container"))?.name.0.to_owned();
    Ok((Some(container), non_negative(throughput)?))
}

/// A price by its name.
fn price(text: &str) -> Result<(PriceName, f64), String> {
    let (name, price) = text.split_once('=').unwrap_or((text, ""));
    let name = match name {
        "manual" => PriceName::Manual,
        "autoscale" => PriceName::Autoscale,
        "serverless" => PriceName::Serverless,
        "reserved" => PriceName::Reserved,
        "storage" => PriceName::Storage,
        _ => return Err(format!("{name:?} is none of manual, autoscale, serverless, reserved, storage")),
    };
    Ok((name, non_negative(price)?))
}

/// A rate of one of the article's requests.
fn rate(text: &str) -> Result<RequestRate, InvalidRequestRate> {
    RequestRate::parse(text, &article::requests())
}

fn share(text: &str) -> Result<Bounds, String> {
    let invalid =
        || format!("{text:?} is not a share from 0 to 1, such as 0.2 for 20 %, or two such as 0.1..0.2");
    let bounds = bounds(text).map_err(|_| invalid())?;
    if bounds.high <= 1.0 { Ok(bounds) } else { Err(invalid()) }
}

/// A finite number that is not negative.
fn non_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("{text:?} is not a number of at least 0")),
    }
}
