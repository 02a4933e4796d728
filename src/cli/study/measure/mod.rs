//! Measured study: the operations of the plans run on an account, and their charges take the place of the
//! estimates.

mod account;
mod charges_file;
mod containers;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use azure_data_cosmos::CosmosClient;
use clap::Args;
use clap::builder::BoolishValueParser;

use self::account::{TrialDatabase, is_refusal};
use self::charges_file::ChargesFile;
use self::containers::definition;
use crate::app::provisioning::require_key;
use crate::app::work::Progress;
use crate::cli::progress::Bar;
use crate::config::{CosmosSettings, Environment, StoreKind, ThroughputSettings};
use onehop_store::RequestCharge;
use onehop_store::cosmos::provision::{self, DesiredState, ProvisionPlan, ProvisionStep};
use onehop_store::cosmos::{self, Consistency, client_of};
use onehop_study::bicep::slug;
use onehop_study::design_study::{DesignStudy, MeasuredCharges, MeasuredOperation, RequestTrials};
use onehop_study::designs::DesignData;
use onehop_study::report::AccountSummary;

/// Settings of measured charges.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measured charges")]
pub(super) struct MeasureSettings {
    /// Source of the charges: `embedded` estimates them; `cosmos` runs the operations of the plans on an
    /// account, each once on items of the sample
    #[arg(long, value_enum, default_value = "embedded")]
    store: StoreKind,

    /// Confirmation with --store cosmos: without it, the budget is printed and nothing is measured
    #[arg(long, env = "ONEHOP_YES", value_parser = BoolishValueParser::new())]
    yes: bool,

    /// Clean-up with --store cosmos: delete the databases in the end, also after a failure
    #[arg(long, env = "ONEHOP_DROP", value_parser = BoolishValueParser::new())]
    drop: bool,

    /// File of measured charges, JSON lines. --store cosmos writes it, and measures only operations that it
    /// lacks, so that a run that was interrupted goes on; otherwise its charges are used [default: none]
    #[arg(long, value_name = "FILE", env = "ONEHOP_CHARGES")]
    charges: Option<PathBuf>,
}

/// Settings of the account that is measured.
#[derive(Debug, Args)]
pub(in crate::cli) struct MeasuredAccount {
    #[command(flatten)]
    measure: MeasureSettings,
    #[command(flatten)]
    cosmos: CosmosSettings,
    #[command(flatten)]
    throughput: ThroughputSettings,
}

/// The charges of a study.
pub(super) enum StudyCharges {
    /// The charge model has them all.
    Estimated,
    /// An account has them.
    Measured(MeasuredCharges),
    /// The budget was printed alone.
    BudgetOnly,
}

/// A design with its trials and its database.
struct DesignTrials<'a> {
    data: DesignData<'a>,
    trials: Vec<RequestTrials>,
    database: String,
}

impl MeasuredAccount {
    /// Measures the operations of all designs, where that is wanted. The budget and the progress are on
    /// standard error.
    ///
    /// # Errors
    /// A setting that is missing, a database that exists, an account that refuses.
    pub(super) async fn charges(&self, study: &DesignStudy<'_>) -> anyhow::Result<StudyCharges> {
        let MeasureSettings { store, yes, drop, ref charges } = self.measure;
        if store == StoreKind::Embedded {
            ensure!(!yes && !drop, "--yes and --drop need --store cosmos: estimates write nothing");
            let known = charges.as_deref().map(charges_file::read).transpose()?;
            return Ok(known.map_or(StudyCharges::Estimated, StudyCharges::Measured));
        }
        let account = self.cosmos.adapter(&Environment::of_process())?;
        require_key(&account)?;
        let designs = study.designs().into_iter().map(|data| {
            let database = format!("{}-{}", account.database, slug(&data.design.name));
            DesignTrials { trials: study.trials(&data), data, database }
        });
        let designs: Vec<DesignTrials<'_>> = designs.collect();
        for (number, design) in designs.iter().enumerate() {
            let same = designs[..number].iter().find(|other| other.database == design.database);
            if let Some(same) = same {
                let (one, other) = (&same.data.design.name, &design.data.design.name);
                bail!("the designs {one} and {other} would share the database {}: rename one", same.database);
            }
        }
        print_budget(study, &designs);
        if !yes {
            eprintln!("Nothing was measured: --yes goes on.");
            return Ok(StudyCharges::BudgetOnly);
        }
        self.measure(study, &account, &designs).await.map(StudyCharges::Measured)
    }

    async fn measure(
        &self,
        study: &DesignStudy<'_>,
        account: &cosmos::CosmosSettings,
        designs: &[DesignTrials<'_>],
    ) -> anyhow::Result<MeasuredCharges> {
        let endpoint = account.endpoint.trim_end_matches('/').to_owned();
        let databases = designs.iter().map(|design| design.database.clone()).collect();
        let summary = AccountSummary { endpoint, databases };
        let mut file = ChargesFile::open(self.measure.charges.as_deref(), summary)?;
        let is_measured = |design: &&DesignTrials<'_>| {
            let name = &*design.data.design.name;
            let has = |request: &RequestTrials| {
                request.trials.iter().all(|trial| file.charges.has((name, &request.request), trial))
            };
            design.trials.iter().all(has)
        };
        let (measured, lacking): (Vec<_>, Vec<_>) = designs.iter().partition(is_measured);
        for design in measured {
            eprintln!("{}: all operations are in the file", design.data.design.name);
        }
        // A fault's text holds its causes.
        let client = client_of(account).await.map_err(|fault| anyhow::anyhow!("{fault}"))?;
        for DesignTrials { database, .. } in &lacking {
            let exists = provision::has_database(&client, database).await;
            ensure!(
                !exists.with_context(|| format!("the databases of {} cannot be listed", account.endpoint))?
                    || file.charges.made.contains(database),
                "the database {database:?} exists already, and a measurement makes its own: delete it, or name \
                 others with --cosmos-database"
            );
        }
        let mut outcome = Ok(());
        for design in lacking {
            let to = (&client, account.consistency);
            if let Err(error) = self.measure_design(study, to, design, &mut file).await {
                let name = &design.data.design.name;
                outcome = Err(error.context(format!("the design {name} was not measured")));
                break;
            }
        }
        let left = self.clean_up(&client, &mut file).await;
        outcome?;
        left?;
        Ok(file.charges)
    }

    /// Deletes the databases that this measurement made, where that is wanted; otherwise names them.
    async fn clean_up(&self, client: &CosmosClient, file: &mut ChargesFile) -> anyhow::Result<()> {
        let made = file.charges.made.clone();
        if !self.measure.drop {
            if !made.is_empty() {
                eprintln!("left in the account until they are deleted: {}", made.join(", "));
            }
            return Ok(());
        }
        for database in &made {
            if provision::has_database(client, database).await? {
                provision::delete_database(client, database).await?;
            }
            file.note(database, false)?;
        }
        Ok(())
    }

    async fn measure_design(
        &self,
        study: &DesignStudy<'_>,
        (client, consistency): (&CosmosClient, Consistency),
        design: &DesignTrials<'_>,
        file: &mut ChargesFile,
    ) -> anyhow::Result<()> {
        let DesignTrials { data, trials, database } = design;
        let containers = study.trial_containers(data, trials);
        let throughput = self.throughput.wanted(containers.len())?;
        let mut wanted = DesiredState::new(database, &[], onehop_store::Indexing::All, throughput);
        wanted.containers.extend(containers.iter().map(definition));
        let plan = ProvisionPlan::of(client, &wanted).await?;
        let is_new = matches!(plan.steps.first(), Some(ProvisionStep::CreateDatabase { .. }));
        ensure!(
            is_new || file.charges.made.contains(database),
            "the database {database:?} was made meanwhile by somebody else"
        );
        for step in &plan.steps {
            provision::apply(client, database, step).await?;
            if matches!(step, ProvisionStep::CreateDatabase { .. }) {
                file.note(database, true)?;
            }
        }
        let mut tried = TrialDatabase::open(client, database, consistency);
        let total: usize = trials.iter().map(|request| request.trials.len()).sum();
        let (mut bar, mut done, mut refused) = (Bar::new(), 0, 0);
        let name = &*data.design.name;
        for RequestTrials { request, trials } in trials {
            for trial in trials {
                done += 1;
                bar.show(&Progress { step: format!("{name}: measuring"), done, total: Some(total as u64) });
                if file.charges.has((name, request), trial) {
                    continue;
                }
                let of = format!("{request}: {} in {} ({})", trial.kind.name(), trial.container, trial.about);
                match tried.run(trial).await {
                    Ok(answer) => file.add(MeasuredOperation::of((name, request), trial, study, &answer))?,
                    Err(error) if is_refusal(&error) => {
                        refused += 1;
                        bar.clear();
                        eprintln!("{name}: {of} was refused, and stays an estimate: {error:#}");
                    }
                    Err(error) => return Err(error.context(format!("{of} failed"))),
                }
            }
        }
        bar.clear();
        eprintln!("{name}: {} of {total} operations measured", total - refused);
        Ok(())
    }
}

fn print_budget(study: &DesignStudy<'_>, designs: &[DesignTrials<'_>]) {
    let mut total = RequestCharge::default();
    for DesignTrials { data, trials, database } in designs {
        let budget = study.trial_budget(data, trials);
        let operations: usize = trials.iter().map(|request| request.trials.len()).sum();
        let containers = study.trial_containers(data, trials).len();
        eprintln!(
            "{}: {operations} operations, {containers} containers in the database {database}, about {:.0} RU",
            data.design.name, budget.0
        );
        total = total + budget;
    }
    eprintln!(
        "Budget: about {:.0} RU, estimated. The throughput of the databases is billed by the hour, whatever is measured.",
        total.0
    );
}
