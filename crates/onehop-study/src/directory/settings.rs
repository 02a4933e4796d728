//! Settings of a study: the file `study.toml`.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::errors::StudyErrors;
use super::table_reader::{TableReader, number};
use super::{DATA_FILES_MAX, SETTINGS_FILE};
use crate::bounds::Bounds;
use crate::provisioning::{
    HighestThroughput, INDEX_SHARE_DEFAULT, PEAK_TO_MEAN_DEFAULT, Prices, ProvisioningInput,
};
use onehop_store::charges::ReadConsistency;

/// Hours of a profile.
const HOURS: usize = 24;
const SCALE_BOUNDS: (f64, f64) = (0.001, 1e9);
const PARTITIONS_BOUNDS: (f64, f64) = (1.0, 1_000_000.0);
const THROUGHPUT_BOUNDS: (f64, f64) = (0.0, 1e9);
const PRICE_BOUNDS: (f64, f64) = (0.0, 1_000_000.0);
const REGIONS_BOUNDS: (f64, f64) = (1.0, 100.0);
/// The names here, the service's names, and the reads that are charged.
const CONSISTENCIES: [(&str, &str, ReadConsistency); 5] = [
    ("session", "Session", ReadConsistency::OneReplica),
    ("eventual", "Eventual", ReadConsistency::OneReplica),
    ("consistent-prefix", "ConsistentPrefix", ReadConsistency::OneReplica),
    ("bounded-staleness", "BoundedStaleness", ReadConsistency::Quorum),
    ("strong", "Strong", ReadConsistency::Quorum),
];

/// The settings of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct StudySettings {
    /// The title of the report.
    pub name: String,
    /// The data files of each item type, relative to the directory.
    pub data: BTreeMap<String, Vec<String>>,
    /// The properties of the ids that do not stand at `id`, by item type. Items of a type with none of them
    /// are numbered.
    pub ids: BTreeMap<String, Vec<String>>,
    /// Conditions on the items of a type, where its files have items of other types, too: properties, with
    /// the texts of their values.
    pub conditions: BTreeMap<String, BTreeMap<String, String>>,
    /// The multiple of the data.
    pub scale: f64,
    /// Types whose number of items does not grow with the data.
    pub fixed: Vec<String>,
    /// RU/s of the traffic in each hour of a day, in any unit; `None` where it is not known.
    pub hourly: Option<[f64; HOURS]>,
    /// The peak of the traffic as a multiple of its mean.
    pub peak_to_mean: Bounds,
    /// Regions of the account.
    pub regions: u32,
    /// The consistency of reads.
    pub consistency: ReadConsistency,
    /// The consistency level of the account, by the service's name.
    pub consistency_level: &'static str,
    /// Prices, in one currency.
    pub prices: Prices,
    /// Physical partitions of the containers that an account has already, by container.
    pub partitions: BTreeMap<String, u32>,
    /// The highest throughput that containers of the account ever had, RU/s.
    pub highest_throughput: HighestThroughput,
    /// The size of the indexes as a share of the size of the items.
    pub index_share: Bounds,
}

impl StudySettings {
    /// Reads the file's text, and reports all mistakes.
    pub(super) fn read(text: &str, errors: &mut StudyErrors) -> Self {
        let (table, mistakes) = DeTable::parse_recoverable(text);
        let root = TableReader { file: SETTINGS_FILE, text, path: String::new(), table: table.get_ref() };
        for mistake in mistakes {
            let line = mistake.span().and_then(|span| root.line(span.start));
            errors.add(SETTINGS_FILE, line, mistake.message());
        }
        root.only(
            &[
                "name",
                "scale",
                "fixed",
                "data",
                "ids",
                "where",
                "traffic",
                "account",
                "partitions",
                "highest_throughput",
                "prices",
                "indexes",
            ],
            errors,
        );
        let mut settings = Self {
            name: root.text("name", errors).unwrap_or_else(|| "Study".to_owned()),
            data: BTreeMap::new(),
            ids: BTreeMap::new(),
            conditions: BTreeMap::new(),
            scale: root.number("scale", SCALE_BOUNDS, errors).unwrap_or(1.0),
            fixed: root.texts("fixed", errors),
            hourly: None,
            peak_to_mean: PEAK_TO_MEAN_DEFAULT,
            regions: 1,
            consistency: ReadConsistency::OneReplica,
            consistency_level: "Session",
            prices: Prices::default(),
            partitions: BTreeMap::new(),
            highest_throughput: HighestThroughput::default(),
            index_share: INDEX_SHARE_DEFAULT,
        };
        settings.data(&root, errors);
        settings.ids(&root, errors);
        settings.conditions(&root, errors);
        settings.traffic(&root, errors);
        settings.account(&root, errors);
        settings.prices(&root, errors);
        if let Some(partitions) = root.table_of("partitions", errors) {
            for (name, _) in partitions.table.iter() {
                if let Some(number) = partitions.number(name.get_ref(), PARTITIONS_BOUNDS, errors) {
                    // The bounds hold.
                    settings.partitions.insert(name.get_ref().to_string(), number as u32);
                }
            }
        }
        settings.highest_throughput(&root, errors);
        if let Some(indexes) = root.table_of("indexes", errors) {
            indexes.only(&["share"], errors);
            settings.index_share =
                indexes.bounds("share", (0.0, 10.0), errors).unwrap_or(INDEX_SHARE_DEFAULT);
        }
        settings
    }

    fn data(&mut self, root: &TableReader<'_, '_>, errors: &mut StudyErrors) {
        let Some(data) = root.table_of("data", errors) else {
            let expected =
                "a table `[data]` is expected, with a line for each type: Customer = \"customers.jsonl\"";
            if root.get("data").is_none() {
                errors.add(SETTINGS_FILE, None, expected);
            }
            return;
        };
        for (name, _) in data.table.iter() {
            let files = data.texts(name.get_ref(), errors);
            self.data.insert(name.get_ref().to_string(), files);
        }
        if self.data.values().map(Vec::len).sum::<usize>() > DATA_FILES_MAX {
            errors.add(SETTINGS_FILE, None, format!("`data` has more than {DATA_FILES_MAX} files"));
        }
    }

    fn ids(&mut self, root: &TableReader<'_, '_>, errors: &mut StudyErrors) {
        let Some(ids) = root.table_of("ids", errors) else { return };
        for (name, _) in ids.table.iter() {
            self.has_data("ids", name, root, errors);
            self.ids.insert(name.get_ref().to_string(), ids.texts(name.get_ref(), errors));
        }
    }

    fn conditions(&mut self, root: &TableReader<'_, '_>, errors: &mut StudyErrors) {
        let Some(conditions) = root.table_of("where", errors) else { return };
        for (name, _) in conditions.table.iter() {
            self.has_data("where", name, root, errors);
            if let Some(of_type) = conditions.table_of(name.get_ref(), errors) {
                self.conditions.insert(name.get_ref().to_string(), of_type.scalars(errors));
            }
        }
    }

    /// Reports a table that names a type without data files.
    fn has_data(
        &self,
        table: &str,
        name: &Spanned<DeString<'_>>,
        root: &TableReader<'_, '_>,
        errors: &mut StudyErrors,
    ) {
        if !self.data.contains_key(&**name.get_ref()) {
            let message = format!("`{table}` names {}, which has no data files", name.get_ref());
            errors.add(SETTINGS_FILE, root.line(name.span().start), message);
        }
    }

    fn traffic(&mut self, root: &TableReader<'_, '_>, errors: &mut StudyErrors) {
        let Some(traffic) = root.table_of("traffic", errors) else { return };
        traffic.only(&["hourly", "peak_to_mean"], errors);
        if let Some(peak) = traffic.bounds("peak_to_mean", (1.0, 1_000.0), errors) {
            self.peak_to_mean = peak;
        }
        let Some(value) = traffic.get("hourly") else { return };
        let numbers: Option<Vec<f64>> = match value.get_ref() {
            DeValue::Array(array) => array.iter().map(number).collect(),
            _ => None,
        };
        let hours = numbers.and_then(|numbers| <[f64; HOURS]>::try_from(numbers).ok());
        let is_sound =
            |hours: &[f64; HOURS]| hours.iter().all(|hour| *hour >= 0.0) && hours.iter().sum::<f64>() > 0.0;
        match hours.filter(is_sound) {
            None => {
                traffic.expected("hourly", value, "a list of 24 numbers, one for each hour of a day", errors)
            }
            Some(hours) => {
                let mean = hours.iter().sum::<f64>() / HOURS as f64;
                if traffic.get("peak_to_mean").is_none() {
                    self.peak_to_mean = Bounds::certain(hours.iter().copied().fold(0.0, f64::max) / mean);
                }
                self.hourly = Some(hours);
            }
        }
    }

    fn account(&mut self, root: &TableReader<'_, '_>, errors: &mut StudyErrors) {
        let Some(account) = root.table_of("account", errors) else { return };
        account.only(&["regions", "consistency"], errors);
        if let Some(regions) = account.number("regions", REGIONS_BOUNDS, errors) {
            // The bounds hold.
            self.regions = regions as u32;
        }
        let Some(name) = account.text("consistency", errors) else { return };
        match CONSISTENCIES.iter().find(|(known, ..)| *known == name) {
            Some((_, level, consistency)) => {
                (self.consistency, self.consistency_level) = (*consistency, level);
            }
            None => {
                let known = CONSISTENCIES.map(|(known, ..)| known).join(", ");
                let line = account.get("consistency").and_then(|value| account.line(value.span().start));
                errors.add(
                    SETTINGS_FILE,
                    line,
                    format!("`account.consistency` is one of {known}; found {name}"),
                );
            }
        }
    }

    /// One number for each container, or a table by container.
    fn highest_throughput(&mut self, root: &TableReader<'_, '_>, errors: &mut StudyErrors) {
        const NAME: &str = "highest_throughput";
        let is_table = matches!(root.get(NAME).map(|value| value.get_ref()), Some(DeValue::Table(_)));
        if !is_table {
            self.highest_throughput.of_each =
                root.number(NAME, THROUGHPUT_BOUNDS, errors).unwrap_or_default();
            return;
        }
        let Some(table) = root.table_of(NAME, errors) else { return };
        for (name, _) in table.table.iter() {
            if let Some(number) = table.number(name.get_ref(), THROUGHPUT_BOUNDS, errors) {
                self.highest_throughput.of_containers.insert(name.get_ref().to_string(), number);
            }
        }
    }

    fn prices(&mut self, root: &TableReader<'_, '_>, errors: &mut StudyErrors) {
        let Some(prices) = root.table_of("prices", errors) else { return };
        prices.only(&["manual", "autoscale", "serverless", "reserved", "storage"], errors);
        let mut price = |name: &str| prices.number(name, PRICE_BOUNDS, errors);
        self.prices = Prices {
            manual: price("manual"),
            autoscale: price("autoscale"),
            serverless: price("serverless"),
            reserved: price("reserved"),
            storage: price("storage"),
        };
    }

    /// The input of provisioning.
    #[must_use]
    pub fn provisioning(&self) -> ProvisioningInput {
        ProvisioningInput {
            peak_to_mean: self.peak_to_mean,
            regions: self.regions,
            index_share: self.index_share,
            data_scale: self.scale,
            prices: self.prices,
            hourly: self.hourly,
            highest_throughput: self.highest_throughput.clone(),
        }
    }
}
