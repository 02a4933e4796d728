//! Copies that stay as they were written: texts and amounts with their currencies.

use serde_json::{Value, json};

use super::server::ServedServer;

const DEPOT: &str = r#"
extend schema
  @model(name: "depot")
  @container(name: "products", key: "/productId")
  @container(name: "orders", key: "/orderId")
  @container(name: "board", key: "/type")

type Product @item(container: "products", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  name: String!
  price: Money!
}

type Order @item(container: "orders", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  note: String!
  fee: Money
  product: Product! @reference @copy(fields: ["name", "price"], frozen: true)
  gift: Product @reference @copy(fields: ["price"], frozen: true)
  extras: [Product!] @reference @copy(fields: ["price"], frozen: true)
  lines: [Line!]
}

type Line @embedded {
  product: Product! @reference @copy(fields: ["price"], frozen: true)
  quantity: Int!
}

type Query {
  order(id: ID!): Order
  board: [Order!] @list(into: "board", fields: ["note", "product"]) @order(by: "note")
}
"#;

const ORDER: &str = "note fee { amount currencyCode } product { name price { amount currencyCode } } gift { price { amount } }
    extras { price { amount currencyCode } } lines { quantity product { price { amount currencyCode } } }";

#[tokio::test]
async fn frozen_amounts_keep_their_currency() {
    let server = ServedServer::start(DEPOT).await;
    let money = |amount: &str, code: &str| json!({ "amount": amount, "currencyCode": code });
    let create = "mutation($input: CreateProductInput!) { createProduct(input: $input) { product { id } } }";
    let mut ids = Vec::new();
    for (name, price) in [("lamp", money("12.50", "EUR")), ("rug", money("900", "JPY"))] {
        let input = json!({ "input": { "name": name, "price": price } });
        ids.push(server.data(None, create, input).await["createProduct"]["product"]["id"].clone());
    }
    let create = format!(
        "mutation($input: CreateOrderInput!) {{ createOrder(input: $input) {{ order {{ id {ORDER} }} }} }}"
    );
    let input = json!({ "note": "first", "fee": money("1.00", "USD"), "productId": ids[0], "extraIds": [ids[1], ids[0]],
        "lines": [{ "productId": ids[1], "quantity": 2 }] });
    let mut order =
        server.data(None, &create, json!({ "input": input })).await["createOrder"]["order"].take();
    let id = order.as_object_mut().unwrap().remove("id").unwrap();
    let lamp = json!({ "price": money("12.50", "EUR") });
    let rug = json!({ "price": money("900", "JPY") });
    let mut expected = json!({ "note": "first", "fee": money("1.00", "USD"),
        "product": { "name": "lamp", "price": money("12.50", "EUR") }, "gift": null, "extras": [rug, lamp],
        "lines": [{ "quantity": 2, "product": rug }] });
    assert_eq!(order, expected);

    let rename =
        "mutation($input: UpdateProductInput!) { updateProduct(input: $input) { product { name } } }";
    for (id, price) in ids.iter().zip([money("3", "GBP"), money("4", "CHF")]) {
        let input = json!({ "input": { "productId": id, "name": "new", "price": price } });
        server.data(None, rename, input).await;
    }
    server.settle().await;
    let query = format!("query($id: ID!) {{ order(id: $id) {{ {ORDER} }} }}");
    let shown = async || server.data(None, &query, json!({ "id": id })).await["order"].take();
    assert_eq!(shown().await, expected);
    let board = "{ board { nodes { note product { name price { amount currencyCode } } } } }";
    let listed = server.data(None, board, json!({})).await;
    let first = json!({ "note": "first", "product": { "name": "lamp", "price": money("12.50", "EUR") } });
    assert_eq!(listed, json!({ "board": { "nodes": [first] } }));

    // Another reference has the copies of its own target, at the time of the write.
    let update = "mutation($input: UpdateOrderInput!) { updateOrder(input: $input) { order { note } } }";
    let input =
        json!({ "orderId": id, "note": "second", "productId": ids[1], "giftId": ids[0], "extraIds": [] });
    server.data(None, update, json!({ "input": input })).await;
    expected["note"] = json!("second");
    expected["product"] = json!({ "name": "new", "price": money("4.00", "CHF") });
    expected["gift"] = json!({ "price": { "amount": "3.00" } });
    expected["extras"] = json!([]);
    assert_eq!(shown().await, expected);
    // The same references once more keep the copies: clients that send all fields of a form change no price.
    for (id, price) in ids.iter().zip([money("5", "USD"), money("6", "USD")]) {
        let input = json!({ "input": { "productId": id, "name": "newest", "price": price } });
        server.data(None, rename, input).await;
    }
    let input = json!({ "orderId": id, "productId": ids[1], "giftId": ids[0], "extraIds": [ids[1]] });
    server.data(None, update, json!({ "input": input })).await;
    expected["extras"] = json!([{ "price": money("6.00", "USD") }]);
    assert_eq!(shown().await, expected);
    for (id, price) in ids.iter().zip([money("7", "USD"), money("8", "USD")]) {
        let input = json!({ "input": { "productId": id, "price": price } });
        server.data(None, rename, input).await;
    }
    let input = json!({ "orderId": id, "extraIds": [ids[0], ids[1]] });
    server.data(None, update, json!({ "input": input })).await;
    expected["extras"] = json!([{ "price": money("7.00", "USD") }, { "price": money("6.00", "USD") }]);
    assert_eq!(shown().await, expected);
    let input = json!({ "orderId": id, "giftId": null });
    server.data(None, update, json!({ "input": input })).await;
    expected["gift"] = Value::Null;
    assert_eq!(shown().await, expected);
    server.settle().await;
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

const HOTEL: &str = r#"
extend schema
  @model(name: "hotel")
  @container(name: "rooms", key: "/house")
  @container(name: "stays", key: "/stayId")

type Room @item(container: "rooms", partition: "house", idFrom: ["number"], write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  house: String! @immutable
  number: String! @immutable
  name: String!
}

type Stay @item(container: "stays", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  house: String!
  room: Room! @reference(partition: "house") @copy(fields: ["name"], frozen: true)
}
"#;

#[tokio::test]
async fn the_same_id_in_another_partition_is_another_target() {
    let server = ServedServer::start(HOTEL).await;
    let create = "mutation($input: CreateRoomInput!) { createRoom(input: $input) { room { id } } }";
    let mut ids = Vec::new();
    for house in ["east", "west"] {
        let input = json!({ "input": { "house": house, "number": "1", "name": format!("{house} room") } });
        ids.push(server.data(None, create, input).await["createRoom"]["room"]["id"].clone());
    }
    let create =
        "mutation($input: CreateStayInput!) { createStay(input: $input) { stay { id room { name } } } }";
    let input = json!({ "input": { "house": "east", "roomId": ids[0] } });
    let stay = server.data(None, create, input).await["createStay"]["stay"].take();
    assert_eq!(stay["room"]["name"], "east room");
    let rename = "mutation($input: UpdateRoomInput!) { updateRoom(input: $input) { room { name } } }";
    for id in &ids {
        server.data(None, rename, json!({ "input": { "roomId": id, "name": "new" } })).await;
    }
    let update =
        "mutation($input: UpdateStayInput!) { updateStay(input: $input) { stay { room { name } } } }";
    for (house, room, name) in [("east", &ids[0], "east room"), ("west", &ids[1], "new")] {
        let input = json!({ "input": { "stayId": stay["id"], "house": house, "roomId": room } });
        assert_eq!(server.data(None, update, input).await["updateStay"]["stay"]["room"]["name"], name);
    }
}
