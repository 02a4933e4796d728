//! Attempts at accounts, by the thousand: from one address, at one name, and the information in the answers.

use std::time::Duration;

use onehop::accounts::brute_force_protection::AttemptLimits;
use onehop::api::ApiOptions;
use onehop_graphql_server::client_address::Proxies;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use crate::api::caller::mutation_of;
use crate::api::server::{PASSWORD, Server, Setup};

const WRONG: &str = "not the password";
const MINUTE: Duration = Duration::from_secs(60);

/// A server behind a proxy.
async fn start(attempts: AttemptLimits) -> Server {
    Server::start_with(Setup { options: options(attempts), ..Setup::default() }).await
}

fn options(attempts: AttemptLimits) -> ApiOptions {
    let proxies = Proxies { trusted: 1, ..Proxies::default() };
    let callers = RateLimits { proxies, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    ApiOptions { limits, attempts, ..ApiOptions::default() }
}

/// The outcome of a mutation from an address.
struct Tried {
    code: Option<String>,
    extensions: Value,
    headers: HeaderMap,
}

async fn attempt(server: &Server, mutation: &str, address: &str, username: &str, password: &str) -> Tried {
    let (query, variables) = mutation_of(mutation, json!({ "username": username, "password": password }));
    let request = server.http.post(server.url("/graphql")).header("content-type", "application/json");
    let request = request.header("x-forwarded-for", address);
    let response = request.body(json!({ "query": query, "variables": variables }).to_string()).send().await;
    let response = response.unwrap();
    let headers = response.headers().clone();
    let body: Value = response.json().await.unwrap();
    let extensions = body["errors"][0]["extensions"].clone();
    Tried { code: extensions["code"].as_str().map(str::to_owned), extensions, headers }
}

impl Tried {
    #[track_caller]
    fn assert_limit(&self, limit: &str) {
        assert_eq!(self.code.as_deref(), Some("LIMIT_EXCEEDED"), "{}", self.extensions);
        assert_eq!(self.extensions["limit"], limit);
        let wait_ms = self.extensions["retryAfterMs"].as_u64().unwrap();
        assert!((1..=60_000).contains(&wait_ms), "{wait_ms}");
        let seconds: u64 = self.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert_eq!(seconds, wait_ms.div_ceil(1_000));
    }
}

#[tokio::test]
async fn an_address_that_tries_many_names_is_limited() {
    let server = start(AttemptLimits { sign_ins_per_address: 5, ..AttemptLimits::default() }).await;
    server.sign_up("ada").await;
    let compared = server.app.passwords.comparisons();
    for number in 0..5 {
        let tried = attempt(&server, "signIn", "192.0.2.1", &format!("nobody{number}"), WRONG).await;
        assert_eq!(tried.code.as_deref(), Some("INVALID_CREDENTIALS"));
    }
    for (username, password) in [("nobody6", WRONG), ("ada", WRONG), ("ada", PASSWORD), ("!", WRONG)] {
        let tried = attempt(&server, "signIn", "192.0.2.1", username, password).await;
        tried.assert_limit("sign-ins-per-address");
    }
    assert_eq!(server.app.passwords.comparisons() - compared, 5);
    assert_eq!(attempt(&server, "signIn", "192.0.2.2", "ada", PASSWORD).await.code, None);
    server.clock.advance(MINUTE);
    assert_eq!(attempt(&server, "signIn", "192.0.2.1", "ada", PASSWORD).await.code, None);
}

#[tokio::test]
async fn many_addresses_that_try_one_name_are_limited() {
    let server = start(AttemptLimits { sign_ins_per_username: 4, ..AttemptLimits::default() }).await;
    server.sign_up("ada").await;
    for username in ["ada", "nobody"] {
        for address in ["192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"] {
            let tried = attempt(&server, "signIn", address, username, WRONG).await;
            assert_eq!(tried.code.as_deref(), Some("INVALID_CREDENTIALS"), "{username} from {address}");
        }
        for (address, written) in [("192.0.2.1", username.to_owned()), ("192.0.2.2", username.to_uppercase())]
        {
            let tried = attempt(&server, "signIn", address, &written, WRONG).await;
            tried.assert_limit("sign-ins-per-username");
        }
    }
}

#[tokio::test]
async fn strangers_who_fail_without_end_do_not_keep_the_user_out() {
    let server = start(AttemptLimits { sign_ins_per_username: 4, ..AttemptLimits::default() }).await;
    server.sign_up("ada").await;
    for home in 0..3 {
        let known = attempt(&server, "signIn", &format!("203.0.113.{home}"), "ada", PASSWORD).await;
        assert_eq!(known.code, None, "{}", known.extensions);
    }
    for round in 0..3 {
        for stranger in 0..8 {
            attempt(&server, "signIn", &format!("198.51.100.{stranger}"), "ada", WRONG).await;
        }
        let owner = attempt(&server, "signIn", &format!("203.0.113.{round}"), "ada", PASSWORD).await;
        assert_eq!(owner.code, None, "round {round}: {}", owner.extensions);
        let again = attempt(&server, "signIn", &format!("203.0.113.{round}"), "ada", PASSWORD).await;
        assert_eq!(again.code, None, "a success costs nothing");
    }
    attempt(&server, "signIn", "192.0.2.77", "ada", PASSWORD).await.assert_limit("sign-ins-per-username");
}

#[tokio::test]
async fn one_site_of_ipv6_has_no_more_guesses_than_one_address() {
    let server = start(AttemptLimits::default()).await;
    server.sign_up("ada").await;
    let compared = server.app.passwords.comparisons();
    let all = (0..400).map(|subnet| {
        let (server, address) = (&server, format!("2001:db8:0:{subnet:x}::1"));
        async move { attempt(server, "signIn", &address, "ada", WRONG).await.code }
    });
    let codes = futures::future::join_all(all).await;
    let limited = codes.iter().filter(|code| code.as_deref() == Some("LIMIT_EXCEEDED")).count();
    assert_eq!((server.app.passwords.comparisons() - compared, limited), (20, 380));
}

#[tokio::test]
async fn a_site_of_ipv6_that_tries_many_names_is_stopped() {
    let server = start(AttemptLimits { sign_ins_per_address: 2, ..AttemptLimits::default() }).await;
    for (site, step, max) in [("2001:db8:1", 1, 8), ("2001:db8:2", 256, 32)] {
        let mut taken = 0;
        for subnet in 0..40 {
            let address = format!("{site}:{:x}::1", subnet * step);
            let tried = attempt(&server, "signIn", &address, &format!("nobody{subnet}"), WRONG).await;
            taken += usize::from(tried.code.as_deref() == Some("INVALID_CREDENTIALS"));
        }
        assert_eq!(taken, max, "{site}");
    }
}

#[tokio::test]
async fn failures_at_once_are_counted_before_they_have_failed() {
    let limits = AttemptLimits { sign_ins_per_username: 4, ..AttemptLimits::default() };
    let server = start(limits).await;
    server.sign_up("ada").await;
    let compared = server.app.passwords.comparisons();
    let all = (0..30).map(|_| attempt(&server, "signIn", "192.0.2.1", "ada", WRONG));
    futures::future::join_all(all).await;
    assert_eq!(server.app.passwords.comparisons() - compared, 4, "the fifth is refused");
}

#[tokio::test]
async fn sign_ups_are_counted_by_address_and_at_names_that_are_taken() {
    let limits =
        AttemptLimits { sign_ups_per_address: 3, sign_ups_per_username: 2, ..AttemptLimits::default() };
    let server = start(limits).await;
    for username in ["ada", "grace", "alan"] {
        assert_eq!(attempt(&server, "createUser", "192.0.2.1", username, PASSWORD).await.code, None);
    }
    attempt(&server, "createUser", "192.0.2.1", "edsger", PASSWORD)
        .await
        .assert_limit("sign-ups-per-address");
    for address in ["192.0.2.2", "192.0.2.3"] {
        let tried = attempt(&server, "createUser", address, "ada", PASSWORD).await;
        assert_eq!(tried.code.as_deref(), Some("CONFLICT"), "{address}");
    }
    attempt(&server, "createUser", "192.0.2.2", "ada", PASSWORD).await.assert_limit("sign-ups-per-username");
    assert_eq!(attempt(&server, "signIn", "192.0.2.2", "ada", PASSWORD).await.code, None);
}

#[tokio::test]
async fn sign_in_compares_one_password_also_for_unknown_names() {
    let server = start(AttemptLimits::default()).await;
    let ada = server.sign_up("ada").await;
    ada.mutate("updateUser", json!({ "username": "countess" })).await;
    let (bytes, chars) = ("p".repeat(5_000), "p".repeat(201));
    for (username, password) in [
        ("countess", PASSWORD),
        ("countess", WRONG),
        ("countess", ""),
        ("countess", &bytes),
        ("countess", &chars),
        ("ada", PASSWORD),
        ("nobody", PASSWORD),
        ("no name at all!", PASSWORD),
        ("", WRONG),
    ] {
        let before = server.app.passwords.comparisons();
        attempt(&server, "signIn", "192.0.2.1", username, password).await;
        assert_eq!(server.app.passwords.comparisons() - before, 1, "{username:?}");
    }
}

#[tokio::test]
async fn a_network_is_known_after_a_restart_of_the_process() {
    let limits = AttemptLimits { sign_ins_per_username: 2, ..AttemptLimits::default() };
    let server = start(limits).await;
    server.sign_up("ada").await;
    assert_eq!(attempt(&server, "signIn", "203.0.113.7", "ada", PASSWORD).await.code, None);
    let restarted = server.restarted(options(limits)).await;
    for stranger in ["198.51.100.1", "198.51.100.2"] {
        let tried = attempt(&restarted, "signIn", stranger, "ada", WRONG).await;
        assert_eq!(tried.code.as_deref(), Some("INVALID_CREDENTIALS"));
    }
    attempt(&restarted, "signIn", "198.51.100.3", "ada", PASSWORD)
        .await
        .assert_limit("sign-ins-per-username");
    assert_eq!(attempt(&restarted, "signIn", "203.0.113.7", "ada", PASSWORD).await.code, None);
}

#[tokio::test]
async fn a_name_without_an_account_is_recalled_like_any_other() {
    let limits = AttemptLimits { sign_ins_per_username: 1, ..AttemptLimits::default() };
    let server = start(limits).await;
    server.sign_up("ada").await;
    for username in ["ada", "nobody"] {
        let mut seen = Vec::new();
        for address in ["198.51.100.1", "198.51.100.2"] {
            let tried = attempt(&server, "signIn", address, username, WRONG).await;
            seen.push((tried.code, tried.extensions["limit"].clone()));
        }
        assert_eq!(
            seen[1],
            (Some("LIMIT_EXCEEDED".to_owned()), json!("sign-ins-per-username")),
            "{username}"
        );
    }
}
