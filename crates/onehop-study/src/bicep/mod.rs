//! Bicep template of a design: account, database, and containers with partition key, indexing policy, time to
//! live and throughput, from the figures of a study. The policies are those that the charges were made with.
//!
//! There are no unique keys: a unique key holds within a logical partition only. A unique field is reserved
//! in a container whose partition key is the id.

mod choice;
#[cfg(test)]
mod tests;

use askama::Template;
use onehop_model::{Container, Deletion, Model, Place};

use crate::azure_limits::AUTOSCALE;
use crate::design_study::{DesignStudy, design_report};
use crate::designs::IndexedPaths;
use crate::figure::figure;
use crate::provisioning::{PlannedThroughput, ProvisionedContainer, RecommendedScope, ServerlessFit};
use choice::Choice;
use onehop_change_feed::{DEAD_LETTERS, LEASES};
use onehop_store::ContainerName;

pub use choice::BicepError;

/// Characters of the name of a database, of which an account's name begins with: Azure adds 13 and a hyphen.
const SLUG_CHARACTERS_MAX: usize = 30;
/// The service excludes this path; it is named, so that a deployment shows no difference.
const ETAG_PATH: &str = "/\"_etag\"/?";
/// Items without a time to live of their own stay.
const NO_DEFAULT_TTL: i64 = -1;

#[derive(Template)]
#[template(path = "design.bicep", escape = "none")]
struct BicepTemplate {
    title: String,
    design: String,
    reason: String,
    slug: String,
    peak: String,
    scale: String,
    regions: u32,
    is_serverless: bool,
    capacity: &'static str,
    consistency: &'static str,
    shared: Option<Throughput>,
    containers: Vec<BicepContainer>,
}

/// Throughput of one resource, RU/s.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Throughput {
    manual: u64,
    autoscale_max: u64,
}

/// A container; names and paths are literals of Bicep.
struct BicepContainer {
    name: String,
    note: Option<&'static str>,
    key: Vec<String>,
    excluded: Vec<String>,
    composites: Vec<Vec<String>>,
    default_ttl: Option<i64>,
    has_own_throughput: bool,
    throughput: Throughput,
}

/// The template of a design by its name, else of the winner. Where there is no winner, it is the unbeaten
/// design with the smallest bill.
///
/// # Errors
/// No such design, or no feasible one.
pub fn bicep(study: &DesignStudy<'_>, design: Option<&str>) -> Result<String, BicepError> {
    let named = design.map(|name| choice::named(study, name)).transpose()?;
    let report = design_report(study);
    let Choice { design, planned, reason } = choice::choose(study, &report, named)?;
    let settings = &study.directory.settings;
    let is_shared = planned.recommended_scope == RecommendedScope::Shared;
    let containers: Vec<BicepContainer> =
        planned.containers.iter().filter_map(|found| container(&design.model, found, is_shared)).collect();
    let template = BicepTemplate {
        title: one_line(&settings.name),
        design: one_line(&design.name),
        reason,
        slug: slug(design.model.name()),
        peak: figure(settings.peak_to_mean.high),
        scale: figure(settings.scale),
        regions: settings.regions,
        is_serverless: planned.serverless == ServerlessFit::Fits,
        capacity: capacity(planned),
        consistency: settings.consistency_level,
        shared: if is_shared { shared_throughput(planned, &containers) } else { None },
        containers,
    };
    template.render().map_err(|error| BicepError::Template(error.to_string()))
}

/// `None` for a container that lies in each process.
fn container(model: &Model, found: &ProvisionedContainer, is_shared: bool) -> Option<BicepContainer> {
    let name = found.container.as_str();
    let declared = model.containers().iter().find(|container| *container.name == *name);
    if declared.is_some_and(|container| container.place == Place::Process) {
        return None;
    }
    let paths = declared.map(|declared| IndexedPaths::of(model, &declared.name)).unwrap_or_default();
    let excluded = paths.excluded.iter().map(String::as_str).chain([ETAG_PATH]);
    let key = match declared {
        Some(declared) => declared.key.iter().map(|path| literal(&path.slashed())).collect(),
        // Leases, dead letters and reservations, which no design declares.
        None => vec![literal("/id")],
    };
    let is_leases = found.container == LEASES;
    Some(BicepContainer {
        name: literal(name),
        note: note(declared, found.container),
        key,
        excluded: excluded.map(literal).collect(),
        composites: paths
            .composites
            .iter()
            .map(|paths| paths.iter().map(|path| literal(path)).collect())
            .collect(),
        default_ttl: match declared {
            Some(declared) => default_ttl(model, declared),
            None => Some(NO_DEFAULT_TTL),
        },
        // Checkpoints do not wait while a burst spends the throughput that the other containers share.
        has_own_throughput: !is_shared || is_leases,
        throughput: Throughput {
            manual: whole(found.provisioned),
            autoscale_max: whole(found.autoscale_max),
        },
    })
}

/// The purpose of a container that needs an explanation.
fn note(declared: Option<&Container>, name: ContainerName) -> Option<&'static str> {
    match declared {
        Some(declared) => {
            declared.followed.then_some("Another application writes it: keep its definition, if it exists.")
        }
        None if name == LEASES => Some("Leases and checkpoints of the change feed processor."),
        None if name == DEAD_LETTERS => Some("Changes that the change feed processor could not project."),
        None => Some("Reservations of unique values: a unique key would hold within one logical partition."),
    }
}

fn default_ttl(model: &Model, container: &Container) -> Option<i64> {
    let own = model.items().iter().filter(|item| item.container == container.name);
    let mut expires = own.map(|item| matches!(item.deletion, Deletion::Soft { .. } | Deletion::Ttl));
    let of_items = expires.any(|expires| expires).then_some(NO_DEFAULT_TTL);
    container.ttl_seconds.map(i64::from).or(of_items)
}

/// The throughput of the database, without containers that have throughput of their own.
fn shared_throughput(planned: &PlannedThroughput, containers: &[BicepContainer]) -> Option<Throughput> {
    let own = containers.iter().filter(|container| container.has_own_throughput);
    let own: u64 = own.map(|container| container.throughput.manual).sum();
    let manual = whole(planned.shared?).saturating_sub(own);
    let needed = (manual as f64).max(planned.storage_gb * AUTOSCALE.per_gb).max(AUTOSCALE.minimum);
    Some(Throughput { manual, autoscale_max: whole((needed / AUTOSCALE.step).ceil() * AUTOSCALE.step) })
}

/// The way of paying with the smallest bill; manual throughput without prices.
fn capacity(planned: &PlannedThroughput) -> &'static str {
    let amount = |name: &str| planned.bills.iter().find(|bill| bill.name == name).map(|bill| bill.amount);
    let autoscale = amount("autoscale by the hours of a day").or(amount("autoscale, each hour with a peak"));
    let bills =
        [("manual", amount("manual")), ("autoscale", autoscale), ("serverless", amount("serverless"))];
    let priced = bills.into_iter().filter_map(|(name, amount)| Some((name, amount?)));
    priced.min_by(|one, other| one.1.total_cmp(&other.1)).map_or("manual", |(name, _)| name)
}

/// RU/s are whole numbers.
fn whole(throughput: f64) -> u64 {
    // A float to an integer saturates.
    throughput.ceil() as u64
}

/// A text as a literal of Bicep.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace("${", "\\${"))
}

/// A text within a comment.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A name of lower-case letters, digits and single hyphens, which begins with a letter and has at most 30
/// characters.
#[must_use]
pub fn slug(name: &str) -> String {
    let characters = name.chars().map(|character| character.to_ascii_lowercase());
    let words: String =
        characters.map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect();
    let joined = words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let joined: String = joined.chars().take(SLUG_CHARACTERS_MAX).collect();
    let joined = joined.trim_end_matches('-');
    if joined.starts_with(|first: char| first.is_ascii_lowercase()) {
        joined.to_owned()
    } else {
        format!("study{joined}").chars().take(SLUG_CHARACTERS_MAX).collect()
    }
}
