//! The report of a measurement, in Markdown.

use std::fmt::Write as _;

use super::all_versions::AllVersions;
use super::{Budget, Measurement};
use onehop_store::charges::Calibration;
use onehop_study::ledger::{CaseError, LedgerCheck, read_cases};

/// Writes the report: errors of the calibration, the program's own tasks, and every case.
///
/// # Errors
/// Never: the ledger was written by this program.
pub(super) fn report(
    measurement: &Measurement,
    budget: &Budget,
    place: &str,
    calibration: &Calibration,
) -> Result<String, CaseError> {
    let check = LedgerCheck::of(&read_cases(&measurement.ledger)?, calibration);
    let mut text = format!("# Request charges of {place}\n\n");
    let _ = writeln!(
        text,
        "{} operations, and the tasks below, were charged {:.0} RU; the estimate was {:.0} RU. Estimates are those of the calibration `{}`.\n",
        check.cases.len(),
        measurement.total().0,
        budget.total.0,
        calibration.name(),
    );
    let _ = writeln!(text, "## Errors of the estimates\n\n```\n{}```\n", check.summary_table());
    application(&mut text, measurement, budget);
    let _ = writeln!(text, "## Change feed of all versions and deletes\n\n{}\n", all_versions(measurement));
    let _ = writeln!(text, "## Operations\n\n```\n{}```", check.table());
    Ok(text)
}

fn application(text: &mut String, measurement: &Measurement, budget: &Budget) {
    text.push_str("## Tasks of this program\n\n| task | charge, RU | estimate, RU |\n|---|---|---|\n");
    for (measured, estimated) in measurement.application.charges.iter().zip(&budget.application.charges) {
        let _ =
            writeln!(text, "| {} | {:.2} | {:.2} |", measured.task, measured.charge.0, estimated.charge.0);
    }
    let application = &measurement.application;
    let _ = writeln!(
        text,
        "\nThe processor was killed {} times in the middle of its work. Afterwards the verification of all read models found {} drifts.\n",
        application.kills, application.drifts
    );
}

fn all_versions(measurement: &Measurement) -> String {
    match &measurement.all_versions {
        Some(AllVersions::Read { changes }) => {
            format!("Of a create, a replace and a delete it had {changes} changes.")
        }
        Some(AllVersions::Refused(reason)) => format!("It could not be read: {reason}"),
        None => "Not on this store.".to_owned(),
    }
}
