//! Helpdesk: an example of a service on the crates of Onehop. Agents, tickets and messages lie in the
//! embedded store; one model file declares containers and read models. `docs/in-your-own-service.md`
//! walks through it.

pub mod charges;
mod desk;
mod items;
mod live;
mod webhook;

pub use desk::{Desk, DeskError};
pub use items::{Agent, Listed, Message, Ticket};
pub use live::LiveMessages;
pub use webhook::Webhook;
