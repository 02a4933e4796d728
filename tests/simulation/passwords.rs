//! Changes of passwords: the old password and all earlier sessions end with a change that is known to have
//! taken effect.

use std::collections::BTreeMap;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::blog::{PASSWORD, SESSION};
use crate::checker::SESSION_GRACE_MS;
use crate::client::{Answer, Client};
use crate::history::LateUse;
use crate::world::World;

/// A change of a password that was requested.
#[derive(Debug, Clone)]
struct Change {
    password: String,
    /// Sessions with smaller numbers began before it.
    sessions_before: usize,
    /// The number of known changes of the user when it began.
    changes_before: usize,
}

/// A password that was replaced, and since when (virtual ms).
#[derive(Debug, Clone)]
struct Replaced {
    password: String,
    at_ms: i64,
}

/// The passwords of a user, as far as clients know.
#[derive(Debug, Clone, Default)]
struct UserPasswords {
    name: String,
    /// The last password that was certainly stored; `None` before the first change.
    current: Option<String>,
    /// Changes without an answer: each may have taken effect, or may yet.
    pending: Vec<Change>,
    replaced: Vec<Replaced>,
    /// All passwords of changes that were requested.
    requested: Vec<String>,
    /// Changes that are known to have taken effect.
    changes: usize,
}

/// The passwords of all users, and the sessions that have ended.
#[derive(Default)]
pub struct Passwords {
    users: BTreeMap<String, UserPasswords>,
    /// By session, since when it has ended (virtual ms).
    ended: BTreeMap<usize, i64>,
    /// By session, its user and the password with which it was started.
    started_with: BTreeMap<usize, (String, String)>,
}

impl Passwords {
    /// Since when a session has ended.
    pub fn ended_at_ms(&self, session: usize) -> Option<i64> {
        self.ended.get(&session).copied()
    }

    /// Passwords that a user may have.
    pub fn possible(&self, user: &str) -> Vec<String> {
        let Some(known) = self.users.get(user) else { return vec![PASSWORD.to_owned()] };
        let current = known.current.clone().unwrap_or_else(|| PASSWORD.to_owned());
        known.pending.iter().map(|pending| pending.password.clone()).chain([current]).collect()
    }

    /// All passwords that may be the present one of a user: none of them is known to have been replaced.
    pub fn not_replaced(&self, user: &str) -> Vec<String> {
        let Some(known) = self.users.get(user) else { return vec![PASSWORD.to_owned()] };
        let is_replaced =
            |password: &str| known.replaced.iter().any(|replaced| replaced.password == password);
        let all = known.requested.iter().cloned().chain([PASSWORD.to_owned()]);
        all.filter(|password| !is_replaced(password)).collect()
    }

    /// The sessions of a user among the first ones have ended.
    pub fn end_sessions(&mut self, user: &str, sessions: usize, world: &World) {
        let now_ms = world.elapsed_ms();
        for (session, _) in world.users.lock().iter().take(sessions).enumerate().filter(|(_, of)| *of == user)
        {
            self.ended.entry(session).or_insert(now_ms);
        }
    }

    fn of(&mut self, user: &str) -> &mut UserPasswords {
        self.users.entry(user.to_owned()).or_default()
    }

    /// A session was started with a password. Where that password is replaced by now, the session has ended:
    /// it slipped into the change.
    pub fn started(&mut self, session: usize, user: &str, password: &str, now_ms: i64) {
        self.started_with.insert(session, (user.to_owned(), password.to_owned()));
        if self.of(user).replaced.iter().any(|replaced| replaced.password == password) {
            self.ended.insert(session, now_ms);
        }
    }

    /// A change has taken effect: the earlier sessions of the user have ended. The order of changes is known
    /// where no other one became known since `changes_before`.
    fn took_effect(&mut self, user: &str, change: &Change, (sessions, now_ms): (&[String], i64)) {
        let known = self.of(user);
        known.pending.retain(|pending| pending.password != change.password);
        if known.changes == change.changes_before {
            known.changes += 1;
            let former =
                known.current.replace(change.password.clone()).unwrap_or_else(|| PASSWORD.to_owned());
            known.replaced.push(Replaced { password: former.clone(), at_ms: now_ms });
            let is_under_it = |with: &&(String, String)| with.0 == user && with.1 == former;
            for (session, _) in self.started_with.iter().filter(|(_, with)| is_under_it(with)) {
                self.ended.entry(*session).or_insert(now_ms);
            }
        }
        let earlier = sessions.iter().take(change.sessions_before).enumerate();
        for (session, _) in earlier.filter(|(_, of)| *of == user) {
            self.ended.entry(session).or_insert(now_ms);
        }
    }
}

impl Client {
    /// Remembers the name with which a user signs in.
    pub fn learn_name(&self, user: &str, name: &str) {
        name.clone_into(&mut self.world.passwords.lock().of(user).name);
    }

    /// Records the use of a session by a request that began at this time (virtual ms).
    pub fn used_session(&self, number: usize, began_ms: i64) {
        let ended_ms = self.world.passwords.lock().ended_at_ms(number);
        if let Some(late_ms) = ended_ms.map(|ended_ms| began_ms - ended_ms) {
            let session = format!("{number} of client {}, before a change of the password", self.number);
            self.world.history.used_late(LateUse { session, late_ms });
        }
    }

    pub async fn change_password(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let password = world.next("a correct horse");
        world.may_end_sessions(&me);
        let sessions_before = world.users.lock().len();
        let (change, current) = {
            let mut passwords = world.passwords.lock();
            let possible = passwords.possible(&me);
            let known = passwords.of(&me);
            let change =
                Change { password: password.clone(), sessions_before, changes_before: known.changes };
            known.pending.push(change.clone());
            known.requested.push(password.clone());
            (change, world.dice.pick(&possible).clone())
        };
        let sign_ins: Vec<_> =
            (0..world.dice.below(4)).filter_map(|_| self.sign_in_meanwhile(&me, &current)).collect();
        let query =
            format!("mutation($i: ChangePasswordInput!) {{ changePassword(input: $i) {{ {SESSION} }} }}");
        let input = json!({ "currentPassword": current, "newPassword": password });
        let input = json!({ "i": input });
        let (answer, is_repeated) = match world.dice.percent(30) {
            true => (self.ask(&query, input).await, false),
            false => self.command(&query, input).await,
        };
        match answer {
            Answer::Data { data, .. } => {
                let now_ms = world.elapsed_ms();
                let sessions = world.users.lock().clone();
                world.passwords.lock().took_effect(&me, &change, (&sessions, now_ms));
                self.start_session(&data["changePassword"], &password);
                world.count("password changed");
                self.use_sessions_of_old_password(&me, sign_ins).await;
            }
            Answer::Refused { code } => {
                if !is_repeated {
                    world.passwords.lock().of(&me).pending.retain(|pending| pending.password != password);
                }
                self.drop_refused_session(&code);
            }
            // Another device signs in with it where it was changed, and then this session has ended.
            Answer::Unknown if world.dice.percent(50) => {
                let mut other = self.other_device();
                other.session = None;
                let known = world.passwords.lock().of(&me).clone();
                other.sign_in_as(&me, &known, &password).await;
                if other.session.is_some() {
                    self.use_ended_session().await;
                }
            }
            Answer::Unknown => {}
        }
    }

    /// Uses the session of the client after the time that every process has to learn of its end.
    async fn use_ended_session(&mut self) {
        let grace_ms = u64::try_from(SESSION_GRACE_MS).expect("a positive time");
        tokio::time::sleep(Duration::from_millis(grace_ms + self.world.dice.below(20_000))).await;
        if let Answer::Refused { code } = self.ask("{ viewer { id } }", json!({})).await {
            self.drop_refused_session(&code);
        }
    }

    /// Signs in a few times beside a command that ends the sessions of a user.
    pub fn sign_in_beside(&self, user: &str) -> Vec<oneshot::Receiver<Option<Value>>> {
        let password = self.world.dice.pick(&self.world.passwords.lock().possible(user)).clone();
        (0..self.world.dice.below(4)).filter_map(|_| self.sign_in_meanwhile(user, &password)).collect()
    }

    /// Signs in beside a change of the password, or beside the end of an account.
    fn sign_in_meanwhile(&self, user: &str, password: &str) -> Option<oneshot::Receiver<Option<Value>>> {
        let world = self.world.clone();
        let name = world.passwords.lock().of(user).name.clone();
        let query = format!("mutation($i: SignInInput!) {{ signIn(input: $i) {{ {SESSION} }} }}");
        let body =
            json!({ "query": query, "variables": { "i": { "username": name, "password": password } } });
        let delay = Duration::from_millis(world.dice.below(60));
        world.count("sign-in beside a change of the password");
        self.send_beside(delay, None, body)
    }

    /// Sessions that began beside the command have ended with it.
    pub async fn use_sessions_of_old_password(
        &mut self,
        user: &str,
        sign_ins: Vec<oneshot::Receiver<Option<Value>>>,
    ) {
        let world = self.world.clone();
        let mut tokens = Vec::new();
        for sign_in in sign_ins {
            let answer = tokio::time::timeout(Duration::from_secs(40), sign_in).await;
            let Ok(Ok(Some(answer))) = answer else { continue };
            let payload = &answer["data"]["signIn"];
            if let (true, Some(token)) = (payload["user"]["id"] == user, payload["accessToken"].as_str()) {
                tokens.push(token.to_owned());
            }
        }
        if tokens.is_empty() {
            return;
        }
        let grace_ms =
            u64::try_from(SESSION_GRACE_MS).expect("a positive time") + world.dice.between(1, 20_000);
        let ended_ms = world.elapsed_ms();
        tokio::time::sleep(Duration::from_millis(grace_ms)).await;
        for token in tokens {
            let late_ms = world.elapsed_ms() - ended_ms;
            let answer = self.ask_with(Some(token), "{ viewer { id } }", json!({})).await;
            if matches!(&answer, Answer::Data { data, .. } if data["viewer"]["id"].is_string()) {
                let session = format!("of {user}, begun beside the end of its sessions");
                world.history.used_late(LateUse { session, late_ms });
            }
        }
    }

    /// Signs in with a password of a user that was changed, or may have been.
    pub async fn sign_in_after_change(&mut self) {
        let world = self.world.clone();
        let known: Vec<(String, UserPasswords)> = {
            let passwords = world.passwords.lock();
            let changed = passwords.users.iter().filter(|(_, known)| {
                !known.name.is_empty() && (known.current.is_some() || !known.pending.is_empty())
            });
            changed.map(|(user, known)| (user.clone(), known.clone())).collect()
        };
        if known.is_empty() {
            return;
        }
        let (user, known) = world.dice.pick(&known).clone();
        let replaced = known.replaced.iter().map(|replaced| replaced.password.clone());
        let pending = known.pending.iter().map(|pending| pending.password.clone());
        let possible: Vec<String> = replaced.chain(pending).chain(known.current.clone()).collect();
        let password = world.dice.pick(&possible).clone();
        self.sign_in_as(&user, &known, &password).await;
    }

    /// Signs in as a user, with a password that the user has or may have had.
    async fn sign_in_as(&mut self, user: &str, known: &UserPasswords, password: &str) {
        let world = self.world.clone();
        let (began_ms, start) = (world.elapsed_ms(), world.history.now());
        let query = format!("mutation($i: SignInInput!) {{ signIn(input: $i) {{ {SESSION} }} }}");
        let input = json!({ "username": known.name, "password": password });
        let Answer::Data { data, .. } = self.ask_with(None, &query, json!({ "i": input })).await else {
            return;
        };
        let payload = &data["signIn"];
        if let Some(id) = payload["user"]["id"].as_str() {
            self.saw_open_account(id, start);
        }
        if payload["user"]["id"] != user {
            // The name has passed on to another user.
            if let (Some(id), Some(name)) =
                (self.start_session(payload, password), payload["user"]["username"].as_str())
            {
                world.history.set_first_unless_written(&format!("username {id}"), name);
            }
            return;
        }
        if let Some(replaced) = known.replaced.iter().find(|replaced| replaced.password == password)
            && replaced.at_ms < began_ms
        {
            let what = format!("{user} signs in with {password:?}");
            return world.history.broken("a replaced password is refused", what);
        }
        if let Some(change) = known.pending.iter().find(|pending| pending.password == password) {
            let now_ms = world.elapsed_ms();
            let sessions = world.users.lock().clone();
            let change = Change { changes_before: known.changes, ..change.clone() };
            world.passwords.lock().took_effect(user, &change, (&sessions, now_ms));
            world.count("password change without an answer");
        }
        self.start_session(payload, password);
    }
}
