//! Accounts of a served model: signing up, in and out, and rights of owners and staff.

use onehop::accounts::account_id::AccountId;
use onehop::accounts::hashing_queue::HashingCaller;
use onehop::domain::accounts::passwords::AccountPasswords;
use onehop::domain::accounts::sessions::SESSION_CHECK_INTERVAL_DEFAULT;
use onehop::served::commands::account::SignUp;
use onehop::served::{ItemPlace, Requester, ServedCommand, ServedMutation};
use onehop_model::{Action, Grants};
use onehop_store::{ContainerName, Item, Ledger, NewItem, PartitionKey, WriteOp};
use serde_json::{Value, json};

use super::server::{BIRDS, Client, PASSWORD, ServedServer};

const SIGN_IN: &str = "mutation($input: SignInInput!) { signIn(input: $input) { accessToken refreshToken observer { name email } } }";

#[tokio::test]
async fn people_sign_up_in_and_out() {
    let server = ServedServer::start(BIRDS).await;
    let (_, id) = server.sign_up("Ada", "ada@example.com").await;
    let input = json!({ "input": { "email": "ADA@example.com", "password": PASSWORD } });
    let data = server.data(None, SIGN_IN, input).await;
    assert_eq!(data["signIn"]["observer"], json!({ "name": "Ada", "email": "ada@example.com" }));
    let token = data["signIn"]["accessToken"].as_str().unwrap().to_owned();
    let viewer = server.data(Some(&token), "{ viewer { id } }", json!({})).await;
    assert_eq!(viewer, json!({ "viewer": { "id": id } }));
    let out = server.data(Some(&token), "mutation { signOut { observerId } }", json!({})).await;
    assert_eq!(out, json!({ "signOut": { "observerId": id } }));
    let refresh = json!({ "input": { "refreshToken": data["signIn"]["refreshToken"] } });
    let renew = "mutation($input: RenewSessionInput!) { renewSession(input: $input) { accessToken } }";
    assert_eq!(server.refusal(None, renew, refresh).await.0, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_login_look_alike() {
    let server = ServedServer::start(BIRDS).await;
    server.sign_up("Ada", "ada@example.com").await;
    let mut responses = Vec::new();
    for email in ["ada@example.com", "eve@example.com"] {
        let input = json!({ "input": { "email": email, "password": "not the password" } });
        let mut response = server.send(None, SIGN_IN, input).await;
        response["extensions"]["position"].take();
        responses.push(response);
    }
    assert_eq!(responses[0], responses[1]);
    assert_eq!(responses[0]["errors"][0]["extensions"]["code"], "INVALID_CREDENTIALS");
}

#[tokio::test]
async fn a_login_belongs_to_one_account() {
    let server = ServedServer::start(BIRDS).await;
    server.sign_up("Ada", "ada@example.com").await;
    let query = "mutation($input: CreateObserverInput!) { createObserver(input: $input) { accessToken } }";
    let input = json!({ "input": { "name": "Eve", "email": "Ada@Example.com", "password": PASSWORD } });
    assert_eq!(server.refusal(None, query, input).await, ("CONFLICT".to_owned(), json!("email")));
}

#[tokio::test]
async fn a_new_password_ends_the_sessions_of_the_old_one() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let change = "mutation($input: ChangePasswordInput!) { changePassword(input: $input) { accessToken } }";
    let input = json!({ "input": { "currentPassword": PASSWORD, "newPassword": "another long secret 9" } });
    let data = server.data(Some(&token), change, input).await;
    let renewed = data["changePassword"]["accessToken"].as_str().unwrap();
    let viewer = server.data(Some(renewed), "{ viewer { name } }", json!({})).await;
    assert_eq!(viewer, json!({ "viewer": { "name": "Ada" } }));
    let old = json!({ "input": { "email": "ada@example.com", "password": PASSWORD } });
    assert_eq!(server.refusal(None, SIGN_IN, old).await.0, "INVALID_CREDENTIALS");
}

#[tokio::test]
async fn a_protected_field_is_for_its_owner_and_staff() {
    let server = ServedServer::start_with_staff(BIRDS, &["staff@example.com"]).await;
    let (ada, id) = server.sign_up("Ada", "ada@example.com").await;
    let (bob, _) = server.sign_up("Bob", "bob@example.com").await;
    let query = "query($id: ID!) { observer(id: $id) { name email } }";
    let own = server.data(Some(&ada), query, json!({ "id": id })).await;
    assert_eq!(own["observer"]["email"], "ada@example.com");
    let response = server.send(Some(&bob), query, json!({ "id": id })).await;
    assert_eq!(response["data"], json!({ "observer": null }));
    assert_eq!(response["errors"][0]["path"], json!(["observer", "email"]));
    assert_eq!(response["errors"][0]["extensions"]["code"], "FORBIDDEN");
}

#[tokio::test]
async fn a_login_of_staff_passes_to_nobody() {
    let model = BIRDS.replace("@unique(normalize: EMAIL) @immutable", "@unique(normalize: EMAIL)");
    assert_ne!(model, BIRDS);
    let server = ServedServer::start_with_staff(&model, &["staff@example.com"]).await;
    let input = json!({ "input": { "email": "staff@example.com", "password": PASSWORD } });
    let staff = server.data(None, SIGN_IN, input).await["signIn"]["accessToken"].as_str().unwrap().to_owned();
    let viewer = server.data(Some(&staff), "{ viewer { id } }", json!({})).await;
    let update =
        "mutation($input: UpdateObserverInput!) { updateObserver(input: $input) { observer { name } } }";
    let input = |id: &Value, field: &str, value: &str| json!({ "input": { "observerId": id, field: value } });
    let id = &viewer["viewer"]["id"];
    let renamed = server.data(Some(&staff), update, input(id, "name", "Chief")).await;
    assert_eq!(renamed["updateObserver"]["observer"]["name"], "Chief");
    let moved = input(id, "email", "other@example.com");
    assert_eq!(server.refusal(Some(&staff), update, moved).await, ("FORBIDDEN".to_owned(), json!("email")));
    let (eve, id) = server.sign_up("Eve", "eve@example.com").await;
    server.data(Some(&eve), update, input(&json!(id), "email", "eve@other.example")).await;

    // The account with the login is another one than at the first start with it.
    server.sign_up("Mallory", "eve@example.com").await;
    let login_key = server.app.commands.login_key("eve@example.com").unwrap();
    let id = format!("staff:{login_key}");
    let record = json!({ "id": id, "type": "staffName", "userId": uuid::Uuid::nil() });
    let create = WriteOp::Create(NewItem::encode(id.as_str(), &record));
    let (accounts, key) = (ContainerName("accounts"), PartitionKey::from(id.as_str()));
    server.app.engine.store.write(accounts, &key, create, &Ledger::new()).await.unwrap();
    let refused = server.app.staff(&["EVE@example.com".to_owned()], false).await.unwrap_err();
    assert!(format!("{refused:#}").contains("does not any more"), "{refused:#}");
}

#[tokio::test]
async fn staff_may_write_what_others_may_not() {
    let server = ServedServer::start_with_staff(BIRDS, &["staff@example.com"]).await;
    let (ada, _) = server.sign_up("Ada", "ada@example.com").await;
    let input = json!({ "input": { "email": "staff@example.com", "password": PASSWORD } });
    let staff = server.data(None, SIGN_IN, input).await["signIn"]["accessToken"].as_str().unwrap().to_owned();
    let create =
        "mutation($input: CreateSpeciesInput!) { createSpecies(input: $input) { species { name } } }";
    let wren = json!({ "input": { "name": "Wren" } });
    assert_eq!(server.refusal(Some(&ada), create, wren.clone()).await.0, "FORBIDDEN");
    assert_eq!(server.refusal(None, create, wren.clone()).await.0, "UNAUTHENTICATED");
    server.data(Some(&staff), create, wren).await;
    server.data(Some(&staff), create, json!({ "input": { "name": "avocet" } })).await;
    let species = server.data(None, "{ species { name } }", json!({})).await;
    assert_eq!(species, json!({ "species": [{ "name": "avocet" }, { "name": "Wren" }] }));
}

#[tokio::test]
async fn staff_create_accounts_where_signing_up_is_closed() {
    let closed = r#"@auth(on: UPDATE, allow: OWNER, owner: "id") @auth(on: CREATE, allow: STAFF) {"#;
    let text = BIRDS.replace(r#"@auth(on: UPDATE, allow: OWNER, owner: "id") {"#, closed);
    assert_ne!(text, BIRDS);
    let server = ServedServer::start(&text).await;
    let observer = |name: &str, email: &str| json!({ "name": name, "email": email, "password": PASSWORD });
    // The first member of staff comes by an import, which writes in this way.
    let input = observer("Staff", "staff@example.com");
    let mutation = ServedMutation {
        ty: server.app.model.account().unwrap(),
        action: Action::Create,
        fields: Vec::new(),
        conditions: Vec::new(),
        grants: Grants::default(),
    };
    let command = ServedCommand {
        mutation: &mutation,
        input: input.as_object().unwrap(),
        requester: Requester::default(),
    };
    let sign_up = SignUp { command, password: PASSWORD, caller: HashingCaller::default() };
    server.app.commands.create_account(sign_up, &Ledger::new()).await.unwrap();
    let staff = server.app.staff(&["staff@example.com".to_owned()], true).await.unwrap();
    let client = Client::of(&server.app, staff).await;
    let sign_in = async |email: &str| {
        let input = json!({ "input": { "email": email, "password": PASSWORD } });
        client.data(None, SIGN_IN, input).await["signIn"]["accessToken"].as_str().unwrap().to_owned()
    };
    let staff = sign_in("staff@example.com").await;

    let create =
        "mutation($input: CreateObserverInput!) { createObserver(input: $input) { observer { name } } }";
    let ada = json!({ "input": observer("Ada", "ada@example.com") });
    assert_eq!(client.refusal(None, create, ada.clone()).await.0, "UNAUTHENTICATED");
    let created = client.data(Some(&staff), create, ada).await;
    assert_eq!(created, json!({ "createObserver": { "observer": { "name": "Ada" } } }));
    let ada = sign_in("ada@example.com").await;
    let bob = json!({ "input": observer("Bob", "bob@example.com") });
    assert_eq!(client.refusal(Some(&ada), create, bob).await.0, "FORBIDDEN");
    let again = json!({ "input": observer("Eve", "Ada@example.com") });
    let refusal = client.refusal(Some(&staff), create, again).await;
    assert_eq!(refusal, ("CONFLICT".to_owned(), json!("email")));
    let session = client
        .send(Some(&staff), "{ __type(name: \"CreateObserverPayload\") { fields { name } } }", json!({}))
        .await;
    assert_eq!(session["data"]["__type"]["fields"], json!([{ "name": "observer" }]));
}

const DELETE: &str =
    "mutation($input: DeleteObserverInput!) { deleteObserver(input: $input) { deletedObserverId } }";
const RENEW: &str = "mutation($input: RenewSessionInput!) { renewSession(input: $input) { accessToken } }";

/// The model of birds, whose observers delete their accounts; staff delete any.
fn with_deletion() -> String {
    let text = BIRDS
        .replace(r#"container: "observers", partition: "id", write: UPDATE"#, r#"container: "observers", partition: "id", write: [UPDATE, DELETE]"#)
        .replace(
            r#"@auth(on: UPDATE, allow: OWNER, owner: "id") {"#,
            r#"@auth(on: UPDATE, allow: OWNER, owner: "id") @auth(on: DELETE, allow: [OWNER, STAFF], owner: "id") {"#,
        );
    assert_ne!(text, BIRDS);
    text
}

#[tokio::test]
async fn a_deleted_account_is_gone_and_its_login_is_free() {
    let server = ServedServer::start_with_staff(&with_deletion(), &["staff@example.com"]).await;
    let (ada, id) = server.sign_up("Ada", "ada@example.com").await;
    let (bob, bobs_id) = server.sign_up("Bob", "bob@example.com").await;
    let typed = |id: &str, password: Option<&str>| match password {
        Some(password) => json!({ "input": { "observerId": id, "currentPassword": password } }),
        None => json!({ "input": { "observerId": id } }),
    };
    let refusal = server.refusal(Some(&bob), DELETE, typed(&id, Some(PASSWORD))).await;
    assert_eq!(refusal.0, "FORBIDDEN");
    let refusal = server.refusal(Some(&ada), DELETE, typed(&id, None)).await;
    assert_eq!(refusal, ("BAD_USER_INPUT".to_owned(), json!("currentPassword")));
    let refusal = server.refusal(Some(&ada), DELETE, typed(&id, Some("not the password"))).await;
    assert_eq!(refusal, ("FORBIDDEN".to_owned(), json!("currentPassword")));

    let deleted = server.data(Some(&ada), DELETE, typed(&id, Some(PASSWORD))).await;
    assert_eq!(deleted, json!({ "deleteObserver": { "deletedObserverId": id } }));
    let gone = server.data(None, "query($id: ID!) { observer(id: $id) { name } }", json!({ "id": id })).await;
    assert_eq!(gone, json!({ "observer": null }));
    assert_eq!(server.refusal(Some(&ada), DELETE, typed(&id, Some(PASSWORD))).await.0, "UNAUTHENTICATED");
    let sign_in = json!({ "input": { "email": "ada@example.com", "password": PASSWORD } });
    assert_eq!(server.refusal(None, SIGN_IN, sign_in).await.0, "INVALID_CREDENTIALS");
    assert_ne!(server.sign_up("Another", "ada@example.com").await.1, id);

    let staff = json!({ "input": { "email": "staff@example.com", "password": PASSWORD } });
    let query = "mutation($input: SignInInput!) { signIn(input: $input) { accessToken observer { id } } }";
    let staff = server.data(None, query, staff).await["signIn"].clone();
    let (token, own) = (staff["accessToken"].as_str().unwrap(), staff["observer"]["id"].as_str().unwrap());
    assert_eq!(server.refusal(Some(token), DELETE, typed(own, Some(PASSWORD))).await.0, "FORBIDDEN");
    server.data(Some(token), DELETE, typed(&bobs_id, None)).await;
    assert_eq!(server.refusal(Some(&bob), "{ viewer { name } }", json!({})).await.0, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_deletion_that_dies_after_its_first_write_is_finished() {
    let server = ServedServer::start(&with_deletion()).await;
    server.sign_up("Ada", "ada@example.com").await;
    let sign_in = json!({ "input": { "email": "ada@example.com", "password": PASSWORD } });
    let session = server.data(None, SIGN_IN, sign_in).await["signIn"].clone();
    let token = session["accessToken"].as_str().unwrap();
    let viewer = server.data(Some(token), "{ viewer { id } }", json!({})).await;
    let id = viewer["viewer"]["id"].as_str().unwrap();
    assert!(has_password(&server, id).await);

    let ty = server.app.model.account().unwrap();
    let mutation = ServedMutation {
        ty,
        action: Action::Delete,
        fields: Vec::new(),
        conditions: Vec::new(),
        grants: Grants { public: true, ..Grants::default() },
    };
    let input = json!({ "observerId": id });
    let command = ServedCommand {
        mutation: &mutation,
        input: input.as_object().unwrap(),
        requester: Requester::default(),
    };
    server.app.commands.delete(command, &Ledger::new()).await.unwrap();
    server.settle().await;
    // Until the process checks the session again, it answers without an account.
    server.clock.advance(SESSION_CHECK_INTERVAL_DEFAULT);
    assert_eq!(server.refusal(Some(token), "{ viewer { name } }", json!({})).await.0, "UNAUTHENTICATED");
    let renew = json!({ "input": { "refreshToken": session["refreshToken"] } });
    assert_eq!(server.refusal(None, RENEW, renew).await.0, "UNAUTHENTICATED");
    assert!(!has_password(&server, id).await, "the password is removed");
}

/// Accounts lie in the logical partitions of their offices, with all of their items.
#[tokio::test]
async fn an_account_may_have_another_partition_key_than_its_id() {
    let server = ServedServer::start(include_str!("models/agency.graphql")).await;
    let sign_up = async |name: &str, office: &str| {
        let query = "mutation($input: CreatePersonInput!) { createPerson(input: $input) { accessToken person { id } } }";
        let email = format!("{name}@example.com");
        let input = json!({ "name": name, "office": office, "email": email, "password": PASSWORD });
        let data = server.data(None, query, json!({ "input": input })).await["createPerson"].take();
        (data["accessToken"].as_str().unwrap().to_owned(), data["person"]["id"].as_str().unwrap().to_owned())
    };
    let (ada, adas_id) = sign_up("ada", "PARIS").await;
    let (_, bobs_id) = sign_up("bob", "BERLIN").await;
    let change = "mutation($input: ChangePasswordInput!) { changePassword(input: $input) { accessToken } }";
    let input = json!({ "input": { "currentPassword": PASSWORD, "newPassword": "another long secret 9" } });
    let changed = server.data(Some(&ada), change, input).await;
    let token = changed["changePassword"]["accessToken"].as_str().unwrap();
    let me = server.data(Some(token), "{ me { id office } }", json!({})).await;
    assert_eq!(me, json!({ "me": { "id": adas_id, "office": "PARIS" } }));
    let place = ItemPlace::decode(&server.app.model, &adas_id).unwrap();
    let stored: Value = password_item(&server, &adas_id).await.unwrap().decode().unwrap();
    assert_eq!(stored["accountPartition"], place.partition.as_str(), "a changed password keeps it");

    let create =
        "mutation($input: CreateJobInput!) { createJob(input: $input) { job { office author { id } } } }";
    let job = |input: Value| json!({ "input": input });
    let data = server.data(Some(token), create, job(json!({ "title": "Paint", "helperIds": [] }))).await;
    assert_eq!(data["createJob"]["job"], json!({ "office": "PARIS", "author": { "id": adas_id } }));
    let elsewhere = job(json!({ "title": "Paint", "helperIds": [], "office": "BERLIN" }));
    let refusal = server.refusal(Some(token), create, elsewhere).await;
    assert_eq!(refusal, ("BAD_USER_INPUT".to_owned(), json!("office")));
    let others = job(json!({ "title": "Paint", "helperIds": [], "assigneeId": bobs_id }));
    let refusal = server.refusal(Some(token), create, others).await;
    assert_eq!(refusal, ("BAD_USER_INPUT".to_owned(), json!("assigneeId")));
    let out = server.data(Some(token), "mutation { signOut { personId } }", json!({})).await;
    assert_eq!(out, json!({ "signOut": { "personId": adas_id } }));
}

async fn has_password(server: &ServedServer, id: &str) -> bool {
    password_item(server, id).await.is_some()
}

async fn password_item(server: &ServedServer, id: &str) -> Option<Item> {
    let place = ItemPlace::decode(&server.app.model, id).unwrap();
    let password = AccountPasswords::place(AccountId::user(place.id.parse().unwrap()));
    let (accounts, key) = (ContainerName("accounts"), password.as_str().into());
    server.app.engine.store.read(accounts, &key, &password, &Ledger::new()).await.unwrap()
}
