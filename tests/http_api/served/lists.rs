//! Lists of a served model: pages, cursors, read models and their verification, batches and request charges.

use serde_json::{Value, json};

use super::server::{BIRDS, PASSWORD, ServedServer};

const REPORT: &str =
    "mutation($input: CreateSightingInput!) { createSighting(input: $input) { sighting { id summary } } }";

/// A server with a species, and the token and id of an observer.
async fn with_species() -> (ServedServer, String, String) {
    let server = ServedServer::start_with_staff(BIRDS, &["staff@example.com"]).await;
    let sign_in = "mutation($input: SignInInput!) { signIn(input: $input) { accessToken observer { id } } }";
    let input = json!({ "input": { "email": "staff@example.com", "password": PASSWORD } });
    let data = server.data(None, sign_in, input).await;
    let token = data["signIn"]["accessToken"].as_str().unwrap().to_owned();
    let create = "mutation($input: CreateSpeciesInput!) { createSpecies(input: $input) { species { id } } }";
    let data = server.data(Some(&token), create, json!({ "input": { "name": "Wren" } })).await;
    let species = data["createSpecies"]["species"]["id"].as_str().unwrap().to_owned();
    (server, token, species)
}

async fn report(server: &ServedServer, token: &str, (site, species): (&str, &str), birds: u32) -> Value {
    let note = format!("We saw {birds} of them near the water, early in the morning.");
    let input = json!({ "siteId": site, "speciesId": species, "birds": birds, "note": note });
    server.data(Some(token), REPORT, json!({ "input": input })).await
}

#[tokio::test]
async fn pages_of_a_list_follow_each_other() {
    let (server, token, species) = with_species().await;
    let site = server.create_site(&token, "Mere").await;
    for birds in 1..=5 {
        report(&server, &token, (&site, &species), birds).await;
    }
    let query =
        "query($id: ID!, $after: String) { site(id: $id) { sightingCount sightings(first: 2, after: $after) {
        nodes { birds } pageInfo { hasNextPage hasPreviousPage endCursor } } } }";
    let (mut after, mut seen) = (Value::Null, Vec::new());
    for _ in 0..3 {
        let data = server.data(None, query, json!({ "id": site, "after": after })).await;
        let page = &data["site"]["sightings"];
        seen.extend(page["nodes"].as_array().unwrap().iter().map(|node| node["birds"].as_i64().unwrap()));
        assert_eq!(data["site"]["sightingCount"], 5);
        assert_eq!(page["pageInfo"]["hasNextPage"], seen.len() < 5);
        assert_eq!(page["pageInfo"]["hasPreviousPage"], !after.is_null());
        after = page["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    let other = server.create_site(&token, "Fen").await;
    let stranger = server.refusal(None, query, json!({ "id": other, "after": after })).await;
    assert_eq!(stranger, ("BAD_USER_INPUT".to_owned(), json!("after")));
    let many = "query($id: ID!) { site(id: $id) { sightings(first: 51) { nodes { birds } } } }";
    let many = server.refusal(None, many, json!({ "id": site })).await;
    assert_eq!(many, ("BAD_USER_INPUT".to_owned(), json!("first")));
}

#[tokio::test]
async fn a_list_is_read_from_its_end() {
    let (server, token, species) = with_species().await;
    let site = server.create_site(&token, "Mere").await;
    for birds in 1..=5 {
        report(&server, &token, (&site, &species), birds).await;
    }
    let query = "query($id: ID!, $first: Int, $after: String, $last: Int, $before: String) { site(id: $id) {
        sightings(first: $first, after: $after, last: $last, before: $before) {
            nodes { birds } edges { cursor }
            pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
    let page = async |mut variables: Value| {
        variables["id"] = json!(site);
        let mut page = server.data(None, query, variables).await["site"]["sightings"].take();
        let birds = page["nodes"].as_array().unwrap().iter().map(|node| node["birds"].as_i64().unwrap());
        let birds: Vec<i64> = birds.collect();
        let info = page["pageInfo"].take();
        let more = (info["hasPreviousPage"] == true, info["hasNextPage"] == true);
        (birds, more, info, page["edges"].take())
    };
    let (birds, more, info, edges) = page(json!({ "last": 2 })).await;
    assert_eq!((birds, more), (vec![2, 1], (true, false)));
    assert_eq!((&info["startCursor"], &info["endCursor"]), (&edges[0]["cursor"], &edges[1]["cursor"]));
    let (birds, more, before, _) = page(json!({ "last": 2, "before": info["startCursor"] })).await;
    assert_eq!((birds, more), (vec![4, 3], (true, true)));
    let (birds, more, ..) = page(json!({ "last": 2, "before": before["startCursor"] })).await;
    assert_eq!((birds, more), (vec![5], (false, true)));
    // An item has the same cursor from either end, and both ends bound a range.
    let (birds, more, all, edges) = page(json!({ "first": 5 })).await;
    assert_eq!((birds, more), (vec![5, 4, 3, 2, 1], (false, false)));
    assert_eq!(edges[1]["cursor"], before["startCursor"]);
    let between = json!({ "after": all["startCursor"], "before": all["endCursor"] });
    assert_eq!(page(between.clone()).await.0, [4, 3, 2]);
    let bounded = |name: &str, items: i64| {
        let mut bounded = between.clone();
        bounded[name] = json!(items);
        bounded
    };
    let (birds, more, ..) = page(bounded("last", 2)).await;
    assert_eq!((birds, more), (vec![3, 2], (true, true)));
    let (birds, more, ..) = page(bounded("last", 3)).await;
    assert_eq!((birds, more), (vec![4, 3, 2], (true, true)), "the item of the cursor precedes them");
    let (birds, more, ..) = page(bounded("first", 1)).await;
    assert_eq!((birds, more), (vec![4], (true, true)));
}

#[tokio::test]
async fn wrong_ranges_of_a_list_are_refused_by_field() {
    let server = ServedServer::start(BIRDS).await;
    let refused = async |arguments: &str| {
        let query = format!("{{ recentSites({arguments}) {{ nodes {{ name }} }} }}");
        server.refusal(None, &query, json!({})).await
    };
    for (arguments, field) in [
        ("first: 2, last: 2", "last"),
        ("last: 0", "last"),
        ("last: -1", "last"),
        ("last: 1001", "last"),
        ("last: 2, before: \"x\"", "before"),
        ("first: 0", "first"),
    ] {
        assert_eq!(refused(arguments).await, ("BAD_USER_INPUT".to_owned(), json!(field)), "{arguments}");
    }
    let nested =
        "{ recentSites(last: 100) { nodes { sightings(last: 50) { nodes { birds note summary } } } } }";
    let (code, _) = server.refusal(None, nested, json!({})).await;
    assert_eq!(code, "LIMIT_EXCEEDED");
}

#[tokio::test]
async fn a_read_model_has_short_copies_that_follow_their_sources() {
    let (server, token, species) = with_species().await;
    let site = server.create_site(&token, "Mere").await;
    report(&server, &token, (&site, &species), 3).await;
    let rename = "mutation($input: UpdateSiteInput!) { updateSite(input: $input) { site { name } } }";
    server.data(Some(&token), rename, json!({ "input": { "siteId": site, "name": "Fen" } })).await;
    server.settle().await;
    let query = "{ viewer { sightings { nodes { birds summary note site { name } species { name } } } } }";
    let data = server.data(Some(&token), query, json!({})).await;
    let note = "We saw 3 of them near the water, early in the morning.";
    let node = json!({
        "birds": 3, "summary": "We saw 3 of them near the water, early …", "note": note,
        "site": { "name": "Fen" }, "species": { "name": "Wren" },
    });
    assert_eq!(data["viewer"]["sightings"]["nodes"], json!([node]));
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_bounded_list_keeps_the_newest_items() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    for name in ["A", "B", "C", "D"] {
        server.create_site(&token, name).await;
    }
    server.settle().await;
    let query = "{ recentSites(first: 10) { nodes { name habitat sightingCount warden { name } } edges { cursor } } }";
    let data = server.data(None, query, json!({})).await;
    let names: Vec<_> =
        data["recentSites"]["nodes"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
    assert_eq!(names, ["D", "C", "B"]);
    let first =
        json!({ "name": "D", "habitat": "WOODLAND", "sightingCount": 0, "warden": { "name": "Ada" } });
    assert_eq!(data["recentSites"]["nodes"][0], first);
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_page_reads_fields_that_entries_lack_in_one_batch() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    for name in ["A", "B", "C"] {
        server.create_site(&token, name).await;
    }
    server.settle().await;
    let charge = |response: Value| response["extensions"]["requestCharge"].as_f64().unwrap();
    let short = charge(server.send(None, "{ recentSites { nodes { name } } }", json!({})).await);
    let long = charge(server.send(None, "{ recentSites { nodes { name code } } }", json!({})).await);
    let copied =
        charge(server.send(None, "{ recentSites { nodes { name warden { name } } } }", json!({})).await);
    let followed =
        charge(server.send(None, "{ recentSites { nodes { name warden { joinedAt } } } }", json!({})).await);
    assert_eq!(long - short, 3.0, "three point reads");
    assert_eq!(copied, short, "copies need no read");
    assert_eq!(followed - short, 1.0, "one warden is read once");
}

#[tokio::test]
async fn a_lost_entry_is_found_and_repaired() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    server.create_site(&token, "Mere").await;
    assert!(!server.app.verify(false).await.unwrap().items.is_empty());
    let store = &server.app.engine.store;
    let container = onehop_store::ContainerName("recent");
    let key = onehop_store::PartitionKey::from("site");
    let ledger = onehop_store::Ledger::new();
    let query = onehop_store::Query::Partition {
        container,
        partition_key: &key,
        item_type: "site",
        direction: onehop_store::Direction::NewestFirst,
        after: None,
        limit: 10,
        order_by: None,
    };
    let entries = store.query(&query, &ledger).await.unwrap();
    let entry: Value = entries.items[0].decode().unwrap();
    let id = entry["id"].as_str().unwrap().to_owned();
    let delete = onehop_store::WriteOp::Delete { id, if_match: None };
    store.write(container, &key, delete, &ledger).await.unwrap();
    assert_eq!(server.app.verify(false).await.unwrap().drifts.len(), 1);
    assert!(server.app.verify(true).await.unwrap().is_clean());
}

#[tokio::test]
async fn an_excerpt_stands_in_for_the_text_of_a_deleted_item() {
    let (server, token, species) = with_species().await;
    let site = server.create_site(&token, "Mere").await;
    let data = report(&server, &token, (&site, &species), 3).await;
    server.settle().await;
    let delete =
        "mutation($input: DeleteSightingInput!) { deleteSighting(input: $input) { deletedSightingId } }";
    let input = json!({ "input": { "sightingId": data["createSighting"]["sighting"]["id"] } });
    server.data(Some(&token), delete, input).await;
    let query = "{ viewer { sightings { nodes { summary note } } } }";
    let data = server.data(Some(&token), query, json!({})).await;
    let node = &data["viewer"]["sightings"]["nodes"][0];
    assert_eq!(node["note"], node["summary"]);
    server.settle().await;
    let data = server.data(Some(&token), query, json!({})).await;
    assert_eq!(data["viewer"]["sightings"]["nodes"], json!([]));
}

const SESSIONS: &str = r#"
extend schema
  @model(name: "sessions")
  @container(name: "rooms", key: "/id")
  @container(name: "visits", key: "/roomId", ttl: 60)

type Room @item(container: "rooms", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  name: String!
  visits: [Visit!]! @partition(by: "room") @order(by: "at")
  visitCount: Int! @count(of: "visits", kept: BEHIND)
}
type Visit @item(container: "visits", partition: "room", write: [CREATE, DELETE]) @deletes(by: TTL)
  @auth(on: [CREATE, DELETE], allow: PUBLIC) {
  id: ID!
  room: Room! @reference
  at: DateTime! @created
}
"#;

#[tokio::test]
async fn expired_items_leave_their_lists_and_counts() {
    if crate::support::store::is_cosmos() {
        // Nothing expires in the emulator.
        return;
    }
    let server = ServedServer::start(SESSIONS).await;
    let create = "mutation { createRoom(input: { name: \"Hall\" }) { room { id visitCount } } }";
    let room = server.data(None, create, json!({})).await["createRoom"]["room"].take();
    assert_eq!(room["visitCount"], 0);
    let visit = async || {
        let create = "mutation($input: CreateVisitInput!) { createVisit(input: $input) { visit { id } } }";
        let input = json!({ "input": { "roomId": room["id"] } });
        server.data(None, create, input).await["createVisit"]["visit"]["id"].take()
    };
    let shown = async || {
        let query = "query($id: ID!) { room(id: $id) { visitCount visits { nodes { id } } } }";
        let room = server.data(None, query, json!({ "id": room["id"] })).await["room"].take();
        (room["visitCount"].as_u64().unwrap(), room["visits"]["nodes"].as_array().unwrap().len())
    };
    visit().await;
    server.clock.advance(std::time::Duration::from_secs(40));
    let deleted = visit().await;
    visit().await;
    assert_eq!(shown().await, (3, 3));
    let delete = "mutation($input: DeleteVisitInput!) { deleteVisit(input: $input) { deletedVisitId } }";
    server.data(None, delete, json!({ "input": { "visitId": deleted } })).await;
    assert_eq!(shown().await, (2, 2));
    server.clock.advance(std::time::Duration::from_secs(30));
    assert_eq!(shown().await, (1, 1), "the first one is over");
    server.clock.advance(std::time::Duration::from_secs(31));
    assert_eq!(shown().await, (0, 0));
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

const PARKING: &str = r#"
extend schema
  @model(name: "parking")
  @container(name: "garages", key: "/id")
  @container(name: "tickets", key: "/plate", ttl: 60)
  @container(name: "latest", key: "/type")
  @container(name: "byGarage", key: "/garageId")

type Garage @item(container: "garages", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  name: String!
  tickets: [Ticket!]! @list(into: "byGarage", by: "garage", fields: "plate") @order(by: "at")
  ticketCount: Int! @count(of: "tickets", kept: BEHIND)
}
type Ticket @item(container: "tickets", partition: "plate", write: [CREATE, DELETE])
  @auth(on: [CREATE, DELETE], allow: PUBLIC) {
  id: ID!
  plate: String!
  garage: Garage! @reference @copy(fields: ["name"])
  place: String! @unique(normalize: LOWER)
  at: DateTime! @created
}
type Query {
  garage(id: ID!): Garage
  latest: [Ticket!]! @list(into: "latest", keep: 2) @order(by: "at", desc: true)
}
type Subscription { latestChanged: Ticket! @live(of: "Query.latest", on: [ADDED, REMOVED]) }
"#;

#[tokio::test]
async fn lists_of_items_that_expire_are_found_across_partitions() {
    if crate::support::store::is_cosmos() {
        // Nothing expires in the emulator.
        return;
    }
    let server = ServedServer::start(PARKING).await;
    let create = "mutation { createGarage(input: { name: \"North\" }) { garage { id } } }";
    let garage = server.data(None, create, json!({})).await["createGarage"]["garage"]["id"].take();
    let create = "mutation($input: CreateTicketInput!) { createTicket(input: $input) { ticket { id } } }";
    let input =
        |plate: &str, place: &str| json!({ "input": { "plate": plate, "place": place, "garageId": garage } });
    let park = async |plate: &str, place: &str| {
        server.data(None, create, input(plate, place)).await;
        server.clock.advance(std::time::Duration::from_secs(1));
    };
    let shown = async || {
        let query = "query($id: ID!) { latest { nodes { plate garage { name } } } garage(id: $id) {
            ticketCount tickets { nodes { plate place } } } }";
        let data = server.data(None, query, json!({ "id": garage })).await;
        let plates = |nodes: &Value| {
            let nodes = nodes.as_array().unwrap().iter();
            nodes.map(|node| node["plate"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        let (latest, garage) = (plates(&data["latest"]["nodes"]), &data["garage"]);
        (latest, plates(&garage["tickets"]["nodes"]), garage["ticketCount"].as_i64().unwrap())
    };
    for (plate, place) in [("A", "p1"), ("B", "p2"), ("C", "p3")] {
        park(plate, place).await;
    }
    assert_eq!(shown().await, ("C B".to_owned(), "A B C".to_owned(), 3), "a page has the two that are kept");
    assert_eq!(server.refusal(None, create, input("D", "P1")).await.0, "CONFLICT");
    server.clock.advance(std::time::Duration::from_secs(57));
    assert_eq!(shown().await, ("C B".to_owned(), "B C".to_owned(), 2), "the first one is over");
    park("D", "P1").await;
    server.settle().await;
    server.clock.advance(std::time::Duration::from_secs(3));
    assert_eq!(shown().await, ("D".to_owned(), "D".to_owned(), 1));
    server.clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(shown().await, (String::new(), String::new(), 0));
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_protected_list_is_for_the_owner_of_its_item() {
    let list = "    @order(by: \"createdAt\", desc: true)\n}\n\n\"A place";
    let protected = list.replacen('\n', "\n    @auth(on: READ, allow: OWNER, owner: \"id\")\n", 1);
    let server = ServedServer::start(&BIRDS.replacen(list, &protected, 1)).await;
    let (ada, id) = server.sign_up("Ada", "ada@example.com").await;
    let (bob, _) = server.sign_up("Bob", "bob@example.com").await;
    let query = "query($id: ID!) { observer(id: $id) { sightings { nodes { id } } } }";
    let own = server.data(Some(&ada), query, json!({ "id": id })).await;
    assert_eq!(own["observer"]["sightings"]["nodes"], json!([]));
    assert_eq!(server.refusal(Some(&bob), query, json!({ "id": id })).await.0, "FORBIDDEN");
    assert_eq!(server.refusal(None, query, json!({ "id": id })).await.0, "UNAUTHENTICATED");
}
