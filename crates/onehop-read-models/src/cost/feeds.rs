//! Request charge of reading a change: one page of the change feed, for all projections that follow the
//! container.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_store::OperationKind::ChangeFeed;

use super::operations::Operations;
use super::prediction::{Charged, PredictedChange, RuleProjection, a};
use super::profile::{DataProfile, StoredType};
use super::sample::{SampleChange, SampleEdit};
use crate::declaration::ReadModels;
use crate::item_type::ItemType;

impl ReadModels {
    /// A change of one item in each container that projections follow.
    pub(crate) fn predict_feeds(
        &self,
        projections: &[Arc<dyn RuleProjection>],
        data: &DataProfile,
    ) -> Vec<PredictedChange> {
        let mut followers = BTreeMap::new();
        for projection in projections {
            *followers.entry(projection.source()).or_insert(0) += 1;
        }
        let page = |(container, fan_out)| {
            let item_type = self.followed_types().find(|of| of.container == container)?;
            let stored = StoredType::from(item_type);
            let item = data.typical_item(&stored, |_| true)?;
            Some(PredictedChange {
                charged: Charged::ChangeFeed(container),
                change: format!("{} changes", a(item_type.name)),
                fan_out,
                operations: Operations::default().and(ChangeFeed, 1, data.feed_charge(&stored)),
                sample: SampleChange {
                    item_type: item_type.clone(),
                    item: item.key.clone(),
                    edit: SampleEdit::Change(Vec::new()),
                },
            })
        };
        followers.into_iter().filter_map(page).collect()
    }

    fn followed_types(&self) -> impl Iterator<Item = &ItemType> {
        let sources = self.following().map(|rule| &rule.source);
        let listed = self.lists().map(|rule| &rule.source);
        let owners = self.owners().map(|rule| &rule.owner);
        let targets = self.target_copies().map(|copy| &copy.item_type);
        sources.chain(listed).chain(owners).chain(targets)
    }
}
