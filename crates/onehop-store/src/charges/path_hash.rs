//! Path hash: a path of an item's JSON tree as one number.

use xxhash_rust::xxh3::xxh3_64_with_seed;

pub(super) type PathHash = u64;

/// The item itself.
pub(super) const ROOT: PathHash = 0;
/// Stands for the elements of an array, in the place of a property's name.
const ELEMENTS: &[u8] = b"\0[]";

/// The property of this name below a path.
pub(super) fn below(path: PathHash, name: &str) -> PathHash {
    xxh3_64_with_seed(name.as_bytes(), path)
}

/// The elements of the array at a path.
pub(super) fn elements(path: PathHash) -> PathHash {
    xxh3_64_with_seed(ELEMENTS, path)
}

/// The path of these names.
pub(super) fn hash_of_path<'a>(names: impl Iterator<Item = &'a str>) -> PathHash {
    names.fold(ROOT, below)
}
