//! Sessions of clients: renewed, copied by a thief, and signed out.

use std::time::Duration;

use onehop::domain::accounts::sessions::REFRESH_TOKEN_GRACE;
use serde_json::json;

use crate::blog::SESSION;
use crate::client::{Answer, Client, Session};
use crate::history::LateUse;

/// The event of a copied refresh token that is used late, and how often it occurs in a run. It takes time.
const THEFT: &str = "old refresh token used";
const THEFTS_MAX: u64 = 3;
/// The largest difference between the clocks of two processes, where they do not step.
const CLOCKS_APART_MAX: Duration = Duration::from_secs(30);
/// The number of times that a client sends a renewal without an answer.
const RENEWALS_MAX: usize = 3;
/// The time for which a replaced refresh token is good at least.
const SURELY_IN_GRACE_MS: i64 = 30_000;

impl Client {
    pub async fn renew(&mut self) {
        let Some(mut session) = self.session.clone() else { return };
        if !self.is_first_device() {
            // The first device does not learn of the new refresh token.
            self.world.may_end_session(session.number);
        }
        for _ in 0..RENEWALS_MAX {
            if self.renew_once(&mut session).await {
                return;
            }
        }
        self.session = Some(session);
    }

    /// Renews a session; `false` where the client does not know whether it did.
    async fn renew_once(&mut self, session: &mut Session) -> bool {
        let query = format!("mutation($i: RenewSessionInput!) {{ renewSession(input: $i) {{ {SESSION} }} }}");
        let input = json!({ "i": { "refreshToken": session.refresh_token } });
        let began_ms = self.world.elapsed_ms();
        match self.ask_with(None, &query, input).await {
            Answer::Data { data, .. } => {
                self.used_session(session.number, began_ms);
                let text = |name: &str| data["renewSession"][name].as_str().unwrap_or_default().to_owned();
                let tokens = (text("accessToken"), text("refreshToken"));
                let renewed = Session::new(tokens, session.number, self.world.elapsed_ms());
                let steps_clocks = self.world.plan.disturbances.contains(&"clock step");
                let thefts = self.world.counts().get(THEFT).copied().unwrap_or(0);
                if !steps_clocks && thefts < THEFTS_MAX && self.world.dice.percent(40) {
                    self.use_old_refresh_token(&query, session, renewed).await;
                } else {
                    self.session = Some(renewed);
                }
            }
            Answer::Refused { code } => {
                // An earlier renewal may have been done, and its refresh token is good for a while only.
                let first_ms = session.unanswered_ms.unwrap_or(began_ms);
                if code == "UNAUTHENTICATED" && self.world.elapsed_ms() < first_ms + SURELY_IN_GRACE_MS {
                    self.lost_session(session, "a renewal");
                }
                self.session = None;
            }
            Answer::Unknown => {
                session.unanswered_ms.get_or_insert(began_ms);
                return false;
            }
        }
        true
    }

    /// A thief has copied the refresh token of a session, and uses it long after the renewal. That ends the
    /// session.
    async fn use_old_refresh_token(&mut self, query: &str, old: &Session, renewed: Session) {
        let world = self.world.clone();
        self.session = None;
        world.may_end_session(old.number);
        world.count(THEFT);
        tokio::time::sleep(REFRESH_TOKEN_GRACE + CLOCKS_APART_MAX).await;
        let input = json!({ "i": { "refreshToken": old.refresh_token } });
        match self.ask_with(None, query, input).await {
            Answer::Data { .. } => {
                let session = format!("{} of client {}", old.number, self.number);
                world.history.broken("an old refresh token is refused", session);
            }
            Answer::Refused { code } if code == "UNAUTHENTICATED" => {
                let ended_ms = world.elapsed_ms();
                tokio::time::sleep(Duration::from_millis(world.dice.below(60_000))).await;
                let began_ms = world.elapsed_ms();
                let answer = self.ask_with(Some(renewed.token), "{ viewer { id } }", json!({})).await;
                if matches!(&answer, Answer::Data { data, .. } if data["viewer"]["id"].is_string()) {
                    let session = format!("{} of client {}", old.number, self.number);
                    world.history.used_late(LateUse { session, late_ms: began_ms - ended_ms });
                }
            }
            _ => {}
        }
    }

    /// Records that a request was refused as without a session: something has to have ended the session.
    pub fn lost_session(&self, session: &Session, request: &str) {
        if let Some(user) = self.world.user_of_living(session.number) {
            let detail = format!("{} of {user}, client {}: {request}", session.number, self.number);
            self.world.history.broken("a session goes on until something ends it", detail);
        }
    }

    pub async fn sign_out(&mut self) {
        let Some(session) = self.session.clone() else { return };
        self.world.may_end_session(session.number);
        let answer = self.ask("mutation { signOut { userId } }", json!({})).await;
        if let Answer::Data { .. } = answer {
            let world = self.world.clone();
            let ended_ms = world.elapsed_ms();
            self.session = None;
            for _ in 0..world.dice.below(3) {
                tokio::time::sleep(Duration::from_millis(world.dice.below(40_000))).await;
                let late_ms = world.elapsed_ms() - ended_ms;
                let answer = self.ask_with(Some(session.token.clone()), "{ viewer { id } }", json!({})).await;
                if matches!(&answer, Answer::Data { data, .. } if data["viewer"]["id"].is_string()) {
                    let session = format!("{} of client {}", session.number, self.number);
                    world.history.used_late(LateUse { session, late_ms });
                }
            }
        }
    }
}
