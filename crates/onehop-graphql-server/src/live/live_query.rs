//! Live queries: the answer to a query, and a new one whenever it changes. The reads of each execution name
//! its dependencies (read marks); nothing is executed while these are unwritten.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Response as Execution, ServerError, Value};
use futures::stream::{BoxStream, StreamExt as _, once, unfold};
use onehop_runtime::planted;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep_until, timeout};

use super::event_errors::error;
use crate::endpoint::GraphqlEndpoint;
use crate::etag::{ReadDependencies, ReadTrace};
use crate::pipeline::context::RequestContext;
use crate::quota::EventAdmission;
use crate::refusal::Refusal;
use crate::response::{Encoded, is_request_error};
use crate::write_watch::SharedWatch;

/// Between two executions of one live query. Writes meanwhile are one new answer.
const INTERVAL_MIN: Duration = Duration::from_millis(50);
/// Between two executions while the answer has faults of the server, of which no write gives notice.
const FAULT_RETRY: Duration = Duration::from_secs(5);
/// The codes of those faults.
const FAULT_CODES: [&str; 2] = ["INTERNAL", "UNAVAILABLE"];

/// A result of a shared execution: an event, or an answer.
pub(crate) struct SharedExecution {
    pub(crate) execution: Execution,
    /// Whether it is the same answer as the last one, which is charged and not sent.
    pub(crate) is_unchanged: bool,
}

/// The results of a shared execution.
pub(crate) type SharedExecutions = BoxStream<'static, SharedExecution>;

impl SharedExecution {
    /// A result to be sent.
    pub(crate) fn sent(execution: Execution) -> Self {
        Self { execution, is_unchanged: false }
    }
}

/// A live query that runs.
struct LiveQuery {
    graphql: Arc<GraphqlEndpoint>,
    context: Arc<RequestContext>,
    admission: Arc<dyn EventAdmission>,
    watch: SharedWatch,
    answer: Answer,
    executed_at: Instant,
}

/// The last answer: its digest, and its dependencies.
struct Answer {
    digest: [u8; 32],
    reads: ReadDependencies,
    has_faults: bool,
}

impl GraphqlEndpoint {
    /// Starts a live query when it is admitted: its answers, of which the first is ready.
    ///
    /// # Errors
    /// The response to a query that cannot be executed, or whose dependencies are not known.
    pub(crate) async fn live_query(
        self: &Arc<Self>,
        context: RequestContext,
        admission: Arc<dyn EventAdmission>,
    ) -> Result<(SharedExecutions, Arc<RequestContext>), Encoded> {
        let permit = self.concurrency_limit().admit(context.complexity).await;
        let _permit = permit.map_err(|overloaded| Refusal::from(overloaded).into_encoded())?;
        let watch = self.service().watch_writes().await.map_err(Encoded::refused)?;
        let watch = watch.ok_or_else(|| {
            Encoded::refused(error("GRAPHQL_VALIDATION_FAILED", "This API has no live queries."))
        })?;
        let context = Arc::new(context);
        let executed_at = Instant::now();
        let (first, answer) = self.execute_live(&context, &watch).await;
        if is_request_error(&first) {
            return Err(Encoded::refusal(first));
        }
        let answer = answer.map_err(Encoded::refused)?;
        let graphql = Arc::clone(self);
        let query =
            LiveQuery { graphql, context: Arc::clone(&context), admission, watch, answer, executed_at };
        let later = unfold(Some(query), async |query| query?.next().await);
        Ok((once(async { SharedExecution::sent(first) }).chain(later).boxed(), context))
    }

    /// A digest of an answer as the client sees it, without the extensions: charges differ between equal
    /// answers.
    fn digest_of(&self, context: &RequestContext, execution: &Execution) -> [u8; 32] {
        if execution.errors.is_empty() {
            return digest_of(&execution.data, &[]);
        }
        // Null propagation hides data that may have changed.
        let mut shown = Execution::new(execution.data.clone());
        shown.errors.clone_from(&execution.errors);
        // Elements of a list fail in any order.
        shown.errors.sort_by_cached_key(|error| format!("{:?}", error.path));
        self.schema().propagate_nulls(&context.document.definitions, context.operation(), &mut shown);
        digest_of(&shown.data, &shown.errors)
    }

    /// Executes a live query once, with a budget and a record of reads of its own.
    async fn execute_live(
        &self,
        context: &RequestContext,
        watch: &SharedWatch,
    ) -> (Execution, Result<Answer, ServerError>) {
        let trace = Arc::new(ReadTrace::default());
        let budget = Arc::new(self.responses().begin_or_refuse());
        let (request, context) = context.for_live_execution(budget, Arc::clone(&trace));
        let context = Arc::new(context);
        let executing = self.observer().executing(context.client.span);
        let write = watch.last_write();
        let mut execution = self.service().execute(request, &context).await;
        let write = if planted!("live-query-begins-after-its-reads") { watch.last_write() } else { write };
        self.complete_introspection(&context, &mut execution);
        self.observer().executed(&context, &executing, &execution.errors, &execution.extensions);
        let has_faults = execution.errors.iter().any(is_fault);
        let digest = self.digest_of(&context, &execution);
        let answer = match trace.take() {
            Some(mut marks) => {
                if planted!("live-query-forgets-a-mark") {
                    marks.pop();
                }
                Ok(Answer { digest, reads: ReadDependencies { write, marks }, has_faults })
            }
            // A failed read may have no mark.
            None if has_faults => {
                let reads = ReadDependencies { write, marks: Vec::new() };
                Ok(Answer { digest, reads, has_faults })
            }
            None => Err(error(
                "LIMIT_EXCEEDED",
                "This query cannot be live: it reads too many logical partitions, or more than stored items.",
            )),
        };
        (execution, answer)
    }
}

impl LiveQuery {
    /// The next execution, after a write to its dependencies, and the query unless it has ended.
    async fn next(mut self) -> Option<(SharedExecution, Option<Self>)> {
        let ReadDependencies { write, marks } = &self.answer.reads;
        let written = self.watch.written(marks, *write);
        match self.answer.has_faults {
            // Either end is a reason to execute again.
            true => drop(timeout(FAULT_RETRY, written).await),
            false => written.await,
        }
        sleep_until(self.executed_at + INTERVAL_MIN).await;
        let permit = match self.admission.admit().await {
            Ok(permit) => permit,
            Err(refused) => {
                return Some((SharedExecution::sent(Execution::from_errors(vec![refused])), None));
            }
        };
        self.executed_at = Instant::now();
        let (execution, answer) = self.graphql.execute_live(&self.context, &self.watch).await;
        drop(permit);
        let answer = match answer {
            Ok(answer) => answer,
            Err(refused) => {
                let mut last = Execution::from_errors(vec![refused]);
                last.extensions = execution.extensions;
                return Some((SharedExecution::sent(last), None));
            }
        };
        let is_unchanged = answer.digest == self.answer.digest;
        self.answer = answer;
        Some((SharedExecution { execution, is_unchanged }, Some(self)))
    }
}

/// Whether an error is a fault of the server, which may pass.
fn is_fault(error: &ServerError) -> bool {
    let code = error.extensions.as_ref().and_then(|extensions| extensions.get("code"));
    matches!(code, Some(Value::String(code)) if FAULT_CODES.contains(&code.as_str()))
}

/// A digest of the data and the errors.
fn digest_of(data: &Value, errors: &[ServerError]) -> [u8; 32] {
    let mut digest = DigestWriter(Sha256::new());
    let written = serde_json::to_writer(&mut digest, &(data, errors));
    written.expect("a GraphQL response has string keys only, and a digest takes every write");
    digest.0.finalize().into()
}

/// A digest as a writer.
struct DigestWriter(Sha256);

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
