//! Monitors: promises about every commit of an account. A later write may heal an item that went back in time
//! before a client reads it, and the next defect of that kind may not be healed.

use std::collections::HashMap;

use onehop_testing::account_model::CommittedWrite;
use serde_json::Value;

use crate::world::World;

/// A copied field: the property with the id of its source, the copy, and the type and the field of the
/// source.
const COPIES: [(&str, &str, &str, &str); 2] = [
    ("userId", "userUsername", "user", "username"),
    ("categoryId", "categoryName", "productCategory", "name"),
];
/// The same in elements of an array.
const TAGS: (&str, &str, &str, &str, &str) = ("tags", "id", "name", "productTag", "name");

/// An item, by its container, partition key and id.
type Place<'a> = (&'a str, &'a str, &'a str);

/// The values that a field of a source has had, the first one first.
type Values = HashMap<(&'static str, String), Vec<String>>;

#[derive(Default)]
struct Monitors<'a> {
    versions: HashMap<Place<'a>, u64>,
    /// Owner and epoch of each lease.
    leases: HashMap<Place<'a>, (Option<String>, u64)>,
    values: Values,
    /// The place of a copy's value among the values of its source.
    copies: HashMap<(Place<'a>, &'static str, String), usize>,
}

/// Looks at all commits of a run.
pub fn check(world: &World, commits: &[CommittedWrite]) {
    let mut monitors = Monitors::default();
    for commit in commits {
        for (promise, detail) in monitors.violations(commit) {
            let place = format!("{} {} {}", commit.container, commit.partition_key.as_str(), commit.id);
            world.history.broken(promise, format!("{place}: {detail}"));
        }
    }
}

impl<'a> Monitors<'a> {
    fn violations(&mut self, commit: &'a CommittedWrite) -> Vec<(&'static str, String)> {
        let place = (commit.container.as_str(), commit.partition_key.as_str(), commit.id.as_str());
        if commit.is_create || commit.body.is_none() {
            self.versions.remove(&place);
            self.leases.remove(&place);
            self.copies.retain(|(of, ..), _| *of != place);
        }
        let Some(body) = &commit.body else { return Vec::new() };
        let Ok(item) = serde_json::from_slice::<Value>(body) else { return Vec::new() };
        let version =
            self.version(place, &item).map(|detail| ("an item never goes back to a version", detail));
        let lease =
            self.lease(place, &item).map(|detail| ("a lease changes hands with a later epoch", detail));
        self.note_source(&item);
        let copies = self.copies(place, &item).into_iter();
        let copies = copies.map(|detail| ("a copy never goes back to an earlier value", detail));
        version.into_iter().chain(lease).chain(copies).collect()
    }

    fn version(&mut self, place: Place<'a>, item: &Value) -> Option<String> {
        let version = item["version"].as_u64()?;
        let before = self.versions.insert(place, version)?;
        (version < before).then(|| format!("version {version} after {before}"))
    }

    fn lease(&mut self, place: Place<'a>, item: &Value) -> Option<String> {
        let epoch = item["epoch"].as_u64()?;
        let owner = item["owner"].as_str().map(str::to_owned);
        let (former, before) = self.leases.insert(place, (owner.clone(), epoch))?;
        let changes_hands = owner.is_some() && owner != former;
        let is_wrong = epoch < before || changes_hands && epoch == before;
        is_wrong.then(|| format!("epoch {epoch} of {owner:?} after {before} of {former:?}"))
    }

    /// Remembers the value of a source. Another version of the item may have the same value.
    fn note_source(&mut self, item: &Value) {
        let (Some(item_type), Some(id)) = (item["type"].as_str(), item["id"].as_str()) else { return };
        let sources = COPIES.iter().map(|(_, _, source, field)| (*source, *field));
        for (source, field) in sources.chain([(TAGS.3, TAGS.4)]).filter(|(source, _)| *source == item_type) {
            let Some(value) = item[field].as_str() else { continue };
            let values = self.values.entry((source, id.to_owned())).or_default();
            if values.last().is_none_or(|last| last != value) {
                values.push(value.to_owned());
            }
        }
    }

    fn copies(&mut self, place: Place<'a>, item: &Value) -> Vec<String> {
        let mut found = Vec::new();
        for (by, field, source, _) in COPIES {
            found.extend(self.copy(place, source, (&item[by], &item[field])));
        }
        let (array, by, field, source, _) = TAGS;
        for element in item[array].as_array().into_iter().flatten() {
            found.extend(self.copy(place, source, (&element[by], &element[field])));
        }
        found
    }

    fn copy(
        &mut self,
        place: Place<'a>,
        source: &'static str,
        (id, value): (&Value, &Value),
    ) -> Option<String> {
        let (id, value) = (id.as_str()?, value.as_str()?);
        let values = self.values.get(&(source, id.to_owned()))?;
        // A value that a source has had twice says nothing about the order.
        let mut places =
            values.iter().enumerate().filter(|(_, known)| *known == value).map(|(place, _)| place);
        let (Some(now), None) = (places.next(), places.next()) else { return None };
        let before = self.copies.insert((place, source, id.to_owned()), now)?;
        let former = values.get(before)?;
        (now < before).then(|| format!("{value:?} after {former:?} of {source} {id}"))
    }
}
