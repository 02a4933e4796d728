//! Accounts over the store, written once for all kinds of accounts: sessions, stored passwords, changes of a password. It knows no domain:
//! who has which login name, and what an account's profile is, the domains say.

pub mod password_change;
pub mod passwords;
pub mod sessions;
