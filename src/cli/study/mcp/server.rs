//! Handler of the MCP session: tools are called one at a time beside the async threads, with progress while
//! the data is read, until the client cancels them or leaves.

use std::ops::ControlFlow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::answers;
use super::surveys::LastSurvey;
use super::tools::{
    CompareArguments, DescribeArguments, Detail, EstimateArguments, KeysArguments, PlanArguments, StudyTool,
};
use onehop_store::charges::Calibration;
use onehop_study::design_study::{DesignStudy, design_report};
use onehop_study::directory::{StudyBoundary, StudyDirectory};

/// Bounds of `scale`, as in study.toml.
const SCALE_MIN: f64 = 0.001;
const SCALE_MAX: f64 = 1e9;

/// Serves the studies of one directory.
pub(super) struct StudyServer {
    boundary: StudyBoundary,
    calibration: Arc<Calibration>,
    /// Held while a study is worked out: one at a time.
    surveys: Arc<Mutex<LastSurvey>>,
}

/// The progress of a survey, for the client.
#[derive(Default)]
struct ReadBytes {
    bytes: u64,
    bytes_total: u64,
    message: String,
}

impl StudyServer {
    pub fn new(boundary: StudyBoundary, calibration: Arc<Calibration>) -> Self {
        Self { boundary, calibration, surveys: Arc::default() }
    }

    async fn answer(
        &self,
        tool: StudyTool,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, String> {
        match tool {
            StudyTool::Describe => {
                let DescribeArguments { study } = read(arguments)?;
                if study.is_none() && self.boundary.studies() != ["."] {
                    return Ok(json!({ "studies": self.boundary.studies() }));
                }
                self.with_study(study, None, context, |study| Ok(answers::description(study))).await
            }
            StudyTool::Plan => {
                let arguments: PlanArguments = read(arguments)?;
                let study = arguments.study.clone();
                self.with_study(study, None, context, move |study| answers::plan(study, &arguments)).await
            }
            StudyTool::Estimate => {
                answers::estimate(&read::<EstimateArguments>(arguments)?, &self.calibration)
            }
            StudyTool::Compare => {
                let CompareArguments { study, scale, detail } = read(arguments)?;
                let compared = move |study: &DesignStudy<'_>| {
                    let report = design_report(study);
                    match detail {
                        Detail::Summary => answers::comparison(&report),
                        Detail::Full => to_value(&report),
                    }
                };
                self.with_study(study, scale, context, compared).await
            }
            StudyTool::Keys => {
                let arguments: KeysArguments = read(arguments)?;
                let (study, scale) = (arguments.study.clone(), arguments.scale);
                self.with_study(study, scale, context, move |study| answers::keys(study, &arguments)).await
            }
        }
    }

    /// Reads a study and its data, and calls `work` with it.
    async fn with_study(
        &self,
        study: Option<String>,
        scale: Option<f64>,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&DesignStudy<'_>) -> Result<Value, String> + Send + 'static,
    ) -> Result<Value, String> {
        if let Some(scale) = scale.filter(|scale| !(SCALE_MIN..=SCALE_MAX).contains(scale)) {
            return Err(format!("`scale` is {scale}; a number from {SCALE_MIN} to {SCALE_MAX} is expected"));
        }
        let study = self.study_name(study)?;
        let mut surveys = tokio::select! {
            surveys = Arc::clone(&self.surveys).lock_owned() => surveys,
            () = context.ct.cancelled() => return Err("the call was cancelled".to_owned()),
        };
        let (progress, reports) = watch::channel(ReadBytes::default());
        let (boundary, cancelled) = (self.boundary.clone(), context.ct.clone());
        let calibration = Arc::clone(&self.calibration);
        let working = tokio::task::spawn_blocking(move || {
            let mut directory: StudyDirectory = boundary.read(&study).map_err(|errors| errors.to_string())?;
            if let Some(scale) = scale {
                directory.settings.scale = scale;
            }
            let survey = surveys.of(&directory, &mut |read| {
                progress.send_replace(ReadBytes {
                    bytes: read.bytes,
                    bytes_total: read.bytes_total,
                    message: format!("{}: {} items so far", read.file, read.items),
                });
                if cancelled.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let survey = survey.map_err(|errors| errors.to_string())?;
            work(&DesignStudy::new(&directory, &survey, calibration))
        });
        report_progress(reports, context).await;
        working.await.map_err(|error| format!("the study could not be worked out: {error}"))?
    }

    /// The named study; the directory itself, or its only study, where no name is given.
    fn study_name(&self, given: Option<String>) -> Result<String, String> {
        if let Some(given) = given {
            return Ok(given);
        }
        let studies = self.boundary.studies();
        match studies.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err("the served directory has no study: a file study.toml is expected".to_owned()),
            several => Err(format!("`study` is needed: one of {}", several.join(", "))),
        }
    }
}

/// Sends the newest progress for as long as the work reports any, if the client asked for it.
async fn report_progress(mut reports: watch::Receiver<ReadBytes>, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let mut sent = 0;
    while reports.changed().await.is_ok() {
        let notification = {
            let read = reports.borrow_and_update();
            // Progress has to grow.
            if read.bytes <= sent {
                continue;
            }
            sent = read.bytes;
            ProgressNotificationParam::new(token.clone(), read.bytes as f64)
                .with_total(read.bytes_total as f64)
                .with_message(read.message.clone())
        };
        // A client that has left is noticed by the session.
        if context.peer.notify_progress(notification).await.is_err() {
            return;
        }
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments).map_err(|error| format!("the arguments are not as expected: {error}"))
}

fn to_value(value: &impl serde::Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

impl ServerHandler for StudyServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("onehop-study", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Studies of data models on Azure Cosmos DB: designs in a model language, compared over real data \
                 without an account. Begin with `describe`. Change the files of a study and call `plan`, `compare` or \
                 `keys` again. All charges are estimates, each with its error.",
            )
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(StudyTool::ALL.map(StudyTool::definition).to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        StudyTool::ALL.into_iter().find(|tool| tool.name() == name).map(StudyTool::definition)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = StudyTool::ALL.into_iter().find(|tool| tool.name() == request.name) else {
            let names = StudyTool::ALL.map(StudyTool::name).join(", ");
            let message = format!("unknown tool {:?}; expected one of {names}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(match self.answer(tool, arguments, &context).await {
            Ok(answer) => CallToolResult::structured(answer).into(),
            Err(message) => CallToolResult::error(vec![ContentBlock::text(message)]).into(),
        })
    }
}
