//! Load profile of a planned design: the throughput of the requests in each container, from mean plans.

use std::collections::BTreeMap;

use onehop_model::{Container, PropertyPath, Request, Skew};

use super::{DesignStudy, PlannedDesign};
use crate::background::{BackgroundModel, ChangeFeedFollowing, PageListing};
use crate::designs::DesignData;
use crate::measurement::Measurements;
use crate::partitions::{
    BusiestLoad, ChargeGroup, ContainerProfile, FanOutLoad, LoadProfile, PartitionSummary, Popularity,
    VariedLoad,
};
use crate::plans::{PlannedOperation, RequestPlan, interned};
use crate::provisioning::{PlanModel, ProvisioningInput};
use crate::rates::RequestRate;
use crate::report::DataPasses;
use onehop_store::ContainerName;
use onehop_store::charges::{QueryWork, ReadConsistency};

/// The load of one operation.
struct OperationLoad<'o> {
    operation: &'o PlannedOperation,
    group: usize,
    per_second: f64,
    skew: Option<Skew>,
}

impl<'a> DesignStudy<'a> {
    /// The model of a plan under the traffic of the study.
    pub(super) fn plan_model(
        &self,
        data: &DesignData<'a>,
        planned: &PlannedDesign<'a>,
        measurements: &Measurements,
        input: &ProvisioningInput,
    ) -> PlanModel {
        let following = self.following(data);
        let rates = self.rates();
        let background = (!following.sources.is_empty()).then(|| {
            BackgroundModel::of(&planned.variant, &following, measurements, &rates, &self.calibration)
        });
        PlanModel::of(
            &planned.variant,
            self.profile(data, planned),
            background,
            self.known_partitions(data),
            &self.calibration,
            input,
        )
    }

    /// The physical partitions that an account has already.
    fn known_partitions(&self, data: &DesignData<'_>) -> BTreeMap<ContainerName, u32> {
        let known = |container: &onehop_model::Container| {
            let number = self.directory.settings.partitions.get(&*container.name)?;
            Some((interned(&container.name), *number))
        };
        data.design.model.containers().iter().filter_map(known).collect()
    }

    /// The rates of the requests that are sent.
    pub(super) fn rates(&self) -> Vec<RequestRate> {
        let rate = |request: &Request| RequestRate {
            request: request.name.to_string(),
            per_second: request.per_second,
        };
        let sent = self.directory.requests.requests().iter().filter(|request| request.per_second > 0.0);
        sent.map(rate).collect()
    }

    fn profile(&self, data: &DesignData<'a>, planned: &PlannedDesign<'a>) -> LoadProfile {
        let mut groups: Vec<ChargeGroup> = Vec::new();
        let mut loads: BTreeMap<ContainerName, Vec<OperationLoad<'_>>> = BTreeMap::new();
        for (request, mean) in &planned.means {
            for operation in mean.operations.iter().chain(&mean.behind) {
                let group = ChargeGroup {
                    of_writes: request.is_write,
                    kind: operation.kind,
                    source: operation.source(),
                    peak: (request.peak > 1.0).then_some((request.peak * 1_000.0).round() as u32),
                };
                let known = groups.iter().position(|known| *known == group);
                let group = known.unwrap_or_else(|| {
                    groups.push(group);
                    groups.len() - 1
                });
                let (per_second, skew) = (request.per_second, request.skew);
                let load = OperationLoad { operation, group, per_second, skew };
                loads.entry(operation.container).or_default().push(load);
            }
        }
        let of_model = data.design.model.containers().iter().map(|container| interned(&container.name));
        let containers: std::collections::BTreeSet<ContainerName> =
            of_model.chain(loads.keys().copied()).collect();
        let none = Vec::new();
        let profile = |container: ContainerName| {
            let loads = loads.get(&container).unwrap_or(&none);
            let size = data.container_size(container.0, self.directory.settings.scale);
            ContainerProfile {
                container,
                bytes: size.bytes,
                partition_bytes_max: size.partition_bytes_max,
                item_bytes_max: size.item_bytes_max,
                is_single: size.is_single && size.items > 0.0,
                even: varied(loads, groups.len(), Popularity::Even),
                zipf: varied(loads, groups.len(), Popularity::Zipf),
            }
        };
        LoadProfile { containers: containers.into_iter().map(profile).collect(), groups }
    }

    /// The containers that read models follow, and the listings of bounded lists.
    fn following(&self, data: &DesignData<'a>) -> ChangeFeedFollowing {
        let model = &data.design.model;
        let planner = self.planner(data, false);
        let followed = model.containers().iter().filter(|container| planner.is_followed(&container.name));
        let sources: Vec<ContainerName> = followed.map(|container| interned(&container.name)).collect();
        let lists = data.lists();
        let bounded = lists.iter().filter_map(|found| {
            let keep = found.list.keep?;
            let source = interned(&model.item(&found.related.item_type)?.container);
            let bytes = data.entry_bytes(&found.list.projection) * f64::from(keep);
            let work = QueryWork {
                physical_partitions: 1,
                conditions: 1,
                items: keep as usize,
                bytes: bytes as usize,
                ..QueryWork::default()
            };
            let request_charge = self.calibration.query(&work, ReadConsistency::Quorum).total().0;
            let entry = data.entry_bytes(&found.list.projection) as usize;
            let confirmation = self.calibration.point_read(entry, ReadConsistency::Quorum);
            Some(PageListing {
                source,
                container: interned(&found.list.container),
                request_charge,
                confirmation_charge: confirmation.total().0,
            })
        });
        let listings = bounded.collect();
        ChangeFeedFollowing { sources, listings }
    }

    /// The logical partitions of a container, and the load of the busiest; `None` without items.
    pub(super) fn container_partitions(
        &self,
        data: &DesignData<'a>,
        planned: &PlannedDesign<'a>,
        container: &Container,
    ) -> Option<PartitionSummary> {
        let scale = self.directory.settings.scale;
        let found = data.logical_partitions(&container.name, scale);
        if found.number == 0.0 {
            return None;
        }
        let key = container.key.iter().map(PropertyPath::slashed).collect::<Vec<_>>().join(", ");
        let place = (data.design.name.clone(), interned(&container.name), key);
        let bytes_max = data.container_size(&container.name, scale).partition_bytes_max;
        let loads = Popularity::ALL.map(|popularity| self.partition_load(planned, place.1, popularity));
        let loads = loads.into_iter().filter(|load| load.throughput > 0.0).collect();
        Some(PartitionSummary::of(place, &found, bytes_max, loads))
    }

    fn partition_load(
        &self,
        planned: &PlannedDesign<'a>,
        container: ContainerName,
        popularity: Popularity,
    ) -> BusiestLoad {
        let mut throughput = 0.0;
        let of_request = |(request, mean): &(&Request, RequestPlan)| {
            let operations = mean.operations.iter().chain(&mean.behind);
            let here = operations.filter(|found| found.container == container && found.across.is_none());
            let mut busiest = 0.0;
            for operation in here {
                let load = request.per_second * operation.request_charge;
                throughput += load;
                busiest += load * busiest_share(operation, request.skew, popularity);
            }
            (request.name.to_string(), busiest)
        };
        let by_request: Vec<(String, f64)> = planned.means.iter().map(of_request).collect();
        BusiestLoad::of(popularity, throughput, &by_request)
    }

    /// The charges of loading all items, of building all lists, and of writing all indexes anew.
    pub(super) fn passes(&self, data: &DesignData<'a>) -> DataPasses {
        let planner = self.planner(data, false);
        let mut passes = DataPasses { design: data.design.name.clone(), ..DataPasses::default() };
        for item in data.design.model.items() {
            let number = data.items(&item.name) as f64 * planner.growth_of(&item.name);
            passes.load_charge += planner.create_charge(item) * number;
            passes.index_charge += planner.index_charge(item) * number;
        }
        for list in data.lists() {
            let growth = planner.growth_of(&list.related.item_type);
            passes.lists_charge += planner.rebuild_charge(list) * growth;
            passes.index_charge += planner.entries_index_charge(list) * growth;
        }
        passes
    }
}

/// The share of an operation that meets the busiest logical partition, unless the request states its skew.
fn busiest_share(operation: &PlannedOperation, skew: Option<Skew>, popularity: Popularity) -> f64 {
    let is_zipf = skew.map_or(popularity == Popularity::Zipf, |skew| skew == Skew::Zipf);
    if is_zipf { operation.busiest.zipf } else { operation.busiest.even }
}

/// The load of a container.
fn varied(loads: &[OperationLoad<'_>], groups: usize, popularity: Popularity) -> VariedLoad {
    let mut load =
        VariedLoad { total: vec![0.0; groups], hottest: vec![vec![0.0; groups]], fan_outs: Vec::new() };
    for OperationLoad { operation, group, per_second, skew } in loads {
        if let Some(queries) = operation.across {
            load.fan_outs.push(FanOutLoad { group: *group, per_second: *per_second, queries });
            continue;
        }
        let throughput = per_second * operation.request_charge;
        load.total[*group] += throughput;
        load.hottest[0][*group] += throughput * busiest_share(operation, *skew, popularity);
    }
    load
}
