//! Checks that span several settings, and the sources of secrets.

use std::time::Duration;

use clap::Parser;

use super::*;
use onehop_store::cosmos::{Consistency, CosmosSettings as CosmosAccount, Credential};

const KEY: &str = "b25lIGhvcCBhdCBhIHRpbWU=";
const ENDPOINT: &str = "https://blog.documents.azure.com";

#[derive(Debug, Parser)]
struct Program {
    #[command(flatten)]
    store: StoreSettings,
    #[command(flatten)]
    accounts: AccountSettings,
}

fn parse(arguments: &[&str]) -> Program {
    Program::try_parse_from([&["onehop"], arguments].concat()).unwrap()
}

/// The choice of an account, with these arguments beside the endpoint.
fn cosmos<const N: usize>(
    arguments: &[&str],
    variables: [(&'static str, &'static str); N],
) -> Result<CosmosAccount, String> {
    let all = [&["--store", "cosmos", "--cosmos-endpoint", ENDPOINT], arguments].concat();
    match parse(&all).store.choice(&Environment::made(variables)) {
        Ok(StoreChoice::Cosmos(account)) => Ok(*account),
        Ok(StoreChoice::Embedded(_)) => panic!("the embedded store was not chosen"),
        Err(error) => Err(error.to_string()),
    }
}

fn file_of(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn the_embedded_store_is_the_default_and_needs_nothing() {
    let choice = parse(&[]).store.choice(&Environment::made([])).unwrap();
    assert!(matches!(choice, StoreChoice::Embedded(_)));
}

#[test]
fn an_account_has_the_documented_defaults() {
    let account = cosmos(&[], []).unwrap();
    assert_eq!(account.endpoint, ENDPOINT);
    assert_eq!(account.database, "onehop");
    assert_eq!(account.consistency, Consistency::Account);
    assert!(account.binary_encoding);
    assert_eq!(account.preferred_regions, Vec::<String>::new());
    assert_eq!(account.retry_policy, onehop_store::cosmos::RetryPolicy::default());
}

#[test]
fn every_setting_of_an_account_reaches_the_adapter() {
    let arguments = [
        "--cosmos-database=blog",
        "--cosmos-regions=North Europe, West Europe",
        "--cosmos-consistency=latest-committed",
        "--cosmos-timeout-ms=3000",
    ];
    let account = cosmos(&arguments, []).unwrap();
    assert_eq!(account.database, "blog");
    assert_eq!(account.preferred_regions, ["North Europe", "West Europe"]);
    assert_eq!(account.consistency, Consistency::LatestCommitted);
    assert_eq!(account.retry_policy.throttled_wait_max, Duration::from_millis(1500));
    assert_eq!(account.retry_policy.operation_max, Duration::from_secs(3));
}

#[test]
fn settings_that_do_not_go_together_are_refused_by_name() {
    let not_an_id = file_of("not base64!");
    let key_file = not_an_id.path().to_str().unwrap();
    for (arguments, named) in [
        (&["--cosmos-database="][..], "--cosmos-database"),
        (&["--cosmos-database=a/b"], "--cosmos-database"),
        (&["--cosmos-credential=key"], "--cosmos-key-file"),
        (&["--cosmos-client-id=abc", "--cosmos-credential=developer-tools"], "--cosmos-client-id"),
        (&["--cosmos-key-file=/nowhere/key"], "--cosmos-key-file /nowhere/key cannot be read"),
        (&["--cosmos-key-file", key_file], "--cosmos-key-file"),
        (&["--cosmos-endpoint=nowhere"], "--cosmos-endpoint"),
        (&["--cosmos-endpoint=http://blog.example"], "--cosmos-endpoint"),
        (&["--cosmos-endpoint=ftp://blog.example"], "--cosmos-endpoint"),
        (&["--cosmos-endpoint=https://name:hush@blog.example"], "--cosmos-endpoint"),
    ] {
        let last = |flag: &str| arguments.iter().any(|argument| argument.starts_with(flag));
        let refused = if last("--cosmos-endpoint") {
            let all = [&["--store", "cosmos"], arguments].concat();
            parse(&all).store.choice(&Environment::made([])).unwrap_err().to_string()
        } else {
            cosmos(arguments, []).unwrap_err()
        };
        assert!(refused.contains(named), "{arguments:?}: {refused}");
        assert!(!refused.contains("base64!") && !refused.contains("hush"), "{refused}");
    }
    let missing = parse(&["--store", "cosmos"]).store.choice(&Environment::made([])).unwrap_err();
    assert_eq!(missing.to_string(), "--cosmos-endpoint is needed with --store cosmos");
}

#[test]
fn an_emulator_on_this_machine_gets_text_over_plain_http() {
    for endpoint in ["http://127.0.0.1:8081", "http://localhost:8081/", "http://[::1]:8081"] {
        let all = ["--store", "cosmos", "--cosmos-endpoint", endpoint];
        let choice = parse(&all).store.choice(&Environment::made([])).unwrap();
        let StoreChoice::Cosmos(account) = choice else { panic!("{endpoint}") };
        assert!(!account.binary_encoding, "{endpoint}");
    }
}

#[test]
fn the_credential_is_chosen_by_what_is_there() {
    let credential = |account: CosmosAccount| format!("{:?}", account.credential);
    let pod = [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t"), ("AZURE_FEDERATED_TOKEN_FILE", "f")];
    assert_eq!(credential(cosmos(&[], []).unwrap()), "DeveloperTools");
    assert_eq!(credential(cosmos(&[], pod).unwrap()), "WorkloadIdentity");
    assert_eq!(credential(cosmos(&[], [pod[0], pod[1]]).unwrap()), "DeveloperTools");
    assert_eq!(credential(cosmos(&[], [("IDENTITY_ENDPOINT", "x")]).unwrap()), "ManagedIdentity");
    assert_eq!(credential(cosmos(&[], [pod[0], pod[1], pod[2]]).unwrap()), "WorkloadIdentity");
    assert_eq!(credential(cosmos(&[], [pod[0], pod[1], (KEY_VARIABLE, KEY)]).unwrap()), "Key(..)");
    let named = ["--cosmos-credential=managed-identity"];
    assert_eq!(credential(cosmos(&named, pod).unwrap()), "ManagedIdentity");
    let of_user = cosmos(&["--cosmos-client-id=abc"], []).unwrap();
    let Credential::ManagedIdentity { client_id } = of_user.credential else { panic!() };
    assert_eq!(client_id.as_deref(), Some("abc"));
}

#[test]
fn an_account_key_comes_from_a_file_or_the_environment_and_is_never_shown() {
    let file = file_of(&format!("{KEY}\n"));
    let by_file = ["--cosmos-key-file", file.path().to_str().unwrap()];
    for account in [cosmos(&by_file, []), cosmos(&[], [(KEY_VARIABLE, KEY)])].map(Result::unwrap) {
        assert!(!format!("{account:?}").contains(KEY), "{account:?}");
        let Credential::Key(key) = account.credential else { panic!() };
        assert_eq!(key, KEY);
    }
    let both = cosmos(&by_file, [(KEY_VARIABLE, KEY)]).unwrap_err();
    assert!(
        both.contains("--cosmos-key-file") && both.contains(KEY_VARIABLE) && !both.contains(KEY),
        "{both}"
    );
    let unused = cosmos(&["--cosmos-credential=developer-tools"], [(KEY_VARIABLE, KEY)]).unwrap_err();
    assert!(unused.contains("--cosmos-credential developer-tools") && !unused.contains(KEY), "{unused}");
    let broken = cosmos(&[], [(KEY_VARIABLE, "secret but no key")]).unwrap_err();
    assert!(broken.contains(KEY_VARIABLE) && !broken.contains("secret but no key"), "{broken}");
}

#[test]
fn a_token_secret_is_the_same_by_file_and_by_environment() {
    const SECRET: &str = "thirty-two bytes or more, as RFC 7518 has it";
    let file = file_of(&format!("{SECRET}\n"));
    let by_file = parse(&["--token-secret-file", file.path().to_str().unwrap()]).accounts;
    let without = parse(&[]).accounts;
    let variable = Environment::made([(TOKEN_SECRET_VARIABLE, SECRET)]);
    assert!(without.signing_keys(&Environment::made([])).unwrap().is_none());
    let read = by_file.signing_keys(&Environment::made([])).unwrap().unwrap();
    let given = without.signing_keys(&variable).unwrap().unwrap();
    let token = |given: GivenKeys| {
        let lifetime = crate::accounts::token::ACCESS_TOKEN_LIFETIME_DEFAULT;
        crate::accounts::token::Tokens::new(given.keys.secrets(0), lifetime)
    };
    let session = crate::accounts::session::SessionId::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap();
    let issued = token(read).issue("u1", session, 1_800_000_000_000).unwrap();
    assert_eq!(token(given).verify(issued.as_str(), 1_800_000_000_000).unwrap().bearer.subject, "u1");
    let both = by_file.signing_keys(&variable).unwrap_err().to_string();
    assert!(both.contains("--token-secret-file") && both.contains(TOKEN_SECRET_VARIABLE), "{both}");
}

#[test]
fn a_token_secret_of_a_wrong_length_is_refused_and_not_shown() {
    let long = file_of(&"x".repeat(5000));
    let by_file = parse(&["--token-secret-file", long.path().to_str().unwrap()]).accounts;
    let refused = by_file.signing_keys(&Environment::made([])).unwrap_err().to_string();
    assert!(refused.contains("--token-secret-file") && refused.contains("32 to 4096 bytes"), "{refused}");
    let short = Environment::made([(TOKEN_SECRET_VARIABLE, "quite short")]);
    let refused = parse(&[]).accounts.signing_keys(&short).unwrap_err().to_string();
    assert!(refused.contains("openssl rand -base64 48") && !refused.contains("quite short"), "{refused}");
}
