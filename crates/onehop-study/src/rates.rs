//! Rates of a traffic: the rate of each request, and the resulting load of the containers and the change
//! feed. Pure.

use serde::Serialize;

use super::measurement::{Measurements, ModelVariant, StudyRequest};
use onehop_store::{ContainerName, FoldedOperation, OperationKind};

/// The rate of a request, a second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRate {
    /// The request's name.
    pub request: String,
    pub per_second: f64,
}

/// A text that is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a request and its rate a second, like Q3=100")]
pub struct InvalidRequestRate(String);

impl RequestRate {
    /// Parses `Q3=100`, with the name of one of `requests` in any case.
    ///
    /// # Errors
    /// [`InvalidRequestRate`].
    pub fn parse(text: &str, requests: &[StudyRequest]) -> Result<Self, InvalidRequestRate> {
        let invalid = || InvalidRequestRate(text.to_owned());
        let (name, rate) = text.split_once('=').ok_or_else(invalid)?;
        let is_named = |request: &&StudyRequest| request.name.eq_ignore_ascii_case(name.trim());
        let request = requests.iter().find(is_named).ok_or_else(invalid)?.name.clone();
        let per_second: f64 = rate.trim().parse().map_err(|_| invalid())?;
        if !per_second.is_finite() || per_second < 0.0 {
            return Err(invalid());
        }
        Ok(Self { request, per_second })
    }

    /// Rates for a ratio of reads to writes: one write a second, spread evenly over the requests that write,
    /// and the reads evenly over the others.
    #[must_use]
    pub fn even(requests: &[StudyRequest], reads_per_write: f64) -> Vec<Self> {
        let writes = requests.iter().filter(|request| request.is_write).count() as f64;
        let reads = requests.len() as f64 - writes;
        let share =
            |request: &StudyRequest| if request.is_write { 1.0 / writes } else { reads_per_write / reads };
        requests
            .iter()
            .map(|request| Self { request: request.name.clone(), per_second: share(request) })
            .collect()
    }
}

/// Of the requests that write to one of these containers under a plan, a second.
#[must_use]
pub fn writes_to(
    containers: &[ContainerName],
    measurements: &Measurements,
    rates: &[RequestRate],
    plan: &ModelVariant,
) -> f64 {
    let writes = |done: &FoldedOperation| done.kind.writes() && containers.contains(&done.container);
    requests_with(&writes, measurements, rates, plan)
}

/// Of the requests that create or delete items in a container under a plan, a second. Batches count too.
#[must_use]
pub fn changes_of_members(
    container: ContainerName,
    measurements: &Measurements,
    rates: &[RequestRate],
    plan: &ModelVariant,
) -> f64 {
    let changes = |done: &FoldedOperation| {
        let kinds = [OperationKind::Create, OperationKind::Delete, OperationKind::Batch];
        done.container == container && kinds.contains(&done.kind)
    };
    requests_with(&changes, measurements, rates, plan)
}

/// Of the requests with an operation of this kind under a plan, a second.
fn requests_with(
    is_wanted: &dyn Fn(&FoldedOperation) -> bool,
    measurements: &Measurements,
    rates: &[RequestRate],
    plan: &ModelVariant,
) -> f64 {
    let has_wanted = |rate: &&RequestRate| {
        let row = measurements.row(&rate.request, plan);
        row.is_some_and(|row| row.operations.iter().any(is_wanted))
    };
    rates.iter().filter(has_wanted).fold(0.0, |sum, rate| sum + rate.per_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{request, row};
    use onehop_store::{ChargeBasis, RequestCharge};

    fn rate(request: &str, per_second: f64) -> RequestRate {
        RequestRate { request: request.to_owned(), per_second }
    }

    fn requests() -> Vec<StudyRequest> {
        vec![request("C3", true), request("Q3", false), request("Q6", false)]
    }

    fn measurements() -> Measurements {
        let v3 = ModelVariant::of_model("V3");
        let rows = vec![row("Q3", &v3, 10.0, 0.0), row("C3", &v3, 15.0, 20.0)];
        Measurements { requests: requests(), plans: vec![v3], rows }
    }

    #[test]
    fn writes_to_a_container_are_those_of_its_requests() {
        let (mut measurements, v3) = (measurements(), ModelVariant::of_model("V3"));
        let posts = ContainerName("posts");
        let row = measurements.rows.iter_mut().find(|row| row.request == "C3" && row.plan == v3).unwrap();
        row.operations = vec![FoldedOperation {
            container: posts,
            kind: OperationKind::Batch,
            times: 1,
            items: 2,
            physical_partitions: 1,
            request_charge: RequestCharge(15.0),
            basis: ChargeBasis::default(),
        }];
        let rates = [rate("Q3", 5.0), rate("C3", 2.0)];
        let to = |container| writes_to(&[container], &measurements, &rates, &v3);
        assert_eq!((to(posts), to(ContainerName("users"))), (2.0, 0.0));
    }

    #[test]
    fn a_ratio_is_spread_evenly() {
        let rates = RequestRate::even(&requests(), 60.0);
        assert_eq!(rates, [rate("C3", 1.0), rate("Q3", 30.0), rate("Q6", 30.0)]);
    }

    #[test]
    fn a_rate_is_a_request_and_a_number() {
        assert_eq!(RequestRate::parse("q3=2.5", &requests()), Ok(rate("Q3", 2.5)));
        for invalid in ["", "Q3", "Q7=1", "Q3=", "Q3=-1", "Q3=NaN", "Q3=inf", "=1"] {
            assert!(RequestRate::parse(invalid, &requests()).is_err(), "{invalid}");
        }
    }
}
