//! Accounts: usernames, passwords and tokens. It knows no GraphQL and no HTTP.
