//! Model of a plan under a traffic: the needs of its containers, or the limit that one of them exceeds, under
//! given assumptions. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assumed::{Assumed, JointCase};
use super::input::ProvisioningInput;
use super::need::{NeedInput, ThroughputNeed};
use crate::background::{BackgroundAssumptions, BackgroundKind, BackgroundModel, BackgroundWork, PROCESSES};
use crate::feasibility::{LimitKind, gigabytes};
use crate::measurement::ModelVariant;
use crate::partitions::{ContainerProfile, LoadProfile, VariedLoad};
use onehop_change_feed::LEASES;
use onehop_store::charges::Calibration;
use onehop_store::{ChargeSource, ContainerName};

/// Passes over the containers: the background work of one depends on the physical partitions of the others.
const PASSES: usize = 2;

/// A plan under a traffic.
#[derive(Debug, Clone)]
pub struct PlanModel {
    /// The plan's name, and the data model's.
    pub(super) model: String,
    pub(super) data_model: String,
    pub(super) profile: LoadProfile,
    pub(super) background: Option<BackgroundModel>,
    /// Physical partitions of the containers, where an account or an assumption gives them.
    pub(super) known_partitions: BTreeMap<ContainerName, u32>,
    pub(super) calibration: Arc<Calibration>,
    pub(super) input: ProvisioningInput,
}

/// The need of one container.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContainerNeed {
    pub container: ContainerName,
    pub need: ThroughputNeed,
    /// Whether it keeps throughput of its own where the others share theirs, so that they cannot throttle it.
    pub is_dedicated: bool,
    /// Whether a serverless container serves it.
    pub fits_serverless: bool,
}

/// The needs of a plan.
#[derive(Debug, Clone)]
pub(super) struct PlanNeed {
    pub containers: Vec<ContainerNeed>,
    /// RU/s of a database that the containers share, with dedicated containers beside it; `None` where no
    /// database serves them all.
    pub shared: Option<f64>,
}

type PartitionCounts = BTreeMap<ContainerName, u32>;

/// A factor for each of [`BackgroundKind::OF_TRAFFIC`].
type BackgroundFactors = [f64; BackgroundKind::OF_TRAFFIC.len()];

impl PlanNeed {
    pub fn separate(&self) -> f64 {
        self.sum(|need| need.manual)
    }

    /// The smaller of containers of their own and a shared database, RU/s.
    pub fn recommended(&self) -> f64 {
        self.shared.map_or(self.separate(), |shared| shared.min(self.separate()))
    }

    /// Over all containers.
    pub fn sum(&self, value: fn(&ThroughputNeed) -> f64) -> f64 {
        self.containers.iter().map(|found| value(&found.need)).fold(0.0, |sum, value| sum + value)
    }
}

impl PlanModel {
    /// From the load of its containers.
    pub(crate) fn of(
        plan: &ModelVariant,
        profile: LoadProfile,
        background: Option<BackgroundModel>,
        known_partitions: BTreeMap<ContainerName, u32>,
        calibration: &Arc<Calibration>,
        input: &ProvisioningInput,
    ) -> Self {
        Self {
            model: plan.to_string(),
            data_model: plan.model.clone(),
            profile,
            background,
            known_partitions,
            calibration: Arc::clone(calibration),
            input: input.clone(),
        }
    }

    /// The same plan under this multiple of the traffic.
    #[must_use]
    pub(crate) fn times(&self, multiple: f64) -> Self {
        let mut plan = self.clone();
        for profile in &mut plan.profile.containers {
            profile.even = profile.even.times(multiple);
            profile.zipf = profile.zipf.times(multiple);
        }
        plan
    }

    /// The needs, or the first limit that a container exceeds.
    pub(super) fn need(&self, assumed: &Assumed) -> Result<PlanNeed, LimitKind> {
        let factors = assumed.factors(&self.profile.groups, &self.calibration);
        let partitions = self.partitions(assumed, &factors)?;
        let need = |container| self.container_need(container, assumed, &factors, &partitions);
        let containers = self.containers().into_iter().map(need).collect::<Result<Vec<_>, _>>()?;
        let shared = self.shared(&containers, assumed, &factors, &partitions);
        Ok(PlanNeed { containers, shared })
    }

    /// The limit that a container exceeds, independent of the others.
    pub(super) fn serve(&self, container: ContainerName, assumed: &Assumed) -> Result<(), LimitKind> {
        let factors = assumed.factors(&self.profile.groups, &self.calibration);
        self.container_need(container, assumed, &factors, &PartitionCounts::new()).map(|_| ())
    }

    /// The background work, with the physical partitions of a report or as many as are known; `None` without
    /// projections.
    #[must_use]
    pub fn background_work(
        &self,
        physical_partitions: &dyn Fn(ContainerName) -> Option<u32>,
    ) -> Option<BackgroundWork> {
        let known = |container| {
            let known = physical_partitions(container).or(self.known_partitions.get(&container).copied());
            known.unwrap_or(1)
        };
        Some(self.background.as_ref()?.work(&known))
    }

    /// Of the data, and of the change feed processor.
    pub(super) fn containers(&self) -> Vec<ContainerName> {
        let mut containers: Vec<ContainerName> =
            self.profile.containers.iter().map(|profile| profile.container).collect();
        for container in self.background.iter().flat_map(BackgroundModel::containers) {
            if !containers.contains(&container) {
                containers.push(container);
            }
        }
        containers
    }

    fn partitions(&self, assumed: &Assumed, factors: &[f64]) -> Result<PartitionCounts, LimitKind> {
        let mut partitions = PartitionCounts::new();
        for _ in 0..PASSES {
            for container in self.containers() {
                let found = self.container_need(container, assumed, factors, &partitions)?;
                partitions.insert(container, found.need.physical_partitions);
            }
        }
        Ok(partitions)
    }

    fn profile(&self, container: ContainerName) -> Option<&ContainerProfile> {
        self.profile.containers.iter().find(|profile| profile.container == container)
    }

    fn container_need(
        &self,
        container: ContainerName,
        assumed: &Assumed,
        factors: &[f64],
        partitions: &PartitionCounts,
    ) -> Result<ContainerNeed, LimitKind> {
        let nothing = VariedLoad::default();
        let profile = self.profile(container);
        let errors = self.background_factors(assumed);
        let background = |number: u32| self.background_load(container, number, partitions, assumed, errors);
        let need = NeedInput {
            load: profile.map_or(&nothing, |profile| profile.load(assumed.case.popularity)),
            factors,
            mean_factors: &assumed.mean_factors(&self.profile.groups, &self.calibration),
            background: &background,
            storage_gb: profile.map_or(0.0, |profile| storage_gb(profile, assumed.case)),
            is_single: profile.is_some_and(|profile| profile.is_single),
            known_partitions: self.known_partitions.get(&container).copied(),
            highest_ever: profile.map_or(0.0, |_| self.input.highest_throughput.of(container)),
            layout: assumed.case.layout,
            containers: 1,
            calibration: &self.calibration,
        };
        Ok(ContainerNeed {
            container,
            need: need.need()?,
            is_dedicated: container == LEASES,
            fits_serverless: need.fits_serverless(),
        })
    }

    /// RU/s of background work in a container with this number of physical partitions.
    fn background_load(
        &self,
        container: ContainerName,
        number: u32,
        partitions: &PartitionCounts,
        assumed: &Assumed,
        factors: BackgroundFactors,
    ) -> f64 {
        let Some(background) = &self.background else { return 0.0 };
        let physical_partitions = |other: ContainerName| {
            if other == container { number } else { partitions.get(&other).copied().unwrap_or(1) }
        };
        let assumptions = BackgroundAssumptions {
            physical_partitions: &physical_partitions,
            writes_factor: assumed.traffic.writes * assumed.case.peak_to_mean,
            processes: PROCESSES[PROCESSES.len() - 1],
        };
        let work = background.in_container(container, assumptions);
        work.into_iter().zip(factors).fold(0.0, |sum, ((_, throughput), factor)| sum + throughput * factor)
    }

    /// By which the charges of background work are multiplied, in the order of its kinds.
    fn background_factors(&self, assumed: &Assumed) -> BackgroundFactors {
        BackgroundKind::OF_TRAFFIC
            .map(|kind| assumed.charges.factor(&self.calibration, kind.operation(), ChargeSource::Estimated))
    }

    /// RU/s of a database that all but the dedicated containers share, and of the dedicated ones.
    fn shared(
        &self,
        needs: &[ContainerNeed],
        assumed: &Assumed,
        factors: &[f64],
        partitions: &PartitionCounts,
    ) -> Option<f64> {
        let sharing: Vec<&ContainerNeed> = needs.iter().filter(|found| !found.is_dedicated).collect();
        let loads = sharing.iter().filter_map(|found| self.profile(found.container));
        let loads = loads.map(|profile| profile.load(assumed.case.popularity));
        let load = loads.fold(VariedLoad::default(), VariedLoad::beside);
        let errors = self.background_factors(assumed);
        let of_all = |number: u32| {
            let throughput = |found: &&ContainerNeed| {
                self.background_load(found.container, number, partitions, assumed, errors)
            };
            sharing.iter().map(throughput).fold(0.0, |sum, throughput| sum + throughput)
        };
        let known = sharing.iter().filter_map(|found| self.known_partitions.get(&found.container)).max();
        let need = NeedInput {
            load: &load,
            factors,
            mean_factors: &assumed.mean_factors(&self.profile.groups, &self.calibration),
            background: &of_all,
            storage_gb: sharing.iter().fold(0.0, |sum, found| sum + found.need.storage_gb),
            is_single: false,
            known_partitions: known.copied(),
            highest_ever: self.input.highest_throughput.of_each,
            layout: assumed.case.layout,
            containers: sharing.len(),
            calibration: &self.calibration,
        };
        let dedicated = needs.iter().filter(|found| found.is_dedicated);
        Some(dedicated.fold(need.need().ok()?.manual, |sum, found| sum + found.need.manual))
    }
}

fn storage_gb(profile: &ContainerProfile, case: JointCase) -> f64 {
    gigabytes(profile.bytes) * (1.0 + case.index_share)
}
