//! Lists of references to items whose partition key lies beside the list.

use serde_json::{Value, json};

use super::server::ServedServer;

const DESK: &str = r#"
extend schema
  @model(name: "desk")
  @container(name: "tenants", key: "/tenantId")
  @container(name: "labels", key: "/tenantId")
  @container(name: "tickets", key: "/ticketId")

type Tenant @item(container: "tenants", partition: "id", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  name: String!
  labels: [Label!]! @find(by: "tenant", through: "Use")
  labelCount: Int! @count(of: "labels", kept: BEHIND, within: 5)
}

type Label @item(container: "labels", partition: "tenant", write: [CREATE, UPDATE, DELETE])
  @auth(on: [CREATE, UPDATE, DELETE], allow: PUBLIC) {
  id: ID!
  tenant: Tenant! @reference
  name: String!
}

type Use @item(container: "labels", partition: "tenant", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  tenant: Tenant! @reference
  label: Label! @reference(partition: "tenant")
}

type Ticket @item(container: "tickets", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  labels: [Label!]! @reference(partition: "tenant") @copy(fields: ["name"])
  tenant: Tenant! @reference
}
"#;

async fn create(server: &ServedServer, ty: &str, input: Value) -> Value {
    let field = ty.to_lowercase();
    let query =
        format!("mutation($input: Create{ty}Input!) {{ create{ty}(input: $input) {{ {field} {{ id }} }} }}");
    let created = server.data(None, &query, json!({ "input": input })).await;
    created[&format!("create{ty}")][&field]["id"].clone()
}

const CREATE: &str = "mutation($input: CreateTicketInput!) { createTicket(input: $input) { ticket { id } } }";
const UPDATE: &str = "mutation($input: UpdateTicketInput!) { updateTicket(input: $input) { ticket { id } } }";

#[tokio::test]
async fn targets_of_a_list_lie_in_the_logical_partition_beside_it() {
    let server = ServedServer::start(DESK).await;
    let acme = create(&server, "Tenant", json!({ "name": "Acme" })).await;
    let zeta = create(&server, "Tenant", json!({ "name": "Zeta" })).await;
    let mut labels = Vec::new();
    for (tenant, name) in [(&acme, "red"), (&acme, "blue"), (&zeta, "loud")] {
        labels.push(create(&server, "Label", json!({ "tenantId": tenant, "name": name })).await);
    }
    let input = json!({ "tenantId": acme, "labelIds": labels });
    let refused = server.send(None, CREATE, json!({ "input": input })).await;
    assert_eq!(refused["errors"][0]["message"], "labelIds must be of the same tenant");

    let ticket = create(&server, "Ticket", json!({ "tenantId": acme, "labelIds": labels[..2] })).await;
    let moved = json!({ "input": { "ticketId": ticket, "tenantId": zeta } });
    let refused = server.send(None, UPDATE, moved).await;
    assert_eq!(refused["errors"][0]["message"], "tenantId belongs to labelIds: give both");
    let rename = "mutation($input: UpdateLabelInput!) { updateLabel(input: $input) { label { name } } }";
    server.data(None, rename, json!({ "input": { "labelId": labels[1], "name": "green" } })).await;
    server.settle().await;
    let shown = "query($id: ID!) { ticket(id: $id) { tenant { name } labels { id name tenant { name } } } }";
    let label = |id: &Value, name: &str| json!({ "id": id, "name": name, "tenant": { "name": "Acme" } });
    let data = server.data(None, shown, json!({ "id": ticket })).await;
    let expected = [label(&labels[0], "red"), label(&labels[1], "green")];
    assert_eq!(data["ticket"], json!({ "tenant": { "name": "Acme" }, "labels": expected }));

    let both = json!({ "input": { "ticketId": ticket, "tenantId": zeta, "labelIds": [labels[2]] } });
    server.data(None, UPDATE, both).await;
    let data = server.data(None, shown, json!({ "id": ticket })).await;
    assert_eq!(data["ticket"]["labels"][0]["tenant"]["name"], "Zeta");
    server.settle().await;
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_count_through_a_link_type_counts_what_the_list_shows() {
    let server = ServedServer::start(DESK).await;
    let acme = create(&server, "Tenant", json!({ "name": "Acme" })).await;
    let red = create(&server, "Label", json!({ "tenantId": acme, "name": "red" })).await;
    let blue = create(&server, "Label", json!({ "tenantId": acme, "name": "blue" })).await;
    let shown = async || {
        let query = "query($id: ID!) { tenant(id: $id) { labelCount labels { nodes { name } } } }";
        server.data(None, query, json!({ "id": acme })).await["tenant"].take()
    };
    assert_eq!(shown().await["labelCount"], 0);
    // Two links to one label count once.
    for label in [&red, &red, &blue] {
        create(&server, "Use", json!({ "tenantId": acme, "labelId": label })).await;
    }
    assert_eq!(shown().await["labelCount"], 2);
    let delete = "mutation($input: DeleteLabelInput!) { deleteLabel(input: $input) { deletedLabelId } }";
    server.data(None, delete, json!({ "input": { "labelId": red } })).await;
    assert_eq!(shown().await, json!({ "labelCount": 1, "labels": { "nodes": [{ "name": "blue" }] } }));
}

const FLEET: &str = r#"
extend schema
  @model(name: "fleet")
  @container(name: "sites", key: ["/country", "/city"])
  @container(name: "cars", key: "/carId")

type Site @item(container: "sites", partition: ["country", "city"], write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  country: String!
  city: String!
}

type Car @item(container: "cars", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  country: String!
  city: String!
  site: Site! @reference(partition: ["country", "city"])
  spare: Site @reference(partition: ["country", "city"])
}
"#;

#[tokio::test]
async fn a_new_target_fills_the_fields_with_its_key() {
    let server = ServedServer::start(FLEET).await;
    let mut sites = Vec::new();
    for (country, city) in [("FR", "Lyon"), ("FR", "Nice"), ("IT", "Bari")] {
        sites.push(create(&server, "Site", json!({ "country": country, "city": city })).await);
    }
    let car = create(&server, "Car", json!({ "siteId": sites[0] })).await;
    let update = "mutation($input: UpdateCarInput!) { updateCar(input: $input) { car { country city site { city } } } }";
    let moved = json!({ "input": { "carId": car, "siteId": sites[2] } });
    let data = server.data(None, update, moved).await;
    let expected = json!({ "country": "IT", "city": "Bari", "site": { "city": "Bari" } });
    assert_eq!(data["updateCar"]["car"], expected);

    // Given fields are compared with the target, and a reference that stays keeps them.
    let wrong = json!({ "input": { "carId": car, "siteId": sites[1], "country": "IT" } });
    let refused = server.send(None, update, wrong).await;
    assert_eq!(refused["errors"][0]["message"], "siteId must be of the same country");
    let both = json!({ "input": { "carId": car, "siteId": sites[1], "spareId": sites[1] } });
    server.data(None, update, both).await;
    let one = json!({ "input": { "carId": car, "siteId": sites[0] } });
    let refused = server.send(None, update, one).await;
    assert_eq!(refused["errors"][0]["message"], "city belongs to spareId: give both");
}

#[tokio::test]
async fn a_new_target_changes_no_field_with_callers_of_its_own() {
    let guarded = FLEET.replace(
        "  country: String!\n  city: String!\n  site:",
        "  country: String! @auth(on: UPDATE, allow: STAFF)\n  city: String!\n  site:",
    );
    assert_ne!(guarded, FLEET);
    let server = ServedServer::start(&guarded).await;
    let mut sites = Vec::new();
    for (country, city) in [("FR", "Lyon"), ("FR", "Nice"), ("IT", "Bari")] {
        sites.push(create(&server, "Site", json!({ "country": country, "city": city })).await);
    }
    let car = create(&server, "Car", json!({ "siteId": sites[0] })).await;
    let update = "mutation($input: UpdateCarInput!) { updateCar(input: $input) { car { country city } } }";
    let abroad = json!({ "input": { "carId": car, "siteId": sites[2] } });
    let refused = server.send(None, update, abroad).await;
    assert_eq!(refused["errors"][0]["message"], "siteId must be of the same country");
    let near = json!({ "input": { "carId": car, "siteId": sites[1] } });
    let data = server.data(None, update, near).await;
    assert_eq!(data["updateCar"]["car"], json!({ "country": "FR", "city": "Nice" }));
}
