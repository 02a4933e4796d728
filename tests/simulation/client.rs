//! Clients: browsers with a session, which send requests to any process, hang up, and try again where they
//! got no answer.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cached::CachedAnswer;
use crate::history::Recent;
use crate::plan::MODEL;
use crate::process::{ClientRequest, send};
use crate::removals::UnderWay;
use crate::trace;
use crate::world::World;

/// The end of a client's request.
pub enum Answer {
    Data {
        data: Value,
        reached: bool,
    },
    /// The request was refused, and had no effect.
    Refused {
        code: String,
    },
    /// The client does not know whether the request had an effect.
    Unknown,
}

/// The session of a client.
#[derive(Debug, Clone)]
pub struct Session {
    pub token: String,
    pub refresh_token: String,
    /// Its number in the world.
    pub number: usize,
    /// When the tokens were given (virtual ms).
    pub given_ms: i64,
    /// When a renewal was first sent that had no answer (virtual ms).
    pub unanswered_ms: Option<i64>,
}

impl Session {
    /// A session with tokens that were given at a time (virtual ms).
    pub fn new((token, refresh_token): (String, String), number: usize, given_ms: i64) -> Self {
        Self { token, refresh_token, number, given_ms, unanswered_ms: None }
    }
}

/// A client.
pub struct Client {
    pub world: Arc<World>,
    pub number: usize,
    pub session: Option<Session>,
    /// The position of its last writes, which its requests name.
    position: Option<ClientPosition>,
    /// The position before that one.
    former_position: Option<String>,
    /// Whether the last write has no position, so that the client goes on as a new device.
    has_lost_position: bool,
    /// Answers that it keeps.
    pub cached: Vec<CachedAnswer>,
    /// The user whose account its request deletes.
    pub removes: Option<String>,
    /// The process to which it sends first.
    process: Option<u32>,
}

/// A position, which process gave it, and when it was asked to. That process remembers the writes of a
/// signed-in user for a minute.
struct ClientPosition {
    text: String,
    process: u32,
    asked_ms: i64,
    user: Option<String>,
}

/// The writes for which a query waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Nothing,
    /// Up to the position that it names.
    Named,
    /// Those that the process remembers of its user, until a time (virtual ms).
    Remembered {
        until_ms: i64,
    },
}

/// The numbers of clients are below this. Other devices have higher numbers.
const OTHER_DEVICE: usize = 100;
/// The time for which an access token is valid at least.
const SURELY_VALID_MS: i64 = 30 * 60 * 1_000;
/// The percentage of queries that name the position before the last one.
const FORMER_POSITION_PERCENT: u64 = 10;
/// The time for which a client counts on a process to remember its writes.
const REMEMBERED_MS: i64 = 30_000;

impl Client {
    pub fn new(world: Arc<World>, number: usize) -> Self {
        Self {
            world,
            number,
            session: None,
            position: None,
            former_position: None,
            has_lost_position: false,
            cached: Vec::new(),
            removes: None,
            process: None,
        }
    }

    /// The last part of the client's address, which its other devices share.
    pub fn host(&self) -> u8 {
        u8::try_from(self.number % OTHER_DEVICE + 1).expect("few clients")
    }

    /// Goes on as a new device, which knows none of the writes so far.
    fn forget_own_writes(&mut self) {
        self.number = self.next_device();
        (self.position, self.former_position) = (None, None);
    }

    /// The number of a new device.
    fn next_device(&self) -> usize {
        let devices = self.world.devices.fetch_add(1, Ordering::Relaxed) + 1;
        self.number % OTHER_DEVICE + OTHER_DEVICE * devices
    }

    /// Whether it is the device on which its user signed in.
    pub fn is_first_device(&self) -> bool {
        self.number < OTHER_DEVICE
    }

    /// Another device of the client's user, without the position of this one's writes.
    pub fn other_device(&self) -> Self {
        // A device knows its own writes alone, so each has a number of its own.
        let other = Self::new(Arc::clone(&self.world), self.next_device());
        Self { session: self.session.clone(), ..other }
    }

    /// The same, which sends to another process first, where there is one.
    pub fn other_device_elsewhere(&self) -> Self {
        let mut other = self.other_device();
        for _ in 0..3 {
            other.process = self.world.any_process();
            if other.process != self.process {
                break;
            }
        }
        other
    }

    /// The writes that a read of this client must show when it reached its position.
    pub fn recent(&self, reached: bool) -> Recent {
        // A change that could not be read is parked, and no position waits for it.
        if reached && !self.world.store.was_damaged() { Recent::Own(self.number) } else { Recent::Any }
    }

    /// Sends a request as the client is signed in.
    pub async fn ask(&mut self, query: &str, variables: Value) -> Answer {
        let Some(session) = self.session.clone() else { return self.ask_with(None, query, variables).await };
        let began_ms = self.world.elapsed_ms();
        let answer = self.ask_with(Some(session.token.clone()), query, variables).await;
        match &answer {
            Answer::Data { data, .. }
                if query.starts_with("mutation") || data["viewer"]["id"].is_string() =>
            {
                self.used_session(session.number, began_ms);
            }
            Answer::Refused { code }
                if code == "UNAUTHENTICATED"
                    && self.world.elapsed_ms() < session.given_ms + SURELY_VALID_MS =>
            {
                self.lost_session(&session, query);
            }
            _ => {}
        }
        answer
    }

    /// Sends a request to any process after a delay, from another address, while the client goes on.
    pub fn send_beside(
        &self,
        delay: Duration,
        token: Option<String>,
        body: Value,
    ) -> Option<tokio::sync::oneshot::Receiver<Option<Value>>> {
        self.send_beside_to(self.world.any_process()?, (delay, token), body)
    }

    /// Sends a query without a position to the process of the last request, as another tab of the user, while
    /// the client goes on.
    pub fn ask_in_another_tab(&self, query: &str) -> Option<tokio::sync::oneshot::Receiver<Option<Value>>> {
        let token = self.session.as_ref()?.token.clone();
        self.send_beside_to(self.process?, (Duration::ZERO, Some(token)), json!({ "query": query }))
    }

    fn send_beside_to(
        &self,
        process: u32,
        (delay, token): (Duration, Option<String>),
        body: Value,
    ) -> Option<tokio::sync::oneshot::Receiver<Option<Value>>> {
        let (group, router) = self.world.router_of(process)?;
        let last = self.host();
        let address = IpAddr::V4(Ipv4Addr::new(10, last, 0, 4));
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let under_way = self.me().map(|user| UnderWay::begin(&self.world, user, group.0));
        self.world.executor.spawn(group, async move {
            let _under_way = under_way;
            tokio::time::sleep(delay).await;
            let _ = sender.send(send(router, ClientRequest { address, token, body }).await);
        });
        Some(receiver)
    }

    pub async fn ask_with(&mut self, token: Option<String>, query: &str, variables: Value) -> Answer {
        if std::mem::take(&mut self.has_lost_position) {
            self.forget_own_writes();
        }
        let world = Arc::clone(&self.world);
        let dice = &world.dice;
        if self.process.is_none() || dice.percent(world.phase().switching) {
            self.process = world.any_process();
        }
        let Some((group, router)) = self.process.and_then(|number| world.router_of(number)) else {
            self.process = None;
            tokio::time::sleep(Duration::from_millis(dice.between(1, 500))).await;
            return Answer::Unknown;
        };
        let mut body = json!({ "query": query, "variables": variables.clone() });
        let (mut awaited, asked_ms) = (Awaited::Nothing, world.elapsed_ms());
        if let Some(position) = &self.position {
            // A query waits for the writes that its process remembers, and the answer to a mutation covers
            // them, named or not. A process forgets a write once it has said that the write is parked.
            let until_ms = position.asked_ms + REMEMBERED_MS;
            let is_remembered = position.process == group.0
                && world.elapsed_ms() < until_ms
                && position.user.is_some()
                && position.user == self.me();
            let is_mutation = query.starts_with("mutation");
            // Queries of a served model name their positions.
            let may_be_parked = world.plan.disturbances.contains(&"full partition");
            let may_leave_out = is_mutation || world.plan.domain != MODEL && !may_be_parked;
            let percent = if is_mutation { 60 } else { 30 };
            let former = self.former_position.as_ref().filter(|_| !is_mutation);
            if is_remembered && may_leave_out && dice.percent(percent) {
                awaited = Awaited::Remembered { until_ms };
            } else if let Some(former) = former.filter(|_| dice.percent(FORMER_POSITION_PERCENT)) {
                // Another tab has not heard of the last write.
                body["extensions"] = json!({ "position": former });
            } else {
                body["extensions"] = json!({ "position": position.text });
                awaited = Awaited::Named;
            }
        }
        trace::line(
            format!("client {}", self.number),
            format!("to process {}: {query} {variables}", group.0),
        );
        if let Some(user) = &self.removes {
            world.removals.lock().requested(user, group.0, world.elapsed_ms());
        }
        let faults_before = world.store.faults();
        let last = self.host();
        let address = IpAddr::V4(Ipv4Addr::new(10, last, 0, 1));
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let hang_up = CancellationToken::new();
        let (request, hung_up) =
            (send(router, ClientRequest { address, token: token.clone(), body }), hang_up.clone());
        let under_way = self.me().map(|user| UnderWay::begin(&world, user, group.0));
        world.executor.spawn(group, async move {
            let _under_way = under_way;
            if let Some(answer) = hung_up.run_until_cancelled(request).await {
                let _ = sender.send(answer);
            }
        });
        // A browser that is closed hangs up; a browser that waits for long hangs up as well.
        let patience = if dice.percent(world.phase().hanging_up) { dice.between(1, 300) } else { 40_000 };
        let answer = tokio::time::timeout(Duration::from_millis(patience), receiver).await;
        hang_up.cancel();
        if let Some(user) = &self.removes {
            world.removals.lock().requested(user, group.0, world.elapsed_ms());
        }
        let Ok(Ok(Some(answer))) = answer else {
            world.count(if patience < 40_000 { "client hung up" } else { "client got no answer" });
            trace::line(format!("client {}", self.number), "has no answer");
            self.process = None;
            world.may_be_half_done(query);
            return Answer::Unknown;
        };
        trace::line(format!("client {}", self.number), format!("answered {answer}"));
        let user = token.and_then(|_| self.me());
        let given = (group.0, user, asked_ms);
        let answer = self.read_answer(answer, awaited, given, query.starts_with("mutation"));
        // A command whose last write fails is answered as done where that write tidies up.
        if matches!(answer, Answer::Unknown) || world.store.faults() > faults_before {
            world.may_be_half_done(query);
        }
        answer
    }

    fn read_answer(
        &mut self,
        mut answer: Value,
        awaited: Awaited,
        (process, user, asked_ms): (u32, Option<String>, i64),
        is_mutation: bool,
    ) -> Answer {
        if let Some(position) = answer["extensions"]["position"].as_str() {
            let position = ClientPosition { text: position.to_owned(), process, asked_ms, user };
            self.former_position = self.position.replace(position).map(|former| former.text);
        }
        // An older release without any projection of a container gives no position of its writes there.
        if is_mutation && !answer["extensions"]["position"].is_string() && self.world.is_older(process) {
            self.has_lost_position = true;
        }
        let first = answer["errors"].as_array_mut().and_then(|errors| errors.first_mut()).map(Value::take);
        let Some(error) = first else {
            let stated = &answer["extensions"]["reached"];
            let is_reached = match awaited {
                Awaited::Nothing => false,
                Awaited::Named => *stated == true,
                // The response says so only where they are not reached.
                Awaited::Remembered { until_ms } => stated.is_null() && self.world.elapsed_ms() < until_ms,
            };
            // An older release does not wait for the projections that it does not know.
            let reached = is_reached && !self.world.is_older(process);
            return Answer::Data { data: answer["data"].take(), reached };
        };
        let code = error["extensions"]["code"].as_str().unwrap_or("none").to_owned();
        self.world.history.answered(&code);
        match code.as_str() {
            // A damaged item is served to no client.
            "INTERNAL" if self.world.store.was_damaged() => Answer::Unknown,
            // An older version of the model does not know the property to which a value has moved.
            "INTERNAL" if self.world.plan.domain == MODEL && self.world.is_older(process) => Answer::Unknown,
            "INTERNAL" | "INTERNAL_SERVER_ERROR" | "none" => {
                self.world.history.error(format!("client {}: {error}", self.number));
                Answer::Unknown
            }
            "UNAVAILABLE" | "TIMEOUT" | "OVERLOADED" => {
                self.world.count("unknown outcome");
                Answer::Unknown
            }
            _ => Answer::Refused { code },
        }
    }
}
