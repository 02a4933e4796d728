//! The container that the domains share, and the form in which a domain names the items of its commands.

use onehop_store::{ContainerName, ContainerSpec};

/// Reservations of usernames and e-mail addresses, subjects of OpenID Connect providers, sessions, and
/// outcomes of idempotent commands.
pub const ACCOUNTS: ContainerName = ContainerName("accounts");

/// The accounts container: each item in a logical partition of its own.
pub const ACCOUNTS_SPEC: ContainerSpec = ContainerSpec {
    name: ACCOUNTS,
    partition_key: "id",
    order_by: None,
    orders: &[],
    ttl_s: None,
    equality: &[],
    newest_types: &[],
    soft_deletes: true,
};

/// Items that commands write: a container, and the types of its items (`None` for all).
pub type WrittenItems = (ContainerName, Option<&'static [&'static str]>);

/// The time for which the id of an abandoned sign-up stays blocked, in seconds: far longer than a command can
/// run.
pub const ABANDONED_TTL_S: u32 = 24 * 60 * 60;
/// The type of the item that blocks the id of an abandoned sign-up.
pub const ABANDONED: &str = "abandoned";
