//! A served model over HTTP: its schema, its generated mutations, its accounts and its read models.

mod accounts;
mod browse;
mod driver;
mod evolution;
mod filtered_counts;
mod generated;
mod import;
mod lists;
mod live_queries;
mod planned_answers;
mod refusals;
mod schema;
mod server;
mod strangers;
mod subscriptions;
mod writes;
