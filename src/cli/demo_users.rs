//! `onehop lock-demo-users`: locks the accounts of the demo users, whose password is published.

use clap::Args;

use super::Exit;
use super::progress::perform;
use crate::config::StoreSettings;
use crate::operations::{LOCK_DEMO_USERS, OperationRequest};

/// Arguments of `onehop lock-demo-users`.
#[derive(Debug, Args)]
pub struct LockDemoUsers {
    #[command(flatten)]
    store: StoreSettings,
}

impl LockDemoUsers {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let usernames: Vec<String> =
            perform(&self.store, None, OperationRequest::new(LOCK_DEMO_USERS)).await?;
        match usernames.len() {
            0 => println!("no account has the demo password"),
            locked => println!("{locked} accounts locked: {}", usernames.join(", ")),
        }
        Ok(Exit::Success)
    }
}
