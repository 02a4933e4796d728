//! Accounts: what a person may be called, how they prove who they are, and the tokens that say so afterwards.
//! It knows no store, no GraphQL and no HTTP server: accounts are kept by the commands of the domain.

pub mod oidc;
pub mod password;
pub mod secret;
pub mod token;
pub mod username;
