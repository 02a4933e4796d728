//! Staff: who may change the catalogue, see all customers, and moderate the blog. Rights belong to the ids of
//! users, never to their names: a name can pass to another user, an id cannot.

use std::collections::BTreeSet;

use uuid::Uuid;

/// The users who are members of staff.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staff(BTreeSet<Uuid>);

/// Proof that a member of staff acts. Only [`Staff::member`] makes one.
#[derive(Debug)]
pub struct StaffMember(());

impl Staff {
    /// The users with these ids.
    #[must_use]
    pub fn new(users: impl IntoIterator<Item = Uuid>) -> Self {
        Self(users.into_iter().collect())
    }

    /// The member of staff with this user id.
    #[must_use]
    pub fn member(&self, user: Uuid) -> Option<StaffMember> {
        self.0.contains(&user).then_some(StaffMember(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_user_is_a_member_of_staff() {
        let staff = Staff::new([Uuid::from_u128(1)]);
        assert!(staff.member(Uuid::from_u128(1)).is_some());
        assert!(staff.member(Uuid::from_u128(2)).is_none());
        assert!(Staff::default().member(Uuid::nil()).is_none());
    }
}
