//! Lists of references in embedded objects.

use serde_json::json;

use super::server::ServedServer;

const BAND: &str = r#"
extend schema
  @model(name: "band")
  @container(name: "players", key: "/playerId")
  @container(name: "shows", key: "/showId")

type Player @item(container: "players", partition: "id", write: [CREATE, DELETE]) @auth(on: [CREATE, DELETE], allow: PUBLIC) {
  id: ID!
  name: String!
}

type Show @item(container: "shows", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  sets: [Set!]
  encore: Set
}

type Set @embedded {
  title: String!
  players: [Player!]! @reference @length(min: 1, max: 3)
  guests: [Player!] @reference
}
"#;

const SHOWN: &str = "sets { title players { name } guests { name } } encore { players { id name } }";

#[tokio::test]
async fn objects_refer_to_several_items() {
    let server = ServedServer::start(BAND).await;
    let create = "mutation($input: CreatePlayerInput!) { createPlayer(input: $input) { player { id } } }";
    let mut ids = Vec::new();
    for name in ["Ann", "Ben", "Cid", "Dee"] {
        let created = server.data(None, create, json!({ "input": { "name": name } })).await;
        ids.push(created["createPlayer"]["player"]["id"].clone());
    }
    let create = format!(
        "mutation($input: CreateShowInput!) {{ createShow(input: $input) {{ show {{ id {SHOWN} }} }} }}"
    );
    let [ann, ben, cid, dee] = &ids[..] else { panic!("four players") };
    let sets = json!([{ "title": "one", "playerIds": [ann, ben, ann] }, { "title": "two", "playerIds": [cid], "guestIds": [dee, ann] }]);
    let created = server
        .data(
            None,
            &create,
            json!({ "input": { "sets": sets, "encore": { "title": "three", "playerIds": [dee] } } }),
        )
        .await;
    let show = &created["createShow"]["show"];
    let expected = json!([
        { "title": "one", "players": [{ "name": "Ann" }, { "name": "Ben" }], "guests": [] },
        { "title": "two", "players": [{ "name": "Cid" }], "guests": [{ "name": "Dee" }, { "name": "Ann" }] },
    ]);
    assert_eq!(show["sets"], expected);
    assert_eq!(show["encore"], json!({ "players": [{ "id": dee, "name": "Dee" }] }));
    let query = format!("query($id: ID!) {{ show(id: $id) {{ {SHOWN} }} }}");
    let read = server.data(None, &query, json!({ "id": show["id"] })).await;
    assert_eq!((&read["show"]["sets"], &read["show"]["encore"]), (&show["sets"], &show["encore"]));

    let refused = async |sets: serde_json::Value| {
        let response = server.send(None, &create, json!({ "input": { "sets": sets } })).await;
        let error = response["errors"][0]["extensions"].clone();
        (error["code"].clone(), error["fields"][0]["path"].clone())
    };
    let path = json!(["sets", 0, "playerIds"]);
    let (none, four) = (json!([]), json!([ann, ben, cid, dee]));
    for players in [none, four, json!([show["id"]])] {
        let sets = json!([{ "title": "x", "playerIds": players }]);
        assert_eq!(refused(sets.clone()).await, (json!("BAD_USER_INPUT"), path.clone()), "{sets}");
    }
    let delete = "mutation($input: DeletePlayerInput!) { deletePlayer(input: $input) { deletedPlayerId } }";
    server.data(None, delete, json!({ "input": { "playerId": ann } })).await;
    let gone = refused(json!([{ "title": "x", "playerIds": [ben, ann] }])).await;
    assert_eq!(gone.0, "NOT_FOUND");
}
