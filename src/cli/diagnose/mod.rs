//! `onehop diagnose`: collects the state of a server and its data directory in one archive, for a report of a
//! fault.

mod ustar;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use flate2::Compression;
use flate2::write::GzEncoder;
use onehop_runtime::clock::{Clock as _, SystemClock, format_timestamp};
use onehop_runtime::memory::memory_bytes;
use onehop_runtime::private_files;
use onehop_store::embedded::describe_directory;
use serde::Deserialize;
use serde_json::{Value, json};

use self::ustar::TarWriter;
use super::Exit;
use super::model::open_served_choice;
use super::progress::{ask_holder, perform_on};
use crate::app::{App, OperatedDomain};
use crate::config::{Environment, StoreChoice, StoreSettings};
use crate::operations::{DEAD_LETTERS, DIAGNOSIS, OperationRequest, PROJECTIONS};

/// The directory in the archive.
const ROOT: &str = "onehop-diagnosis";
/// The prefix of variables whose names, and not values, are listed.
const VARIABLE_PREFIX: &str = "ONEHOP_";
/// Files below `/proc/PID` that are copied.
const PROCESS_FILES: [&str; 4] = ["status", "limits", "io", "cgroup"];

/// Arguments of `onehop diagnose`.
#[derive(Debug, Args)]
pub struct Diagnose {
    /// The archive to write; a file of this name must not be there
    #[arg(default_value = "onehop-diagnosis.tar.gz")]
    archive: PathBuf,

    /// Model file: the domain of the data, in place of the built-in domains. A server on the data directory
    /// needs no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

/// The answer of a server.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerDiagnosis {
    version: String,
    process: u32,
    settings: String,
    metrics: String,
    log_lines: Vec<String>,
}

/// The parts of an archive, in their order: the name and the content.
#[derive(Default)]
struct Parts {
    parts: Vec<(&'static str, String)>,
    failed: Vec<&'static str>,
}

impl Parts {
    fn add(&mut self, name: &'static str, content: impl Into<String>) {
        self.parts.push((name, content.into()));
    }

    /// Adds a part, or the reason why it cannot be read.
    fn add_or_error(&mut self, name: &'static str, content: anyhow::Result<String>) {
        let content = content.unwrap_or_else(|error| {
            self.failed.push(name);
            format!("this part cannot be read: {error:#}\n")
        });
        self.add(name, content);
    }
}

impl Diagnose {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let mut options = private_files::file_options();
        let created = options.write(true).create_new(true).open(&self.archive);
        let file = created.with_context(|| format!("cannot write {}", self.archive.display()))?;
        let choice = self.store.choice(&Environment::of_process())?;
        let data = matches!(choice, StoreChoice::Embedded(_)).then_some(self.store.data.data.as_path());
        let now_ms = SystemClock.now_ms();
        let mut parts = Parts::default();
        let server = match data {
            Some(data) => ask_holder(data, &OperationRequest::new(DIAGNOSIS)).await,
            None => Ok(None),
        };
        let server = server
            .and_then(|answer| Ok(answer.map(serde_json::from_value::<ServerDiagnosis>).transpose()?));
        parts.add(
            "about.json",
            pretty(&about(&choice, server.as_ref().ok().and_then(Option::as_ref), now_ms)),
        );
        match server {
            Ok(Some(server)) => self.add_server(&mut parts, server).await,
            Ok(None) => self.add_stopped(&mut parts, &choice).await,
            Err(error) => parts.add_or_error("server.txt", Err(error)),
        }
        if let Some(data) = data {
            let described = describe_directory(data).context("the data directory");
            parts.add_or_error("directory.json", described.map(|description| pretty(&json!(description))));
        }
        parts.add("system.txt", system());
        let modified_s = u64::try_from(now_ms / 1000).unwrap_or_default();
        let mut archive = TarWriter::new(GzEncoder::new(file, Compression::default()));
        for (name, content) in &parts.parts {
            archive.add(&format!("{ROOT}/{name}"), content.as_bytes(), modified_s)?;
        }
        archive.finish()?.finish()?.sync_all()?;
        let names: Vec<&str> = parts.parts.iter().map(|(name, _)| *name).collect();
        println!("{}: {}", self.archive.display(), names.join(", "));
        println!("it has no secrets and no bodies of items; look at it before you pass it on");
        for name in &parts.failed {
            println!("{name} cannot be read, and has the reason");
        }
        Ok(if parts.failed.is_empty() { Exit::Success } else { Exit::Drifted })
    }

    /// The parts of a running server.
    async fn add_server(&self, parts: &mut Parts, server: ServerDiagnosis) {
        let data = &self.store.data.data;
        parts.add("settings.txt", format!("{}\n", server.settings));
        parts.add("metrics.txt", server.metrics);
        parts.add("log.txt", server.log_lines.iter().map(|line| format!("{line}\n")).collect::<String>());
        for (name, document) in [("projections.json", PROJECTIONS), ("dead-letters.json", DEAD_LETTERS)] {
            let answer = ask_holder(data, &OperationRequest::new(document)).await;
            let answer = answer.and_then(|answer| answer.context("the server has stopped"));
            parts.add_or_error(name, answer.map(|answer| pretty(&answer)));
        }
        parts.add("process.txt", process(server.process));
    }

    /// The parts of a store without a server on it.
    async fn add_stopped(&self, parts: &mut Parts, choice: &StoreChoice) {
        parts.add("settings.txt", "no server holds the data directory; its supervisor has its settings\n");
        parts.add("log.txt", "no server holds the data directory; its supervisor has its log\n");
        let opened = match (choice, &self.model) {
            (StoreChoice::Embedded(_), _) if !self.store.data.data.is_dir() => {
                Err(anyhow::anyhow!("there is no such directory: {}", self.store.data.data.display()))
            }
            (_, Some(file)) => open_served_choice(file, choice).await.map(|app| OperatedDomain::from(&app)),
            (_, None) => App::open(choice).await.map(|app| OperatedDomain::from(&Arc::new(app))),
        };
        for (name, document) in [("projections.json", PROJECTIONS), ("dead-letters.json", DEAD_LETTERS)] {
            let answer = match &opened {
                Ok(domain) => perform_on(domain.clone(), &OperationRequest::new(document)).await,
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            parts.add_or_error(name, answer.map(|answer| pretty(&answer)));
        }
        if let Ok(domain) = opened {
            domain.engine().close().await;
        }
    }
}

fn about(choice: &StoreChoice, server: Option<&ServerDiagnosis>, now_ms: i64) -> Value {
    let mut variables: Vec<String> =
        std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with(VARIABLE_PREFIX)).collect();
    variables.sort();
    json!({
        "time": format_timestamp(now_ms),
        "version": env!("CARGO_PKG_VERSION"),
        "profile": env!("ONEHOP_PROFILE"),
        "store": choice.to_string(),
        "server": server.map(|server| json!({ "version": server.version, "process": server.process })),
        "variablesSetForThisCommand": variables,
    })
}

/// The system, the memory and the processors.
fn system() -> String {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let processors = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!(
        "system {} {} {}\nhost {}\nprocessors {processors}\nmemory that a process may take {} bytes\n",
        text(name.sysname()),
        text(name.release()),
        text(name.machine()),
        text(name.nodename()),
        memory_bytes().map_or_else(|| "unknown".to_owned(), |bytes| bytes.to_string()),
    )
}

/// The files of a process below `/proc`.
fn process(pid: u32) -> String {
    let directory = Path::new("/proc").join(pid.to_string());
    let part = |name: &str| {
        let content = fs::read_to_string(directory.join(name));
        let content = content.unwrap_or_else(|error| format!("it cannot be read: {error}\n"));
        format!("== {name}\n{content}\n")
    };
    PROCESS_FILES.into_iter().map(part).collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
