//! Container definition in the account: partition key, time to live, and an indexing policy that serves the
//! query shapes and nothing else, unless everything is to be indexed.
//!
//! No container has a unique key: it holds within a logical partition only. Uniqueness across logical
//! partitions is the id of an item in a container whose partition key is the id.

use azure_data_cosmos::models::{
    CompositeIndex, CompositeIndexOrder, CompositeIndexProperty, ContainerProperties, IndexingMode,
    IndexingPolicy, PartitionKeyDefinition, PartitionKeyVersion, TimeToLive,
};

use crate::order_value::properties_of_order;
use crate::property_path::index_path;
use crate::{ContainerSpec, Indexing};

/// The service adds this path where `/*` is excluded. It is named here, so that the returned policy equals
/// the sent policy.
const ETAG_PATH: &str = "/\"_etag\"/?";

/// The properties of a container, as they are sent.
#[must_use]
pub fn definition(spec: &ContainerSpec, indexing: Indexing) -> ContainerProperties {
    let partition_key = partition_key_definition(spec).with_version(PartitionKeyVersion::V2);
    // Items may have a `ttl` of their own.
    let ttl = spec.ttl_s.map_or(TimeToLive::NoDefault, TimeToLive::Seconds);
    ContainerProperties::new(spec.name.as_str(), partition_key)
        .with_default_ttl(ttl)
        .with_indexing_policy(indexing_policy(spec, indexing))
}

/// The definition of the partition key: one path, or up to three.
#[must_use]
pub fn partition_key_definition(spec: &ContainerSpec) -> PartitionKeyDefinition {
    match spec.key_properties().map(index_path).collect::<Vec<_>>().as_slice() {
        [first, second] => PartitionKeyDefinition::from((first.clone(), second.clone())),
        [first, second, third] => {
            PartitionKeyDefinition::from((first.clone(), second.clone(), third.clone()))
        }
        _ => PartitionKeyDefinition::from(index_path(spec.partition_key)),
    }
}

/// [`Indexing::All`] includes the service's default. [`Indexing::Needed`] excludes every path except the
/// filter and sort paths of query shapes: each indexed path makes each write dearer. `id` is always indexed.
/// The partition key is not unless it is `id`, and reads of many keys filter by it.
fn indexing_policy(spec: &ContainerSpec, indexing: Indexing) -> IndexingPolicy {
    let mut policy = IndexingPolicy::default().with_indexing_mode(IndexingMode::Consistent);
    policy.automatic = true;
    policy = match indexing {
        Indexing::All if !spec.is_found_by_id_alone() => policy.with_included_path("/*"),
        Indexing::All | Indexing::Needed => {
            let paths = spec.needed_properties().into_iter().map(|property| index_path(property) + "/?");
            paths.fold(policy, IndexingPolicy::with_included_path).with_excluded_path("/*")
        }
    };
    policy = policy.with_excluded_path(ETAG_PATH);
    for order_by in spec.order_properties() {
        // `ORDER BY type, order, id` ascending, which serves the exact reverse as well. A second index for
        // that would be one more entry to write for each item.
        let path = |name: &str, is_reversed: bool| {
            let direction =
                if is_reversed { CompositeIndexOrder::Descending } else { CompositeIndexOrder::Ascending };
            CompositeIndexProperty::new(index_path(name), direction)
        };
        let ordered = properties_of_order(order_by).map(|property| path(property.name, property.is_reversed));
        let properties = [path("type", false)].into_iter().chain(ordered).chain([path("id", false)]);
        policy = policy
            .with_composite_index(properties.fold(CompositeIndex::default(), CompositeIndex::with_property));
    }
    policy
}
