//! Discarded changes: items of types that no projection wants, in containers whose change feed is followed.
//! The service charges for each of them, because a change feed is filtered by type at the client.

use serde::{Deserialize, Serialize};

use onehop_store::charges::{Calibration, ReadConsistency};
use onehop_store::{ContainerName, RequestCharge, WriteOp};

/// A container whose change feed is followed, and the types of items that are wanted of it; `None` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedContainer {
    pub container: ContainerName,
    pub types: Option<Vec<&'static str>>,
}

/// The number of discarded changes, and their bytes: in all, of one request in the mean, or a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscardedChanges {
    pub changes: f64,
    /// Of JSON.
    pub bytes: f64,
}

#[derive(Deserialize)]
struct TypedItem {
    #[serde(rename = "type", default)]
    item_type: Option<String>,
}

impl DiscardedChanges {
    /// Of writes to a container. A deletion does not appear in the change feed.
    #[must_use]
    pub fn of(followed: &[FollowedContainer], container: ContainerName, writes: &[WriteOp]) -> Self {
        let wanted = followed.iter().find(|followed| followed.container == container);
        let Some(Some(types)) = wanted.map(|wanted| &wanted.types) else { return Self::default() };
        let mut discarded = Self::default();
        for write in writes {
            let (WriteOp::Create(item) | WriteOp::Upsert(item) | WriteOp::Replace { item, .. }) = write
            else {
                continue;
            };
            let item_type =
                serde_json::from_slice::<TypedItem>(&item.body).ok().and_then(|item| item.item_type);
            if !item_type.is_some_and(|item_type| types.contains(&item_type.as_str())) {
                discarded += Self { changes: 1.0, bytes: item.body.len() as f64 };
            }
        }
        discarded
    }

    /// The increase since an earlier sum.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { changes: self.changes - earlier.changes, bytes: self.bytes - earlier.bytes }
    }

    /// Multiplied by a factor.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { changes: self.changes * factor, bytes: self.bytes * factor }
    }

    /// The estimated charge of returning them, without the charge of the pages that return them.
    #[must_use]
    pub fn charge(self, calibration: &Calibration) -> RequestCharge {
        let page = |items, bytes| calibration.change_feed(items, bytes, ReadConsistency::Quorum).total().0;
        let of_pages = |items, bytes| page(items, bytes) - page(0, 0);
        // The model is linear in both.
        RequestCharge(self.changes * of_pages(1, 0) + self.bytes * of_pages(0, 1024) / 1024.0)
    }
}

impl std::ops::AddAssign for DiscardedChanges {
    fn add_assign(&mut self, other: Self) {
        self.changes += other.changes;
        self.bytes += other.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::NewItem;

    const USERS: ContainerName = ContainerName("users");

    #[test]
    fn writes_of_unwanted_types_to_a_source_are_discarded() {
        let write = |item_type: &str| {
            WriteOp::Upsert(NewItem::encode("a", &serde_json::json!({"id": "a", "type": item_type})))
        };
        let followed = [FollowedContainer { container: USERS, types: Some(vec!["user"]) }];
        let writes = [write("user"), write("post"), WriteOp::Delete { id: "a".to_owned(), if_match: None }];
        let found = DiscardedChanges::of(&followed, USERS, &writes);
        assert_eq!((found.changes, found.bytes), (1.0, writes[1].body_bytes() as f64));
        assert_eq!(
            DiscardedChanges::of(&followed, ContainerName("posts"), &writes),
            DiscardedChanges::default()
        );
        let all = [FollowedContainer { container: USERS, types: None }];
        assert_eq!(DiscardedChanges::of(&all, USERS, &writes), DiscardedChanges::default());
    }

    #[test]
    fn a_discarded_change_is_charged_as_one_that_is_wanted() {
        let calibration = Calibration::current();
        let page = |items, bytes| calibration.change_feed(items, bytes, ReadConsistency::Quorum).total().0;
        let charge = DiscardedChanges { changes: 2.0, bytes: 2048.0 }.charge(&calibration).0;
        assert!((charge - (page(2, 2048) - page(0, 0))).abs() < 1e-9, "{charge}");
    }
}
