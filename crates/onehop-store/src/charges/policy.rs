//! Indexing policy: the included and excluded paths of a container, and its composite indexes, as Azure
//! Cosmos DB has them.

use super::path_hash::{PathHash, hash_of_path};

/// Bytes of a path, and paths of a policy, at most.
const PATH_BYTES_MAX: usize = 1024;
const PATHS_MAX: usize = 10_000;

/// The paths of an item that a container indexes. The most specific path decides; `id` is always indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexingPolicy {
    pub(super) root: PolicyNode,
    /// The properties of each composite index.
    pub(super) composites: Vec<Vec<PathHash>>,
    pub(super) unique_keys: usize,
}

/// The decisions at one path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PolicyNode {
    /// `/*`: of this path and everything below.
    pub subtree: Option<bool>,
    /// `/?`: of a scalar at this path.
    pub scalar: Option<bool>,
    children: Vec<(Box<str>, PolicyNode)>,
    /// `[]`: the elements of an array at this path.
    elements: Option<Box<PolicyNode>>,
}

/// A path of an indexing policy that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("the path {0:?} does not begin with `/`, or does not end with `/?` or `/*`")]
    Path(String),
    #[error("a path has {0} bytes, and {PATH_BYTES_MAX} are the limit")]
    TooLong(usize),
    #[error("a policy has {0} paths, and {PATHS_MAX} are the limit")]
    TooMany(usize),
}

impl IndexingPolicy {
    /// The service's default: every path is indexed.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            root: PolicyNode { subtree: Some(true), ..PolicyNode::default() },
            composites: Vec::new(),
            unique_keys: 0,
        }
    }

    /// A policy of included and excluded paths, such as `/*`, `/name/?`, `/address/*`, `/tags/[]/id/?` and
    /// `/"_etag"/?`. Without any, everything is indexed.
    ///
    /// # Errors
    /// A path of another form.
    pub fn of(included: &[&str], excluded: &[&str]) -> Result<Self, PolicyError> {
        if included.len() + excluded.len() > PATHS_MAX {
            return Err(PolicyError::TooMany(included.len() + excluded.len()));
        }
        if included.is_empty() && excluded.is_empty() {
            return Ok(Self::everything());
        }
        let mut root =
            PolicyNode { subtree: Some(excluded.iter().all(|path| *path != "/*")), ..PolicyNode::default() };
        for (paths, is_indexed) in [(excluded, false), (included, true)] {
            for path in paths {
                root.set(path, is_indexed)?;
            }
        }
        Ok(Self { root, composites: Vec::new(), unique_keys: 0 })
    }

    /// The same policy with a composite index on these paths, such as `/type`.
    #[must_use]
    pub fn with_composite(mut self, paths: &[&str]) -> Self {
        let hash = |path: &&str| hash_of_path(path.split('/').skip(1));
        self.composites.push(paths.iter().map(hash).collect());
        self
    }

    /// The same policy with this many unique keys.
    #[must_use]
    pub fn with_unique_keys(self, unique_keys: usize) -> Self {
        Self { unique_keys, ..self }
    }

    /// The number of its unique keys.
    #[must_use]
    pub fn unique_keys(&self) -> usize {
        self.unique_keys
    }
}

impl PolicyNode {
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|(found, _)| **found == *name).map(|(_, node)| node)
    }

    pub(super) fn elements(&self) -> Option<&Self> {
        self.elements.as_deref()
    }

    fn set(&mut self, path: &str, is_indexed: bool) -> Result<(), PolicyError> {
        if path.len() > PATH_BYTES_MAX {
            return Err(PolicyError::TooLong(path.len()));
        }
        let malformed = || PolicyError::Path(path.to_owned());
        let rest = path.strip_prefix('/').ok_or_else(malformed)?;
        let mut segments: Vec<&str> = rest.split('/').collect();
        let end = segments.pop().ok_or_else(malformed)?;
        let mut node = self;
        for segment in segments {
            node = node.step(segment.trim_matches('"')).ok_or_else(malformed)?;
        }
        match end {
            "*" => node.subtree = Some(is_indexed),
            "?" => node.scalar = Some(is_indexed),
            _ => return Err(malformed()),
        }
        Ok(())
    }

    fn step(&mut self, segment: &str) -> Option<&mut Self> {
        if segment == "[]" {
            return Some(self.elements.get_or_insert_default());
        }
        if segment.is_empty() || segment == "*" || segment == "?" {
            return None;
        }
        let known = self.children.iter().position(|(name, _)| **name == *segment);
        let place = known.unwrap_or_else(|| {
            self.children.push((segment.into(), Self::default()));
            self.children.len() - 1
        });
        Some(&mut self.children[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_another_form_is_refused_by_name() {
        for path in ["name/?", "/name", "/", "/a//?", "/a/*/b/?", ""] {
            assert_eq!(IndexingPolicy::of(&[path], &[]), Err(PolicyError::Path(path.to_owned())), "{path:?}");
        }
        let long = format!("/{}/?", "a".repeat(2_000));
        assert_eq!(IndexingPolicy::of(&[&long], &[]), Err(PolicyError::TooLong(2_003)));
    }

    #[test]
    fn a_policy_without_paths_indexes_everything() {
        assert_eq!(IndexingPolicy::of(&[], &[]), Ok(IndexingPolicy::everything()));
    }
}
