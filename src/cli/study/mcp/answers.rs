//! Answers of the tools as JSON.

use serde_json::{Map, Value, json};

use super::tools::{EstimateArguments, KeysArguments, PlanArguments};
use onehop_store::charges::Calibration;
use onehop_study::design_study::{DesignStudy, explain as explain_plans};
use onehop_study::keys::KeyReport;
use onehop_study::ledger::{explain, read_cases};
use onehop_study::report::StudyReport;

/// The designs with their containers, the data and the requests.
pub(super) fn description(study: &DesignStudy<'_>) -> Value {
    let settings = &study.directory.settings;
    let designs = study.directory.designs.iter().map(|design| {
        let containers = design.model.containers().iter().map(|container| {
            let items = design.model.items().iter().filter(|item| item.container == container.name);
            json!({
                "name": &*container.name,
                "partitionKey": container.key.iter().map(|path| path.slashed()).collect::<Vec<_>>(),
                "ttlSeconds": container.ttl_seconds,
                "items": items.map(|item| &*item.name).collect::<Vec<_>>(),
            })
        });
        json!({ "name": design.name, "containers": containers.collect::<Vec<_>>() })
    });
    let data = settings.data.iter().map(|(item_type, files)| {
        let found = study.survey.of(item_type);
        json!({
            "type": item_type,
            "files": files,
            "items": found.map(|found| found.items),
            "bytes": found.map(|found| found.bytes),
            "largestItemBytes": found.map(|found| found.bytes_max),
            "unknownProperties": found.map(|found| found.unknown.keys().collect::<Vec<_>>()),
        })
    });
    let requests = study.directory.requests.requests().iter().map(|request| {
        let fields = request.fields.iter().map(|selection| &*selection.field);
        json!({
            "name": &*request.name,
            "isWrite": request.is_write,
            "perSecond": request.per_second,
            "peak": request.peak,
            "fields": fields.collect::<Vec<_>>(),
        })
    });
    json!({
        "name": settings.name,
        "scale": settings.scale,
        "regions": settings.regions,
        "designs": designs.collect::<Vec<_>>(),
        "data": data.collect::<Vec<_>>(),
        "requests": requests.collect::<Vec<_>>(),
    })
}

/// The plans of the requests.
pub(super) fn plan(study: &DesignStudy<'_>, arguments: &PlanArguments) -> Result<Value, String> {
    let mut requests = explain_plans(study);
    let names: Vec<String> = requests.iter().map(|request| request.request.clone()).collect();
    check_name("request", arguments.request.as_deref(), &names)?;
    let plans = requests.iter().flat_map(|request| &request.plans).map(|plan| plan.design.clone());
    let mut designs: Vec<String> = plans.collect();
    designs.sort();
    designs.dedup();
    check_name("design", arguments.design.as_deref(), &designs)?;
    requests.retain(|request| arguments.request.as_ref().is_none_or(|name| *name == request.request));
    for request in &mut requests {
        request.plans.retain(|plan| arguments.design.as_ref().is_none_or(|name| *name == plan.design));
    }
    Ok(json!({ "physicalPartitions": 1, "requests": requests }))
}

/// The graded keys.
pub(super) fn keys(study: &DesignStudy<'_>, arguments: &KeysArguments) -> Result<Value, String> {
    let mut report = KeyReport::of(study);
    let names: Vec<String> = report.types.iter().map(|keys| keys.item_type.clone()).collect();
    check_name("type", arguments.item_type.as_deref(), &names)?;
    report.types.retain(|keys| arguments.item_type.as_ref().is_none_or(|name| *name == keys.item_type));
    serde_json::to_value(report).map_err(|error| error.to_string())
}

fn check_name(argument: &str, given: Option<&str>, known: &[String]) -> Result<(), String> {
    match given.filter(|given| !known.iter().any(|name| name == given)) {
        None => Ok(()),
        Some(given) => Err(format!("`{argument}` is {given:?}; expected one of {}", known.join(", "))),
    }
}

/// The charge of one operation.
pub(super) fn estimate(arguments: &EstimateArguments, calibration: &Calibration) -> Result<Value, String> {
    let mut case = serde_json::to_value(arguments).map_err(|error| error.to_string())?;
    case["id"] = "estimate".into();
    let cases = read_cases(&case.to_string()).map_err(|error| error.to_string())?;
    let explained = cases.first().and_then(|case| explain(case, calibration));
    let explained = explained.ok_or("there is no estimate of this operation")?;
    let part = |(part, charge): (onehop_store::charges::ChargePart, f64)| json!({ "part": part.title(), "requestCharge": rounded(charge) });
    let paths: Vec<&str> = explained.paths.iter().map(|path| path.path.as_str()).collect();
    Ok(json!({
        "requestCharge": rounded(explained.parts.total().0),
        "error": explained.error,
        "parts": explained.parts.charged().map(part).collect::<Vec<_>>(),
        "indexedPaths": paths,
        "calibration": calibration.name(),
    }))
}

/// The verdict, the designs with their bills and limits, and the charges of the requests.
pub(super) fn comparison(report: &StudyReport) -> Result<Value, String> {
    let requests = report.measurements.requests.iter().map(|request| {
        let rows = report.measurements.rows.iter().filter(|row| row.request == request.name);
        let charges: Map<String, Value> = rows
            .map(|row| {
                let charge = json!({
                    "requestCharge": row.request_charge,
                    "p99": row.request_charge_p99,
                    "readModels": row.projection_charge,
                });
                (row.plan.to_string(), charge)
            })
            .collect();
        json!({ "request": request.name, "isWrite": request.is_write, "designs": charges })
    });
    let designs = report.provisioning.iter().map(|found| {
        let exceeded = found.feasibility.limits.iter().filter(|limit| limit.is_exceeded());
        json!({
            "design": found.model,
            "feasible": found.feasible,
            "exceededLimits": exceeded.collect::<Vec<_>>(),
            "throughput": found.planned.as_ref().map(|planned| planned.recommended),
            "storageGb": found.planned.as_ref().map(|planned| planned.storage_gb),
            "bills": found.planned.as_ref().map(|planned| &planned.bills),
        })
    });
    Ok(json!({
        "verdict": report.verdict,
        "outlook": report.outlook,
        "designs": designs.collect::<Vec<_>>(),
        "requests": requests.collect::<Vec<_>>(),
        "charges": "estimated",
    }))
}

fn rounded(charge: f64) -> f64 {
    (charge * 10_000.0).round() / 10_000.0
}
