//! Documents that broke compiled executors elsewhere, one test each.

use onehop::blog::containers::POSTS;
use onehop::graphql::GlobalId;
use serde_json::{Value, json};

use super::shop::{category_node, customer_id, customer_node, order_node, product_node, tag_node};
use super::{comment_node, compare, like_node, planned, unplanned};
use crate::planned_requests::Asked;
use crate::support::blog::{Blog, post_node, small, user_id, user_node};

async fn is_planned(blog: &Blog, asked: &Asked) -> bool {
    compare(asked, blog).await.1
}

#[tokio::test]
async fn one_key_on_two_types_is_the_field_of_the_type() {
    let blog = small().await;
    let text = "query($id: ID!) { node(id: $id) { ... on User { it: username } ...P } } fragment P on Post { it: title }";
    let user = planned(&blog, text, json!({ "id": user_node(0) })).await;
    assert_eq!(user, json!({ "node": { "it": "Ada" } }));
    let post = planned(&blog, text, json!({ "id": post_node(1) })).await;
    assert_eq!(post, json!({ "node": { "it": "Post 1" } }));
}

#[tokio::test]
async fn directives_on_spreads_and_nested_fragments_are_heeded() {
    let blog = small().await;
    let text = "query($id: ID!, $a: Boolean!, $b: Boolean!) { user(id: $id) {
        ...F @include(if: $a) ... @skip(if: $b) { ...G @include(if: $a) ... @skip(if: $a) { c: id } } } }
        fragment F on User { a: id @skip(if: $b) } fragment G on Node { ... on User @include(if: $a) { b: username } }";
    let id = user_node(0);
    let ada = json!("Ada");
    for (a, b, expected) in [
        (true, true, json!({})),
        (true, false, json!({ "a": id, "b": ada })),
        (false, true, json!({})),
        (false, false, json!({ "c": id })),
    ] {
        let data = planned(&blog, text, json!({ "id": id, "a": a, "b": b })).await;
        assert_eq!(data["user"], expected, "{a} {b}");
    }
}

#[tokio::test]
async fn an_absent_object_is_null_and_takes_no_list() {
    let blog = small().await;
    let nothing = GlobalId::User(onehop::blog::ids::UserId(uuid::Uuid::from_u128(7))).encode();
    let text = "query($id: ID!) { __typename user(id: $id) { __typename posts { nodes { id } } } }";
    let data = planned(&blog, text, json!({ "id": nothing })).await;
    assert_eq!(data, json!({ "__typename": "Query", "user": null }));
    let nothing = GlobalId::Post(onehop::blog::ids::PostId(uuid::Uuid::from_u128(7))).encode();
    let data =
        planned(&blog, "query($id: ID!) { node(id: $id) { ... on Post { id } } }", json!({ "id": nothing }))
            .await;
    assert_eq!(data, json!({ "node": null }));
}

#[tokio::test]
async fn a_failed_read_is_an_error_of_the_executor() {
    let blog = small().await;
    let asked = Asked::new(
        "query($id: ID!) { user(id: $id) { id posts { nodes { id } } } }",
        json!({ "id": user_node(0) }),
    );
    assert!(is_planned(&blog, &asked).await);
    blog.store.fail();
    assert!(asked.planned(&blog.executor).await.is_none());
    let (response, _) = asked.general(&blog.executor).await;
    assert_eq!(response.errors.len(), 1);
}

#[tokio::test]
async fn a_type_name_is_written_wherever_it_is_selected() {
    let blog = small().await;
    let text = "query($id: ID!) { __typename a: __typename __typename post(id: $id) { __typename b: __typename __typename
        comments(first: 1) { __typename nodes { __typename author { c: __typename } } edges { __typename } pageInfo { __typename } } }
        d: __typename }";
    let data = planned(&blog, text, json!({ "id": post_node(0) })).await;
    let expected = json!({ "__typename": "Query", "a": "Query", "post": { "__typename": "Post", "b": "Post", "comments": {
        "__typename": "CommentConnection", "nodes": [{ "__typename": "Comment", "author": { "c": "User" } }],
        "edges": [{ "__typename": "CommentEdge" }], "pageInfo": { "__typename": "PageInfo" },
    } }, "d": "Query" });
    assert_eq!(data, expected);
}

#[tokio::test]
async fn aliases_with_other_arguments_are_other_reads() {
    let blog = small().await;
    let text = "query($a: ID!, $b: ID!) { a: user(id: $a) { username } b: user(id: $b) { username }
        f: feed(first: 1) { nodes { title } } g: feed(first: 2) { nodes { title } }
        p: post(id: \"POST\") { x: comments(first: 1) { nodes { content } } y: comments(first: 2) { nodes { content } } } }";
    let text = text.replace("POST", &post_node(0));
    let data = planned(&blog, &text, json!({ "a": user_node(0), "b": user_node(1) })).await;
    assert_eq!((&data["a"]["username"], &data["b"]["username"]), (&json!("Ada"), &json!("Brontë")));
    let lengths = |list: &Value| list["nodes"].as_array().unwrap().len();
    assert_eq!((lengths(&data["f"]), lengths(&data["g"])), (1, 2));
    assert_eq!((lengths(&data["p"]["x"]), lengths(&data["p"]["y"])), (1, 2));
}

#[tokio::test]
async fn each_operation_of_a_text_has_its_own_plan() {
    let blog = small().await;
    let text = format!(
        "query A {{ user(id: {:?}) {{ username }} }} query B {{ post(id: {:?}) {{ title }} }}
         query C {{ userByUsername(username: \"x\") {{ id }} }}",
        user_node(0),
        post_node(0)
    );
    let mut asked = Asked::new(&text, json!({}));
    for (operation, expected, is_planned) in [
        ("A", json!({ "user": { "username": "Ada" } }), true),
        ("B", json!({ "post": { "title": "Post 0" } }), true),
        ("C", json!({ "userByUsername": null }), false),
        ("A", json!({ "user": { "username": "Ada" } }), true),
    ] {
        asked.operation = Some(operation);
        let (data, by_plan) = compare(&asked, &blog).await;
        assert_eq!(
            (serde_json::from_str::<Value>(&data).unwrap(), by_plan),
            (expected, is_planned),
            "{operation}"
        );
    }
}

#[tokio::test]
async fn pages_follow_one_another_by_their_cursors() {
    let blog = small().await;
    let text = "query($id: ID!, $first: Int! = 2, $after: String = null) { post(id: $id) { comments(first: $first, after: $after) {
        edges { cursor node { id } } nodes { content } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }";
    let mut after = json!(null);
    let mut contents = Vec::new();
    loop {
        let variables = match &after {
            Value::Null => json!({ "id": post_node(0) }),
            after => json!({ "id": post_node(0), "after": after }),
        };
        let data = planned(&blog, text, variables).await;
        let comments = &data["post"]["comments"];
        contents.extend(comments["nodes"].as_array().unwrap().iter().map(|node| node["content"].clone()));
        if comments["pageInfo"]["hasNextPage"] == json!(false) {
            break;
        }
        after = comments["pageInfo"]["endCursor"].clone();
    }
    assert_eq!(contents.len(), 5);
    let empty = planned(
        &blog,
        "query($id: ID!) { post(id: $id) { likes(first: 1) { nodes { id } } comments(first: 100) { pageInfo { endCursor } } } }",
        json!({ "id": post_node(1) }),
    );
    assert!(empty.await["post"]["comments"]["pageInfo"]["endCursor"].is_string());
}

#[tokio::test]
async fn what_needs_another_read_has_no_plan() {
    let blog = small().await;
    let comment = comment_node(0);
    for text in [
        "query($id: ID!) { user(id: $id, model: V1) { username } }",
        "query($id: ID!) { user(id: $id) { username } userByUsername(username: \"ada\") { id } }",
        "query($id: ID!) { user(id: $id) { posts { nodes { comments { nodes { id } } } } } }",
        "query($id: ID!) { user(id: $id) { id } user(id: $id) { username } }",
        "query($id: ID!) { user(id: $id) { id } __schema { queryType { name } } }",
    ] {
        let data = unplanned(&blog, text, json!({ "id": user_node(0) })).await;
        assert!(data["user"].is_object(), "{data}");
    }
    let text =
        "query($id: ID!) { node(id: $id) { id ... on Comment { post { comments { nodes { id } } } } } }";
    assert_eq!(unplanned(&blog, text, json!({ "id": comment })).await["node"]["id"], json!(comment));
    assert!(planned(&blog, text, json!({ "id": user_node(0) })).await["node"].is_object());
}

#[tokio::test]
async fn a_data_model_in_a_variable_decides_with_each_request() {
    let blog = small().await;
    let text = "query($id: ID!, $model: DataModel! = V3) { user(id: $id, model: $model) { username } }";
    let mut asked = Asked::new(text, json!({ "id": user_node(0) }));
    for (model, has_plan) in [("V3", true), ("V2", false), ("V3", true)] {
        asked.variables = json!({ "id": user_node(0), "model": model });
        assert_eq!(is_planned(&blog, &asked).await, has_plan, "{model}");
    }
}

#[tokio::test]
async fn likes_of_a_signed_in_caller_are_read_beside() {
    let blog = small().await;
    let (post, comment, mut like) = (post_node(1), comment_node(1), like_node(2));
    let ask = |text: &str, id: &str, caller: Option<String>| Asked {
        caller,
        ..Asked::new(text, json!({ "id": id, "liked": true }))
    };
    let user = || Some(user_id(0).to_string());
    let on_page = "query($id: ID!) { user(id: $id) { posts { nodes { viewerHasLiked } edges { node { liked: viewerHasLiked } } } } }";
    let alone = "query($id: ID!, $liked: Boolean!) { post(id: $id) { title viewerHasLiked @include(if: $liked) comments { nodes { id } } } }";
    let of_comment =
        "query($id: ID!) { node(id: $id) { ... on Comment { content post { title viewerHasLiked } } } }";
    for (text, id, caller, expected) in [
        (alone, &post, user(), "\"viewerHasLiked\":true"),
        (alone, &post, Some(user_id(1).to_string()), "\"viewerHasLiked\":false"),
        (alone, &post, None, "\"viewerHasLiked\":false"),
        (alone, &post, Some(format!("customer:{}", user_id(0))), "\"viewerHasLiked\":false"),
        (of_comment, &comment, user(), "\"viewerHasLiked\":true"),
        (on_page, &user_node(1), user(), "\"liked\":true"),
        ("{ feed { nodes { viewerHasLiked } } }", &post, user(), "\"viewerHasLiked\":true"),
    ] {
        let (data, by_plan) = compare(&ask(text, id, caller), &blog).await;
        assert!(by_plan && data.contains(expected), "{text}: {data}");
    }
    let twice = "query($id: ID!) { post(id: $id) { viewerHasLiked liked: viewerHasLiked } }";
    assert!(!is_planned(&blog, &ask(twice, &post, user())).await, "the executor reads twice");
    assert!(is_planned(&blog, &ask(twice, &post, None)).await);

    let text = "query($id: ID!) { node(id: $id) { id ... on Like { creationDate user { username } post { content } } } }";
    let data = planned(&blog, text, json!({ "id": like })).await;
    assert_eq!(data["node"]["user"]["username"], "Brontë");
    // The second user does not like this post.
    like = like_node(1);
    assert_eq!(planned(&blog, text, json!({ "id": like })).await, json!({ "node": null }));
}

#[tokio::test]
async fn contents_of_a_page_are_read_beside() {
    let blog = small().await;
    let text = "query($id: ID!) { user(id: $id) { posts(first: 2) { nodes { title content viewerHasLiked } edges { node { text: content summary } } } } }";
    let mut asked = Asked::new(text, json!({ "id": user_node(0) }));
    for caller in [None, Some(user_id(1).to_string())] {
        asked.caller = caller;
        let (data, by_plan) = compare(&asked, &blog).await;
        assert!(by_plan && data.contains("\"content\":\"\\\"Post\\\" 0"), "{data}");
    }
    // Its copy is still listed.
    let mut post = blog.stored_post(0).await;
    post.deleted = true;
    blog.put(POSTS, &post.id.partition_key(), &post.id.to_string(), &post).await;
    let (data, by_plan) = compare(&asked, &blog).await;
    let data: Value = serde_json::from_str(&data).unwrap();
    let edge = &data["user"]["posts"]["edges"][0]["node"];
    assert!(by_plan && edge["text"] == edge["summary"], "{data}");
    let by_tag =
        "query($id: ID!) { node(id: $id) { ... on ProductTag { products { nodes { description } } } } }";
    unplanned(&blog, by_tag, json!({ "id": tag_node(0) })).await;
}

#[tokio::test]
async fn customers_are_shown_to_themselves_alone() {
    let blog = small().await;
    blog.add_shop().await;
    let text = "query($id: ID!, $order: ID!) { customer(id: $id) { lastName addresses { city } salesOrders(first: 1) { nodes { total { amount } } } }
        viewerCustomer { id } node(id: $order) { ... on SalesOrder { lines { total { amount currencyCode } } } } }";
    let variables = json!({ "id": customer_node(0), "order": order_node(0, 2) });
    let mut asked = Asked::new(text, variables);
    for (caller, is_shown) in [
        (None, false),
        (Some(format!("customer:{}", customer_id(0))), true),
        (Some(format!("customer:{}", customer_id(1))), false),
    ] {
        asked.caller = caller;
        let (data, by_plan) = compare(&asked, &blog).await;
        assert!(by_plan, "{data}");
        assert_eq!(data.contains("Lovelace 0"), is_shown, "{data}");
        assert_eq!(data.contains("KWD"), is_shown, "{data}");
    }
    // Whether a user is staff, the general executor knows.
    for (user, is_shown) in [(0, true), (1, false)] {
        asked.caller = Some(user_id(user).to_string());
        let (data, by_plan) = compare(&asked, &blog).await;
        assert!(!by_plan && data.contains("Lovelace 0") == is_shown, "{data}");
    }
}

#[tokio::test]
async fn the_catalogue_is_answered_by_plans() {
    let blog = small().await;
    blog.add_shop().await;
    let product = "id sku name price { amount currencyCode } isSoldOut category { id name } tags { id name }";
    let whole = format!(
        "query($id: ID!) {{ product(id: $id) {{ {product} description }} productTags {{ id name }} productCategories {{ name }} }}"
    );
    let data = planned(&blog, &whole, json!({ "id": product_node(2) })).await;
    assert_eq!(data["product"]["price"], json!({ "amount": "1.250", "currencyCode": "KWD" }));
    assert_eq!(data["productTags"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        planned(&blog, &whole, json!({ "id": product_node(4) })).await["product"],
        json!(null),
        "deleted"
    );
    let pages = format!(
        "query($id: ID!, $after: String) {{ node(id: $id) {{ ... on ProductCategory {{ products(first: 2, after: $after) {{
         nodes {{ {product} description }} pageInfo {{ hasNextPage endCursor }} }} }}
         ... on ProductTag {{ products(first: 2, after: $after) {{ nodes {{ {product} }} pageInfo {{ hasNextPage endCursor }} }} }} }} }}"
    );
    for (id, count) in [(category_node(0), 2), (category_node(1), 3), (tag_node(0), 4)] {
        let (mut found, mut after) = (0, json!(null));
        loop {
            let data = planned(&blog, &pages, json!({ "id": id, "after": after })).await;
            let products = &data["node"]["products"];
            found += products["nodes"].as_array().unwrap().len();
            after = products["pageInfo"]["endCursor"].clone();
            if products["pageInfo"]["hasNextPage"] == json!(false) {
                break;
            }
        }
        assert_eq!(found, count, "{id}");
    }
}

#[tokio::test]
async fn an_item_in_another_form_is_left_to_the_executor() {
    let blog = small().await;
    let asked = Asked::new("query($id: ID!) { user(id: $id) { username } }", json!({ "id": user_node(0) }));
    assert!(is_planned(&blog, &asked).await);
    for (body, expected) in [
        (r#"{ "id": "ID", "type": "user", "userId": "ID", "username": "Ada", "version": 1 }"#, json!("Ada")),
        (r#"{"id":"ID","type":"user","userId":"ID","username":"\u0041\/","version":1}"#, json!("A/")),
        (r#"{"id":"ID","type":"user","userId":"ID","username":"Ada","formerKeys":[ ]}"#, json!("Ada")),
    ] {
        blog.put_user_body(0, &body.replace("ID", &user_id(0).to_string())).await;
        let (data, by_plan) = compare(&asked, &blog).await;
        let data: Value = serde_json::from_str(&data).unwrap();
        assert_eq!((&data["user"]["username"], by_plan), (&expected, false));
    }
}
