//! The viewer: who sends a request, as the pipeline knows the caller.

use crate::accounts::account_id::AccountId;
use crate::accounts::session::SessionId;
use onehop_graphql_server::caller::Caller;

/// The sender of a request, and the session of the access token with the time when it was issued (Unix
/// ms); a token of another provider has no session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewer {
    pub(super) account: AccountId,
    pub(super) session: Option<(SessionId, i64)>,
}

/// The session of a caller.
pub(super) fn session_of(caller: &Caller) -> Option<(AccountId, SessionId, i64)> {
    let session = caller.session.as_ref()?;
    Some((AccountId::parse(&caller.id)?, SessionId::parse(&session.id)?, session.issued_at_ms))
}
