//! Counts of the items of a logical partition that meet conditions.

use serde_json::{Value, json};

use super::server::ServedServer;

const GARAGE: &str = r#"
extend schema
  @model(name: "garage")
  @container(name: "cars", key: "/carId")
  @container(name: "board", key: "/type")

type Car @item(container: "cars", partition: "id", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  plate: String!
  openRepairs: [Repair!]! @partition(by: "car") @where(field: "status", is: OPEN) @order(by: "text")
  openRepairCount: Int! @count(of: "openRepairs")
  openCount: Int! @count(of: "openRepairs", kept: BEHIND, within: 5)
  doneRepairs: [Repair!]! @partition(by: "car") @where(field: "status", is: DONE) @order(by: "text")
  doneRepairCount: Int! @count(of: "doneRepairs")
  doneCount: Int! @count(of: "doneRepairs")
}

type Repair @item(container: "cars", partition: "car", write: [CREATE, UPDATE, DELETE])
  @auth(on: [CREATE, UPDATE, DELETE], allow: PUBLIC) {
  id: ID!
  car: Car! @reference
  text: String!
  status: Status!
}

enum Status { OPEN DONE }

type Query {
  car(id: ID!): Car
  board: [Car!] @list(into: "board") @order(by: "doneRepairCount", desc: true)
}
"#;

async fn create(server: &ServedServer, mutation: &str, selection: &str, input: Value) -> Value {
    let (name, ty) = (format!("create{mutation}"), format!("Create{mutation}Input"));
    let query = format!("mutation($input: {ty}!) {{ {name}(input: $input) {{ {selection} }} }}");
    server.data(None, &query, json!({ "input": input })).await[&name].take()
}

#[tokio::test]
async fn counts_under_conditions_follow_their_items() {
    let server = ServedServer::start(GARAGE).await;
    let mut cars = Vec::new();
    for plate in ["G 1", "G 2"] {
        let created = create(&server, "Car", "car { id openRepairCount }", json!({ "plate": plate })).await;
        assert_eq!(created["car"]["openRepairCount"], 0);
        cars.push(created["car"]["id"].clone());
    }
    let mut repairs = Vec::new();
    for text in ["brakes", "lamp", "tyres"] {
        let input = json!({ "carId": cars[1], "text": text, "status": "OPEN" });
        let created = create(&server, "Repair", "repair { id car { openRepairCount } }", input).await;
        repairs.push(created["repair"]["id"].clone());
        assert_eq!(created["repair"]["car"]["openRepairCount"], repairs.len(), "with the write itself");
    }
    let update = "mutation($input: UpdateRepairInput!) { updateRepair(input: $input) { repair { status } } }";
    for repair in &repairs[..2] {
        server.data(None, update, json!({ "input": { "repairId": repair, "status": "DONE" } })).await;
    }
    let shown = async || {
        server.settle().await;
        let query = "{ board { nodes { plate openRepairCount openCount doneRepairCount doneCount
            openRepairs { nodes { text } } doneRepairs { nodes { text } } } } }";
        server.data(None, query, json!({})).await["board"]["nodes"].take()
    };
    let none = json!({ "nodes": [] });
    let idle = json!({ "plate": "G 1", "openRepairCount": 0, "openCount": 0, "doneRepairCount": 0, "doneCount": 0,
        "openRepairs": none, "doneRepairs": none });
    let done = json!({ "nodes": [{ "text": "brakes" }, { "text": "lamp" }] });
    let busy = json!({ "plate": "G 2", "openRepairCount": 1, "openCount": 1, "doneRepairCount": 2, "doneCount": 2,
        "openRepairs": { "nodes": [{ "text": "tyres" }] }, "doneRepairs": done });
    assert_eq!(shown().await, json!([busy, idle]));
    let delete = "mutation($input: DeleteRepairInput!) { deleteRepair(input: $input) { deletedRepairId } }";
    for repair in [&repairs[0], &repairs[2]] {
        server.data(None, delete, json!({ "input": { "repairId": repair } })).await;
    }
    let cars = shown().await;
    let counts = |car: &Value| json!([car["openRepairCount"], car["openCount"], car["doneRepairCount"]]);
    assert_eq!(json!([counts(&cars[0]), counts(&cars[1])]), json!([[0, 0, 1], [0, 0, 0]]));
    assert!(server.app.verify(false).await.unwrap().is_clean());
}
