//! Sessions over HTTP: sign-out, renewal, changed passwords, and the session cookie of pages.

use std::time::Duration;

use onehop::accounts::token::ACCESS_TOKEN_LIFETIME_DEFAULT;
use onehop::domain::accounts::sessions::{REFRESH_TOKEN_GRACE, SESSION_LIFETIME_DEFAULT};
use reqwest::Method;
use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::server::{PASSWORD, Server};
use onehop_testing::event_stream::EventStream;
use onehop_testing::websocket::WebSocketClient;

const NEW_PASSWORD: &str = "another horse battery";
const SIGN_OUT: &str = "mutation { signOut { userId } }";
const VIEWER: &str = "{ viewer { id } }";

async fn sign_in(server: &Server) -> Value {
    server.anonymous().mutate("signIn", json!({ "username": "ada", "password": PASSWORD })).await
}

fn text(payload: &Value, field: &str) -> String {
    payload[field].as_str().unwrap_or_else(|| panic!("{payload}")).to_owned()
}

async fn is_good(caller: &Caller<'_>) -> bool {
    let answer = caller.ask(VIEWER, json!({})).await;
    assert!([200, 401].contains(&answer.status), "{answer:?}");
    answer.status == 200
}

/// The payload of a renewal, or the code of its refusal.
async fn renew(server: &Server, refresh_token: &str) -> Result<Value, String> {
    let query = "mutation($i: RenewSessionInput!) {
        renewSession(input: $i) { accessToken refreshToken expiresAt user { username } } }";
    let variables = json!({ "i": { "refreshToken": refresh_token } });
    let mut answer = server.anonymous().ask(query, variables).await;
    match answer.body["data"]["renewSession"].take() {
        Value::Null => Err(answer.refused().code),
        renewed => Ok(renewed),
    }
}

async fn renewed(server: &Server, refresh_token: &str) -> Result<String, String> {
    renew(server, refresh_token).await.map(|renewed| text(&renewed, "accessToken"))
}

#[tokio::test]
async fn signing_out_ends_one_session_and_its_tokens() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let other = sign_in(&server).await;
    let (token, refresh_token) = (text(&other, "accessToken"), text(&other, "refreshToken"));
    let other = server.bearing(&token);
    let renewed_token = renewed(&server, &refresh_token).await.unwrap();
    assert!(is_good(&server.bearing(&renewed_token)).await);
    assert_eq!(other.data(SIGN_OUT, json!({})).await["signOut"]["userId"], ada.id.as_str());
    assert!(!is_good(&other).await && !is_good(&server.bearing(&renewed_token)).await);
    assert_eq!(renewed(&server, &refresh_token).await.unwrap_err(), "UNAUTHENTICATED");
    assert!(is_good(&ada).await);
    let refused = server.anonymous().refused(SIGN_OUT, json!({})).await;
    assert_eq!(refused.code, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_session_is_renewed_until_it_ends_by_itself() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let refresh_token = text(&sign_in(&server).await, "refreshToken");
    server.clock.advance(ACCESS_TOKEN_LIFETIME_DEFAULT + Duration::from_secs(60));
    assert!(!is_good(&ada).await);
    let token = renewed(&server, &refresh_token).await.unwrap();
    assert!(is_good(&server.bearing(&token)).await);
    server.clock.advance(SESSION_LIFETIME_DEFAULT);
    assert_eq!(renewed(&server, &refresh_token).await.unwrap_err(), "UNAUTHENTICATED");
    for forged in ["", "x", &"A".repeat(64), &refresh_token[..63]] {
        assert_eq!(renewed(&server, forged).await.unwrap_err(), "UNAUTHENTICATED");
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_used_again_ends_its_session() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let first = text(&sign_in(&server).await, "refreshToken");
    let second = renew(&server, &first).await.unwrap();
    let (token, refresh_token) = (text(&second, "accessToken"), text(&second, "refreshToken"));
    assert_ne!(first, refresh_token);
    server.clock.advance(REFRESH_TOKEN_GRACE + Duration::from_secs(1));
    assert_eq!(renewed(&server, &first).await.unwrap_err(), "UNAUTHENTICATED");
    assert!(!is_good(&server.bearing(&token)).await && is_good(&ada).await);
    assert_eq!(renewed(&server, &refresh_token).await.unwrap_err(), "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_clock_that_ran_ahead_prolongs_no_grace() {
    let server = Server::start().await;
    server.sign_up("ada").await;
    let first = text(&sign_in(&server).await, "refreshToken");
    server.clock.step_wall_ms(600_000);
    let second = text(&renew(&server, &first).await.unwrap(), "refreshToken");
    server.clock.step_wall_ms(-600_000);
    assert_eq!(renewed(&server, &first).await.unwrap_err(), "UNAUTHENTICATED");
    assert_eq!(renewed(&server, &second).await.unwrap_err(), "UNAUTHENTICATED");
}

#[tokio::test]
async fn signing_out_everywhere_ends_all_sessions() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    let other = text(&sign_in(&server).await, "accessToken");
    ada.data("mutation { signOut(everywhere: true) { userId } }", json!({})).await;
    assert!(!is_good(&ada).await && !is_good(&server.bearing(&other)).await && is_good(&bob).await);
}

#[tokio::test]
async fn each_access_token_comes_with_the_time_of_its_end() {
    let server = Server::start().await;
    let credentials = json!({ "username": "ada", "password": PASSWORD });
    let change = json!({ "currentPassword": PASSWORD, "newPassword": NEW_PASSWORD });
    let mut token = String::new();
    for (mutation, input) in
        [("createUser", &credentials), ("signIn", &credentials), ("changePassword", &change)]
    {
        let kind = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
        let query = format!(
            "mutation($i: {kind}!) {{ {mutation}(input: $i) {{ accessToken expiresAt refreshToken }} }}"
        );
        let caller = if token.is_empty() { server.anonymous() } else { server.bearing(&token) };
        let payload = caller.data(&query, json!({ "i": input })).await[mutation].take();
        token = text(&payload, "accessToken");
        assert_eq!(text(&payload, "expiresAt"), "2027-01-15T09:00:00.000Z", "{mutation}");
        let renewed = renew(&server, &text(&payload, "refreshToken")).await.unwrap();
        assert_eq!(text(&renewed, "expiresAt"), "2027-01-15T09:00:00.000Z");
    }
}

#[tokio::test]
async fn a_changed_password_signs_everybody_else_out() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let other = sign_in(&server).await;
    let change = |current: &str, new: &str| json!({ "currentPassword": current, "newPassword": new });
    let wrong = ada.refused_mutation("changePassword", change("not the password", NEW_PASSWORD)).await;
    assert_eq!(wrong.of(), ("FORBIDDEN", Some("currentPassword")));
    let query = "mutation($i: ChangePasswordInput!) {
        changePassword(input: $i) { user { id } accessToken refreshToken } }";
    let changed =
        ada.data(query, json!({ "i": change(PASSWORD, NEW_PASSWORD) })).await["changePassword"].take();
    assert_eq!(changed["user"]["id"], ada.id.as_str());
    assert!(is_good(&server.bearing(&text(&changed, "accessToken"))).await);
    assert!(renewed(&server, &text(&changed, "refreshToken")).await.is_ok());
    assert!(!is_good(&ada).await && !is_good(&server.bearing(&text(&other, "accessToken"))).await);
    assert!(renewed(&server, &text(&other, "refreshToken")).await.is_err());
    let old = json!({ "username": "ada", "password": PASSWORD });
    assert_eq!(server.anonymous().refused_mutation("signIn", old).await.code, "INVALID_CREDENTIALS");
    let new = json!({ "username": "ada", "password": NEW_PASSWORD });
    server.anonymous().mutate("signIn", new).await;
    let anonymous =
        server.anonymous().refused_mutation("changePassword", change(NEW_PASSWORD, PASSWORD)).await;
    assert_eq!(anonymous.code, "UNAUTHENTICATED");
}

#[tokio::test]
async fn connections_end_with_their_session() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let other = text(&sign_in(&server).await, "accessToken");
    let payload = |token: &str| json!({ "authorization": format!("Bearer {token}") });
    let mut socket = WebSocketClient::open_with(server.address(), payload(ada.token())).await;
    let mut kept = WebSocketClient::open_with(server.address(), payload(&other)).await;
    let subscription = json!({ "query": "subscription { feedChanged { id } }" });
    let request = server.http.post(server.url("/graphql")).header("accept", "text/event-stream");
    let mut stream =
        EventStream::of(request.bearer_auth(ada.token()).json(&subscription).send().await.unwrap());
    ada.data(SIGN_OUT, json!({})).await;
    assert_eq!(socket.closed().await, (4403, "Forbidden: the session has ended".to_owned()));
    let last = stream.result().await;
    assert_eq!(last["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    assert_eq!(last["errors"][0]["message"], "The session has ended: sign in again.");
    kept.settle().await;
}

/// The headers that a page of this server sends with each request.
struct Page<'a> {
    server: &'a Server,
    origin: String,
}

/// The answer of the session endpoint: status, cookie, body.
type Answered = (u16, Option<String>, String);

impl Page<'_> {
    async fn send(&self, method: Method, path: &str, lines: &[(&str, &str)], body: &Value) -> Answered {
        let mut request =
            self.server.http.request(method, self.server.url(path)).header("origin", &self.origin);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        if !body.is_null() {
            request = request.json(body);
        }
        let response = request.send().await.unwrap();
        let cookie = response.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), cookie, response.text().await.unwrap())
    }

    async fn sign_in(&self, lines: &[(&str, &str)]) -> Answered {
        let query = "mutation($i: SignInInput!) { signIn(input: $i) { accessToken refreshToken } }";
        let input = json!({ "username": "ada", "password": PASSWORD });
        self.send(Method::POST, "/graphql", lines, &json!({ "query": query, "variables": { "i": input } }))
            .await
    }

    async fn session(&self, method: Method, cookie: &str) -> Answered {
        self.send(method, "/session", &[("cookie", cookie)], &Value::Null).await
    }
}

fn page(server: &Server) -> Page<'_> {
    Page { server, origin: format!("http://{}", server.address()) }
}

const ASKING: &[(&str, &str)] = &[("onehop-session", "cookie")];

#[tokio::test]
async fn a_page_signs_in_by_a_cookie_that_renews_and_signs_out() {
    let server = Server::start().await;
    server.sign_up("ada").await;
    let page = page(&server);
    let (status, cookie, body) = page.sign_in(ASKING).await;
    let cookie = cookie.unwrap();
    assert!(status == 200 && body.contains("\"refreshToken\":null"), "{body}");
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert!(pair.starts_with("onehop-session="), "{cookie}");
    assert_eq!(attributes, "Path=/session; Max-Age=2591999; HttpOnly; SameSite=Strict");

    let (status, set, body) = page.session(Method::POST, pair).await;
    let renewal: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &renewal["user"]["username"]), (200, &json!("ada")));
    assert_eq!(renewal["expiresIn"], 3600);
    let (set, former) = (set.unwrap(), pair);
    let (pair, attributes) = set.split_once("; ").unwrap();
    assert!(pair != former && attributes.ends_with("HttpOnly; SameSite=Strict"), "{set}");
    // Another tab sends the former cookie at once, and both have the same one afterwards.
    let (status, again, _) = page.session(Method::POST, former).await;
    assert_eq!((status, again.unwrap().split(';').next()), (200, Some(pair)));
    let renewed = server.bearing(renewal["accessToken"].as_str().unwrap());
    assert_eq!(renewed.data(VIEWER, json!({})).await["viewer"]["id"], renewal["user"]["id"]);

    let (status, removed, _) = page.session(Method::DELETE, pair).await;
    assert_eq!((status, removed.unwrap().contains("Max-Age=0")), (204, true));
    assert!(!is_good(&renewed).await);
    for cookie in [pair, "onehop-session=forged", "other=1"] {
        let (status, removed, body) = page.session(Method::POST, cookie).await;
        assert_eq!((status, removed.is_some(), body.as_str()), (204, true, ""), "{cookie}");
    }
}

#[tokio::test]
async fn a_page_over_https_has_a_secure_cookie() {
    let server = Server::start().await;
    server.sign_up("ada").await;
    let page = Page { server: &server, origin: format!("https://{}", server.address()) };
    let (_, cookie, _) = page.sign_in(ASKING).await;
    let cookie = cookie.unwrap();
    assert!(cookie.starts_with("__Secure-onehop-session=") && cookie.ends_with("; Secure"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(page.session(Method::POST, pair).await.0, 200);
    let plain = Page { server: &server, origin: format!("http://{}", server.address()) };
    assert_eq!(plain.session(Method::POST, pair).await.0, 204);
}

#[tokio::test]
async fn other_clients_and_other_sites_see_no_cookie() {
    let server = Server::start().await;
    server.sign_up("ada").await;
    let (_, cookie, body) = page(&server).sign_in(&[]).await;
    assert!(cookie.is_none() && !body.contains("\"refreshToken\":null"), "{body}");
    let other = Page { server: &server, origin: "https://evil.example".to_owned() };
    let (_, cookie, _) = other.sign_in(ASKING).await;
    assert_eq!(cookie, None);

    let (_, cookie, _) = page(&server).sign_in(ASKING).await;
    let cookie = cookie.unwrap();
    let pair = cookie.split(';').next().unwrap();
    for method in [Method::POST, Method::DELETE] {
        assert_eq!(other.session(method.clone(), pair).await.0, 403, "{method}");
        let request = server.http.request(method.clone(), server.url("/session")).header("cookie", pair);
        assert_eq!(
            request.send().await.unwrap().status(),
            403,
            "{method}: no browser says where it comes from"
        );
    }
    let same_site = [("cookie", pair), ("sec-fetch-site", "same-site")];
    assert_eq!(page(&server).send(Method::POST, "/session", &same_site, &Value::Null).await.0, 403);
    assert_eq!(page(&server).session(Method::GET, pair).await.0, 405);
    assert_eq!(page(&server).session(Method::POST, pair).await.0, 200, "none of them ended the session");
    let viewer = json!({ "query": VIEWER });
    let (_, _, body) = page(&server).send(Method::POST, "/graphql", &[("cookie", pair)], &viewer).await;
    assert!(body.contains("\"viewer\":null"), "the cookie says nothing elsewhere: {body}");
}
