//! Staff at the start of a process: resolves the names in `--staff` to the ids of users, and protects the
//! names.

use std::sync::Arc;

use super::App;
use crate::accounts::staff::Staff;
use crate::blog::commands::{ListedUser, StaffNameError, UsernameReservations};
use crate::graphql::GlobalId;
use onehop_store::Ledger;

/// The staff, resolved once for the life of the process. Names are protected from now on.
///
/// # Errors
/// A name has passed to another user since it was first listed; a listed user does not exist, where each has
/// to; a fault of the store.
pub async fn resolve_staff(app: &App, listed: &[ListedUser], must_exist: bool) -> anyhow::Result<Staff> {
    let users = UsernameReservations::new(Arc::clone(&app.recent));
    let resolved = match users.resolve_staff(listed, &Ledger::new()).await {
        Err(StaffNameError::Passed { name, first }) => {
            let id = GlobalId::User(first).encode();
            anyhow::bail!(
                "--staff: the username {name} belonged to the user {id} when it was first listed, and does not any more: \
                 list the user id"
            )
        }
        resolved => resolved?,
    };
    if !resolved.missing.is_empty() {
        let missing = resolved.missing.iter().map(shown).collect::<Vec<_>>().join(", ");
        if must_exist {
            anyhow::bail!(
                "--staff: --production refuses users that do not exist: {missing}. Sign them up first"
            );
        }
        tracing::warn!(
            missing,
            "--staff lists users that do not exist: they are no staff until the next start"
        );
    }
    app.commands.protect(resolved.names);
    Ok(Staff::new(resolved.ids.into_iter().map(|id| id.0)))
}

fn shown(user: &ListedUser) -> String {
    match user {
        ListedUser::Name(name) => name.to_string(),
        ListedUser::Id(id) => GlobalId::User(*id).encode(),
    }
}
