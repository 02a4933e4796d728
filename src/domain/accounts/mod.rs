//! Accounts over the store, written once for all kinds of accounts: sessions, stored passwords, changes of a
//! password. It knows no domain: the domains define login names and the profile of an account.

pub mod password_change;
pub mod passwords;
pub mod sessions;
