//! Read progress: how far a reader has come, beside the continuation. Estimates and positions are made of it
//! without a request.

use serde::{Deserialize, Serialize};

use onehop_store::{Continuation, FeedPage};

/// The progress of the reader of a feed range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadProgress {
    /// Its progress, in the form of the store; `None` where the store does not state it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Continuation>,
    /// Whether it has read nothing behind `passed`: its last page was empty, and stated that progress.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stands_at_passed: bool,
    /// Changes that were left to read, of all types, as far as the store could estimate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// When the last change that it completed had been written (Unix ms).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_change_ms: Option<i64>,
}

impl ReadProgress {
    /// The progress after a page.
    pub(super) fn after(self, page: &FeedPage) -> Self {
        let latest_ms = page.changes.iter().map(|change| change.item.timestamp_ms).max();
        Self {
            // Progress is never taken back.
            passed: page.passed.clone().or(self.passed),
            stands_at_passed: page.passed.is_some() && page.drained && page.changes.is_empty(),
            behind: if page.drained { Some(0) } else { page.behind },
            last_change_ms: latest_ms.max(self.last_change_ms),
        }
    }

    /// The number of pending changes that this process knows.
    pub(super) fn pending(&self) -> u64 {
        self.behind.unwrap_or(0)
    }

    /// Whether changes may wait. A reader without a completed page reports no progress.
    pub(super) fn is_behind(&self) -> bool {
        self.behind.map_or(self.last_change_ms.is_some(), |behind| behind > 0)
    }

    /// The age of the last completed change where others wait, in milliseconds; otherwise 0.
    pub(super) fn lag_ms(&self, now_ms: i64) -> u64 {
        match self.last_change_ms.filter(|_| self.is_behind()) {
            None => 0,
            Some(last_change_ms) => u64::try_from(now_ms.saturating_sub(last_change_ms)).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use onehop_store::{Change, ETag, Item, PartitionKey};

    use super::*;

    fn page(times_ms: &[i64], drained: bool, behind: Option<u64>) -> FeedPage {
        let change = |timestamp_ms: &i64| Change {
            partition_key: PartitionKey::from("p"),
            id: "1".to_owned(),
            item: Item { body: Vec::new().into(), etag: ETag::from_text("e"), timestamp_ms: *timestamp_ms },
        };
        let continuation = Continuation("c".to_owned());
        let passed = drained.then(|| Continuation("7".to_owned()));
        FeedPage { changes: times_ms.iter().map(change).collect(), continuation, drained, passed, behind }
    }

    #[test]
    fn a_backlog_has_the_age_of_the_last_completed_change() {
        let progress = ReadProgress::default().after(&page(&[1000, 3000, 2000], false, Some(5)));
        assert_eq!((progress.pending(), progress.lag_ms(10_000)), (5, 7000));
        let unknown = progress.after(&page(&[4000], false, None));
        assert_eq!((unknown.pending(), unknown.lag_ms(10_000)), (0, 6000));
    }

    #[test]
    fn where_nothing_waits_there_is_no_lag() {
        let progress =
            ReadProgress::default().after(&page(&[1000], false, Some(5))).after(&page(&[], true, None));
        assert_eq!((progress.pending(), progress.lag_ms(10_000)), (0, 0));
        let later = progress.clone().after(&page(&[11_000], false, None));
        assert_eq!(later.passed, Some(Continuation("7".to_owned())), "it stays passed");
        assert!(progress.stands_at_passed && !later.stands_at_passed);
    }
}
