//! Tests of access tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::super::claim_times::CLOCK_LEEWAY_MS;
use super::super::signing_secrets::{SigningKey, SigningKeys};
use super::*;

const NOW_MS: i64 = 1_700_000_000_500;
const NOW_S: i64 = 1_700_000_000;
const LIFETIME_MS: i64 = 60 * 60 * 1000;
const SESSION: &str = "AAAAAAAAAAAAAAAAAAAAAA";

fn secret() -> SigningSecret {
    SigningSecret::from_bytes(vec![7; 32]).unwrap()
}

fn session() -> SessionId {
    SessionId::parse(SESSION).unwrap()
}

fn tokens() -> Tokens {
    Tokens::new(&secret(), ACCESS_TOKEN_LIFETIME_DEFAULT)
}

fn claims() -> Value {
    let exp = NOW_S + 60;
    json!({ "iss": "onehop", "aud": "onehop", "sub": "u1", "sid": SESSION, "iat": NOW_S, "exp": exp })
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut changed = claims();
    change(&mut changed);
    changed
}

fn signed(header: &Header, claims: &Value) -> String {
    let key = EncodingKey::from_secret(secret().as_bytes());
    jsonwebtoken::encode(header, claims, &key).unwrap()
}

fn verify(token: &str, now_ms: i64) -> Result<String, TokenError> {
    tokens().verify(token, now_ms).map(|verified| verified.bearer.subject)
}

fn judged(claims: &Value) -> Result<String, TokenError> {
    verify(&signed(&Header::new(Algorithm::HS256), claims), NOW_MS)
}

#[test]
fn a_token_names_its_user_until_it_expires() {
    let token = tokens().issue("u1", session(), NOW_MS).unwrap();
    assert_eq!(verify(token.as_str(), NOW_MS).as_deref(), Ok("u1"));
    assert_eq!(verify(token.as_str(), NOW_MS + LIFETIME_MS).as_deref(), Ok("u1"));
    assert_eq!(tokens().expires_at_ms(NOW_MS), NOW_S * 1000 + LIFETIME_MS);
    let expired = verify(token.as_str(), NOW_MS + LIFETIME_MS + CLOCK_LEEWAY_MS);
    assert_eq!(expired, Err(TokenError::Expired));
}

#[test]
fn the_life_of_a_token_is_that_of_the_configuration() {
    let tokens = Tokens::new(&secret(), Duration::from_secs(1));
    let token = tokens.issue("u1", session(), NOW_MS).unwrap();
    let expired = tokens.verify(token.as_str(), NOW_MS + 1000 + CLOCK_LEEWAY_MS);
    assert_eq!(expired, Err(TokenError::Expired));
}

#[test]
fn a_token_says_when_it_will_be_refused() {
    let token = tokens().issue("u1", session(), NOW_MS).unwrap();
    let end_ms = tokens().verify(token.as_str(), NOW_MS).unwrap().valid_until_ms;
    assert!(verify(token.as_str(), end_ms - 1).is_ok());
    assert_eq!(verify(token.as_str(), end_ms), Err(TokenError::Expired));
}

#[test]
fn a_token_from_a_clock_slightly_ahead_is_accepted_and_one_from_the_future_is_not() {
    let ahead = tokens().issue("u1", session(), NOW_MS + CLOCK_LEEWAY_MS).unwrap();
    assert!(verify(ahead.as_str(), NOW_MS).is_ok());
    let future = tokens().issue("u1", session(), NOW_MS + CLOCK_LEEWAY_MS + 1000).unwrap();
    assert_eq!(verify(future.as_str(), NOW_MS), Err(TokenError::Invalid));
}

#[test]
fn the_claims_that_the_refusals_start_from_are_accepted() {
    assert_eq!(judged(&claims()).as_deref(), Ok("u1"));
}

#[test]
fn another_issuer_is_refused() {
    assert_eq!(judged(&changed(|claims| claims["iss"] = json!("twohop"))), Err(TokenError::Invalid));
    assert_eq!(judged(&changed(|claims| claims["iss"] = json!(["onehop"]))), Err(TokenError::Invalid));
}

#[test]
fn environments_with_one_secret_refuse_each_others_tokens() {
    let staging = tokens().for_audience(Audience::named("staging"));
    let token = staging.issue("u1", session(), NOW_MS).unwrap();
    assert_eq!(verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
    assert!(staging.verify(token.as_str(), NOW_MS).is_ok());
    assert_eq!(judged(&changed(|claims| claims["aud"] = json!(["onehop"]))), Err(TokenError::Invalid));
}

#[test]
fn a_missing_claim_is_refused() {
    for claim in ["iss", "aud", "sub", "sid", "iat", "exp"] {
        let without = changed(|claims| _ = claims.as_object_mut().unwrap().remove(claim));
        assert_eq!(judged(&without), Err(TokenError::Invalid), "{claim}");
    }
    for claim in ["sub", "sid"] {
        assert_eq!(judged(&changed(|claims| claims[claim] = json!(""))), Err(TokenError::Invalid));
    }
}

#[test]
fn times_at_the_end_of_the_numbers_do_not_overflow() {
    assert!(judged(&changed(|claims| claims["exp"] = json!(i64::MAX))).is_ok());
    let ancient = changed(|claims| {
        claims["iat"] = json!(i64::MIN);
        claims["exp"] = json!(i64::MIN);
    });
    assert_eq!(judged(&ancient), Err(TokenError::Expired));
}

#[test]
fn another_secret_is_refused() {
    let other = SigningSecret::from_bytes(vec![8; 32]).unwrap();
    let token = Tokens::new(&other, ACCESS_TOKEN_LIFETIME_DEFAULT).issue("u1", session(), NOW_MS).unwrap();
    assert_eq!(verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
}

#[test]
fn a_token_is_judged_by_the_secret_that_it_names_and_without_a_name_by_each() {
    let [first, second] = [7, 8].map(|byte| SigningSecret::from_bytes(vec![byte; 32]).unwrap());
    let [newer, older] = [(2, &first), (1, &second)]
        .map(|(signs_from_ms, secret)| SigningKey { secret: secret.clone(), signs_from_ms });
    let both = SigningKeys::of(vec![newer, older]).unwrap().secrets(NOW_MS);
    let tokens = Tokens::new(&both, ACCESS_TOKEN_LIFETIME_DEFAULT);
    let judged = |kid: Option<&str>, secret: &SigningSecret| {
        let header = Header { kid: kid.map(str::to_owned), ..Header::new(ALGORITHM) };
        let key = EncodingKey::from_secret(secret.as_bytes());
        let token = jsonwebtoken::encode(&header, &claims(), &key).unwrap();
        tokens.verify(&token, NOW_MS).map(|verified| verified.bearer.subject)
    };
    let [id_of_first, id_of_second] = [first.id(), second.id()];
    for (kid, secret) in [(None, &first), (None, &second), (Some(id_of_second.as_str()), &second)] {
        assert_eq!(judged(kid, secret).as_deref(), Ok("u1"), "{kid:?}");
    }
    for kid in [id_of_first.as_str(), "another", "", "../../etc/passwd"] {
        assert_eq!(judged(Some(kid), &second), Err(TokenError::Invalid), "{kid}");
    }
    let issued = tokens.issue("u1", session(), NOW_MS).unwrap();
    assert_eq!(jsonwebtoken::decode_header(issued.as_str()).unwrap().kid, Some(id_of_first.to_string()));
}

#[test]
fn a_token_that_was_verified_is_still_judged_by_its_time_its_audience_and_the_secrets_of_today() {
    let tokens = tokens();
    let token = tokens.issue("u1", session(), NOW_MS).unwrap();
    let end_ms = tokens.verify(token.as_str(), NOW_MS).unwrap().valid_until_ms;
    assert_eq!(tokens.verify(token.as_str(), end_ms), Err(TokenError::Expired));
    let staging = tokens.clone().for_audience(Audience::named("staging"));
    assert_eq!(staging.verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
    assert!(tokens.replace(&Secrets::from(&SigningSecret::from_bytes(vec![8; 32]).unwrap())));
    assert_eq!(tokens.verify(token.as_str(), NOW_MS), Err(TokenError::Invalid));
}

#[test]
fn every_other_algorithm_is_refused() {
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        let token = signed(&Header::new(algorithm), &claims());
        assert_eq!(verify(&token, NOW_MS), Err(TokenError::Invalid), "{algorithm:?}");
    }
    let token = signed(&Header::new(Algorithm::HS256), &claims());
    let (_, rest) = token.split_once('.').unwrap();
    for algorithm in ["none", "None", "RS256", "ES256", "EdDSA", "HS384"] {
        let header = URL_SAFE_NO_PAD.encode(json!({ "typ": "JWT", "alg": algorithm }).to_string());
        let forged = format!("{header}.{rest}");
        assert_eq!(verify(&forged, NOW_MS), Err(TokenError::Invalid), "{algorithm}");
        let (unsigned, _) = forged.rsplit_once('.').unwrap();
        assert_eq!(verify(&format!("{unsigned}."), NOW_MS), Err(TokenError::Invalid));
    }
}

#[test]
fn a_header_that_names_another_algorithm_but_is_signed_with_our_secret_is_refused() {
    let header = URL_SAFE_NO_PAD.encode(json!({ "typ": "JWT", "alg": "RS256" }).to_string());
    let message = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims().to_string()));
    let key = EncodingKey::from_secret(secret().as_bytes());
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    assert_eq!(verify(&format!("{message}.{signature}"), NOW_MS), Err(TokenError::Invalid));
}

#[test]
fn a_critical_extension_is_refused() {
    let header = Header { crit: Some(vec!["exp".to_owned()]), ..Header::new(Algorithm::HS256) };
    assert_eq!(verify(&signed(&header, &claims()), NOW_MS), Err(TokenError::Invalid));
}

#[test]
fn a_changed_token_is_refused() {
    let token = tokens().issue("u1", session(), NOW_MS).unwrap().into_string();
    let parts: Vec<&str> = token.split('.').collect();
    let other = URL_SAFE_NO_PAD.encode(changed(|claims| claims["sub"] = json!("u2")).to_string());
    for forged in [format!("{}.{other}.{}", parts[0], parts[2]), format!("{token}.x"), String::new()] {
        assert_eq!(verify(&forged, NOW_MS), Err(TokenError::Invalid));
    }
}

#[test]
fn neither_a_token_nor_the_secret_is_shown() {
    assert_eq!(format!("{:?}", tokens().issue("u1", session(), NOW_MS).unwrap()), "AccessToken(..)");
    assert_eq!(format!("{:?}", tokens()), "Tokens { lifetime: 3600s, .. }");
}
