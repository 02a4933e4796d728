//! `onehop provision`: creates or updates the database and the containers of an account.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::Exit;
use super::model::containers_of;
use crate::app::provisioning::{
    Provisioner, ThroughputPlan, container_definitions, in_words, plan_without_changes, require_key, warnings,
};
use crate::config::{Environment, LeasesThroughput, StoreSettings, ThroughputSettings};

/// Arguments of `onehop provision`.
#[derive(Debug, Args)]
pub struct Provision {
    /// Dry run: print the steps, and do nothing
    #[arg(long, env = "ONEHOP_DRY_RUN", value_parser = BoolishValueParser::new())]
    dry_run: bool,

    /// Print the container definitions, as deploy/containers.json holds them, and do nothing
    #[arg(long, env = "ONEHOP_PRINT_DEFINITIONS", value_parser = BoolishValueParser::new())]
    print_definitions: bool,

    /// Model file: the containers of the domain that it declares, in place of the built-in domains
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    throughput: ThroughputSettings,
    #[command(flatten)]
    leases: LeasesThroughput,
}

impl Provision {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let specs = containers_of(self.model.as_deref())?;
        if self.print_definitions {
            print!("{}", container_definitions(&specs)?);
            return Ok(Exit::Success);
        }
        // There is nothing to provision in a directory.
        let account = self.store.cosmos.adapter(&Environment::of_process())?;
        let leases_share = self.leases.is_shared();
        let sharing = specs.len() - usize::from(!leases_share);
        let throughput = ThroughputPlan { provisioned: self.throughput.wanted(sharing)?, leases_share };
        if self.dry_run {
            let (plan, compared) = plan_without_changes(&account, &specs, &throughput).await?;
            if !compared {
                println!("the account was not reached; an empty one would need:");
            } else if plan.steps.is_empty() {
                println!("nothing to do");
            }
            print!("{}{}", in_words(&plan), warnings(&plan));
            return Ok(Exit::Success);
        }
        require_key(&account)?;
        let provisioner = Provisioner::connect(&account, &specs, &throughput).await?;
        let plan = provisioner.plan().await?;
        if plan.steps.is_empty() {
            println!("nothing to do");
        }
        provisioner.apply(&plan, |step| println!("done: {step}")).await?;
        print!("{}", warnings(&plan));
        Ok(Exit::Success)
    }
}
