//! The viewer: who sends a request, as the pipeline knows the caller.

use crate::accounts::session::SessionId;
use crate::accounts::subject::TokenSubject;
use crate::blog::ids::UserId;
use crate::webstore::ids::CustomerId;
use onehop_graphql_server::caller::Caller;

/// Who sends a request, and the session of the access token with the time when it was issued (Unix ms); a token of another provider
/// has none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewer {
    pub(super) subject: TokenSubject,
    pub(super) session: Option<(SessionId, i64)>,
}

/// The session of a caller.
pub(super) fn session_of(caller: &Caller) -> Option<(UserId, SessionId, i64)> {
    let session = caller.session.as_ref()?;
    Some((user_id(&caller.id)?, SessionId::parse(&session.id)?, session.issued_at_ms))
}

/// The user behind the id of a caller.
pub(super) fn user_id(text: &str) -> Option<UserId> {
    match TokenSubject::parse(text)? {
        TokenSubject::User(id) => Some(UserId(id)),
        TokenSubject::Customer(_) => None,
    }
}

/// The customer behind the id of a caller.
pub(super) fn customer_id(text: &str) -> Option<CustomerId> {
    match TokenSubject::parse(text)? {
        TokenSubject::Customer(id) => Some(CustomerId(id)),
        TokenSubject::User(_) => None,
    }
}
