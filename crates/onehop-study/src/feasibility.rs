//! Feasibility: the limits of Azure Cosmos DB that a data model meets, and at how many times the traffic or
//! the data it meets them. Pure.

use serde::Serialize;

use crate::azure_limits::{BYTES_A_GB, ITEM_BYTES_MAX, LOGICAL_PARTITION_BYTES_MAX};
use onehop_store::ContainerName;

/// Halvings of the interval in which the multiple of a limit is searched.
const SEARCH_STEPS: u32 = 60;
/// The multiple of the traffic up to which a limit is searched.
const MULTIPLE_MAX: f64 = 1_048_576.0;

/// A limit of Azure Cosmos DB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum LimitKind {
    /// 10,000 RU/s of one logical partition.
    LogicalThroughput,
    /// 10,000 RU/s of one physical partition, however many there are: it serves the most loaded logical
    /// partition, and queries across partitions load each of them.
    PhysicalPartitions,
    /// 20 GB of one logical partition, data and index.
    LogicalStorage,
    /// 2 MB of one item.
    ItemSize,
}

/// The quantity that has to grow until a limit is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GrowthOf {
    Traffic,
    /// The contents of the largest logical partition, or the largest item.
    Data,
}

/// A limit and how far away it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Headroom {
    pub container: ContainerName,
    pub limit: LimitKind,
    pub growth_of: GrowthOf,
    /// The data model is infeasible from this many times the traffic or the data on. Below 1 it is infeasible
    /// as it is.
    pub multiple: f64,
}

/// Whether Azure serves a data model at a traffic, and the limits that it meets first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Feasibility {
    /// The nearest limit of each container, the nearest of all first.
    pub limits: Vec<Headroom>,
}

impl Headroom {
    #[must_use]
    pub fn is_exceeded(&self) -> bool {
        self.multiple < 1.0
    }
}

impl Feasibility {
    /// Of limits in any order.
    #[must_use]
    pub fn of(mut limits: Vec<Headroom>) -> Self {
        limits.sort_by(|one, other| one.multiple.total_cmp(&other.multiple));
        Self { limits }
    }

    #[must_use]
    pub fn is_feasible(&self) -> bool {
        self.exceeded().next().is_none()
    }

    /// The limits that are exceeded now.
    pub fn exceeded(&self) -> impl Iterator<Item = &Headroom> {
        self.limits.iter().filter(|limit| limit.is_exceeded())
    }

    /// The first limit that growth meets.
    #[must_use]
    pub fn nearest(&self, growth_of: GrowthOf) -> Option<&Headroom> {
        self.limits.iter().find(|limit| limit.growth_of == growth_of)
    }
}

/// Limits of storage: the largest logical partition with its index, and the largest item. `None` of an empty
/// container.
#[must_use]
pub fn storage_limits(
    container: ContainerName,
    partition_bytes_max: f64,
    item_bytes_max: f64,
    index_share: f64,
) -> Vec<Headroom> {
    let of_partition = LOGICAL_PARTITION_BYTES_MAX / (partition_bytes_max * (1.0 + index_share));
    let limits =
        [(LimitKind::LogicalStorage, of_partition), (LimitKind::ItemSize, ITEM_BYTES_MAX / item_bytes_max)];
    let found = limits.into_iter().filter(|(_, multiple)| multiple.is_finite());
    found
        .map(|(limit, multiple)| Headroom { container, limit, growth_of: GrowthOf::Data, multiple })
        .collect()
}

/// The limit of a container's traffic: `serve` tells for a multiple of the traffic which limit it exceeds.
/// `None` where there is no limit up to a million times the traffic.
#[must_use]
pub fn traffic_limit(
    container: ContainerName,
    serve: impl Fn(f64) -> Result<(), LimitKind>,
) -> Option<Headroom> {
    let mut limit = serve(MULTIPLE_MAX).err()?;
    let (mut feasible, mut infeasible) = (0.0, MULTIPLE_MAX);
    for _ in 0..SEARCH_STEPS {
        let middle = (feasible + infeasible) / 2.0;
        match serve(middle) {
            Ok(()) => feasible = middle,
            Err(exceeded) => (limit, infeasible) = (exceeded, middle),
        }
    }
    Some(Headroom { container, limit, growth_of: GrowthOf::Traffic, multiple: infeasible })
}

/// Bytes as GB.
#[must_use]
pub fn gigabytes(bytes: f64) -> f64 {
    bytes / BYTES_A_GB
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSTS: ContainerName = ContainerName("posts");

    #[test]
    fn a_full_logical_partition_or_item_is_infeasible() {
        let multiples = |partition: f64, item: f64, index_share: f64| {
            let limits = storage_limits(POSTS, partition * BYTES_A_GB, item * 1024.0 * 1024.0, index_share);
            limits.iter().map(|limit| (limit.limit, limit.multiple, limit.is_exceeded())).collect::<Vec<_>>()
        };
        assert_eq!(
            multiples(10.0, 1.0, 0.0),
            [(LimitKind::LogicalStorage, 2.0, false), (LimitKind::ItemSize, 2.0, false)]
        );
        assert!(multiples(18.0, 1.0, 0.2)[0].2, "the index takes it above 20 GB");
        assert_eq!(multiples(1.0, 4.0, 0.0)[1], (LimitKind::ItemSize, 0.5, true));
        assert!(multiples(0.0, 0.0, 0.2).is_empty());
    }

    #[test]
    fn the_multiple_of_the_traffic_is_found() {
        let at = |of_one: f64| {
            traffic_limit(POSTS, |multiple| {
                if of_one * multiple > 10_000.0 { Err(LimitKind::LogicalThroughput) } else { Ok(()) }
            })
        };
        for of_one in [0.5, 400.0, 127_100.0] {
            let found = at(of_one).unwrap();
            assert!((found.multiple * of_one / 10_000.0 - 1.0).abs() < 1e-9, "{found:?}");
            assert_eq!(found.is_exceeded(), of_one > 10_000.0);
        }
        assert_eq!(at(0.0), None);
    }

    #[test]
    fn the_nearest_limit_comes_first() {
        let limit = |growth_of, multiple| Headroom {
            container: POSTS,
            limit: LimitKind::LogicalStorage,
            growth_of,
            multiple,
        };
        let found = Feasibility::of(vec![limit(GrowthOf::Data, 9.0), limit(GrowthOf::Traffic, 0.5)]);
        assert!(!found.is_feasible());
        assert_eq!(found.exceeded().count(), 1);
        assert_eq!(found.nearest(GrowthOf::Data).map(|limit| limit.multiple), Some(9.0));
        assert!(Feasibility::default().is_feasible());
    }
}
