//! The helpdesk: commands on the write side, queries of the read side, and the processors that keep the read
//! models current and call the webhook.

use std::path::Path;
use std::sync::Arc;

use onehop_change_feed::{Processor, Settings, handler};
use onehop_model::Model;
use onehop_read_models::verify::{VerificationReport, Verifier};
use onehop_read_models::{ReadModels, container_specs};
use onehop_runtime::clock::{Clock, SystemClock, format_timestamp};
use onehop_store::embedded::{EmbeddedStore, OpenError};
use onehop_store::{
    Batch, ContainerName, Direction, ETag, Fault, Ledger, NewItem, PartitionKey, Query, Rejection, Store,
    WriteError, WriteOp,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::items::{Agent, Listed, Message, Ticket};
use crate::live::LiveMessages;
use crate::webhook::Webhook;

/// The model: the same file is a design of the study.
const MODEL: &str = include_str!("../study/designs/copies.graphql");

const AGENTS: ContainerName = ContainerName("agents");
pub(crate) const TICKETS: ContainerName = ContainerName("tickets");
const BOARD: ContainerName = ContainerName("board");

/// Attempts of a command whose item others write at the same time.
const ATTEMPTS_MAX: u32 = 64;
/// Entries of a page.
const PAGE_ITEMS: usize = 50;

/// A helpdesk in a directory.
pub struct Desk {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    read_models: ReadModels,
}

/// A command or a query that failed.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    #[error("the model has mistakes: {0}")]
    Model(String),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("there is no item {0}")]
    Absent(String),
    #[error("{0} was written by others {ATTEMPTS_MAX} times in a row")]
    Busy(String),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Desk {
    /// Opens the directory, and creates it where it is absent.
    pub fn open(directory: &Path) -> Result<Self, DeskError> {
        let model =
            Model::read("copies.graphql", MODEL).map_err(|errors| DeskError::Model(errors.to_string()))?;
        let read_models = ReadModels::from_model(&model).map_err(listed)?;
        let own = container_specs(&model).map_err(listed)?;
        // Leases and dead letters are ordinary containers of the store.
        let containers = [&own[..], onehop_change_feed::SPECS].concat();
        let store = Arc::new(EmbeddedStore::open(directory, &containers)?);
        Ok(Self { store, clock: Arc::new(SystemClock), read_models })
    }

    /// The processor of the read models: copies of names, the lists of agents, and the board.
    pub async fn read_model_processor(&self, stop: CancellationToken) -> Result<Processor, Fault> {
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        Processor::open(store, clock, self.read_models.projections(), Settings::new("helpdesk"), stop).await
    }

    /// The processor of the webhook. It has leases of its own, so a slow receiver holds up no read model.
    pub async fn webhook_processor(
        &self,
        webhook: Webhook,
        stop: CancellationToken,
    ) -> Result<Processor, Fault> {
        let settings = Settings { processor: "effects".to_owned(), ..Settings::new("helpdesk") };
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        Processor::open(store, clock, vec![handler(webhook)], settings, stop).await
    }

    /// The messages that are added from now on.
    pub async fn live_messages(&self) -> Result<LiveMessages, Fault> {
        LiveMessages::open(Arc::clone(&self.store), &*self.clock).await
    }

    /// Compares every copy, list and count with its rule.
    pub async fn verify(&self, processor: Arc<Processor>) -> Result<VerificationReport, Fault> {
        let store = Arc::clone(&self.store);
        Verifier::new(self.read_models.clone(), store, processor, Vec::new()).verify(|_| {}).await
    }

    /// Adds an agent.
    pub async fn hire(&self, name: &str, ledger: &Ledger) -> Result<Agent, DeskError> {
        let id = Uuid::now_v7().to_string();
        let agent = Agent {
            id: id.clone(),
            agent_id: id.clone(),
            item_type: "agent".to_owned(),
            version: 1,
            name: name.to_owned(),
        };
        self.store.write(AGENTS, &id.as_str().into(), WriteOp::Create(item(&id, &agent)), ledger).await?;
        Ok(agent)
    }

    /// Gives an agent another name. Copies of the name follow in the background.
    pub async fn rename(&self, agent: &str, name: &str, ledger: &Ledger) -> Result<(), DeskError> {
        self.change(AGENTS, agent, ledger, |found: &mut Agent| {
            found.version += 1;
            name.clone_into(&mut found.name);
        })
        .await
    }

    /// Opens a ticket of an agent.
    pub async fn open_ticket(&self, agent: &str, title: &str, ledger: &Ledger) -> Result<Ticket, DeskError> {
        let (agent, _): (Agent, ETag) = self.existing(AGENTS, agent, ledger).await?;
        let id = Uuid::now_v7().to_string();
        let ticket = Ticket {
            id: id.clone(),
            ticket_id: id.clone(),
            item_type: "ticket".to_owned(),
            version: 1,
            title: title.to_owned(),
            status: "OPEN".to_owned(),
            agent_id: agent.id,
            agent_name: agent.name,
            message_count: 0,
            created_at: format_timestamp(self.clock.now_ms()),
        };
        self.store.write(TICKETS, &id.as_str().into(), WriteOp::Create(item(&id, &ticket)), ledger).await?;
        Ok(ticket)
    }

    /// Closes a ticket. It leaves the board in the background.
    pub async fn close_ticket(&self, ticket: &str, ledger: &Ledger) -> Result<(), DeskError> {
        self.change(TICKETS, ticket, ledger, |found: &mut Ticket| {
            found.version += 1;
            "CLOSED".clone_into(&mut found.status);
        })
        .await
    }

    /// Adds a message. The message and the ticket with its new count are one batch.
    pub async fn add_message(
        &self,
        ticket: &str,
        author: &str,
        text: &str,
        ledger: &Ledger,
    ) -> Result<Message, DeskError> {
        let (author, _): (Agent, ETag) = self.existing(AGENTS, author, ledger).await?;
        for _ in 0..ATTEMPTS_MAX {
            let (mut found, etag): (Ticket, ETag) = self.existing(TICKETS, ticket, ledger).await?;
            found.version += 1;
            found.message_count += 1;
            let message = Message {
                id: Uuid::now_v7().to_string(),
                ticket_id: ticket.to_owned(),
                item_type: "message".to_owned(),
                version: 1,
                author_id: author.id.clone(),
                author_name: author.name.clone(),
                text: text.to_owned(),
                created_at: format_timestamp(self.clock.now_ms()),
            };
            let operations = vec![
                WriteOp::Create(item(&message.id, &message)),
                WriteOp::Replace { item: item(ticket, &found), if_match: Some(etag) },
            ];
            let batch = Batch { container: TICKETS, partition_key: ticket.into(), operations };
            match self.store.batch(batch, ledger).await {
                Ok(_) => return Ok(message),
                Err(error) if is_lost_race(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(DeskError::Busy(ticket.to_owned()))
    }

    /// A ticket with its first messages: a point read and a query in one logical partition.
    pub async fn ticket(&self, id: &str, ledger: &Ledger) -> Result<(Ticket, Vec<Message>), DeskError> {
        let (ticket, _) = self.existing(TICKETS, id, ledger).await?;
        let messages = self.page(TICKETS, &id.into(), "message", Direction::OldestFirst, ledger).await?;
        Ok((ticket, messages))
    }

    /// The newest tickets of an agent: one query in the agent's logical partition.
    pub async fn tickets_of(&self, agent: &str, ledger: &Ledger) -> Result<Vec<Listed>, DeskError> {
        self.page(AGENTS, &agent.into(), "ticket", Direction::NewestFirst, ledger).await
    }

    /// The newest open tickets: one query in one logical partition.
    pub async fn board(&self, ledger: &Ledger) -> Result<Vec<Listed>, DeskError> {
        self.page(BOARD, &"ticket".into(), "ticket", Direction::NewestFirst, ledger).await
    }

    /// Changes an item that is alone under its id, unless others win the race without end.
    async fn change<T: Serialize + DeserializeOwned>(
        &self,
        container: ContainerName,
        id: &str,
        ledger: &Ledger,
        change: impl Fn(&mut T),
    ) -> Result<(), DeskError> {
        for _ in 0..ATTEMPTS_MAX {
            let (mut found, etag) = self.existing(container, id, ledger).await?;
            change(&mut found);
            let replace = WriteOp::Replace { item: item(id, &found), if_match: Some(etag) };
            match self.store.write(container, &id.into(), replace, ledger).await {
                Ok(_) => return Ok(()),
                Err(error) if is_lost_race(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(DeskError::Busy(id.to_owned()))
    }

    /// The item whose id is its partition key.
    async fn existing<T: DeserializeOwned>(
        &self,
        container: ContainerName,
        id: &str,
        ledger: &Ledger,
    ) -> Result<(T, ETag), DeskError> {
        let found = self.store.read(container, &id.into(), id, ledger).await?;
        let found = found.ok_or_else(|| DeskError::Absent(id.to_owned()))?;
        Ok((found.decode()?, found.etag))
    }

    async fn page<T: DeserializeOwned>(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        direction: Direction,
        ledger: &Ledger,
    ) -> Result<Vec<T>, DeskError> {
        let query = Query::Partition {
            container,
            partition_key,
            item_type,
            order_by: None,
            direction,
            after: None,
            limit: PAGE_ITEMS,
        };
        let page = self.store.query(&query, ledger).await?;
        Ok(page.items.iter().map(|item| item.decode()).collect::<Result<_, _>>()?)
    }
}

fn item(id: &str, value: &impl Serialize) -> NewItem {
    NewItem::encode(id, value)
}

/// Whether another writer was first: the command reads again.
fn is_lost_race(error: &WriteError) -> bool {
    matches!(error, WriteError::Rejected { reason: Rejection::PreconditionFailed, .. })
}

fn listed(errors: Vec<impl ToString>) -> DeskError {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    DeskError::Model(errors.join("; "))
}
