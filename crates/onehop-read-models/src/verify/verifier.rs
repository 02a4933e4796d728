//! Verifier: finds suspects, and confirms a suspect as a drift if it is unchanged after the read models have
//! caught up.
//!
//! A suspect carries the ETags of the items that were compared. A difference is a drift only if it is seen
//! twice with the same ETags and a settling in between: then source and copy were unchanged while the read
//! models caught up. An item that is written all the time is never confirmed, even if a look at it shows a
//! difference.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use onehop_store::{ContainerName, ETag, Fault, Store};

use super::findings::{DriftSubject, Findings};
use super::invariant::{Invariant, VerifyProgress};
use super::report::{Drift, VerificationReport};
use super::settle::Settle;
use crate::declaration::ReadModels;

/// The comparisons of a suspect; a suspect that was never the same twice is no drift.
const COMPARISONS_MAX: u32 = 4;

/// A difference that may be a change under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Suspect {
    pub(super) subject: DriftSubject,
    pub(super) drift: Drift,
    /// Of the items that were compared, source first; `None` where there was no item.
    pub(super) seen: Vec<Option<ETag>>,
}

impl Suspect {
    /// Whether it is a drift, if these were seen before the read models caught up. Counts change together
    /// with the items that they count: one comparison is enough.
    fn is_confirmed(&self, earlier: &HashSet<Suspect>) -> bool {
        matches!(self.drift, Drift::Count { .. }) || earlier.contains(self)
    }
}

/// Verifies, and repairs, the read models of a domain in a store.
pub struct Verifier {
    pub(super) declared: ReadModels,
    pub(super) store: Arc<dyn Store>,
    pub(super) settle: Arc<dyn Settle>,
    pub(super) invariants: Vec<Box<dyn Invariant>>,
    pub(super) keeps_unowned: bool,
}

impl Verifier {
    /// A verifier of these read models, and of further invariants.
    #[must_use]
    pub fn new(
        declared: ReadModels,
        store: Arc<dyn Store>,
        settle: Arc<dyn Settle>,
        invariants: Vec<Box<dyn Invariant>>,
    ) -> Self {
        Self { declared, store, settle, invariants, keeps_unowned: false }
    }

    /// The same, whose repair keeps owned items without an owner, and reservations without a holder: their
    /// owners and holders may be lost. They stay drifts.
    #[must_use]
    pub fn keeping_unowned(self) -> Self {
        Self { keeps_unowned: true, ..self }
    }

    /// Compares everything and reports the drifts.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn verify(
        &self,
        progress: impl FnMut(VerifyProgress) + Send,
    ) -> Result<VerificationReport, Fault> {
        self.confirmed(progress).await.map(|(report, _)| report)
    }

    /// The report, and the confirmed suspects behind its drifts.
    pub(super) async fn confirmed(
        &self,
        mut progress: impl FnMut(VerifyProgress) + Send,
    ) -> Result<(VerificationReport, Vec<Suspect>), Fault> {
        self.settle.settle().await?;
        let mut report = VerificationReport::default();
        let findings =
            Findings::scan(&self.declared, &self.invariants, &*self.store, &mut report, &mut progress)
                .await?;
        let mut suspects = self.compare_all(findings.subjects(), &mut report).await?;
        let mut drifted = Vec::new();
        for _ in 1..COMPARISONS_MAX {
            if suspects.is_empty() {
                break;
            }
            self.settle.settle().await?;
            let subjects = suspects.iter().map(|suspect| suspect.subject.clone()).collect();
            let again = self.compare_all(subjects, &mut report).await?;
            let earlier: HashSet<Suspect> = suspects.into_iter().collect();
            let (confirmed, unsure) =
                again.into_iter().partition::<Vec<_>, _>(|suspect| suspect.is_confirmed(&earlier));
            drifted.extend(confirmed);
            // Of a list as a whole only unconfirmed earlier suspects are compared again.
            suspects = unsure;
        }
        report.drifts = drifted.iter().map(|suspect| suspect.drift.clone()).collect();
        Ok((report, drifted))
    }

    async fn compare_all(
        &self,
        subjects: BTreeSet<DriftSubject>,
        report: &mut VerificationReport,
    ) -> Result<Vec<Suspect>, Fault> {
        let mut suspects = Vec::new();
        for subject in subjects {
            let container = self.container_of(&subject);
            match self.compare(&subject).await {
                Ok(found) => suspects.extend(found),
                Err(fault) => report.record_unreadable(container, fault)?,
            }
        }
        Ok(suspects)
    }

    fn container_of(&self, subject: &DriftSubject) -> ContainerName {
        match subject {
            DriftSubject::Count { rule, .. } => self.count_rule(*rule).parent.container,
            DriftSubject::Copy { copy, .. } => self.target_copy(*copy).item_type.container,
            DriftSubject::Entry { list, .. } | DriftSubject::Bounded { list } => {
                self.list_rule(*list).container
            }
            DriftSubject::Owned { rule, .. } => self.owns_rule(*rule).owner.container,
            DriftSubject::Invariant { place, .. } => self.invariants[*place].item_type().container,
        }
    }
}
