//! Bearer tokens: Onehop's own, and tokens of an OpenID Connect provider.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onehop::accounts::audience::Audience;
use onehop::accounts::session::SessionId;
use onehop::accounts::signing_secrets::SigningSecret;
use onehop::accounts::token::{ACCESS_TOKEN_LIFETIME_DEFAULT, Tokens};
use serde_json::{Value, json};

use crate::api::caller::Answer;
use crate::api::provider::Provider;
use crate::api::server::{START_MS, Server, Setup};

const VIEWER: &str = "{ viewer { id username } }";

async fn ask_with(server: &Server, authorization: &str) -> Answer {
    server.anonymous().send_as(json!({ "query": VIEWER }), Some(authorization)).await
}

#[track_caller]
fn assert_refused(answer: &Answer, what: &str) {
    assert_eq!(answer.status, 401, "{what}: {answer:?}");
    assert_eq!(answer.refused().code, "UNAUTHENTICATED", "{what}");
    assert_eq!(answer.headers["www-authenticate"], "Bearer error=\"invalid_token\"", "{what}");
    assert!(answer.body.get("data").is_none(), "{what}");
}

#[tokio::test]
async fn an_expired_token_is_refused_and_not_anonymous() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    server.clock.advance(ACCESS_TOKEN_LIFETIME_DEFAULT - Duration::from_secs(60));
    ada.data(VIEWER, json!({})).await;
    server.clock.advance(Duration::from_secs(120));
    assert_refused(&ada.ask(VIEWER, json!({})).await, "expired");
}

#[tokio::test]
async fn a_forged_token_is_refused() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let parts: Vec<&str> = ada.token().split('.').collect();
    let claims = URL_SAFE_NO_PAD.decode(parts[1]).unwrap();
    let mut claims: Value = serde_json::from_slice(&claims).unwrap();
    claims["exp"] = json!(START_MS);
    let longer = URL_SAFE_NO_PAD.encode(claims.to_string());
    let [none, rs256] = ["none", "RS256"].map(|algorithm| {
        let header = json!({ "typ": "JWT", "alg": algorithm });
        format!("{}.{}", URL_SAFE_NO_PAD.encode(header.to_string()), parts[1])
    });
    let other = SigningSecret::from_bytes(vec![7; 32]).unwrap();
    let other = Tokens::new(&other, ACCESS_TOKEN_LIFETIME_DEFAULT);
    let session = SessionId::parse(claims["sid"].as_str().unwrap()).unwrap();
    let user = claims["sub"].as_str().unwrap();
    let of_another_secret = other.issue(user, session, START_MS).unwrap();
    let staging = server.tokens.clone().for_audience(Audience::named("staging"));
    let of_another_audience = staging.issue(user, session, START_MS).unwrap();
    for (what, token) in [
        ("other claims", format!("{}.{longer}.{}", parts[0], parts[2])),
        ("no algorithm", format!("{none}.")),
        ("no algorithm with a signature", format!("{none}.{}", parts[2])),
        ("another algorithm", format!("{rs256}.{}", parts[2])),
        ("another secret", of_another_secret.into_string()),
        ("another audience", of_another_audience.into_string()),
        ("cut off", ada.token()[..ada.token().len() - 1].to_owned()),
        ("no token", "secret".to_owned()),
        ("too long", "e".repeat(20_000)),
    ] {
        assert_refused(&ask_with(&server, &format!("Bearer {token}")).await, what);
    }
}

#[tokio::test]
async fn a_header_without_a_bearer_is_refused() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let token = ada.token();
    for header in [token.to_owned(), format!("Basic {token}"), format!("Token {token}"), "Bearer".to_owned()]
    {
        assert_refused(&ask_with(&server, &header).await, "header");
    }
    assert_eq!(ask_with(&server, &format!("bearer {token}")).await.status, 200, "schemes have no case");
}

#[tokio::test]
async fn a_token_without_a_session_is_refused() {
    let server = Server::start().await;
    let session = SessionId::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap();
    let token = server.tokens.issue("0189c7f4-7a00-7000-8000-000000000000", session, START_MS).unwrap();
    assert_refused(&server.bearing(token.as_str()).ask(VIEWER, json!({})).await, "no session");
}

#[tokio::test]
async fn a_subject_of_the_provider_is_one_user_in_every_request() {
    let provider = Provider::start().await;
    let server = Server::start_with(Setup { issuer: Some(provider.issuer()), ..Setup::default() }).await;
    let ada = server.bearing(&provider.token("subject-1", "ada@id.example"));
    let first = ada.data(VIEWER, json!({})).await["viewer"].take();
    assert_eq!(first["username"], "ada");
    let renamed = server.bearing(&provider.token("subject-1", "countess"));
    assert_eq!(renamed.data(VIEWER, json!({})).await["viewer"], first, "the provider's name counts once");
    ada.post("from elsewhere").await;
    let namesake = server.bearing(&provider.token("subject-2", "ada"));
    let namesake = namesake.data(VIEWER, json!({})).await["viewer"].take();
    assert_ne!(namesake["id"], first["id"]);
    assert!(namesake["username"].as_str().unwrap().starts_with("ada-"), "{namesake}");
    assert_eq!(provider.asked(), 2, "the provider is asked once for each of its documents");
}

#[tokio::test]
async fn a_user_of_the_provider_cannot_sign_in_with_a_password() {
    let provider = Provider::start().await;
    let server = Server::start_with(Setup { issuer: Some(provider.issuer()), ..Setup::default() }).await;
    server.bearing(&provider.token("subject-1", "ada")).data(VIEWER, json!({})).await;
    for password in ["", "subject-1", "anything at all"] {
        let input = json!({ "username": "ada", "password": password });
        assert_eq!(server.anonymous().refused_mutation("signIn", input).await.code, "INVALID_CREDENTIALS");
    }
    let input = json!({ "username": "Ada", "password": "anything at all" });
    assert_eq!(server.anonymous().refused_mutation("createUser", input).await.code, "CONFLICT");
}

#[tokio::test]
async fn a_provider_token_for_another_audience_is_refused() {
    let provider = Provider::start().await;
    let server = Server::start_with(Setup { issuer: Some(provider.issuer()), ..Setup::default() }).await;
    let stranger = Provider::start().await;
    let changed = |name: &str, value: Value| {
        let mut claims = provider.claims("subject-1", "ada");
        claims[name] = value;
        provider.token_with(&json!({ "alg": "EdDSA", "kid": "first" }), &claims)
    };
    let unknown_key = json!({ "alg": "EdDSA", "kid": "second" });
    for (what, token) in [
        ("unknown key", provider.token_with(&unknown_key, &provider.claims("subject-1", "ada"))),
        ("another audience", changed("aud", json!("twohop"))),
        ("expired", changed("exp", json!(START_MS / 1000 - 60))),
        ("not yet", changed("iat", json!(START_MS / 1000 + 600))),
        ("no subject", changed("sub", json!(""))),
        (
            "a logout token",
            changed("events", json!({ "http://schemas.openid.net/event/backchannel-logout": {} })),
        ),
        (
            "the type of a logout token",
            provider.token_with(
                &json!({ "alg": "EdDSA", "kid": "first", "typ": "logout+jwt" }),
                &provider.claims("subject-1", "ada"),
            ),
        ),
        ("another issuer", stranger.token("subject-1", "ada")),
        (
            "another issuer's key",
            stranger
                .token_with(&json!({ "alg": "EdDSA", "kid": "first" }), &provider.claims("subject-1", "ada")),
        ),
    ] {
        assert_refused(&ask_with(&server, &format!("Bearer {token}")).await, what);
    }
}

#[tokio::test]
async fn without_its_provider_only_token_requests_are_unavailable() {
    let provider = Provider::start().await;
    let server = Server::start_with(Setup { issuer: Some(provider.issuer()), ..Setup::default() }).await;
    provider.set_down();
    let answer = ask_with(&server, &format!("Bearer {}", provider.token("subject-1", "ada"))).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.refused().code, "UNAVAILABLE");
    let seconds: u32 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=10).contains(&seconds), "{seconds}");
    server.sign_up("grace").await.data(VIEWER, json!({})).await;
}
