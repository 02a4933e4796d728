//! Provisioned throughput: how it is bought, who shares it, and which values the service permits.
//!
//! Source of the limits: <https://learn.microsoft.com/azure/cosmos-db/concepts-limits>. Two of them depend on
//! values that only the service knows: the stored gigabytes, and the highest throughput that was ever
//! provisioned. This module checks the certain limits.

use std::fmt;

use azure_data_cosmos::models::ThroughputProperties;

/// Step and minimum of manual throughput, in RU/s.
const MANUAL_STEP: u64 = 100;
const MANUAL_MIN: u64 = 400;
/// Step and minimum of an autoscale maximum, in RU/s.
const AUTOSCALE_STEP: u64 = 1000;
/// Containers that share the throughput of a database at its least. Each further one asks for one step more.
const SHARING_CONTAINERS: u64 = 25;

/// Request units a second that are bought in advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Throughput {
    /// As many as are used, between a tenth of this and this.
    Autoscale {
        max_ru: u64,
    },
    Manual {
        ru: u64,
    },
}

/// Throughput scope: the database or the container that owns the request units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThroughputScope {
    /// All containers of the database, except the containers with dedicated throughput.
    Database,
    /// Each container has its own.
    Container,
}

/// A throughput that the service refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThroughputError {
    #[error("{wanted} is not a multiple of {step} RU/s")]
    NotAMultiple { wanted: Throughput, step: u64 },
    #[error("{wanted} is below the minimum of {min} RU/s")]
    BelowMinimum { wanted: Throughput, min: u64 },
    #[error("{wanted} is below the minimum of {min} RU/s for {containers} containers that share it")]
    BelowMinimumOfContainers { wanted: Throughput, min: u64, containers: u64 },
    #[error(
        "{wanted} is below the minimum of {min} RU/s, which is a {share} of the highest throughput that was ever provisioned: \
         at least {found}"
    )]
    BelowHighest { wanted: Throughput, min: u64, share: &'static str, found: Throughput },
}

impl Throughput {
    /// Refuses throughputs that no container and no database can have.
    ///
    /// # Errors
    /// The step or the minimum is not kept.
    pub fn check(self) -> Result<Self, ThroughputError> {
        let step = self.step();
        if self.ru() < self.min() {
            return Err(ThroughputError::BelowMinimum { wanted: self, min: self.min() });
        }
        if !self.ru().is_multiple_of(step) {
            return Err(ThroughputError::NotAMultiple { wanted: self, step });
        }
        Ok(self)
    }

    /// Refuses throughputs below the minimum of a database that this many containers share.
    ///
    /// # Errors
    /// As [`check`](Self::check); the minimum rises with the containers after the twenty-fifth.
    pub fn check_shared(self, containers: usize) -> Result<Self, ThroughputError> {
        let containers = containers as u64;
        let min = self.min() + self.step() * containers.saturating_sub(SHARING_CONTAINERS);
        match self.check()? {
            wanted if wanted.ru() < min => {
                Err(ThroughputError::BelowMinimumOfContainers { wanted, min, containers })
            }
            wanted => Ok(wanted),
        }
    }

    /// Refuses changes that the service does not permit after a throughput of the same kind: it remembers the
    /// highest.
    pub(super) fn check_after(self, found: Self) -> Result<Self, ThroughputError> {
        let (share, parts) = match self {
            Self::Manual { .. } => ("hundredth", 100),
            Self::Autoscale { .. } => ("tenth", 10),
        };
        // The service rounds; a value rounded down is never refused here if the service permits it.
        let min = found.ru() / parts / self.step() * self.step();
        if self.ru() < min {
            return Err(ThroughputError::BelowHighest { wanted: self, min, share, found });
        }
        Ok(self)
    }

    fn ru(self) -> u64 {
        match self {
            Self::Autoscale { max_ru } => max_ru,
            Self::Manual { ru } => ru,
        }
    }

    fn step(self) -> u64 {
        match self {
            Self::Autoscale { .. } => AUTOSCALE_STEP,
            Self::Manual { .. } => MANUAL_STEP,
        }
    }

    fn min(self) -> u64 {
        match self {
            Self::Autoscale { .. } => AUTOSCALE_STEP,
            Self::Manual { .. } => MANUAL_MIN,
        }
    }

    pub(super) fn properties(self) -> ThroughputProperties {
        match self {
            Self::Autoscale { max_ru } => ThroughputProperties::autoscale(max_ru, None),
            Self::Manual { ru } => ThroughputProperties::manual(ru),
        }
    }

    /// The throughput in an offer of the service.
    pub(super) fn of(offer: &ThroughputProperties) -> Option<Self> {
        let autoscale = offer.autoscale_maximum().map(|max_ru| Self::Autoscale { max_ru });
        autoscale.or_else(|| offer.throughput().map(|ru| Self::Manual { ru }))
    }
}

impl fmt::Display for Throughput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Autoscale { max_ru } => write!(formatter, "autoscale up to {max_ru} RU/s"),
            Self::Manual { ru } => write!(formatter, "{ru} RU/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manual(ru: u64) -> Throughput {
        Throughput::Manual { ru }
    }

    fn autoscale(max_ru: u64) -> Throughput {
        Throughput::Autoscale { max_ru }
    }

    #[test]
    fn steps_and_minimums_are_those_of_the_service() {
        for permitted in [manual(400), manual(1100), autoscale(1000), autoscale(7000)] {
            assert_eq!(permitted.check(), Ok(permitted));
        }
        for (refused, text) in [
            (manual(300), "300 RU/s is below the minimum of 400 RU/s"),
            (manual(450), "450 RU/s is not a multiple of 100 RU/s"),
            (autoscale(900), "autoscale up to 900 RU/s is below the minimum of 1000 RU/s"),
            (autoscale(1500), "autoscale up to 1500 RU/s is not a multiple of 1000 RU/s"),
        ] {
            assert_eq!(refused.check().unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn the_shared_minimum_rises_after_25_containers() {
        assert_eq!(manual(400).check_shared(25), Ok(manual(400)));
        assert_eq!(autoscale(1000).check_shared(25), Ok(autoscale(1000)));
        let refused = manual(800).check_shared(30).unwrap_err().to_string();
        assert_eq!(refused, "800 RU/s is below the minimum of 900 RU/s for 30 containers that share it");
        assert_eq!(manual(900).check_shared(30), Ok(manual(900)));
        let refused = autoscale(5000).check_shared(30).unwrap_err().to_string();
        assert!(refused.contains("minimum of 6000 RU/s for 30 containers"), "{refused}");
        assert!(manual(450).check_shared(3).is_err(), "the step holds, too");
    }

    #[test]
    fn the_highest_throughput_leaves_a_minimum() {
        assert_eq!(manual(900).check_after(manual(90_000)), Ok(manual(900)));
        assert_eq!(manual(900).check_after(manual(99_900)), Ok(manual(900)), "rounded down");
        let refused = manual(800).check_after(manual(90_000)).unwrap_err().to_string();
        assert!(refused.contains("minimum of 900 RU/s, which is a hundredth"), "{refused}");
        assert!(refused.contains("at least 90000 RU/s"), "{refused}");
        let refused = autoscale(1000).check_after(autoscale(20_000)).unwrap_err().to_string();
        assert!(refused.contains("minimum of 2000 RU/s, which is a tenth"), "{refused}");
    }
}
