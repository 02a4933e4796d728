//! The program's command line.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Command, CommandFactory};
use onehop::cli::Cli;
use serde_json::{Value, json};

use crate::api::binary::{Serving, onehop, refusing_address, run, run_on};

const SCHEMA: &str = include_str!("../../../schema.graphql");
const DOCUMENTS: &str = include_str!("../../../web/trusted-documents.json");

/// Every flag of every command, with its environment variable.
fn flags() -> BTreeMap<String, Option<String>> {
    let mut program = Cli::command();
    program.build();
    let mut flags = BTreeMap::new();
    let commands: Vec<&Command> =
        program.get_subcommands().filter(|command| command.get_name() != "help").collect();
    assert!(commands.len() >= 6);
    for command in commands {
        for argument in command.get_arguments() {
            let Some(name) = argument.get_long().filter(|name| !["help", "version"].contains(name)) else {
                continue;
            };
            let variable = argument.get_env().map(|variable| variable.to_str().unwrap().to_owned());
            flags.insert(format!("--{name}"), variable);
        }
    }
    flags
}

#[test]
fn every_flag_has_an_environment_variable_of_its_name() {
    for (flag, variable) in flags() {
        let expected = format!("ONEHOP_{}", flag[2..].replace('-', "_").to_uppercase());
        let variable = variable.unwrap_or_default();
        assert!(variable.starts_with(&expected), "{flag} has the variable {variable}");
    }
}

#[tokio::test]
async fn the_schema_of_a_model_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("club.graphql");
    std::fs::write(&model, "extend schema @model(name: \"club\") @container(name: \"books\", key: \"/id\")\ntype Book @item(container: \"books\", write: CREATE) { id: ID! title: String! }\ntype Query { book(id: ID!): Book }\n").unwrap();
    let output = run(&["schema", "--model", model.to_str().unwrap()]).await;
    let sdl = String::from_utf8(output.stdout).unwrap();
    assert!(sdl.contains("createBook(") && sdl.contains("type Book implements Node"), "{sdl}");
    let refused = run(&["schema", "operations", "--model", model.to_str().unwrap()]).await;
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    std::fs::write(&model, "type Query { book(id: ID!): Book }\n").unwrap();
    let refused = run(&["schema", "--model", model.to_str().unwrap()]).await;
    let reason = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && reason.contains("club.graphql"), "{reason}");
}

#[tokio::test]
async fn the_schema_that_is_printed_is_the_one_that_is_committed() {
    let output = run(&["schema"]).await;
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), SCHEMA);
}

#[tokio::test]
async fn the_documents_that_are_printed_are_those_of_the_pages() {
    let output = run(&["documents"]).await;
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), DOCUMENTS);
}

#[tokio::test]
async fn a_bad_setting_is_refused_by_the_name_of_its_flag() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    for (flag, value) in [
        ("--listen", "nowhere"),
        ("--listen", "127.0.0.1:99999"),
        ("--durability", "maybe"),
        ("--physical-partitions", "0"),
        ("--physical-partitions", "many"),
        ("--cache-mib", "1"),
        ("--demo-users", "0"),
        ("--store", "elsewhere"),
        ("--cosmos-credential", "guess"),
        ("--cosmos-consistency", "perhaps"),
        ("--cosmos-timeout-ms", "10"),
        ("--token-secret-file", "/nowhere/secret"),
        ("--token-minutes", "0"),
        ("--session-days", "100000"),
        ("--jwt-issuer", "not a url"),
        ("--jwt-issuer", "http://id.example"),
        ("--jwt-audience", "without-an-issuer"),
        ("--allow-origin", "blog.example"),
        ("--allow-origin", "https://blog.example/path"),
        ("--drain-seconds", "3601"),
        ("--stop-seconds", "0"),
        ("--log-format", "xml"),
        ("--log", "=,="),
        ("--no-such-flag", "1"),
    ] {
        let by_flag = run_on(&data, &["serve", flag, value]).await;
        let by_variable = run_with(&data, flag, value).await;
        for (status, printed) in [by_flag].into_iter().chain(by_variable) {
            assert_eq!(status, 2, "{flag} {value}: {printed}");
            assert!(printed.contains(flag), "{flag} {value}: {printed}");
        }
        assert!(!data.exists(), "{flag} {value}: nothing is made before the settings are checked");
    }
    for (flag, value) in [("--users", "0"), ("--users", "some"), ("--rng-seed", "-1")] {
        let users = if flag == "--users" { &[][..] } else { &["--users", "1"] };
        let flag_and_value = format!("{flag}={value}");
        let (status, printed) = run_on(&data, &[&["seed", &*flag_and_value][..], users].concat()).await;
        assert_eq!(status, 2, "{flag} {value}: {printed}");
        assert!(printed.contains(flag), "{flag} {value}: {printed}");
    }
}

#[tokio::test]
async fn settings_of_an_account_are_checked_before_it_is_asked() {
    let account = ["--store", "cosmos", "--cosmos-endpoint", "https://blog.invalid"];
    for (arguments, named) in [
        (&["serve", "--store", "cosmos"][..], "--cosmos-endpoint is needed with --store cosmos"),
        (&["verify", "--store", "cosmos"], "--cosmos-endpoint is needed with --store cosmos"),
        (&[&["serve"], &account[..]].concat(), "openssl rand -base64 48"),
        (&[&["seed", "--users=1", "--cosmos-credential=key"], &account[..]].concat(), "ONEHOP_COSMOS_KEY"),
        (&["provision"], "--cosmos-endpoint is needed"),
        (&["provision", "--throughput-manual=100"], "--throughput-manual"),
        (
            &[
                &["provision", "--throughput-manual=450"],
                &account[..],
                &["--cosmos-credential=developer-tools"],
            ]
            .concat(),
            "--throughput-manual: 450 RU/s is not a multiple of 100 RU/s",
        ),
        (
            &[&["provision", "--throughput-autoscale-max=1500"], &account[..]].concat(),
            "--throughput-autoscale-max: autoscale up to 1500 RU/s is not a multiple of 1000 RU/s",
        ),
        (&["provision", "--throughput-manual=400", "--throughput-autoscale-max=1000"], "--throughput-manual"),
        (
            &[&["provision", "--cosmos-credential=developer-tools"], &account[..]].concat(),
            "deploy/main.bicep",
        ),
    ] {
        let output = run(arguments).await;
        let printed = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {printed}");
        assert!(printed.contains(named), "{arguments:?}: {printed}");
    }
}

#[tokio::test]
async fn a_dry_run_without_an_account_lists_all_changes() {
    let (address, _socket) = refusing_address();
    let url = format!("http://{address}");
    let endpoint = ["--cosmos-endpoint", &url, "--cosmos-timeout-ms=1000"];
    let endpoint = [&endpoint[..], &["--cosmos-credential=key"]].concat();
    let throughput = ["--throughput-autoscale-max=2000"];
    let mut command = onehop(&[&["provision", "--dry-run"], &endpoint[..], &throughput].concat());
    command.env("ONEHOP_COSMOS_KEY", "a2V5");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("create the database onehop with autoscale up to 2000 RU/s"), "{printed}");
    for spec in onehop::app::container_specs() {
        let dedicated = if spec.name.as_str() == "leases" { " with autoscale up to 1000 RU/s" } else { "" };
        assert!(printed.contains(&format!("create the container {}{dedicated}\n", spec.name)), "{printed}");
    }
}

#[tokio::test]
async fn no_secret_that_was_given_is_printed() {
    let directory = tempfile::tempdir().unwrap();
    let (address, _socket) = refusing_address();
    let url = format!("http://{address}");
    let account = ["--store", "cosmos", "--cosmos-endpoint", &url, "--cosmos-timeout-ms=1000"];
    let mut command = onehop(&[&["verify", EVERYTHING], &account[..]].concat());
    const EVERYTHING: &str =
        "--log=trace,azure_core=trace,azure_data_cosmos=trace,azure_data_cosmos_driver=trace";
    const KEY: &str = "dGhlIGtleSB0aGF0IG5vYm9keSBzZWVz";
    command.env("ONEHOP_COSMOS_KEY", KEY).env("ONEHOP_TOKEN_SECRET", KEY);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(printed.contains(&url), "{printed}");
    assert!(!printed.contains(KEY), "{printed}");

    let mut command = onehop(&["serve", "--listen", "nowhere", "--data", directory.path().to_str().unwrap()]);
    command.env("ONEHOP_TOKEN_SECRET", KEY);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(!String::from_utf8([output.stdout, output.stderr].concat()).unwrap().contains(KEY));
}

/// Runs `onehop serve` with a setting by its environment variable, if there is such a flag.
async fn run_with(data: &Path, flag: &str, value: &str) -> Option<(i32, String)> {
    let variable = flags().remove(flag)?;
    let mut command = onehop(&["serve", "--data", data.to_str().unwrap()]);
    command.env(variable.unwrap(), value);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    Some((output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap()))
}

#[tokio::test]
async fn a_flag_without_a_value_is_on_or_off_by_its_variable() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run_on(directory.path(), &["seed", "--users", "1"]).await.0, 0);
    for (value, is_on) in
        [("1", true), ("true", true), ("yes", true), ("0", false), ("false", false), ("no", false)]
    {
        let mut command = onehop(&["verify", "--data", directory.path().to_str().unwrap()]);
        command.env("ONEHOP_JSON", value);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        assert!(output.status.success(), "{value}: {output:?}");
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).is_ok(), is_on, "{value}");
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_refused_by_the_name_of_its_flag() {
    let directory = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, printed) = run_on(directory.path(), &["serve", "--listen", &address]).await;
    assert_eq!(status, 2);
    assert!(printed.contains("--listen") && printed.contains(&address), "{printed}");
}

#[tokio::test]
async fn a_directory_of_a_newer_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run_on(directory.path(), &["seed", "--users", "1"]).await.0, 0);
    std::fs::write(directory.path().join("format"), "1000\n").unwrap();
    for command in ["serve", "verify"] {
        let (status, printed) = run_on(directory.path(), &[command]).await;
        assert_eq!(status, 2, "{command}: {printed}");
        assert!(printed.contains("format 1000") && printed.contains("newer onehop"), "{printed}");
    }
}

#[tokio::test]
async fn a_locked_directory_is_refused_with_the_process_id() {
    let directory = tempfile::tempdir().unwrap();
    let serving = Serving::start(directory.path(), &[]);
    let (status, printed) = run_on(directory.path(), &["serve", "--listen", "127.0.0.1:0"]).await;
    assert_eq!(status, 2);
    assert!(printed.contains("in use by another process (process "), "{printed}");
    assert_eq!(tokio::task::spawn_blocking(move || serving.stop()).await.unwrap().0, 0);
}

#[tokio::test]
async fn data_and_tokens_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let send = |address: &str, query: &str, token: &str| {
        let request = http.post(format!("{address}/graphql")).header("content-type", "application/json");
        let request = if token.is_empty() { request } else { request.bearer_auth(token) };
        let sent = request.body(json!({ "query": query }).to_string()).send();
        async { sent.await.unwrap().json::<Value>().await.unwrap() }
    };
    let serving = Serving::start(directory.path(), &["--demo", "--demo-users", "3"]);
    let sign_up = "mutation {
        createUser(input: { username: \"newcomer\", password: \"one and two\" }) { accessToken } }";
    let answer = send(&serving.address, sign_up, "").await;
    let token = answer["data"]["createUser"]["accessToken"].as_str().unwrap().to_owned();
    let post = "mutation { createPost(input: { title: \"First\", content: \"c\" }) { post { id } } }";
    let answer = send(&serving.address, post, &token).await;
    let id = answer["data"]["createPost"]["post"]["id"].clone();
    let (status, log) = tokio::task::spawn_blocking(move || serving.stop()).await.unwrap();
    assert_eq!(status, 0, "{log}");

    let serving = Serving::start(directory.path(), &["--demo", "--demo-users", "3"]);
    let query = format!("{{ viewer {{ username }} post(id: {id}) {{ title author {{ username }} }} }}");
    let answer = send(&serving.address, &query, &token).await;
    let newcomer = json!({ "username": "newcomer" });
    let post = json!({ "title": "First", "author": newcomer });
    assert_eq!(answer["data"], json!({ "viewer": newcomer, "post": post }), "{answer}");
    assert_eq!(tokio::task::spawn_blocking(move || serving.stop()).await.unwrap().0, 0);
}
