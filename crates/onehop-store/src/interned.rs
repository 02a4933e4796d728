//! Interner: names of containers, properties and item types that are read at run time, each stored once.
//!
//! A name lives as long as the program, so it is copied and compared without a reference count on every path
//! of a request. Interned names are never freed. Their sum is bounded by [`NAMES_BYTES_MAX`], so a process
//! that reads many models runs into an error and not out of memory.

use std::collections::HashSet;
use std::mem;
use std::sync::LazyLock;

use parking_lot::Mutex;
use thiserror::Error;

use crate::TypeOrder;

/// The length of an interned name, in bytes.
pub const NAME_BYTES_MAX: usize = 1024;
/// The sum of all interned names and lists of names of a process, in bytes.
pub const NAMES_BYTES_MAX: usize = 16 * 1024 * 1024;

static NAMES: LazyLock<Mutex<Names>> = LazyLock::new(|| Mutex::new(Names::default()));

/// A name that cannot be interned.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InternError {
    /// The name is too long.
    #[error("the name `{start}…` has {bytes} bytes, and at most {NAME_BYTES_MAX} are allowed")]
    TooLong {
        /// The first characters of the name.
        start: String,
        /// The length of the name, in bytes.
        bytes: usize,
    },
    /// The process has too many names.
    #[error(
        "no room for the name `{0}`: the names of all models of a process have at most {NAMES_BYTES_MAX} bytes"
    )]
    Full(String),
}

/// The program's copy of a name.
///
/// # Errors
/// The name is longer than [`NAME_BYTES_MAX`], or all names together are larger than [`NAMES_BYTES_MAX`].
pub fn interned(name: &str) -> Result<&'static str, InternError> {
    NAMES.lock().name(name)
}

/// The program's copy of a list of names.
///
/// # Errors
/// As [`interned`].
pub fn interned_list(names: &[&str]) -> Result<&'static [&'static str], InternError> {
    NAMES.lock().list(names)
}

/// The program's copy of a list of orders.
///
/// # Errors
/// As [`interned`].
pub fn interned_orders(orders: &[TypeOrder]) -> Result<&'static [TypeOrder], InternError> {
    NAMES.lock().orders(orders)
}

/// All interned names.
#[derive(Default)]
struct Names {
    names: HashSet<&'static str>,
    lists: HashSet<&'static [&'static str]>,
    orders: HashSet<&'static [TypeOrder]>,
    bytes: usize,
}

impl Names {
    fn name(&mut self, name: &str) -> Result<&'static str, InternError> {
        if let Some(known) = self.names.get(name) {
            return Ok(known);
        }
        if name.len() > NAME_BYTES_MAX {
            let start = name.chars().take(20).collect();
            return Err(InternError::TooLong { start, bytes: name.len() });
        }
        self.reserve(name.len(), name)?;
        let stored: &'static str = Box::leak(name.into());
        self.names.insert(stored);
        Ok(stored)
    }

    fn list(&mut self, names: &[&str]) -> Result<&'static [&'static str], InternError> {
        let names = names.iter().map(|name| self.name(name)).collect::<Result<Vec<_>, _>>()?;
        if let Some(known) = self.lists.get(names.as_slice()) {
            return Ok(known);
        }
        self.reserve(mem::size_of_val(names.as_slice()), names.first().copied().unwrap_or_default())?;
        let stored: &'static [&'static str] = Box::leak(names.into_boxed_slice());
        self.lists.insert(stored);
        Ok(stored)
    }

    fn orders(&mut self, orders: &[TypeOrder]) -> Result<&'static [TypeOrder], InternError> {
        if let Some(known) = self.orders.get(orders) {
            return Ok(known);
        }
        self.reserve(mem::size_of_val(orders), orders.first().map_or("", |order| order.property))?;
        let stored: &'static [TypeOrder] = Box::leak(orders.into());
        self.orders.insert(stored);
        Ok(stored)
    }

    fn reserve(&mut self, bytes: usize, name: &str) -> Result<(), InternError> {
        let sum = self.bytes + bytes;
        if sum > NAMES_BYTES_MAX {
            return Err(InternError::Full(name.to_owned()));
        }
        self.bytes = sum;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_stored_once() {
        let first = interned(&String::from("userId")).unwrap();
        let second = interned(&["user", "Id"].concat()).unwrap();
        assert!(std::ptr::eq(first, second));
        let lists = [interned_list(&["a", "b"]).unwrap(), interned_list(&["a", "b"]).unwrap()];
        assert!(std::ptr::eq(lists[0], lists[1]));
        assert_ne!(interned_list(&["ab"]).unwrap(), lists[0]);
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        let name = "n".repeat(NAME_BYTES_MAX + 1);
        let error = interned(&name).unwrap_err();
        assert!(error.to_string().starts_with("the name `nnnnnnnnnnnnnnnnnnnn…` has 1025 bytes"), "{error}");
    }

    #[test]
    fn the_sum_of_all_names_is_bounded() {
        let mut names = Names { bytes: NAMES_BYTES_MAX - 6, ..Names::default() };
        assert_eq!(names.name("title"), Ok("title"));
        assert_eq!(names.name("title"), Ok("title"));
        assert_eq!(names.name("text"), Err(InternError::Full("text".to_owned())));
        assert_eq!(names.list(&["title"]), Err(InternError::Full("title".to_owned())));
    }
}
