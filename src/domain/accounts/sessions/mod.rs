//! Sessions of signed-in accounts: starts, checks, renews and ends them. All sessions of an account are one
//! item in `accounts`, so one point read answers whether any of them exists, and one write ends all.
//!
//! A check is answered from [`session_cache`] for as long as [`SessionSettings::check_interval`]; only then
//! is the store asked again. Writes of this process are in its memory at once, so a session that ended here
//! is refused here from then on, and by other processes after that interval at the latest. After a write with
//! an unknown result, the store is asked each time.
//!
//! Refresh tokens rotate: each renewal gives another one. The token before it stays good for
//! [`REFRESH_TOKEN_GRACE`], and gives the same new token. An older one ends its session: two clients have it,
//! and one of them is a thief. Knows no domain, no access tokens, no passwords and no cookies.

mod notifications;
mod session_cache;
mod stored;

use std::sync::Arc;
use std::time::Duration;

use crate::accounts::account_id::AccountId;
use crate::accounts::audience::Audience;
use crate::accounts::claim_times::CLOCK_LEEWAY_MS;
use crate::accounts::network_prefixes::Prefix;
use crate::accounts::session::{RefreshToken, RotationSalt, SessionId};
use crate::domain::conditional_write::{self, ATTEMPTS_MAX, WriteAttempt};
use crate::domain::containers::ACCOUNTS;
use crate::domain::error::contended;
use onehop_runtime::clock::Clock;
use onehop_runtime::planted;
use onehop_runtime::sealed::Sealer;
use onehop_store::{ETag, Fault, FaultKind, Ledger, NewItem, PartitionKey, Store, WriteOp};

use notifications::{SessionNotifier, SessionWatcher};
use session_cache::{CachedSession, SessionCache, UncertainWrite};
pub use stored::REFRESH_TOKEN_GRACE;
use stored::{AccountSessions, SessionsItem, StoredSession, TokenAge};
pub(crate) use stored::{has_sessions, without_sessions};

/// Default lifetime of a session.
pub const SESSION_LIFETIME_DEFAULT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// For how long a process answers from memory whether a session exists, unless the configuration says
/// otherwise.
pub const SESSION_CHECK_INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
/// Between two checks of the session of a connection that stays open, unless the configuration says
/// otherwise.
pub const LIVE_CHECK_INTERVAL_DEFAULT: Duration = Duration::from_secs(60);
/// Sessions of one account. One more ends the oldest.
pub const SESSIONS_PER_ACCOUNT_MAX: usize = 50;

/// The purpose of sealing networks.
const NETWORK_PURPOSE: &str = "network of a session\0";

/// The settings of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// The lifetime of a session from its sign-in on.
    pub lifetime: Duration,
    /// For how long a process answers from memory whether a session exists.
    pub check_interval: Duration,
    /// Between two checks of the session of a connection that stays open.
    pub live_check_interval: Duration,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            lifetime: SESSION_LIFETIME_DEFAULT,
            check_interval: SESSION_CHECK_INTERVAL_DEFAULT,
            live_check_interval: LIVE_CHECK_INTERVAL_DEFAULT,
        }
    }
}

/// The beginning of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionStart {
    /// The version of the password that signs in; 0 for an account whose password never changed.
    pub password_version: u64,
    /// The network that signs in.
    pub network: Prefix,
}

impl Default for SessionStart {
    fn default() -> Self {
        Self { password_version: 0, network: Prefix::Unknown }
    }
}

/// A session that has just been started or renewed.
#[derive(Debug)]
pub struct NewSession {
    pub id: SessionId,
    pub refresh_token: RefreshToken,
    /// When it ends by itself (Unix ms).
    pub expires_at_ms: i64,
}

/// The outcome of a renewal.
#[derive(Debug)]
pub enum Renewal {
    Renewed(NewSession),
    /// There is no such session.
    Unknown,
    /// The token was an old one: its session has ended.
    Reused,
}

/// The sessions of one environment. Clones share the memory.
#[derive(Clone)]
pub struct Sessions(Arc<SessionsInner>);

struct SessionsInner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    audience: Audience,
    settings: SessionSettings,
    sealer: Option<Sealer>,
    memory: SessionCache,
    watchers: SessionNotifier,
}

/// A watch of an account: says when to check it again.
pub struct AccountWatch {
    watcher: SessionWatcher,
    interval: Duration,
}

impl AccountWatch {
    /// Waits for the next check: until all sessions of the account end in this process, at the latest for
    /// [`SessionSettings::live_check_interval`].
    pub async fn next_check(&mut self) {
        tokio::select! {
            biased;
            () = self.watcher.changed() => {}
            () = tokio::time::sleep(self.interval) => {}
        }
    }
}

/// The effect of a change on the sessions of an account.
enum Change<T> {
    Write(T),
    /// They stay as they are.
    Keep(T),
}

impl Sessions {
    /// Sessions in a store whose reads see commits of other processes.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        audience: Audience,
        settings: SessionSettings,
    ) -> Self {
        let (memory, watchers) = (SessionCache::default(), SessionNotifier::default());
        Self(Arc::new(SessionsInner { store, clock, audience, settings, sealer: None, memory, watchers }))
    }

    /// The store of the sessions. Its reads are the latest committed ones, also of writes of other processes.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    /// The same, which keep the sealed networks of sign-ins. Other instances keep no networks.
    #[must_use]
    pub fn with_sealer(self, sealer: Sealer) -> Self {
        let SessionsInner { store, clock, audience, settings, .. } = &*self.0;
        let (memory, watchers) = (SessionCache::default(), SessionNotifier::default());
        Self(Arc::new(SessionsInner {
            store: Arc::clone(store),
            clock: Arc::clone(clock),
            audience: audience.clone(),
            settings: *settings,
            sealer: Some(sealer),
            memory,
            watchers,
        }))
    }

    /// Starts a session of an account. The oldest ends where there would be too many. Sessions that were
    /// started under an earlier password end: a change of the password that died had not come to them. `None`
    /// for a sign-in under an earlier password.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn start(
        &self,
        account: AccountId,
        start: SessionStart,
        ledger: &Ledger,
    ) -> Result<Option<NewSession>, Fault> {
        let (session, stored) = self.new_session(account, start)?;
        let is_started = self
            .change(account, ledger, |all| {
                let is_outdated = start.password_version < all.password_version;
                if is_outdated && !planted!("sign-in-beside-a-change-stays") {
                    return Change::Keep(false);
                }
                if start.password_version > all.password_version {
                    all.sessions.clear();
                    all.password_version = start.password_version;
                }
                // A write whose answer was lost is written again.
                all.sessions.retain(|other| other.id != stored.id);
                let surplus = (all.sessions.len() + 1).saturating_sub(SESSIONS_PER_ACCOUNT_MAX);
                all.sessions.drain(..surplus);
                all.sessions.push(stored.clone());
                Change::Write(true)
            })
            .await?;
        Ok(is_started.then_some(session))
    }

    /// Ends one session. A session that does not exist has ended already.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn end(&self, account: AccountId, id: SessionId, ledger: &Ledger) -> Result<(), Fault> {
        let end = |all: &mut AccountSessions| {
            all.sessions.retain(|session| session.id != id);
            Change::Write(())
        };
        self.change(account, ledger, end).await
    }

    /// Ends all sessions of an account.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn end_all(&self, account: AccountId, ledger: &Ledger) -> Result<(), Fault> {
        let end = |all: &mut AccountSessions| {
            all.sessions.clear();
            Change::Write(())
        };
        self.change(account, ledger, end).await
    }

    /// Ends all sessions of an account and starts another one.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn start_only(
        &self,
        account: AccountId,
        start: SessionStart,
        ledger: &Ledger,
    ) -> Result<NewSession, Fault> {
        let (session, stored) = self.new_session(account, start)?;
        self.change(account, ledger, |all| {
            let password_version = all.password_version.max(start.password_version);
            *all = AccountSessions { sessions: vec![stored.clone()], password_version };
            Change::Write(())
        })
        .await?;
        Ok(session)
    }

    /// Renews a session by its refresh token, which gives another one.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn renew(&self, token: &RefreshToken, ledger: &Ledger) -> Result<Renewal, Fault> {
        let (id, salt, clock) = (token.session_id(), new_salt()?, &self.0.clock);
        let renewal = self.change(token.account(), ledger, |all| {
            let Some(index) = all.sessions.iter().position(|session| session.id == id) else {
                return Change::Keep(Renewal::Unknown);
            };
            let (session, now_ms) = (&mut all.sessions[index], clock.now_ms());
            let renewed = |salt: RotationSalt, expires_at_ms| {
                Renewal::Renewed(NewSession { id, refresh_token: token.rotated(salt), expires_at_ms })
            };
            match (session.age_of(token, now_ms), session.salt) {
                (TokenAge::Former, Some(salt)) => Change::Keep(renewed(salt, session.expires_at_ms)),
                (TokenAge::Current, _) => {
                    session.rotate(salt, now_ms);
                    Change::Write(renewed(salt, session.expires_at_ms))
                }
                (TokenAge::Former | TokenAge::Old, _) => {
                    all.sessions.remove(index);
                    Change::Write(Renewal::Reused)
                }
            }
        });
        let renewal = renewal.await?;
        if matches!(renewal, Renewal::Reused) {
            let kind = token.account().kind.name();
            tracing::warn!(kind, "an old refresh token was used again: its session has ended");
        }
        Ok(renewal)
    }

    /// Whether a session exists, for an access token that was issued at this time: from memory in the common
    /// case.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn exists(&self, account: AccountId, id: SessionId, issued_at_ms: i64) -> Result<bool, Fault> {
        let SessionsInner { memory, settings, clock, .. } = &*self.0;
        let now_ms = clock.now_ms();
        let interval_ms = i64::try_from(settings.check_interval.as_millis()).unwrap_or(i64::MAX);
        if let Some(known) = memory.get(account)
            && (known.age_ms(now_ms) < interval_ms || planted!("sign-out-unseen"))
        {
            // A session that another process started later is not among them.
            let may_be_newer = issued_at_ms.saturating_add(CLOCK_LEEWAY_MS) >= known.read_at_ms
                && !planted!("new-session-unknown");
            if known.holds(id, now_ms) || planted!("sign-out-unseen") {
                return Ok(true);
            } else if !may_be_newer {
                return Ok(false);
            }
        }
        let (tick, read_at_ms) = (memory.tick(), clock.now_ms());
        let sessions = self.read(account, &Ledger::new()).await?.map(|(all, _)| all).unwrap_or_default();
        let known = memory.remember(account, cached(&sessions), tick, read_at_ms);
        Ok(known.holds(id, clock.now_ms()))
    }

    /// Waits until a session has ended: at once where this process ends it, and otherwise until a check finds
    /// out, one each [`SessionSettings::live_check_interval`].
    pub async fn ended(&self, account: AccountId, id: SessionId, issued_at_ms: i64) {
        let SessionsInner { memory, settings, watchers, clock, .. } = &*self.0;
        let mut watch = watchers.watch(account);
        loop {
            match self.exists(account, id, issued_at_ms).await {
                Ok(false) => return,
                Ok(true) => {}
                // The connection stays open until the session is known to have ended.
                Err(fault) => {
                    tracing::warn!(%fault, "the session of an open connection could not be checked")
                }
            }
            let pause =
                memory.uncertain_pause(account, clock.now_ms()).unwrap_or(settings.live_check_interval);
            tokio::select! {
                biased;
                () = watch.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Watches an account whose tokens have no session, for an open connection.
    #[must_use]
    pub fn watch(&self, account: AccountId) -> AccountWatch {
        let interval = self.0.settings.live_check_interval;
        AccountWatch { watcher: self.0.watchers.watch(account), interval }
    }

    /// The networks from which the account's sessions were started.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn networks(&self, account: AccountId, ledger: &Ledger) -> Result<Vec<Prefix>, Fault> {
        let Some(sealer) = &self.0.sealer else { return Ok(Vec::new()) };
        let sessions = self.read(account, ledger).await?.map(|(all, _)| all.sessions).unwrap_or_default();
        let opened = sessions.iter().filter_map(|session| {
            let network = sealer.open(network_purpose(account).as_bytes(), session.network.as_deref()?)?;
            Prefix::parse(std::str::from_utf8(&network).ok()?)
        });
        Ok(opened.collect())
    }

    fn new_session(
        &self,
        account: AccountId,
        start: SessionStart,
    ) -> Result<(NewSession, StoredSession), Fault> {
        let salt = new_salt()?;
        let refresh_token = RefreshToken::random(account, salt).map_err(no_randomness)?;
        let lifetime_ms = i64::try_from(self.0.settings.lifetime.as_millis()).unwrap_or(i64::MAX);
        let expires_at_ms = self.0.clock.now_ms().saturating_add(lifetime_ms);
        let id = refresh_token.session_id();
        let network = (start.network != Prefix::Unknown).then_some(self.0.sealer.as_ref()).flatten();
        let network = network.map(|sealer| {
            sealer.seal(network_purpose(account).as_bytes(), start.network.to_string().as_bytes())
        });
        let stored = StoredSession { id, expires_at_ms, salt: Some(salt), renewal: None, network };
        Ok((NewSession { id, refresh_token, expires_at_ms }, stored))
    }

    /// The sessions of an account that have not expired, and the version of their item.
    async fn read(
        &self,
        account: AccountId,
        ledger: &Ledger,
    ) -> Result<Option<(AccountSessions, ETag)>, Fault> {
        let SessionsInner { store, clock, audience, .. } = &*self.0;
        let id = sessions_place(account);
        let Some(item) = store.read(ACCOUNTS, &PartitionKey::from(id.as_str()), &id, ledger).await? else {
            return Ok(None);
        };
        let stored: SessionsItem = item.decode()?;
        Ok(Some((stored.sessions(audience.as_str(), clock.now_ms()), item.etag)))
    }

    /// Changes the sessions of an account, and notifies the connections that wait for it.
    async fn change<T>(
        &self,
        account: AccountId,
        ledger: &Ledger,
        change: impl Fn(&mut AccountSessions) -> Change<T> + Send + Sync,
    ) -> Result<T, Fault> {
        let SessionsInner { memory, watchers, clock, .. } = &*self.0;
        for _ in 0..ATTEMPTS_MAX {
            let (began, read_at_ms) = (memory.tick(), clock.now_ms());
            let (mut all, etag) = match self.read(account, ledger).await? {
                Some((all, etag)) => (all, Some(etag)),
                None => (AccountSessions::default(), None),
            };
            let outcome = match change(&mut all) {
                Change::Write(outcome) => outcome,
                Change::Keep(outcome) => {
                    memory.remember(account, cached(&all), began, read_at_ms);
                    return Ok(outcome);
                }
            };
            let uncertain = UncertainWrite::begin(memory, watchers, account, &**clock);
            if self.write(account, &all, etag, ledger).await? {
                uncertain.end(cached(&all));
                return Ok(outcome);
            }
        }
        Err(contended("the sessions of an account"))
    }

    /// Writes the sessions of an account, if they are still as they were read; `false` if they have to be
    /// read again.
    async fn write(
        &self,
        account: AccountId,
        all: &AccountSessions,
        etag: Option<ETag>,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let SessionsInner { store, clock, audience, .. } = &*self.0;
        let id = sessions_place(account);
        let partition_key = PartitionKey::from(id.as_str());
        let item = || NewItem::encode(id.as_str(), &all.item(&id, audience.as_str(), clock.now_ms()));
        let operation = match etag {
            None if all.sessions.is_empty() => return Ok(true),
            None => WriteOp::Create(item()),
            // An item without sessions stays for a while: see [`without_sessions`].
            Some(etag) => WriteOp::Replace { item: item(), if_match: Some(etag) },
        };
        let attempt =
            conditional_write::attempt(&**store, ACCOUNTS, &partition_key, operation, ledger).await?;
        Ok(attempt == WriteAttempt::Written)
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sessions").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

fn cached(all: &AccountSessions) -> Vec<CachedSession> {
    let cached =
        |session: &StoredSession| CachedSession { id: session.id, expires_at_ms: session.expires_at_ms };
    all.sessions.iter().map(cached).collect()
}

fn new_salt() -> Result<RotationSalt, Fault> {
    RotationSalt::random().map_err(no_randomness)
}

fn no_randomness(error: getrandom::Error) -> Fault {
    Fault::new(FaultKind::Internal, "the system gave no random bytes").with_source(error)
}

/// The id of the item of an account's sessions. No username has a colon.
#[must_use]
pub fn sessions_place(account: AccountId) -> String {
    format!("sessions:{account}")
}

fn network_purpose(account: AccountId) -> String {
    format!("{NETWORK_PURPOSE}{account}")
}
