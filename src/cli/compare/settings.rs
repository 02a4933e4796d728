//! Settings of a comparison: size of the data set, and the traffic of the bill.

use clap::Args;

use crate::app::container_specs;
use crate::blog::study::article;
use crate::blog::study::built_in::BuiltInStudy;
use crate::blog::study::dataset::{DEFAULT_END_MS, DEFAULT_RNG_SEED, Dataset, Texts};
use onehop_study::bounds::Bounds;
use onehop_study::provisioning::{HighestThroughput, INDEX_SHARE_DEFAULT, PEAK_TO_MEAN_DEFAULT, Prices};
use onehop_study::rates::{InvalidRequestRate, RequestRate};

const USERS_DEFAULT: u32 = 200;

/// Settings of the data set.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data set")]
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

    /// With texts of the article's length.
    pub fn dataset(&self) -> Dataset {
        Dataset::new(self.users(), self.rng_seed, DEFAULT_END_MS).with_texts(Texts::Long)
    }
}

impl TrafficSettings {
    /// The study of a data set under the traffic.
    pub fn study(&self, dataset: Dataset, as_the_article: bool) -> BuiltInStudy {
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
        BuiltInStudy {
            dataset,
            data_scale: self.data_scale,
            rates: self.rates(),
            peak_to_mean: self.peak_to_mean.unwrap_or(PEAK_TO_MEAN_DEFAULT),
            index_share: self.index_share.unwrap_or(INDEX_SHARE_DEFAULT),
            regions: self.regions,
            prices,
            highest_throughput: self.highest_throughput(),
            as_the_article,
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

    /// Empty without a traffic.
    fn rates(&self) -> Vec<RequestRate> {
        self.reads_per_write
            .map_or_else(|| self.rates.clone(), |ratio| RequestRate::even(&article::requests(), ratio))
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
