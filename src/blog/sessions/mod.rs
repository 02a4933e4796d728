//! Sessions of signed-in users: starts, checks and ends them. All sessions of a user are one item in `accounts`, so one point read
//! answers whether any of them exists, and one write ends all.
//!
//! A check is answered from [`session_cache`] for as long as [`SessionSettings::check_interval`]; only then is the store asked again. What this
//! process writes is in its memory at once, so a session that ended here is refused here from then on, and by other processes
//! after that interval at the latest. Knows no tokens, no passwords and no cookies.

mod notifications;
mod session_cache;

use std::sync::Arc;
use std::time::Duration;

use crate::accounts::audience::Audience;
use crate::accounts::claim_times::CLOCK_LEEWAY_MS;
use crate::accounts::session::{RefreshToken, SessionId};
use crate::blog::containers::ACCOUNTS;
use crate::blog::ids::UserId;
use crate::blog::items::{SessionEntry, SessionsItem, types};
use onehop_runtime::clock::Clock;
use onehop_store::{
    ETag, Fault, FaultKind, Ledger, NewItem, PartitionKey, Rejection, Store, WriteError, WriteOp,
};

use notifications::SessionNotifier;
use session_cache::{CachedSession, SessionCache};

/// How long a session lasts unless the configuration says otherwise.
pub const SESSION_LIFETIME_DEFAULT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// For how long a process answers from memory whether a session exists, unless the configuration says otherwise.
pub const SESSION_CHECK_INTERVAL_DEFAULT: Duration = Duration::from_secs(10);
/// Between two checks of the session of a connection that stays open, unless the configuration says otherwise.
pub const LIVE_CHECK_INTERVAL_DEFAULT: Duration = Duration::from_secs(60);
/// Sessions of one user. One more ends the oldest.
pub const SESSIONS_PER_USER_MAX: usize = 50;

/// How often a write starts again after another one changed what it had read.
const ATTEMPTS_MAX: u32 = 16;

/// How sessions live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSettings {
    /// How long a session lasts from its sign-in on.
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

/// A session that has just been started.
#[derive(Debug)]
pub struct NewSession {
    pub id: SessionId,
    pub refresh_token: RefreshToken,
    /// When it ends by itself (Unix ms).
    pub expires_at_ms: i64,
}

/// The sessions of one environment. Clones share the memory.
#[derive(Clone)]
pub struct Sessions(Arc<SessionsInner>);

struct SessionsInner {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    audience: Audience,
    settings: SessionSettings,
    memory: SessionCache,
    watchers: SessionNotifier,
}

impl Sessions {
    /// Sessions in a store whose reads see what other processes have committed.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        audience: Audience,
        settings: SessionSettings,
    ) -> Self {
        let (memory, watchers) = (SessionCache::default(), SessionNotifier::default());
        Self(Arc::new(SessionsInner { store, clock, audience, settings, memory, watchers }))
    }

    /// Starts a session of a user. The oldest ends where there would be too many.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn start(&self, user: UserId, ledger: &Ledger) -> Result<NewSession, Fault> {
        let session = self.new_session(user)?;
        self.update(user, ledger, |sessions| {
            // A write whose answer was lost is written again.
            sessions.retain(|entry| entry.id != session.id);
            let surplus = (sessions.len() + 1).saturating_sub(SESSIONS_PER_USER_MAX);
            sessions.drain(..surplus);
            sessions.push(CachedSession { id: session.id, expires_at_ms: session.expires_at_ms });
        })
        .await?;
        Ok(session)
    }

    /// Ends one session. One that does not exist has ended already.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn end(&self, user: UserId, id: SessionId, ledger: &Ledger) -> Result<(), Fault> {
        self.update(user, ledger, |sessions| sessions.retain(|entry| entry.id != id)).await
    }

    /// Ends all sessions of a user and starts another one.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn start_only(&self, user: UserId, ledger: &Ledger) -> Result<NewSession, Fault> {
        let session = self.new_session(user)?;
        let only = CachedSession { id: session.id, expires_at_ms: session.expires_at_ms };
        self.update(user, ledger, |sessions| *sessions = vec![only]).await?;
        Ok(session)
    }

    /// Whether a session exists, for an access token that was issued at this time: from memory in the common case.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn exists(&self, user: UserId, id: SessionId, issued_at_ms: i64) -> Result<bool, Fault> {
        let SessionsInner { memory, settings, clock, .. } = &*self.0;
        let now_ms = clock.now_ms();
        let interval_ms = i64::try_from(settings.check_interval.as_millis()).unwrap_or(i64::MAX);
        if let Some(known) = memory.get(user)
            && known.age_ms(now_ms) < interval_ms
        {
            // A session that another process started later is not among them.
            let may_be_newer = issued_at_ms.saturating_add(CLOCK_LEEWAY_MS) >= known.read_at_ms;
            if known.holds(id, now_ms) {
                return Ok(true);
            } else if !may_be_newer {
                return Ok(false);
            }
        }
        Ok(self.look_up(user, id, &Ledger::new()).await?.is_some())
    }

    /// When the session of a refresh token ends by itself (Unix ms); `None` if there is no such session. Asks the store.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn find(&self, token: &RefreshToken, ledger: &Ledger) -> Result<Option<i64>, Fault> {
        self.look_up(UserId(token.user_id()), token.session_id(), ledger).await
    }

    /// Waits until a session has ended: at once where this process ends it, and otherwise until a check finds out, one each
    /// [`SessionSettings::live_check_interval`].
    pub async fn ended(&self, user: UserId, id: SessionId, issued_at_ms: i64) {
        let mut watch = self.0.watchers.watch(user);
        loop {
            match self.exists(user, id, issued_at_ms).await {
                Ok(false) => return,
                Ok(true) => {}
                // The connection stays open until the session is known to have ended.
                Err(fault) => {
                    tracing::warn!(%fault, "the session of an open connection could not be checked")
                }
            }
            tokio::select! {
                () = watch.changed() => {}
                () = tokio::time::sleep(self.0.settings.live_check_interval) => {}
            }
        }
    }

    fn new_session(&self, user: UserId) -> Result<NewSession, Fault> {
        let refresh_token = RefreshToken::random(user.0).map_err(|error| {
            Fault::new(FaultKind::Internal, "the system gave no random bytes").with_source(error)
        })?;
        let lifetime_ms = i64::try_from(self.0.settings.lifetime.as_millis()).unwrap_or(i64::MAX);
        let expires_at_ms = self.0.clock.now_ms().saturating_add(lifetime_ms);
        Ok(NewSession { id: refresh_token.session_id(), refresh_token, expires_at_ms })
    }

    /// Reads the sessions of a user, remembers them, and returns when one of them expires.
    async fn look_up(&self, user: UserId, id: SessionId, ledger: &Ledger) -> Result<Option<i64>, Fault> {
        let SessionsInner { memory, clock, .. } = &*self.0;
        let (tick, read_at_ms) = (memory.tick(), clock.now_ms());
        let sessions = self.read(user, ledger).await?.map(|(sessions, _)| sessions).unwrap_or_default();
        let known = memory.remember(user, sessions, tick, read_at_ms);
        Ok(known.expiry(id, clock.now_ms()))
    }

    /// The sessions of a user that have not expired, and the version of their item.
    async fn read(&self, user: UserId, ledger: &Ledger) -> Result<Option<(Vec<CachedSession>, ETag)>, Fault> {
        let SessionsInner { store, clock, audience, .. } = &*self.0;
        let id = item_id(user);
        let Some(item) = store.read(ACCOUNTS, &PartitionKey::from(id.as_str()), &id, ledger).await? else {
            return Ok(None);
        };
        let stored: SessionsItem = item.decode()?;
        let now_ms = clock.now_ms();
        // Those of another environment came with a backup or a copy: their users sign in again.
        let entries = if stored.audience == audience.as_str() { stored.sessions } else { Vec::new() };
        let held = entries.iter().filter_map(|entry| {
            let held = CachedSession { id: SessionId::parse(&entry.id)?, expires_at_ms: entry.expires_at_ms };
            (held.expires_at_ms > now_ms).then_some(held)
        });
        Ok(Some((held.collect(), item.etag)))
    }

    /// Changes the sessions of a user, and notifies the connections that wait for it.
    async fn update(
        &self,
        user: UserId,
        ledger: &Ledger,
        change: impl Fn(&mut Vec<CachedSession>) + Send + Sync,
    ) -> Result<(), Fault> {
        let SessionsInner { memory, watchers, clock, .. } = &*self.0;
        for _ in 0..ATTEMPTS_MAX {
            let began = memory.tick();
            let (mut sessions, etag) = match self.read(user, ledger).await? {
                Some((sessions, etag)) => (sessions, Some(etag)),
                None => (Vec::new(), None),
            };
            change(&mut sessions);
            if self.write(user, &sessions, etag, ledger).await? {
                memory.remember_written(user, sessions, began, clock.now_ms());
                watchers.notify(user);
                return Ok(());
            }
        }
        Err(Fault::new(
            FaultKind::Unavailable,
            "the sessions of a user kept changing while they were written",
        ))
    }

    /// Writes the sessions of a user, if they are still as they were read; `false` if they have to be read again.
    async fn write(
        &self,
        user: UserId,
        sessions: &[CachedSession],
        etag: Option<ETag>,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let id = item_id(user);
        let partition_key = PartitionKey::from(id.as_str());
        let item = || NewItem::encode(id.as_str(), &self.item(&id, user, sessions));
        let operation = match (etag, sessions.is_empty()) {
            (None, true) => return Ok(true),
            (Some(etag), true) => WriteOp::Delete { id: id.clone(), if_match: Some(etag) },
            (None, false) => WriteOp::Create(item()),
            (Some(etag), false) => WriteOp::Replace { item: item(), if_match: Some(etag) },
        };
        match self.0.store.write(ACCOUNTS, &partition_key, operation, ledger).await {
            Ok(_) => Ok(true),
            Err(WriteError::Fault(fault)) if fault.kind == FaultKind::Ambiguous => Ok(false),
            Err(WriteError::Fault(fault)) => Err(fault),
            Err(WriteError::Rejected { reason, .. }) => match reason {
                Rejection::Conflict | Rejection::NotFound | Rejection::PreconditionFailed => Ok(false),
                other => Err(Fault::new(FaultKind::Internal, "the store refused the sessions of a user")
                    .with_source(other)),
            },
        }
    }

    /// The item expires with the last session in it.
    fn item(&self, id: &str, user: UserId, sessions: &[CachedSession]) -> SessionsItem {
        let last_ms = sessions.iter().map(|entry| entry.expires_at_ms).max().unwrap_or(0);
        let left_s = last_ms.saturating_sub(self.0.clock.now_ms()).max(0) / 1000;
        let entries = sessions
            .iter()
            .map(|held| SessionEntry { id: held.id.to_string(), expires_at_ms: held.expires_at_ms });
        SessionsItem {
            id: id.to_owned(),
            item_type: types::SESSIONS.to_owned(),
            user_id: user,
            audience: self.0.audience.to_string(),
            sessions: entries.collect(),
            ttl: u32::try_from(left_s).unwrap_or(u32::MAX).saturating_add(1),
        }
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sessions").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

/// No username has a colon.
fn item_id(user: UserId) -> String {
    format!("sessions:{user}")
}
