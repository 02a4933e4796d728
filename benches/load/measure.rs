//! Closed-loop load: each connection sends its next request when the last one is answered.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::client::{Connection, RequestTemplate, find};
use crate::commit_phases::{CommitPhases, PhaseFigures};
use crate::process::Server;

/// Requests before the first round, from which the number of a round is computed.
const WARM_UP_REQUESTS: usize = 1_000;
/// The fewest and the most requests of a round whose number is computed.
const ROUND_REQUESTS: std::ops::RangeInclusive<usize> = 200..=100_000;
/// Every so many answers one is compared whole, and not by its length alone.
const COMPARED_ANSWERS: usize = 64;
/// Timeout of the projections' catch-up with a round of writes.
const DRAIN_MAX: Duration = Duration::from_secs(60);
const DRAIN_POLL: Duration = Duration::from_millis(100);
/// The number of commits to the disk, as the metrics have it.
const COMMITS_METRIC: &str = "onehop_store_commit_duration_seconds_count ";

/// The connections, rounds and requests of a measurement.
pub struct Plan {
    connections: usize,
    requests: Option<usize>,
    rounds: usize,
    round: Duration,
}

impl Plan {
    /// The plan of the command line.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            connections: arguments.connections.get(),
            requests: arguments.requests.map(Into::into),
            rounds: arguments.rounds(),
            round: arguments.round(),
        }
    }

    /// The requests of a round, given how fast the warm-up was.
    fn round_requests(&self, warm_up: &Round) -> usize {
        self.requests.unwrap_or_else(|| {
            let fitting = warm_up.requests_per_second() * self.round.as_secs_f64();
            (fitting as usize).clamp(*ROUND_REQUESTS.start(), *ROUND_REQUESTS.end())
        })
    }
}

/// The requests of one operation, in the order in which they are sent.
pub struct Workload {
    template: RequestTemplate,
    variables: Vec<String>,
    /// The tokens of the writers.
    tokens: Vec<String>,
    /// The number of different requests, where no request may come twice.
    requests_max: Option<usize>,
    sent: Cell<usize>,
}

impl Workload {
    /// Anonymous requests, which come again and again.
    pub fn anonymous(document: &str, variables: Vec<String>) -> Self {
        let template = RequestTemplate::new(document);
        Self { template, variables, tokens: Vec::new(), requests_max: None, sent: Cell::new(0) }
    }

    /// Requests of several users, which come again and again.
    pub fn of_users(document: &str, variables: Vec<String>, tokens: Vec<String>) -> Self {
        Self { tokens, ..Self::anonymous(document, variables) }
    }

    /// Limits the requests to one of each user with each of the variables.
    pub fn once(self) -> Self {
        Self { requests_max: Some(self.variables.len() * self.tokens.len()), ..self }
    }

    fn is_write(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// The number of remaining requests.
    fn remaining(&self) -> usize {
        self.requests_max.map_or(usize::MAX, |max| max - self.sent.get())
    }

    /// Writes the next request, and says which variables it has.
    fn next(&self, request: &mut Vec<u8>) -> usize {
        let number = self.sent.replace(self.sent.get() + 1);
        let index = number % self.variables.len();
        // Neighbouring requests come from different users, and no pair comes twice before all have come.
        let token = (!self.tokens.is_empty())
            .then(|| &self.tokens[(index + number / self.variables.len()) % self.tokens.len()]);
        self.template.write(&self.variables[index], token.map(String::as_str), request);
        index
    }
}

/// The figures of one server in one round.
struct Round {
    elapsed: Duration,
    cpu: Duration,
    latencies: Vec<Duration>,
    /// Of writes and their projections.
    disk: Option<DiskWrites>,
}

/// The disk writes of a server.
#[derive(Debug, Clone)]
struct DiskWrites {
    /// Each is one fsync. Unknown for a peer.
    commits: u64,
    bytes: u64,
    phases: CommitPhases,
}

impl DiskWrites {
    /// Since the start of a server.
    async fn of(server: &dyn Server) -> Result<Self> {
        if !server.has_read_models() {
            let (commits, phases) = (0, CommitPhases::default());
            return Ok(Self { commits, bytes: server.written_bytes()?, phases });
        }
        let metrics = Connection::open(server.address()).await?.get("/metrics").await?;
        let commits = metrics.lines().find_map(|line| line.strip_prefix(COMMITS_METRIC));
        let commits = commits.context("no number of commits in the metrics")?.trim().parse()?;
        let phases = CommitPhases::of_metrics(&metrics);
        Ok(Self { commits, bytes: server.written_bytes()?, phases })
    }

    /// The writes since an earlier state.
    fn since(self, before: &Self) -> Self {
        let mut phases = CommitPhases::default();
        phases.add_between(&before.phases, &self.phases);
        Self { commits: self.commits - before.commits, bytes: self.bytes - before.bytes, phases }
    }
}

impl Round {
    fn requests_per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }
}

/// The medians of all rounds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    pub requests_per_second: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    /// Of all rounds together.
    pub p999_ms: f64,
    pub cpu_ms: f64,
    /// Of writes.
    pub disk: Option<DiskFigures>,
}

/// Group commit: the disk writes of commands with their projections.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskFigures {
    /// Each is one fsync. Unknown for a peer.
    pub commits_per_second: Option<f64>,
    pub requests_per_commit: Option<f64>,
    pub bytes_per_request: f64,
    /// The phases of commits.
    pub phases: Vec<PhaseFigures>,
}

/// Sends every request once to both servers and compares the `data` of the answers, byte by byte.
pub async fn compare_answers(workload: &Workload, real: &str, bare: &str) -> Result<()> {
    let (real, bare) = (answers(workload, real).await?, answers(workload, bare).await?);
    for ((real, bare), variables) in real.iter().zip(&bare).zip(&workload.variables) {
        let (real, bare) = (data(real)?, data(bare)?);
        if real != bare {
            bail!("different answers for {variables}:\n{real}\n{bare}");
        }
    }
    Ok(())
}

/// Measures servers in turns, each with its own workload, so that a disturbance of one round disturbs all.
pub async fn in_turns(plan: &Plan, servers: &[(&dyn Server, &Workload)]) -> Result<Vec<Figures>> {
    let mut measurements = Vec::with_capacity(servers.len());
    for (server, workload) in servers {
        measurements.push(Measurement::warm_up(plan, workload, *server).await?);
    }
    for _ in 0..plan.rounds {
        for measurement in &mut measurements {
            measurement.round().await?;
        }
    }
    Ok(measurements.into_iter().map(Measurement::figures).collect())
}

struct Measurement<'a> {
    workload: &'a Workload,
    server: &'a dyn Server,
    connections: Vec<Connection>,
    /// The answers to the reads, by their variables.
    expected: Vec<Vec<u8>>,
    round_requests: usize,
    rounds: Vec<Round>,
}

impl<'a> Measurement<'a> {
    async fn warm_up(plan: &Plan, workload: &'a Workload, server: &'a dyn Server) -> Result<Self> {
        let connections = (0..plan.connections).map(|_| Connection::open(server.address()));
        let expected =
            if workload.is_write() { Vec::new() } else { answers(workload, server.address()).await? };
        let mut measurement = Self {
            workload,
            server,
            connections: try_join_all(connections).await?,
            expected,
            round_requests: plan.requests.unwrap_or(WARM_UP_REQUESTS).min(WARM_UP_REQUESTS),
            rounds: Vec::with_capacity(plan.rounds),
        };
        // Where requests are limited, the warm-up takes a part of them, and the rounds share the rest.
        let fair_share = |parts: usize| workload.remaining() / parts.max(1);
        measurement.round_requests = measurement.round_requests.min(fair_share(2 * (plan.rounds + 1)));
        let warm_up = measurement.send_all().await?;
        measurement.round_requests = plan.round_requests(&warm_up).min(fair_share(plan.rounds));
        Ok(measurement)
    }

    async fn round(&mut self) -> Result<()> {
        let round = self.send_all().await?;
        self.rounds.push(round);
        Ok(())
    }

    async fn send_all(&mut self) -> Result<Round> {
        let is_write = self.workload.is_write();
        let disk = if is_write { Some(DiskWrites::of(self.server).await?) } else { None };
        let cpu = self.server.cpu_time()?;
        let start = Instant::now();
        let left = Cell::new(self.round_requests);
        let (workload, expected) = (self.workload, &self.expected[..]);
        let loops =
            self.connections.iter_mut().map(|connection| send_while(connection, workload, expected, &left));
        let latencies = try_join_all(loops).await?.concat();
        let elapsed = start.elapsed();
        if is_write && self.server.has_read_models() {
            drain(self.server.address()).await?;
        }
        let cpu = self.server.cpu_time()?.saturating_sub(cpu);
        let disk = match disk {
            Some(before) => Some(DiskWrites::of(self.server).await?.since(&before)),
            None => None,
        };
        Ok(Round { elapsed, cpu, latencies, disk })
    }

    /// The means of all rounds.
    fn disk_figures(&self) -> Option<DiskFigures> {
        let requests: usize = self.rounds.iter().map(|round| round.latencies.len()).sum();
        let seconds: f64 = self.rounds.iter().map(|round| round.elapsed.as_secs_f64()).sum();
        let disk: Vec<_> = self.rounds.iter().map(|round| round.disk.as_ref()).collect::<Option<_>>()?;
        let sum = |of: fn(&DiskWrites) -> u64| disk.iter().map(|writes| of(writes)).sum::<u64>() as f64;
        let (commits, bytes) = (sum(|disk| disk.commits), sum(|disk| disk.bytes));
        let mut phases = CommitPhases::default();
        disk.iter().for_each(|writes| phases.add_between(&CommitPhases::default(), &writes.phases));
        Some(DiskFigures {
            commits_per_second: (commits > 0.0).then(|| commits / seconds),
            requests_per_commit: (commits > 0.0).then(|| requests as f64 / commits),
            bytes_per_request: bytes / requests as f64,
            phases: phases.figures(),
        })
    }

    fn figures(self) -> Figures {
        let disk = self.disk_figures();
        let mut latencies: Vec<_> = self.rounds.iter().flat_map(|round| &round.latencies).copied().collect();
        latencies.sort_unstable();
        let p999_ms = quantile_ms(&latencies, 0.999);
        let rounds = self.rounds.into_iter().map(|mut round| {
            round.latencies.sort_unstable();
            Figures {
                requests_per_second: round.requests_per_second(),
                p50_ms: quantile_ms(&round.latencies, 0.50),
                p99_ms: quantile_ms(&round.latencies, 0.99),
                p999_ms,
                cpu_ms: round.cpu.as_secs_f64() * 1_000.0 / round.latencies.len() as f64,
                disk: None,
            }
        });
        let rounds: Vec<_> = rounds.collect();
        let median = |figure: fn(&Figures) -> f64| {
            let mut values: Vec<_> = rounds.iter().map(figure).collect();
            values.sort_unstable_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Figures {
            requests_per_second: median(|round| round.requests_per_second),
            p50_ms: median(|round| round.p50_ms),
            p99_ms: median(|round| round.p99_ms),
            p999_ms,
            cpu_ms: median(|round| round.cpu_ms),
            disk,
        }
    }
}

/// Sends requests over one connection for as long as there are some left.
async fn send_while(
    connection: &mut Connection,
    workload: &Workload,
    expected: &[Vec<u8>],
    left: &Cell<usize>,
) -> Result<Vec<Duration>> {
    let mut request = Vec::new();
    let mut latencies = Vec::new();
    while left.get() > 0 {
        left.set(left.get() - 1);
        let index = workload.next(&mut request);
        let start = Instant::now();
        let answer = connection.send(&request).await?;
        latencies.push(start.elapsed());
        match expected.get(index) {
            None => ensure_no_errors(answer)?,
            Some(expected) => {
                let is_expected = answer.len() == expected.len()
                    && (latencies.len() % COMPARED_ANSWERS != 0 || answer == &expected[..]);
                ensure!(is_expected, "another answer than before: {}", String::from_utf8_lossy(answer));
            }
        }
    }
    Ok(latencies)
}

/// The answer to each of the requests.
async fn answers(workload: &Workload, address: &str) -> Result<Vec<Vec<u8>>> {
    let mut connection = Connection::open(address).await?;
    let mut request = Vec::new();
    let mut answers = Vec::with_capacity(workload.variables.len());
    for variables in &workload.variables {
        workload.template.write(variables, None, &mut request);
        let answer = connection.send(&request).await?;
        ensure_no_errors(answer)?;
        answers.push(answer.to_vec());
    }
    Ok(answers)
}

/// In JSON a quote within a text is escaped, so this finds nothing but the key of a response with errors.
fn ensure_no_errors(answer: &[u8]) -> Result<()> {
    ensure!(find(answer, b"\"errors\":").is_none(), "errors: {}", String::from_utf8_lossy(answer));
    Ok(())
}

fn data(answer: &[u8]) -> Result<&str> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        data: &'a RawValue,
    }

    Ok(serde_json::from_slice::<Answer<'_>>(answer).context("an answer without data")?.data.get())
}

/// Waits until the read models have all writes: their CPU time belongs to the writes.
async fn drain(address: &str) -> Result<()> {
    #[derive(Deserialize)]
    struct Data {
        projections: Vec<Projection>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Projection {
        pending_changes: u64,
    }

    let mut connection = Connection::open(address).await?;
    let start = Instant::now();
    while start.elapsed() < DRAIN_MAX {
        let data: Data = connection
            .ask_at("/operations/graphql", "{ projections { pendingChanges } }", &json!({}))
            .await?;
        if data.projections.iter().all(|projection| projection.pending_changes == 0) {
            return Ok(());
        }
        tokio::time::sleep(DRAIN_POLL).await;
    }
    bail!("the read models did not catch up within {DRAIN_MAX:?}")
}

fn quantile_ms(sorted: &[Duration], quantile: f64) -> f64 {
    let index = ((sorted.len() - 1) as f64 * quantile).round() as usize;
    sorted[index].as_secs_f64() * 1_000.0
}
