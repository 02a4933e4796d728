//! Containers of a measured study, as the account gets them: the indexing policy that the charge model
//! assumes.

use azure_data_cosmos::models::{
    CompositeIndex, CompositeIndexOrder, CompositeIndexProperty, ContainerProperties, IndexingMode,
    IndexingPolicy, PartitionKeyDefinition, PartitionKeyVersion, TimeToLive,
};

use onehop_study::design_study::TrialContainer;

const EVERY_PATH: &str = "/*";
/// The service excludes this path, too.
const ETAG_PATH: &str = "/\"_etag\"/?";

/// The properties of a container.
pub(super) fn definition(container: &TrialContainer) -> ContainerProperties {
    let key = match container.key.as_slice() {
        [first, second] => PartitionKeyDefinition::from((first.clone(), second.clone())),
        [first, second, third] => {
            PartitionKeyDefinition::from((first.clone(), second.clone(), third.clone()))
        }
        key => PartitionKeyDefinition::from(key.first().cloned().unwrap_or_default()),
    };
    let mut policy = IndexingPolicy::default().with_indexing_mode(IndexingMode::Consistent);
    policy.automatic = true;
    let is_indexed = !container.excluded.iter().any(|path| path == EVERY_PATH);
    policy = if is_indexed { policy.with_included_path(EVERY_PATH) } else { policy };
    policy = policy.with_excluded_path(ETAG_PATH);
    policy = container.excluded.iter().cloned().fold(policy, IndexingPolicy::with_excluded_path);
    for paths in &container.composites {
        let properties = paths
            .iter()
            .map(|path| CompositeIndexProperty::new(path.clone(), CompositeIndexOrder::Ascending));
        policy = policy
            .with_composite_index(properties.fold(CompositeIndex::default(), CompositeIndex::with_property));
    }
    ContainerProperties::new(container.name.clone(), key.with_version(PartitionKeyVersion::V2))
        // Items may have a `ttl` of their own.
        .with_default_ttl(TimeToLive::NoDefault)
        .with_indexing_policy(policy)
}
