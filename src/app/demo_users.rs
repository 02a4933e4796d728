//! Demo users: finds the accounts that still have the published demo password, and locks them (`onehop
//! lock-demo-users`). A server in production refuses data with such accounts.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Context as _;

use super::App;
use super::work::DEMO_PASSWORD;
use crate::accounts::audience::Audience;
use crate::accounts::password::{Password, PasswordHash};
use crate::accounts::username::Username;
use crate::blog::containers::{ACCOUNTS, USERS};
use crate::blog::ids::UserId;
use crate::blog::items::{AccountItem, UserItem};
use crate::blog::study::dataset::{DEFAULT_END_MS, DEFAULT_RNG_SEED, DEMO_USERNAMES, Dataset};
use crate::domain::accounts::sessions::{SessionSettings, Sessions};
use onehop_store::{ETag, Ledger, NewItem, PartitionKey, WriteOp};

/// An account that has the published password.
pub struct DemoAccount {
    pub account: AccountItem,
    etag: ETag,
}

/// Refuses data in which an account has the published password.
///
/// # Errors
/// The refusal, with the command that locks those accounts; a fault of the store.
pub async fn refuse_demo_accounts(app: &App) -> anyhow::Result<()> {
    let found = demo_accounts(app).await?;
    if found.is_empty() {
        return Ok(());
    }
    let usernames: Vec<&str> = found.iter().map(|found| found.account.id.as_str()).collect();
    anyhow::bail!(
        "--production refuses this: {} have the published password of the demo users. Lock these accounts with \
         `onehop lock-demo-users` on the same store, or start with an empty one",
        usernames.join(", ")
    )
}

/// Locks every account that has the published password, and ends its sessions; returns the usernames.
/// Sessions end before and after the lock: a process that dies in between leaves no session that was started
/// with the password, or the command can be repeated.
///
/// # Errors
/// A fault of the store, or an account that was changed concurrently: then the command can be repeated.
pub async fn lock_demo_accounts(app: &App) -> anyhow::Result<Vec<String>> {
    let ledger = Ledger::new();
    let mut usernames = Vec::new();
    let sessions = Sessions::new(
        Arc::clone(&app.recent),
        Arc::clone(&app.clock),
        Audience::default(),
        SessionSettings::default(),
    );
    for DemoAccount { mut account, etag } in demo_accounts(app).await? {
        let user = account.user_id.into();
        sessions.end_all(user, &ledger).await?;
        account.password_hash = None;
        account.password_version += 1;
        let username = account.id.clone();
        let item = NewItem::encode(username.clone(), &account);
        let operation = WriteOp::Replace { item, if_match: Some(etag) };
        let key = PartitionKey::from(username.as_str());
        let written = app.store.write(ACCOUNTS, &key, operation, &ledger).await;
        written.with_context(|| {
            format!("the account {username} was changed meanwhile: run the command again")
        })?;
        sessions.end_all(user, &ledger).await?;
        usernames.push(username);
    }
    Ok(usernames)
}

/// The accounts of the demo users that have the published password, also where such a user was renamed.
async fn demo_accounts(app: &App) -> anyhow::Result<Vec<DemoAccount>> {
    let ledger = Ledger::new();
    let mut found = Vec::new();
    for name in account_names(app, &ledger).await? {
        let key = PartitionKey::from(name.as_str());
        let Some(item) = app.recent.read(ACCOUNTS, &key, &name, &ledger).await? else { continue };
        let account: AccountItem = item.decode()?;
        let Some(stored) = account.password_hash.as_deref() else { continue };
        let stored = PasswordHash::from_stored(stored)?;
        if app.passwords.verify(Password::attempt(DEMO_PASSWORD), Some(stored)).await? {
            found.push(DemoAccount { account, etag: item.etag });
        }
    }
    Ok(found)
}

/// The keys under which demo users have accounts: the names of the data set, and the names that its users
/// have now.
async fn account_names(app: &App, ledger: &Ledger) -> anyhow::Result<BTreeSet<String>> {
    let mut names: BTreeSet<String> = DEMO_USERNAMES.into_iter().map(str::to_owned).collect();
    let count = u32::try_from(DEMO_USERNAMES.len())?;
    let dataset = Dataset::new(count, DEFAULT_RNG_SEED, DEFAULT_END_MS);
    for index in 0..count {
        let id = UserId(dataset.user_id(index));
        let item = app.recent.read(USERS, &id.partition_key(), &id.to_string(), ledger).await?;
        let Some(item) = item else { continue };
        let user: UserItem = item.decode()?;
        let current = [Some(user.username), user.pending_username];
        for name in current.iter().flatten().filter_map(|name| Username::parse(name).ok()) {
            names.insert(name.normalized().as_str().to_owned());
        }
    }
    Ok(names)
}
