//! Names of operations as labels: clients make them up, so only so many are told apart.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

/// Names of operations that metrics tell apart; the rest share one.
pub const OPERATION_NAMES_MAX: usize = 200;
/// The longest name that is told apart, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// What the rest share. No operation can have this name.
const OTHERS: &str = "(other)";
/// An operation without a name.
const NAMELESS: &str = "(anonymous)";

/// The names seen so far.
#[derive(Debug, Default)]
pub(super) struct OperationNames(RwLock<HashSet<String>>);

impl OperationNames {
    /// The label for a name.
    pub(super) fn label(&self, name: Option<&str>) -> String {
        let Some(name) = name else { return NAMELESS.to_owned() };
        if name.len() > NAME_BYTES_MAX {
            return OTHERS.to_owned();
        }
        if self.0.read().unwrap_or_else(PoisonError::into_inner).contains(name) {
            return name.to_owned();
        }
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) {
            name.to_owned()
        } else if names.len() < OPERATION_NAMES_MAX {
            names.insert(name.to_owned());
            name.to_owned()
        } else {
            OTHERS.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_names_are_told_apart() {
        let names = OperationNames::default();
        for number in 0..OPERATION_NAMES_MAX {
            let name = format!("Name{number}");
            assert_eq!(names.label(Some(&name)), name);
        }
        assert_eq!(names.label(Some("OneMore")), OTHERS);
        assert_eq!(names.label(Some("Name7")), "Name7");
        assert_eq!(names.label(None), NAMELESS);
    }

    #[test]
    fn a_long_name_is_one_of_the_others() {
        assert_eq!(OperationNames::default().label(Some(&"n".repeat(NAME_BYTES_MAX + 1))), OTHERS);
    }
}
