//! Whether a ranking looks at the highest items again.

use serde::{Deserialize, Serialize};

/// Whether the highest items are asked for again after the added entries are settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum NextRank {
    #[default]
    Never,
    /// Where the list is short: an entry that was added may have been taken out again.
    IfShort,
    /// Not all of the missing items fitted into the batch.
    Always,
}

impl NextRank {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_never(&self) -> bool {
        *self == Self::Never
    }
}
