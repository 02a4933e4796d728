//! Names of projections that a model does not state: of copies, catch-ups and owned items.

use std::collections::BTreeMap;

/// The stored names of projections. A name is part of its projection's checkpoint, so it never changes. By
/// default a copy is named after its source (`User.username`; `Post.likeCount.copies` for a count that a
/// projection keeps), a catch-up after its container (`posts-catch-up`), and the deletion of owned items
/// after their owner (`Post.owned`). A list has the name that the model gives it.
#[derive(Debug, Clone, Default)]
pub struct ProjectionNames {
    copies: BTreeMap<String, String>,
    catch_ups: BTreeMap<String, String>,
    owners: BTreeMap<String, String>,
}

impl ProjectionNames {
    /// The name of the projection that copies a field (`Type.field`) into the items that follow it.
    #[must_use]
    pub fn copy(mut self, field: &str, name: &str) -> Self {
        self.copies.insert(field.to_owned(), name.to_owned());
        self
    }

    /// The name of the projection that compares the copies in the items of a container.
    #[must_use]
    pub fn catch_up(mut self, container: &str, name: &str) -> Self {
        self.catch_ups.insert(container.to_owned(), name.to_owned());
        self
    }

    /// The name of the projection that deletes the owned items of a type.
    #[must_use]
    pub fn owned(mut self, owner: &str, name: &str) -> Self {
        self.owners.insert(owner.to_owned(), name.to_owned());
        self
    }

    pub(super) fn of_copy(&self, field: &str) -> String {
        self.copies.get(field).cloned().unwrap_or_else(|| field.to_owned())
    }

    pub(super) fn of_catch_up(&self, container: &str) -> String {
        self.catch_ups.get(container).cloned().unwrap_or_else(|| format!("{container}-catch-up"))
    }

    pub(super) fn of_owner(&self, owner: &str) -> String {
        self.owners.get(owner).cloned().unwrap_or_else(|| format!("{owner}.owned"))
    }
}
