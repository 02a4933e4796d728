//! The viewer: the signed-in user of a request, and the session of the access token.

use uuid::Uuid;

use crate::accounts::session::SessionId;
use crate::blog::ids::UserId;
use onehop_graphql_server::caller::Caller;

/// Who sends a request, and the session of the access token with the time when it was issued (Unix ms); a token of another provider
/// has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewer {
    pub(super) user: UserId,
    pub(super) session: Option<(SessionId, i64)>,
}

/// The session of a caller.
pub(super) fn session_of(caller: &Caller) -> Option<(UserId, SessionId, i64)> {
    let session = caller.session.as_ref()?;
    Some((user_id(&caller.id)?, SessionId::parse(&session.id)?, session.issued_at_ms))
}

/// The user that a caller's id names.
pub(super) fn user_id(text: &str) -> Option<UserId> {
    Uuid::try_parse(text).ok().map(UserId)
}
