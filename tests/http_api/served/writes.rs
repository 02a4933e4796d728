//! Generated mutations of a served model: checks, defaults, counts, versions, uniqueness, conditions and
//! deletion.

use std::collections::HashSet;
use std::sync::Arc;

use onehop::accounts::password::HashingCost;
use onehop::app::{AppOptions, Member, OpenStore, ServedApp};
use onehop::served::ServedModel;
use onehop_change_feed::Sharing;
use onehop_runtime::clock::SystemClock;
use onehop_testing::lagging_account::LaggingAccount;
use serde_json::{Value, json};

use super::server::{BIRDS, Client, ServedServer, served_model, site};

const CREATE_SITE: &str =
    "mutation($input: CreateSiteInput!) { createSite(input: $input) { site { id name } } }";
const SITE: &str = "query($id: ID!) { site(id: $id) { name habitat code isClosed revision createdAt changedAt
    sightingCount followerCount location { latitude longitude } hides { label seats } warden { name } } }";
const UPDATE_SITE: &str =
    "mutation($input: UpdateSiteInput!) { updateSite(input: $input) { site { name revision changedAt } } }";
const FOLLOW: &str = "mutation($input: CreateFollowInput!) { createFollow(input: $input) { follow { id site { followerCount } } } }";
const UNFOLLOW: &str =
    "mutation($input: DeleteFollowInput!) { deleteFollow(input: $input) { deletedFollowId } }";

/// The bakery of the driver, with an account and a bread: its token and the id of the bread.
async fn bakery() -> (ServedServer, String, String) {
    let server = ServedServer::start(include_str!("models/bakery.graphql")).await;
    let sign_up = "mutation { createPerson(input: { name: \"Ada\", email: \"ada@example.com\", password: \"a-secret-that-no-log-may-show\" }) { accessToken } }";
    let data = server.data(None, sign_up, json!({})).await;
    let token = data["createPerson"]["accessToken"].as_str().unwrap().to_owned();
    let create = "mutation { createBread(input: { name: \"Rye\", weight: \"750.5\", price: { amount: \"3.33\", currencyCode: \"EUR\" } }) { bread { id } } }";
    let data = server.data(Some(&token), create, json!({})).await;
    let bread = data["createBread"]["bread"]["id"].as_str().unwrap().to_owned();
    (server, token, bread)
}

#[tokio::test]
async fn totals_follow_their_lines_in_one_currency() {
    let (server, token, bread) = bakery().await;
    let create = "mutation($input: CreateOrderInput!) { createOrder(input: $input) { order { id pieces total { amount currencyCode } lines { breadName price { amount } total { amount currencyCode } } } } }";
    let lines = json!([{ "breadId": bread, "quantity": 3 }]);
    let data = server.data(Some(&token), create, json!({ "input": { "lines": lines } })).await;
    let order = &data["createOrder"]["order"];
    let total = json!({ "amount": "9.99", "currencyCode": "EUR" });
    let line = json!({ "breadName": "Rye", "price": { "amount": "3.33" }, "total": total });
    assert_eq!((&order["total"], &order["pieces"], &order["lines"][0]), (&total, &json!(3), &line));
    // A tip in another currency has no place beside the total.
    let update = "mutation($input: UpdateOrderInput!) { updateOrder(input: $input) { order { total { amount currencyCode } tip { amount } } } }";
    let tip = json!({ "orderId": order["id"], "tip": { "amount": "1", "currencyCode": "USD" } });
    let refused = server.refusal(Some(&token), update, json!({ "input": tip })).await;
    assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), json!("tip")));
    let price = "mutation($input: UpdateBreadInput!) { updateBread(input: $input) { bread { price { amount currencyCode } } } }";
    let dollars = json!({ "breadId": bread, "price": { "amount": "4.00", "currencyCode": "USD" } });
    server.data(Some(&token), price, json!({ "input": dollars })).await;
    let again = json!({ "orderId": order["id"], "lines": lines });
    let data = server.data(Some(&token), update, json!({ "input": again })).await;
    let total = json!({ "amount": "12.00", "currencyCode": "USD" });
    assert_eq!(data["updateOrder"]["order"]["total"], total, "all lines are new");
}

#[tokio::test]
async fn amounts_have_the_decimals_of_their_currency() {
    let (server, token, bread) = bakery().await;
    let update = "mutation($input: UpdateBreadInput!) { updateBread(input: $input) { bread { price { amount currencyCode } } } }";
    let input = |amount: &str, code: &str| json!({ "input": { "breadId": bread, "price": { "amount": amount, "currencyCode": code } } });
    for (amount, code, shown) in [("120", "JPY", "120"), ("-1.5", "EUR", "-1.50"), ("0.125", "KWD", "0.125")]
    {
        let data = server.data(Some(&token), update, input(amount, code)).await;
        assert_eq!(data["updateBread"]["bread"]["price"], json!({ "amount": shown, "currencyCode": code }));
    }
    for (amount, code) in [("1.5", "JPY"), ("1.234", "EUR"), ("1", "XXX"), ("one", "EUR")] {
        let refused = server.refusal(Some(&token), update, input(amount, code)).await;
        assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), json!("price")), "{amount} {code}");
    }
}

#[tokio::test]
async fn a_created_item_has_its_defaults_counts_and_copies() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let mut data = server.data(None, SITE, json!({ "id": id })).await;
    assert!(data["site"]["createdAt"].take().as_str().unwrap().starts_with("2027-"));
    let expected = json!({
        "name": "Mere", "habitat": "WOODLAND", "code": "AB-123", "isClosed": false, "revision": 1,
        "createdAt": null, "changedAt": null, "sightingCount": 0, "followerCount": 0,
        "location": { "latitude": 51.5, "longitude": -2.25 }, "hides": [{ "label": "North", "seats": 4 }],
        "warden": { "name": "Ada" },
    });
    assert_eq!(data["site"], expected);
}

#[tokio::test]
async fn all_invalid_fields_of_an_input_come_at_once() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let input = json!({
        "name": "", "code": "x", "location": { "latitude": 91, "longitude": 2 },
        "hides": [{ "label": "North", "seats": 3 }, { "label": "", "seats": 0 }],
    });
    let response = server.send(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    let fields = response["errors"][0]["extensions"]["fields"].as_array().unwrap().clone();
    let paths: Vec<_> = fields.iter().map(|field| field["path"].clone()).collect();
    let expected = [
        json!(["name"]),
        json!(["code"]),
        json!(["location", "latitude"]),
        json!(["hides", 1, "label"]),
        json!(["hides", 1, "seats"]),
    ];
    assert_eq!(paths, expected);
    assert_eq!(fields[2]["message"], "latitude must be -90 to 90, is 91");
}

#[tokio::test]
async fn a_unique_value_belongs_to_one_item_until_it_is_left() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let token = Some(token.as_str());
    let taken = server.refusal(token, CREATE_SITE, json!({ "input": site("MERE") })).await;
    assert_eq!(taken, ("CONFLICT".to_owned(), json!("name")));
    server.data(token, UPDATE_SITE, json!({ "input": { "siteId": id, "name": "Fen" } })).await;
    server.data(token, CREATE_SITE, json!({ "input": site("mere") })).await;
    let found = server
        .data(
            None,
            "{ a: siteByName(name: \"FEN\") { id } b: siteByName(name: \"Mere\") { name } }",
            json!({}),
        )
        .await;
    assert_eq!(found, json!({ "a": { "id": id }, "b": { "name": "mere" } }));
}

#[tokio::test]
async fn an_update_of_another_version_is_a_conflict() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let token = Some(token.as_str());
    let input = json!({ "input": { "siteId": id, "name": "Fen", "ifVersion": 1 } });
    let data = server.data(token, UPDATE_SITE, input.clone()).await;
    assert_eq!(data["updateSite"]["site"]["revision"], 2);
    assert!(data["updateSite"]["site"]["changedAt"].is_string());
    let late = json!({ "input": { "siteId": id, "name": "Moor", "ifVersion": 1 } });
    let response = server.send(token, UPDATE_SITE, late).await;
    let extensions = &response["errors"][0]["extensions"];
    assert_eq!((&extensions["code"], &extensions["currentVersion"]), (&json!("CONFLICT"), &json!(2)));
}

#[tokio::test]
async fn an_update_overlooks_no_write_of_another_process_that_a_replica_lacks() {
    let model = served_model(BIRDS);
    let account = LaggingAccount::new(model.containers(), Arc::new(SystemClock));
    let (ahead, behind) = (another_app(&model, &account).await, another_app(&model, &account).await);
    let (ahead, behind) =
        (Client::of(&ahead, HashSet::new()).await, Client::of(&behind, HashSet::new()).await);
    let (token, _) = ahead.sign_up("Ada", "ada@example.com").await;
    let id = ahead.create_site(&token, "Mere").await;
    let token = Some(token.as_str());
    let update = |name: &str, version: Option<i32>| json!({ "input": { "siteId": id, "name": name, "ifVersion": version } });
    account.lag();
    ahead.data(token, UPDATE_SITE, update("Fen", None)).await;
    let data = behind.data(token, UPDATE_SITE, update("Mere", None)).await;
    assert_eq!(data["updateSite"]["site"]["revision"], 3, "the replica has this name still");
    ahead.data(token, UPDATE_SITE, update("Moor", Some(3))).await;
    let data = behind.data(token, UPDATE_SITE, update("Bog", Some(4))).await;
    assert_eq!(data["updateSite"]["site"]["revision"], 5, "the replica lacks this version");
    let conflict = ("CONFLICT".to_owned(), json!("ifVersion"));
    assert_eq!(behind.refusal(token, UPDATE_SITE, update("Carr", Some(9))).await, conflict);
}

/// A process that serves the model over the account.
async fn another_app(model: &Arc<ServedModel>, account: &LaggingAccount) -> ServedApp {
    let (store, recent) = account.connect();
    let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
    let member = Member { owner: "test".to_owned(), sharing: Sharing::with_others() };
    ServedApp::over(Arc::clone(model), &OpenStore::Shared { store, recent }, member, options).await.unwrap()
}

#[tokio::test]
async fn a_condition_of_a_mutation_holds_or_is_a_conflict() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let token = Some(token.as_str());
    let close = "mutation($input: CloseSiteInput!) { closeSite(input: $input) { site { isClosed } } }";
    let input = json!({ "input": { "siteId": id, "isClosed": true } });
    let data = server.data(token, close, input.clone()).await;
    assert_eq!(data["closeSite"]["site"]["isClosed"], true);
    assert_eq!(server.refusal(token, close, input).await, ("CONFLICT".to_owned(), json!("isClosed")));
}

#[tokio::test]
async fn a_count_follows_items_with_derived_ids() {
    let server = ServedServer::start(BIRDS).await;
    let (ada, _) = server.sign_up("Ada", "ada@example.com").await;
    let (bob, _) = server.sign_up("Bob", "bob@example.com").await;
    let id = server.create_site(&ada, "Mere").await;
    let input = json!({ "input": { "siteId": id } });
    let followed = server.data(Some(&ada), FOLLOW, input.clone()).await;
    server.data(Some(&bob), FOLLOW, input.clone()).await;
    let again = server.refusal(Some(&ada), FOLLOW, input.clone()).await;
    assert_eq!(again, ("CONFLICT".to_owned(), json!("siteId")));
    let follow = json!({ "input": { "followId": followed["createFollow"]["follow"]["id"] } });
    assert_eq!(server.refusal(Some(&bob), UNFOLLOW, follow.clone()).await.0, "FORBIDDEN");
    server.data(Some(&ada), UNFOLLOW, follow.clone()).await;
    assert_eq!(server.refusal(Some(&ada), UNFOLLOW, follow).await.0, "NOT_FOUND");
    let query = "query($id: ID!) { site(id: $id) { followerCount viewerFollows } }";
    let (left, stays) = (
        server.data(Some(&ada), query, json!({ "id": id })).await,
        server.data(Some(&bob), query, json!({ "id": id })).await,
    );
    assert_eq!(left, json!({ "site": { "followerCount": 1, "viewerFollows": false } }));
    assert_eq!(stays, json!({ "site": { "followerCount": 1, "viewerFollows": true } }));
    server.data(Some(&ada), FOLLOW, input).await;
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_repeat_with_an_idempotency_key_creates_nothing() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let mut input = site("Mere");
    input["idempotencyKey"] = json!("first");
    let first = server.data(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    let again = server.data(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    assert_eq!(first, again);
    input["name"] = json!("Fen");
    let other = server.refusal(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    assert_eq!(other, ("CONFLICT".to_owned(), json!("idempotencyKey")));
    // The name of the refused creation stays free.
    server.create_site(&token, "Fen").await;
}

#[tokio::test]
async fn a_deleted_item_takes_its_own_items_with_it() {
    let server = ServedServer::start_with_staff(BIRDS, &["staff@example.com"]).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    server.data(Some(&token), FOLLOW, json!({ "input": { "siteId": id } })).await;
    let delete = "mutation($input: DeleteSiteInput!) { deleteSite(input: $input) { deletedSiteId } }";
    let deleted = server.data(Some(&token), delete, json!({ "input": { "siteId": id } })).await;
    assert_eq!(deleted["deleteSite"]["deletedSiteId"], id.as_str());
    server.settle().await;
    let left = server.data(None, "query($id: ID!) { site(id: $id) { name } }", json!({ "id": id })).await;
    assert_eq!(left, json!({ "site": null }));
    let orphan = server.refusal(Some(&token), FOLLOW, json!({ "input": { "siteId": id } })).await;
    assert_eq!(orphan, ("NOT_FOUND".to_owned(), json!("siteId")));
    server.create_site(&token, "Mere").await;
    server.settle().await;
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

const ANIMALS: &str = r#"
extend schema @model(name: "animals") @container(name: "animals", key: "/id")

type Dog @item(container: "animals", write: [CREATE, UPDATE]) @where(path: "/species/kind", is: "dog")
  @where(path: "/legs", in: [4, 3]) @where(path: "/code", prefix: "D-") @where(path: "/wings", exists: false)
  @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  name: String!
  code: String!
}
type Bird @item(container: "animals", write: CREATE) @where(path: "/wings", exists: true) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  name: String!
}
type Query { dogs: [Dog!]! @find @order(by: "name") birds: [Bird!]! @find @order(by: "name") }
"#;

#[tokio::test]
async fn items_have_the_properties_that_tell_their_type() {
    let server = ServedServer::start(ANIMALS).await;
    let create = "mutation($input: CreateDogInput!) { createDog(input: $input) { dog { id } } }";
    let wrong = json!({ "input": { "name": "Rex", "code": "B-1" } });
    let refused = server.refusal(None, create, wrong).await;
    assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), json!("code")));
    let dog = server.data(None, create, json!({ "input": { "name": "Rex", "code": "D-1" } })).await;
    let id = dog["createDog"]["dog"]["id"].clone();
    let update = "mutation($input: UpdateDogInput!) { updateDog(input: $input) { dog { name } } }";
    let refused = server.refusal(None, update, json!({ "input": { "dogId": id, "code": "x" } })).await;
    assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), json!("code")));
    server.data(None, "mutation { createBird(input: { name: \"Wren\" }) { bird { id } } }", json!({})).await;
    let found = server.data(None, "{ dogs { nodes { name } } birds { nodes { name } } }", json!({})).await;
    assert_eq!(found["dogs"]["nodes"], json!([{ "name": "Rex" }]));
    assert_eq!(found["birds"]["nodes"], json!([{ "name": "Wren" }]));
    let query = onehop_store::Query::Newest {
        container: onehop_store::ContainerName("animals"),
        item_type: "dog",
        order_by: None,
        direction: onehop_store::Direction::NewestFirst,
        after: None,
        limit: 1,
    };
    let page = server.app.engine.store.query(&query, &onehop_store::Ledger::new()).await.unwrap();
    let stored: Value = page.items[0].decode().unwrap();
    assert_eq!((&stored["species"]["kind"], &stored["legs"]), (&json!("dog"), &json!(4)));
    assert_eq!((&stored["code"], stored.get("wings")), (&json!("D-1"), None));
}

/// A chess club: comments with replies, whose key is the game of both.
const CHESS: &str = r#"
extend schema @model(name: "chess") @container(name: "games", key: "/gameId") @container(name: "openings", key: "/type")
type Opening @item(container: "openings", write: [CREATE, DELETE]) @auth(allow: PUBLIC) {
  id: ID!
  eco: String! @unique
  name: String! @unique(normalize: LOWER)
}
type Game @item(container: "games", partition: "id", write: [CREATE, UPDATE, DELETE]) @auth(allow: PUBLIC) {
  id: ID!
  moves: String!
  opening: Opening @reference @copy(fields: ["eco"])
  comments: [Comment!]! @partition(by: "game")
  replies: [Reply!]! @partition(by: "game")
  replyCount: Int! @count(of: "replies")
}
type Comment @item(container: "games", partition: "game", write: [CREATE, DELETE]) @owned(by: "game") @auth(allow: PUBLIC) {
  id: ID!
  game: Game! @reference
  text: String!
}
type Reply @item(container: "games", partition: "game", write: CREATE) @owned(by: "game") @auth(allow: PUBLIC) {
  id: ID!
  game: Game! @reference @copy(fields: ["moves"])
  comment: Comment! @reference(partition: "game")
  text: String!
}
"#;

async fn created(server: &ServedServer, what: &str, input: &str) -> String {
    let name = what.to_lowercase();
    let query = format!("mutation {{ create{what}(input: {{ {input} }}) {{ {name} {{ id }} }} }}");
    let data = server.data(None, &query, json!({})).await;
    data[format!("create{what}")][name]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_missing_node_is_null_among_the_others() {
    let server = ServedServer::start(CHESS).await;
    let game = created(&server, "Game", r#"moves: "e4""#).await;
    let comment = created(&server, "Comment", &format!(r#"gameId: "{game}", text: "Good""#)).await;
    let delete = json!({ "input": { "commentId": comment } });
    let query = "mutation($input: DeleteCommentInput!) { deleteComment(input: $input) { deletedCommentId } }";
    server.data(None, query, delete).await;
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id ... on Game { moves } } }";
    let data = server.data(None, query, json!({ "ids": [game, comment, game] })).await;
    let found = json!({ "id": game, "moves": "e4" });
    assert_eq!(data["nodes"], json!([found, null, found]));
}

#[tokio::test]
async fn a_forbidden_node_is_null_with_an_error_at_its_place() {
    let server = ServedServer::start(include_str!("models/events.graphql")).await;
    let sign_up = "mutation { createGuest(input: { name: \"Ada\", email: \"ada@example.com\", password: \"a-secret-that-no-log-may-show\" }) { accessToken guest { id } } }";
    let data = server.data(None, sign_up, json!({})).await;
    let (token, guest) = (data["createGuest"]["accessToken"].as_str(), &data["createGuest"]["guest"]["id"]);
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
    let ids = json!({ "ids": [guest] });
    assert_eq!(server.data(token, query, ids.clone()).await["nodes"], json!([{ "id": guest }]));
    let response = server.send(None, query, ids).await;
    assert_eq!(response["data"]["nodes"], json!([null]), "{response}");
    let error = &response["errors"][0];
    assert_eq!(
        (&error["path"], &error["extensions"]["code"]),
        (&json!(["nodes", 0]), &json!("UNAUTHENTICATED"))
    );
}

#[tokio::test]
async fn a_reference_of_a_key_follows_from_the_other() {
    let server = ServedServer::start(CHESS).await;
    let game = created(&server, "Game", r#"moves: "e4""#).await;
    let comment = created(&server, "Comment", &format!(r#"gameId: "{game}", text: "Good""#)).await;
    let query = "mutation($input: CreateReplyInput!) { createReply(input: $input) { reply { game { id moves replyCount } comment { text } } } }";
    let input = json!({ "input": { "commentId": comment, "text": "Indeed" } });
    let data = server.data(None, query, input).await;
    let game = json!({ "id": game, "moves": "e4", "replyCount": 1 });
    assert_eq!(data["createReply"]["reply"], json!({ "game": game, "comment": { "text": "Good" } }));
}

#[tokio::test]
async fn a_refused_creation_reserves_nothing() {
    let server = ServedServer::start(CHESS).await;
    created(&server, "Opening", r#"eco: "B20", name: "Sicilian""#).await;
    let create = r#"mutation { createOpening(input: { eco: "C00", name: "SICILIAN" }) { opening { id } } }"#;
    let refused = server.refusal(None, create, json!({})).await;
    assert_eq!(refused, ("CONFLICT".to_owned(), json!("name")));
    server.settle().await;
    let report = server.app.verify(false).await.unwrap();
    assert!(report.is_clean(), "{report:#?}");
    created(&server, "Opening", r#"eco: "C00", name: "French""#).await;
}

#[tokio::test]
async fn copies_of_a_deleted_source_stay_and_are_no_drift() {
    let server = ServedServer::start(CHESS).await;
    let opening = created(&server, "Opening", r#"eco: "B20", name: "Sicilian""#).await;
    let game = created(&server, "Game", &format!(r#"moves: "e4", openingId: "{opening}""#)).await;
    let delete =
        "mutation($input: DeleteOpeningInput!) { deleteOpening(input: $input) { deletedOpeningId } }";
    server.data(None, delete, json!({ "input": { "openingId": opening } })).await;
    server.settle().await;
    let report = server.app.verify(false).await.unwrap();
    assert!(report.is_clean(), "{report:#?}");
    let shown =
        server.data(None, "query($id: ID!) { game(id: $id) { opening { eco } } }", json!({ "id": game }));
    assert_eq!(shown.await["game"]["opening"]["eco"], "B20");
}

const KEYED: &str = r#"
extend schema
  @model(name: "pharmacy")
  @container(name: "drugs", key: "/level")
  @container(name: "orders", key: "/id")

type Drug @item(container: "drugs", partition: "level", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  level: String!
  name: String!
}

type Order @item(container: "orders", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  level: String!
  drug: Drug! @reference(partition: ["level"])
  text: String
}
"#;

#[tokio::test]
async fn a_kept_reference_keeps_the_key_of_its_target() {
    let server = ServedServer::start(KEYED).await;
    let drug = async |level: &str| {
        let create = "mutation($input: CreateDrugInput!) { createDrug(input: $input) { drug { id } } }";
        let input = json!({ "input": { "level": level, "name": "Aspirin" } });
        server.data(None, create, input).await["createDrug"]["drug"]["id"].clone()
    };
    let (first, second) = (drug("A").await, drug("B").await);
    let create = "mutation($input: CreateOrderInput!) { createOrder(input: $input) { order { id } } }";
    let input = json!({ "input": { "level": "A", "drugId": first } });
    let order = server.data(None, create, input).await["createOrder"]["order"]["id"].clone();
    let update = "mutation($input: UpdateOrderInput!) { updateOrder(input: $input) { order { text level drug { name level } } } }";
    let alone = json!({ "input": { "orderId": order, "level": "B" } });
    let refused = server.refusal(None, update, alone).await;
    assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), json!("level")));
    let other = json!({ "input": { "orderId": order, "text": "soon", "level": "A" } });
    assert_eq!(server.data(None, update, other).await["updateOrder"]["order"]["drug"]["level"], "A");
    let both = json!({ "input": { "orderId": order, "level": "B", "drugId": second } });
    let changed = server.data(None, update, both).await["updateOrder"]["order"].clone();
    assert_eq!((&changed["level"], &changed["drug"]["level"]), (&json!("B"), &json!("B")));
}

#[tokio::test]
async fn a_sum_of_no_amounts_is_refused_where_it_is_needed() {
    let model = include_str!("models/clinic.graphql");
    let model = model.replace("lines: [Line!]! @length(min: 1, max: 3)", "lines: [Line!]!");
    let server = ServedServer::start(&model).await;
    let sign_up = "mutation { createMember(input: { name: \"Ada\", email: \"ada@example.com\", password: \"a-secret-that-no-log-may-show\" }) { accessToken } }";
    let token = server.data(None, sign_up, json!({})).await["createMember"]["accessToken"].clone();
    let token = token.as_str().unwrap();
    let vet = "mutation { createVet(input: { name: \"Dr. Oak\" }) { vet { id } } }";
    let vet = server.data(Some(token), vet, json!({})).await["createVet"]["vet"]["id"].clone();
    let create = "mutation($input: CreateVisitInput!) { createVisit(input: $input) { visit { id total { amount } } } }";
    let input = |lines: Value| json!({ "input": { "vetId": vet, "watcherIds": [], "at": "2026-03-01T10:00:00Z", "lines": lines } });
    let refusal = server.refusal(Some(token), create, input(json!([]))).await;
    assert_eq!(refusal, ("BAD_USER_INPUT".to_owned(), json!("lines")));
    let line = json!({ "text": "A check", "price": { "amount": "3.50", "currencyCode": "EUR" } });
    let visit =
        server.data(Some(token), create, input(json!([line, line]))).await["createVisit"]["visit"].clone();
    assert_eq!(visit["total"], json!({ "amount": "7.00" }));
    let update = "mutation($input: UpdateVisitInput!) { updateVisit(input: $input) { visit { id } } }";
    let none = json!({ "input": { "visitId": visit["id"], "lines": [] } });
    let refusal = server.refusal(Some(token), update, none).await;
    assert_eq!(refusal, ("BAD_USER_INPUT".to_owned(), json!("lines")));
}
