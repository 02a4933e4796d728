//! Index terms: the paths of an item's JSON tree that a container indexes, counted in one pass over the text.
//!
//! A term is a path with its value. Objects and arrays are terms of their own, without a value. The elements
//! of an array share one path, so that equal values among them are one term.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::path_hash::{PathHash, ROOT, below, elements};
use super::policy::{IndexingPolicy, PolicyNode};
use crate::document::{PropertyName, PropertyScalar};

/// The value of an object or array.
const INNER: u64 = 1;

/// A number of index terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TermCount {
    /// Texts, numbers, objects and arrays.
    pub plain: u32,
    /// `null`, `true` and `false`.
    pub literals: u32,
    /// Entries in composite indexes.
    pub composites: u32,
}

impl TermCount {
    /// This many plain terms.
    #[must_use]
    pub fn of(plain: u32) -> Self {
        Self { plain, ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TermKind {
    Plain,
    Literal,
    Inner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    path: PathHash,
    value: u64,
    kind: TermKind,
    parent: PathHash,
}

/// The index terms of one item.
#[derive(Debug, Default)]
pub struct IndexTerms {
    /// Sorted, each once, after [`TermCollector::finish`].
    terms: Vec<Term>,
}

/// Collects the index terms of one item while its text is read.
#[derive(Debug)]
pub(crate) struct TermCollector<'p> {
    policy: &'p IndexingPolicy,
    terms: Vec<Term>,
    /// Top-level properties so far, indexed or not.
    properties: usize,
    /// The paths as texts, where they are wanted.
    names: Option<BTreeMap<PathHash, String>>,
}

/// A place in the tree, with the decision of the policy there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreePlace<'p> {
    path: PathHash,
    parent: PathHash,
    node: Option<&'p PolicyNode>,
    /// Whether an inner path above is indexed with everything below.
    subtree: bool,
    /// Whether a scalar here is indexed.
    scalar: bool,
}

/// An index term, for people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedTerm {
    /// Such as `/address/city` or `/tags/[]`.
    pub path: String,
    /// Whether its value is `null`, `true` or `false`.
    pub is_literal: bool,
    /// Terms with this path: the different values of an array's elements.
    pub terms: u32,
}

impl IndexTerms {
    /// The terms of an item's JSON text; no terms for a text that is no object.
    #[must_use]
    pub fn of(policy: &IndexingPolicy, body: &str) -> Self {
        let mut collector = TermCollector::new(policy);
        match collector.read(body) {
            Ok(()) => collector.finish(),
            Err(_) => Self::default(),
        }
    }

    /// All terms.
    #[must_use]
    pub fn count(&self, policy: &IndexingPolicy) -> TermCount {
        let has = |path: &PathHash| self.terms.iter().any(|term| term.path == *path);
        let composites = policy.composites.iter().filter(|paths| paths.iter().all(has)).count();
        let literals = self.terms.iter().filter(|term| term.kind == TermKind::Literal).count();
        TermCount {
            plain: (self.terms.len() - literals) as u32,
            literals: literals as u32,
            composites: composites as u32,
        }
    }

    /// The terms in which an item differs before and after a replace. A path with another value is one term,
    /// and so is each object or array above it.
    #[must_use]
    pub fn changed(&self, after: &Self, policy: &IndexingPolicy) -> TermCount {
        let mut changes = TermChanges::default();
        let (mut old, mut new) = (self.terms.iter().peekable(), after.terms.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.cmp(new),
            };
            match order {
                std::cmp::Ordering::Equal => {
                    old.next();
                    new.next();
                }
                std::cmp::Ordering::Less => changes.removed(old.next()),
                std::cmp::Ordering::Greater => changes.added(new.next()),
            }
        }
        changes.count([self, after], policy)
    }

    fn inner(&self, path: PathHash) -> Option<&Term> {
        let start = self.terms.partition_point(|term| term.path < path);
        self.terms[start..]
            .iter()
            .take_while(|term| term.path == path)
            .find(|term| term.kind == TermKind::Inner)
    }
}

/// The differences of two items, in the order of their paths.
#[derive(Default)]
struct TermChanges {
    paths: Vec<PathChange>,
}

#[derive(Default)]
struct PathChange {
    path: PathHash,
    parent: PathHash,
    added: u32,
    removed: u32,
    added_literals: u32,
    removed_literals: u32,
}

impl TermChanges {
    fn at(&mut self, term: &Term) -> &mut PathChange {
        if self.paths.last().is_none_or(|last| last.path != term.path) {
            self.paths.push(PathChange { path: term.path, parent: term.parent, ..PathChange::default() });
        }
        let last = self.paths.len() - 1;
        &mut self.paths[last]
    }

    fn added(&mut self, term: Option<&Term>) {
        let Some(term) = term else { return };
        let change = self.at(term);
        change.added += 1;
        change.added_literals += u32::from(term.kind == TermKind::Literal);
    }

    fn removed(&mut self, term: Option<&Term>) {
        let Some(term) = term else { return };
        let change = self.at(term);
        change.removed += 1;
        change.removed_literals += u32::from(term.kind == TermKind::Literal);
    }

    fn count(self, sides: [&IndexTerms; 2], policy: &IndexingPolicy) -> TermCount {
        let mut count = TermCount::default();
        let mut above: Vec<PathHash> = Vec::new();
        let is_changed = |path: PathHash| self.paths.iter().any(|change| change.path == path);
        for change in &self.paths {
            let plain = (change.added - change.added_literals).max(change.removed - change.removed_literals);
            count.plain += plain;
            count.literals += change.added.max(change.removed) - plain;
            let mut parent = change.parent;
            while parent != ROOT && !above.contains(&parent) {
                let Some(inner) = sides.iter().find_map(|side| side.inner(parent)) else { break };
                above.push(parent);
                count.plain += u32::from(!is_changed(parent));
                parent = inner.parent;
            }
        }
        let touched = |paths: &&Vec<PathHash>| paths.iter().any(|path| is_changed(*path));
        count.composites = policy.composites.iter().filter(touched).count() as u32;
        count
    }
}

impl<'p> TermCollector<'p> {
    pub(crate) fn new(policy: &'p IndexingPolicy) -> Self {
        Self { policy, terms: Vec::with_capacity(24), properties: 0, names: None }
    }

    fn read(&mut self, body: &str) -> Result<(), serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(body);
        deserializer.deserialize_map(ItemVisitor { collector: self })?;
        deserializer.end()
    }

    /// The place of a property of the item itself.
    pub(crate) fn property(&mut self, name: &str) -> TreePlace<'p> {
        self.properties += 1;
        let root = TreePlace {
            path: ROOT,
            parent: ROOT,
            node: Some(&self.policy.root),
            subtree: false,
            scalar: false,
        };
        let root = TreePlace { subtree: self.policy.root.subtree.unwrap_or_default(), ..root };
        let place = self.below(root, name);
        // The service always indexes it.
        if name == "id" { TreePlace { scalar: true, ..place } } else { place }
    }

    /// The number of top-level properties that were read, indexed or not.
    #[cfg(feature = "embedded")]
    pub(crate) fn properties(&self) -> usize {
        self.properties
    }

    fn below(&mut self, above: TreePlace<'p>, name: &str) -> TreePlace<'p> {
        let place = above.step(below(above.path, name), above.node.and_then(|node| node.child(name)));
        self.name(above, place, name);
        place
    }

    fn element(&mut self, above: TreePlace<'p>) -> TreePlace<'p> {
        let place = above.step(elements(above.path), above.node.and_then(PolicyNode::elements));
        self.name(above, place, "[]");
        place
    }

    fn name(&mut self, above: TreePlace<'p>, place: TreePlace<'p>, name: &str) {
        if let Some(names) = &mut self.names {
            let above = names.get(&above.path).cloned().unwrap_or_default();
            names.entry(place.path).or_insert_with(|| format!("{above}/{name}"));
        }
    }

    pub(crate) fn text(&mut self, place: TreePlace<'p>, text: &str) {
        self.scalar(place, TermKind::Plain, || xxh3_64(text.as_bytes()));
    }

    pub(crate) fn number(&mut self, place: TreePlace<'p>, number: f64) {
        self.scalar(place, TermKind::Plain, || xxh3_64_with_seed(&number.to_bits().to_be_bytes(), 1));
    }

    pub(crate) fn literal(&mut self, place: TreePlace<'p>, literal: Option<bool>) {
        self.scalar(place, TermKind::Literal, || literal.map_or(2, |value| 3 + u64::from(value)));
    }

    fn scalar(&mut self, place: TreePlace<'p>, kind: TermKind, value: impl FnOnce() -> u64) {
        if place.scalar {
            self.terms.push(Term { path: place.path, value: value(), kind, parent: place.parent });
        }
    }

    fn inner(&mut self, place: TreePlace<'p>) {
        if place.subtree {
            self.terms.push(Term {
                path: place.path,
                value: INNER,
                kind: TermKind::Inner,
                parent: place.parent,
            });
        }
    }

    /// The terms of the item that was read.
    pub(crate) fn finish(mut self) -> IndexTerms {
        self.terms.sort_unstable();
        self.terms.dedup();
        IndexTerms { terms: self.terms }
    }
}

impl<'p> TreePlace<'p> {
    fn step(self, path: PathHash, node: Option<&'p PolicyNode>) -> Self {
        let subtree = node.and_then(|node| node.subtree).unwrap_or(self.subtree);
        let scalar = node.and_then(|node| node.scalar).unwrap_or(subtree);
        Self { path, parent: self.path, node, subtree, scalar }
    }
}

/// The indexed terms of an item by name, in the order of their paths. Empty for a text that is no object.
#[must_use]
pub fn named_terms(policy: &IndexingPolicy, body: &str) -> Vec<NamedTerm> {
    let mut collector = TermCollector { names: Some(BTreeMap::new()), ..TermCollector::new(policy) };
    if collector.read(body).is_err() {
        return Vec::new();
    }
    let names = collector.names.take().unwrap_or_default();
    let mut named: BTreeMap<(String, bool), u32> = BTreeMap::new();
    for term in collector.finish().terms {
        let path = names.get(&term.path).cloned().unwrap_or_default();
        *named.entry((path, term.kind == TermKind::Literal)).or_default() += 1;
    }
    named.into_iter().map(|((path, is_literal), terms)| NamedTerm { path, is_literal, terms }).collect()
}

struct ItemVisitor<'c, 'p> {
    collector: &'c mut TermCollector<'p>,
}

impl<'de> Visitor<'de> for ItemVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(PropertyName(name)) = map.next_key()? {
            let place = self.collector.property(&name);
            map.next_value_seed(TermSeed { collector: self.collector, place, keeps_scalar: false })?;
        }
        Ok(())
    }
}

/// Reads one value of an item and collects its terms. Returns a text or a number where that is wanted.
pub(crate) struct TermSeed<'c, 'p> {
    pub collector: &'c mut TermCollector<'p>,
    pub place: TreePlace<'p>,
    pub keeps_scalar: bool,
}

impl TermSeed<'_, '_> {
    fn number(self, number: f64) -> PropertyScalar {
        self.collector.number(self.place, number);
        if self.keeps_scalar { PropertyScalar::Number(number) } else { PropertyScalar::None }
    }
}

impl<'de> DeserializeSeed<'de> for TermSeed<'_, '_> {
    type Value = PropertyScalar;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TermSeed<'_, '_> {
    type Value = PropertyScalar;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        self.collector.text(self.place, value);
        Ok(if self.keeps_scalar { PropertyScalar::Text(value.to_owned()) } else { PropertyScalar::None })
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        self.collector.literal(self.place, Some(value));
        Ok(if self.keeps_scalar { PropertyScalar::Boolean(value) } else { PropertyScalar::None })
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        self.collector.literal(self.place, None);
        Ok(PropertyScalar::None)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(self.number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(self.number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(self.number(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let Self { collector, place, .. } = self;
        collector.inner(place);
        let element = collector.element(place);
        while elements
            .next_element_seed(TermSeed { collector: &mut *collector, place: element, keeps_scalar: false })?
            .is_some()
        {}
        Ok(PropertyScalar::None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let Self { collector, place, .. } = self;
        collector.inner(place);
        while let Some(PropertyName(name)) = map.next_key()? {
            let place = collector.below(place, &name);
            map.next_value_seed(TermSeed { collector: &mut *collector, place, keeps_scalar: false })?;
        }
        Ok(PropertyScalar::None)
    }
}
