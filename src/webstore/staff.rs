//! Staff: who may change the catalogue and see all customers. The settings name them by username.

use std::collections::BTreeSet;

use crate::accounts::{NormalizedUsername, Username};

/// The usernames of the members of staff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staff(BTreeSet<NormalizedUsername>);

/// Proof that a member of staff acts. Only [`Staff::member`] makes one.
#[derive(Debug)]
pub struct StaffMember(());

impl Staff {
    /// Those with these names.
    #[must_use]
    pub fn new<'a>(usernames: impl IntoIterator<Item = &'a Username>) -> Self {
        Self(usernames.into_iter().map(|username| username.normalized().clone()).collect())
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The member of staff with this username, whatever its case.
    #[must_use]
    pub fn member(&self, username: &str) -> Option<StaffMember> {
        let username = Username::parse(username).ok()?;
        self.0.contains(username.normalized()).then_some(StaffMember(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staff_is_who_is_named_whatever_the_case() {
        let staff = Staff::new([&Username::parse("Ada").unwrap()]);
        assert!(staff.member("ada").is_some());
        assert!(staff.member("bob").is_none());
        assert!(Staff::default().member("ada").is_none());
    }
}
