//! A provider in the process: it has real keys, signs real tokens, counts its requests and can be down.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaKeyPair,
};
use axum::routing::get;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::*;

const NOW_MS: i64 = 1_700_000_000_000;
const NOW_S: i64 = 1_700_000_000;
const ISSUER: &str = "https://id.example/tenant";

static RSA: LazyLock<RsaKeyPair> = LazyLock::new(|| RsaKeyPair::generate(KeySize::Rsa2048).unwrap());
static P256: LazyLock<EcdsaKeyPair> =
    LazyLock::new(|| EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap());
static ED25519: LazyLock<Ed25519KeyPair> = LazyLock::new(|| Ed25519KeyPair::generate().unwrap());

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn sign(algorithm: &str, message: &[u8]) -> Vec<u8> {
    let random = SystemRandom::new();
    let rsa = |padding: &'static dyn aws_lc_rs::signature::RsaEncoding| {
        let mut signature = vec![0; RSA.public_modulus_len()];
        RSA.sign(padding, &random, message, &mut signature).unwrap();
        signature
    };
    match algorithm {
        "RS256" => rsa(&RSA_PKCS1_SHA256),
        "PS256" => rsa(&RSA_PSS_SHA256),
        "ES256" => P256.sign(&random, message).unwrap().as_ref().to_vec(),
        "EdDSA" => ED25519.sign(message).as_ref().to_vec(),
        _ => Vec::new(),
    }
}

fn token_with(header: &Value, claims: &Value) -> String {
    let message = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
    let signature = sign(header["alg"].as_str().unwrap(), message.as_bytes());
    format!("{message}.{}", base64(signature))
}

fn token(claims: &Value) -> String {
    token_with(&json!({ "alg": "EdDSA", "kid": "ed" }), claims)
}

fn claims() -> Value {
    json!({ "iss": ISSUER, "sub": "s1", "aud": "onehop", "iat": NOW_S, "exp": NOW_S + 300 })
}

fn changed(change: impl FnOnce(&mut Value)) -> Value {
    let mut changed = claims();
    change(&mut changed);
    changed
}

fn rsa_jwk() -> Value {
    let key = RSA.public_key();
    let (n, e) = (key.modulus(), key.exponent());
    json!({
        "kty": "RSA", "kid": "rsa", "use": "sig",
        "n": base64(n.big_endian_without_leading_zero()), "e": base64(e.big_endian_without_leading_zero()),
    })
}

fn p256_jwk() -> Value {
    let point = P256.public_key().as_ref();
    json!({ "kty": "EC", "kid": "ec", "crv": "P-256", "x": base64(&point[1..33]), "y": base64(&point[33..]) })
}

fn ed25519_jwk() -> Value {
    json!({ "kty": "OKP", "kid": "ed", "crv": "Ed25519", "alg": "EdDSA", "x": base64(ED25519.public_key()) })
}

struct Provider {
    discovery: Value,
    keys: RwLock<Value>,
    is_down: AtomicBool,
    asked: AtomicUsize,
}

impl Provider {
    fn with_keys(keys: Value) -> Arc<Self> {
        Self::new(json!({ "issuer": ISSUER, "jwks_uri": "https://id.example/keys" }), keys)
    }

    fn new(discovery: Value, keys: Value) -> Arc<Self> {
        Arc::new(Self {
            discovery,
            keys: RwLock::new(json!({ "keys": keys })),
            is_down: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
        })
    }

    fn publish(&self, keys: Value) {
        *self.keys.write() = json!({ "keys": keys });
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }
}

#[async_trait]
impl ProviderDocuments for Provider {
    async fn document(&self, address: &Url) -> Result<Vec<u8>, DocumentFault> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(DocumentFault::Status(reqwest::StatusCode::BAD_GATEWAY));
        }
        Ok(match address.as_str() {
            "https://id.example/tenant/.well-known/openid-configuration" => {
                self.asked.fetch_add(1, Ordering::SeqCst);
                self.discovery.to_string().into_bytes()
            }
            "https://id.example/keys" => self.keys.read().to_string().into_bytes(),
            other => panic!("nothing is at {other}"),
        })
    }
}

fn verifier(provider: &Arc<Provider>) -> OidcVerifier {
    let documents: Arc<dyn ProviderDocuments> = provider.clone();
    OidcVerifier::new(ISSUER, Some("onehop".to_owned()), documents).unwrap()
}

async fn judged(claims: &Value) -> Result<Verified<ExternalIdentity>, OidcError> {
    verifier(&Provider::with_keys(json!([ed25519_jwk()]))).verify(&token(claims), NOW_MS).await
}

#[track_caller]
fn assert_invalid(judged: Result<Verified<ExternalIdentity>, OidcError>, what: &str) {
    assert!(matches!(judged, Err(OidcError::Token(TokenError::Invalid))), "{what}: {judged:?}");
}

#[track_caller]
fn assert_fault(judged: Result<Verified<ExternalIdentity>, OidcError>) -> OidcFault {
    match judged {
        Err(OidcError::Fault(fault)) => fault,
        other => panic!("not a fault: {other:?}"),
    }
}

#[tokio::test]
async fn a_token_tells_who_its_bearer_is() {
    let told = changed(|claims| {
        claims["preferred_username"] = json!("Ada");
        claims["email"] = json!("ada@example.com");
        claims["email_verified"] = json!(true);
        claims["groups"] = json!(["staff"]);
    });
    let expected = ExternalIdentity {
        issuer: ISSUER.to_owned(),
        subject: "s1".to_owned(),
        preferred_username: Some("Ada".to_owned()),
        email: Some("ada@example.com".to_owned()),
        email_verified: true,
        other_claims: [("groups".to_owned(), json!(["staff"]))].into_iter().collect(),
    };
    assert_eq!(judged(&told).await.unwrap().bearer, expected);
    let bare = judged(&claims()).await.unwrap().bearer;
    assert_eq!((bare.preferred_username, bare.email, bare.email_verified), (None, None, false));
}

#[tokio::test]
async fn each_algorithm_goes_with_keys_of_its_kind() {
    let provider = Provider::with_keys(json!([rsa_jwk(), p256_jwk(), ed25519_jwk()]));
    let verifier = verifier(&provider);
    for (algorithm, fitting) in [("RS256", "rsa"), ("PS256", "rsa"), ("ES256", "ec"), ("EdDSA", "ed")] {
        for kid in ["rsa", "ec", "ed"] {
            let token = token_with(&json!({ "alg": algorithm, "kid": kid }), &claims());
            let judged = verifier.verify(&token, NOW_MS).await;
            assert_eq!(judged.is_ok(), kid == fitting, "{algorithm} with {kid}: {judged:?}");
        }
    }
}

#[tokio::test]
async fn a_key_of_one_algorithm_serves_no_other() {
    let mut key = rsa_jwk();
    key["alg"] = json!("PS256");
    let verifier = verifier(&Provider::with_keys(json!([key])));
    let token = |algorithm| token_with(&json!({ "alg": algorithm, "kid": "rsa" }), &claims());
    assert!(verifier.verify(&token("PS256"), NOW_MS).await.is_ok());
    assert_invalid(verifier.verify(&token("RS256"), NOW_MS).await, "RS256");
}

#[tokio::test]
async fn a_public_key_is_never_a_shared_secret_and_no_signature_is_no_token() {
    let shared = json!({ "kty": "oct", "kid": "oct", "k": base64([7; 32]) });
    let provider = Provider::with_keys(json!([ed25519_jwk(), shared]));
    let verifier = verifier(&provider);
    for (kid, secret) in [("oct", [7; 32].to_vec()), ("ed", ED25519.public_key().as_ref().to_vec())] {
        let header = json!({ "alg": "HS256", "kid": kid });
        let message = format!("{}.{}", base64(header.to_string()), base64(claims().to_string()));
        let key = EncodingKey::from_secret(&secret);
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
        assert_invalid(verifier.verify(&format!("{message}.{signature}"), NOW_MS).await, kid);
    }
    let unsigned = token_with(&json!({ "alg": "none", "kid": "ed" }), &claims());
    assert_invalid(verifier.verify(&unsigned, NOW_MS).await, "none");
    assert_eq!(provider.asked(), 0, "a refused algorithm costs no request");
}

#[tokio::test]
async fn claims_that_do_not_hold_are_refused() {
    let cases = [
        ("another issuer", changed(|claims| claims["iss"] = json!("https://id.example/other"))),
        ("another audience", changed(|claims| claims["aud"] = json!("other"))),
        ("other audiences", changed(|claims| claims["aud"] = json!(["other", "another"]))),
        ("no audience", changed(|claims| _ = claims.as_object_mut().unwrap().remove("aud"))),
        ("no expiry", changed(|claims| _ = claims.as_object_mut().unwrap().remove("exp"))),
        ("no subject", changed(|claims| _ = claims.as_object_mut().unwrap().remove("sub"))),
        ("an empty subject", changed(|claims| claims["sub"] = json!(""))),
        ("a long subject", changed(|claims| claims["sub"] = json!("s".repeat(256)))),
        ("not yet good", changed(|claims| claims["nbf"] = json!(NOW_S + 31))),
        ("issued in the future", changed(|claims| claims["iat"] = json!(NOW_S + 31))),
    ];
    for (what, claims) in cases {
        assert_invalid(judged(&claims).await, what);
    }
}

#[tokio::test]
async fn a_token_of_another_type_is_refused() {
    let verifier = verifier(&Provider::with_keys(json!([ed25519_jwk()])));
    let typed = |typ: &str| token_with(&json!({ "alg": "EdDSA", "kid": "ed", "typ": typ }), &claims());
    for typ in ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", "application/JWT"] {
        assert!(verifier.verify(&typed(typ), NOW_MS).await.is_ok(), "{typ}");
    }
    for typ in
        ["logout+jwt", "application/logout+jwt", "secevent+jwt", "dpop+jwt", "client-authentication+jwt", ""]
    {
        assert_invalid(verifier.verify(&typed(typ), NOW_MS).await, typ);
    }
}

#[tokio::test]
async fn a_token_about_events_is_refused_whatever_its_type() {
    let logout = json!({ "http://schemas.openid.net/event/backchannel-logout": {} });
    for events in [logout, json!({}), json!([]), json!("logout")] {
        assert_invalid(
            judged(&changed(|claims| claims["events"] = events.clone())).await,
            &events.to_string(),
        );
    }
}

#[tokio::test]
async fn an_id_token_for_our_audience_is_accepted() {
    let id_token = changed(|claims| {
        claims["nonce"] = json!("n-0S6_WzA2Mj");
        claims["at_hash"] = json!("77QmUPtjPfzWtF2AnpK9RQ");
        claims["auth_time"] = json!(NOW_S);
    });
    assert!(judged(&id_token).await.is_ok());
}

#[tokio::test]
async fn times_are_judged_by_the_time_passed_in() {
    assert!(judged(&changed(|claims| claims["exp"] = json!(NOW_S - 29))).await.is_ok());
    assert!(judged(&changed(|claims| claims["exp"] = json!(NOW_S as f64 + 0.5))).await.is_ok());
    assert!(judged(&changed(|claims| claims["nbf"] = json!(NOW_S + 30))).await.is_ok());
    let expired = judged(&changed(|claims| claims["exp"] = json!(NOW_S - 30))).await;
    assert!(matches!(expired, Err(OidcError::Token(TokenError::Expired))));
}

#[tokio::test]
async fn one_of_several_audiences_is_enough_and_none_is_asked_for_without_configuration() {
    assert!(judged(&changed(|claims| claims["aud"] = json!(["other", "onehop"]))).await.is_ok());
    let provider = Provider::with_keys(json!([ed25519_jwk()]));
    let open = OidcVerifier::new(ISSUER, None, provider).unwrap();
    let other = changed(|claims| claims["aud"] = json!("other"));
    assert!(open.verify(&token(&other), NOW_MS).await.is_ok());
}

#[tokio::test]
async fn a_changed_token_is_refused() {
    let verifier = verifier(&Provider::with_keys(json!([ed25519_jwk()])));
    let token = token(&claims());
    let parts: Vec<&str> = token.split('.').collect();
    let other = base64(changed(|claims| claims["sub"] = json!("s2")).to_string());
    assert_invalid(verifier.verify(&format!("{}.{other}.{}", parts[0], parts[2]), NOW_MS).await, "changed");
    for malformed in ["", "a", "a.b", "a.b.c", "a.b.c.d"] {
        assert_invalid(verifier.verify(malformed, NOW_MS).await, malformed);
    }
}

#[tokio::test]
async fn a_token_without_a_key_id_needs_one_fitting_key() {
    let header = json!({ "alg": "EdDSA" });
    let one = verifier(&Provider::with_keys(json!([ed25519_jwk(), p256_jwk()])));
    assert!(one.verify(&token_with(&header, &claims()), NOW_MS).await.is_ok());
    let mut second = ed25519_jwk();
    second["kid"] = json!("ed2");
    let two = verifier(&Provider::with_keys(json!([ed25519_jwk(), second])));
    assert_invalid(two.verify(&token_with(&header, &claims()), NOW_MS).await, "two keys");
}

#[tokio::test]
async fn keys_are_read_once_and_again_for_an_unknown_key_but_not_too_often() {
    let provider = Provider::with_keys(json!([p256_jwk()]));
    let verifier = verifier(&provider);
    let token = token(&claims());
    for _ in 0..3 {
        assert_invalid(verifier.verify(&token, NOW_MS).await, "not published");
    }
    assert_eq!(provider.asked(), 1);

    provider.publish(json!([p256_jwk(), ed25519_jwk()]));
    let early = NOW_MS + REFRESH_INTERVAL_MIN_MS - 1;
    assert_invalid(verifier.verify(&token, early).await, "published, not read again");
    assert!(verifier.verify(&token, NOW_MS + REFRESH_INTERVAL_MIN_MS).await.is_ok());
    assert!(verifier.verify(&token, NOW_MS + 2 * REFRESH_INTERVAL_MIN_MS).await.is_ok());
    assert_eq!(provider.asked(), 2);
}

#[tokio::test]
async fn many_at_once_ask_the_provider_once() {
    let provider = Provider::with_keys(json!([ed25519_jwk()]));
    let verifier = verifier(&provider);
    let token = token(&claims());
    let all = futures::future::join_all((0..50).map(|_| verifier.verify(&token, NOW_MS))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn a_provider_that_is_down_is_a_fault_and_no_refusal() {
    let provider = Provider::with_keys(json!([ed25519_jwk()]));
    let verifier = verifier(&provider);
    let token = token(&claims());
    provider.set_down(true);
    let fault = assert_fault(verifier.verify(&token, NOW_MS).await);
    assert!(matches!(fault, OidcFault::Document { source: DocumentFault::Status(_), .. }));

    provider.set_down(false);
    let again = assert_fault(verifier.verify(&token, NOW_MS + 4_000).await);
    assert!(matches!(again, OidcFault::AskedRecently { retry_after_ms: 6_000 }));
    assert_eq!(again.retry_after_ms(), 6_000);
    assert!(verifier.verify(&token, NOW_MS + REFRESH_INTERVAL_MIN_MS).await.is_ok());

    provider.set_down(true);
    let unknown = token_with(&json!({ "alg": "EdDSA", "kid": "new" }), &claims());
    assert_fault(verifier.verify(&unknown, NOW_MS + 3 * REFRESH_INTERVAL_MIN_MS).await);
}

#[tokio::test]
async fn old_keys_serve_a_day_while_the_provider_is_down_and_withdrawn_keys_an_hour() {
    let provider = Provider::with_keys(json!([ed25519_jwk()]));
    let verifier = verifier(&provider);
    let lasting = token(&changed(|claims| claims["exp"] = json!(NOW_S * 2)));
    verifier.refresh(NOW_MS).await.unwrap();
    provider.set_down(true);
    assert!(verifier.verify(&lasting, NOW_MS + KEYS_USABLE_MS - 1).await.is_ok());
    assert_fault(verifier.verify(&lasting, NOW_MS + KEYS_USABLE_MS + REFRESH_INTERVAL_MIN_MS).await);
    // A clock that was set back keeps no keys alive.
    assert_fault(verifier.verify(&lasting, NOW_MS - KEYS_USABLE_MS).await);

    provider.set_down(false);
    let later_ms = NOW_MS + 2 * KEYS_USABLE_MS;
    assert!(verifier.verify(&lasting, later_ms).await.is_ok());
    provider.publish(json!([p256_jwk()]));
    assert!(verifier.verify(&lasting, later_ms + KEYS_FRESH_MS - 1).await.is_ok());
    assert_invalid(verifier.verify(&lasting, later_ms + KEYS_FRESH_MS).await, "withdrawn");
}

#[tokio::test]
async fn refreshing_asks_only_when_keys_have_grown_old() {
    let provider = Provider::with_keys(json!([ed25519_jwk()]));
    let verifier = verifier(&provider);
    for now_ms in [NOW_MS, NOW_MS + KEYS_FRESH_MS - 1, NOW_MS + KEYS_FRESH_MS] {
        verifier.refresh(now_ms).await.unwrap();
    }
    assert_eq!(provider.asked(), 2);
}

#[tokio::test]
async fn withdrawn_keys_do_not_outlive_a_clock_that_is_set_back() {
    let provider = Provider::with_keys(json!([ed25519_jwk()]));
    let verifier = verifier(&provider);
    let lasting = token(&changed(|claims| claims["exp"] = json!(NOW_S * 2)));
    assert!(verifier.verify(&lasting, NOW_MS + KEYS_FRESH_MS).await.is_ok());
    provider.publish(json!([p256_jwk()]));
    assert_invalid(verifier.verify(&lasting, NOW_MS).await, "set back by an hour");
}

#[tokio::test]
async fn documents_that_make_no_sense_are_faults() {
    let discovery = |issuer: &str, keys: &str| json!({ "issuer": issuer, "jwks_uri": keys });
    let cases = [
        discovery("https://id.example/other", "https://id.example/keys"),
        discovery(ISSUER, "http://id.example/keys"),
        discovery(ISSUER, "http://127.0.0.1/keys"),
        discovery(ISSUER, "file:///keys"),
        discovery(ISSUER, "keys"),
        json!({ "issuer": ISSUER }),
        json!([]),
    ];
    for document in cases {
        let verifier = verifier(&Provider::new(document, json!([ed25519_jwk()])));
        assert_fault(verifier.verify(&token(&claims()), NOW_MS).await);
    }
    assert_fault(verifier(&Provider::with_keys(json!("none"))).verify(&token(&claims()), NOW_MS).await);
}

#[tokio::test]
async fn keys_that_are_not_for_signatures_are_passed_over() {
    let mut encrypts = ed25519_jwk();
    encrypts["use"] = json!("enc");
    let unknown = json!({ "kty": "new", "kid": "new", "curve": 7 });
    let keys = json!([encrypts, unknown, p256_jwk()]);
    let verifier = verifier(&Provider::with_keys(keys));
    assert_invalid(verifier.verify(&token(&claims()), NOW_MS).await, "enc");
    let other = token_with(&json!({ "alg": "ES256", "kid": "ec" }), &claims());
    assert!(verifier.verify(&other, NOW_MS).await.is_ok());
}

#[test]
fn an_issuer_is_an_https_address_or_on_loopback() {
    let judge = |issuer: &str| {
        OidcVerifier::new(issuer, None, Provider::with_keys(json!([])))
            .map(|verifier| verifier.discovery.to_string())
    };
    let well_known = ".well-known/openid-configuration";
    assert_eq!(judge("https://id.example").unwrap(), format!("https://id.example/{well_known}"));
    assert_eq!(judge("https://id.example/a/").unwrap(), format!("https://id.example/a/{well_known}"));
    for loopback in ["http://localhost:8080", "http://127.0.0.1:1", "http://[::1]:1/realm"] {
        assert!(judge(loopback).is_ok(), "{loopback}");
    }
    for plain in ["http://id.example", "http://localhost.example", "http://10.0.0.1", "ftp://localhost"] {
        assert_eq!(judge(plain), Err(IssuerError::NotHttps), "{plain}");
    }
    for adorned in ["https://id.example?a=1", "https://id.example#a", "https://user:word@id.example"] {
        assert_eq!(judge(adorned), Err(IssuerError::NotPlain), "{adorned}");
    }
    assert_eq!(judge("id.example"), Err(IssuerError::NotUrl));
}

#[tokio::test]
async fn a_provider_on_loopback_is_read_over_http() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let discovery = json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") });
    let router = Router::new()
        .route("/.well-known/openid-configuration", get(async move || Json(discovery)))
        .route("/keys", get(async || Json(json!({ "keys": [ed25519_jwk()] }))))
        .route("/large", get(async || "x".repeat(DOCUMENT_BYTES_MAX + 1)))
        .route("/moved", get(async || axum::response::Redirect::to("/keys")));
    let documents = HttpProviderDocuments::new().unwrap();
    let test = async {
        let verifier = OidcVerifier::new(&issuer, None, Arc::new(documents.clone())).unwrap();
        let token = token(&changed(|claims| claims["iss"] = json!(issuer)));
        assert_eq!(verifier.verify(&token, NOW_MS).await.unwrap().bearer.subject, "s1");

        let read = async |path: &str| {
            documents.document(&format!("{issuer}/{path}").parse().unwrap()).await.unwrap_err()
        };
        assert!(matches!(read("large").await, DocumentFault::TooLarge));
        assert!(matches!(read("moved").await, DocumentFault::Status(_)));
        assert!(matches!(read("missing").await, DocumentFault::Status(_)));
    };
    tokio::select! {
        () = test => {}
        stopped = async { axum::serve(listener, router).await } => panic!("the provider stopped: {stopped:?}"),
    }
}
