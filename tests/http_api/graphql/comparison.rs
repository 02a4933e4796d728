//! The operations of each read request of the article under each data model, as the API reports them.

use serde_json::{Value, json};

use crate::graphql::code_and_field;
use crate::support::blog::{Blog, post_id, post_node, small, user_node};

const FIELDS: &str = "model batched requestCharge chargeSource durationMs
    operations { container kind times items physicalPartitions requestCharge }";

/// The plans of a request, and the charge in the response.
async fn plans(blog: &Blog, arguments: &str) -> (Vec<Value>, f64) {
    let response = blog.query(&format!("{{ comparison({arguments}) {{ {FIELDS} }} }}")).await;
    assert!(response.errors.is_empty(), "{arguments}: {:?}", response.errors);
    let charge = serde_json::to_value(&response.extensions).unwrap()["requestCharge"].as_f64().unwrap();
    (response.data.into_json().unwrap()["comparison"].as_array().unwrap().clone(), charge)
}

/// `container kind x times: items from so many physical partitions`
fn told(plan: &Value) -> Vec<String> {
    let operations = plan["operations"].as_array().unwrap().iter();
    let tell = |operation: &Value| {
        let text = |name: &str| operation[name].to_string().replace('"', "");
        let [container, kind, times, items, partitions] =
            ["container", "kind", "times", "items", "physicalPartitions"].map(text);
        format!("{container} {kind} x {times}: {items} from {partitions}")
    };
    operations.map(tell).collect()
}

/// Each request with its arguments, and the article's operations of V1, V2 and V3 for it on the small blog.
/// V1 with the data loader looks each user up once.
fn expected() -> Vec<(String, [Vec<&'static str>; 4])> {
    let (user, post) = (user_node(0), post_node(0));
    let all = |operations: Vec<&'static str>| {
        [operations.clone(), operations.clone(), operations.clone(), operations]
    };
    let read = vec!["posts POINT_READ x 1: 1 from 1"];
    let gathered =
        vec!["posts POINT_READ x 1: 1 from 1", "users POINT_READ x 1: 1 from 1", "posts COUNT x 2: 2 from 1"];
    let comments = "posts QUERY x 1: 5 from 1";
    let likes = "posts QUERY x 1: 2 from 1";
    let posts = "posts QUERY x 1: 3 from 4";
    let newest = "posts QUERY x 1: 2 from 4";
    let [counts_of_three, counts_of_two] = ["posts COUNT x 6: 6 from 1", "posts COUNT x 4: 4 from 1"];
    vec![
        (format!("request: Q1, id: \"{user}\""), all(vec!["users POINT_READ x 1: 1 from 1"])),
        (format!("request: Q2, id: \"{post}\""), [gathered.clone(), gathered, read.clone(), read]),
        (
            format!("request: Q3, id: \"{user}\""),
            [
                vec![posts, "users POINT_READ x 3: 3 from 1", counts_of_three],
                vec![posts, "users POINT_READ x 1: 1 from 1", counts_of_three],
                vec![posts],
                vec!["users QUERY x 1: 3 from 1"],
            ],
        ),
        (
            format!("request: Q4, id: \"{post}\""),
            [
                vec![comments, "users POINT_READ x 5: 5 from 1"],
                vec![comments, "users POINT_READ x 3: 3 from 1"],
                vec![comments],
                vec![comments],
            ],
        ),
        (
            format!("request: Q5, id: \"{post}\""),
            [
                vec![likes, "users POINT_READ x 2: 2 from 1"],
                vec![likes, "users POINT_READ x 2: 2 from 1"],
                vec![likes],
                vec![likes],
            ],
        ),
        (
            "request: Q6, first: 2".to_owned(),
            [
                vec![newest, "users POINT_READ x 2: 2 from 1", counts_of_two],
                vec![newest, "users POINT_READ x 2: 2 from 1", counts_of_two],
                vec![newest],
                vec!["feed QUERY x 1: 2 from 1"],
            ],
        ),
    ]
}

#[tokio::test]
async fn each_request_matches_the_article_under_each_model() {
    let blog = small().await;
    for (arguments, expected) in expected() {
        let (plans, _) = plans(&blog, &arguments).await;
        let ways: Vec<Value> = plans.iter().map(|plan| json!([plan["model"], plan["batched"]])).collect();
        assert_eq!(
            ways,
            [json!(["V1", false]), json!(["V1", true]), json!(["V2", false]), json!(["V3", false])]
        );
        for (plan, expected) in plans.iter().zip(&expected) {
            assert_eq!(&told(plan), expected, "{arguments} {plan}");
            assert!(plan["durationMs"].as_f64().unwrap() > 0.0);
        }
    }
}

#[tokio::test]
async fn a_comparison_is_charged_what_its_plans_were() {
    let blog = small().await;
    for (arguments, _) in expected() {
        let (plans, charge) = plans(&blog, &arguments).await;
        let of = |value: &Value| value["requestCharge"].as_f64().unwrap();
        assert!((plans.iter().map(of).sum::<f64>() - charge).abs() < 0.05, "{arguments}: {plans:?}");
        for plan in &plans {
            let operations = plan["operations"].as_array().unwrap();
            assert!((operations.iter().map(of).sum::<f64>() - of(plan)).abs() < 0.05, "{arguments}: {plan}");
            let source = if crate::support::store::is_cosmos() { "MEASURED" } else { "ESTIMATED" };
            assert_eq!(plan["chargeSource"], source);
        }
    }
}

#[tokio::test]
async fn a_comparison_reads_live_data_and_writes_nothing() {
    let blog = small().await;
    let before = serde_json::to_value(blog.stored_post(0).await).unwrap();
    let (first, _) = plans(&blog, "request: Q6, first: 100").await;
    assert_eq!(serde_json::to_value(blog.stored_post(0).await).unwrap(), before);
    blog.add_post(20, 0, 1, &[]).await;
    blog.drain().await;
    let (second, _) = plans(&blog, "request: Q6, first: 100").await;
    for (first, second) in first.iter().zip(&second) {
        let items = |plan: &Value| plan["operations"][0]["items"].as_i64().unwrap();
        assert_eq!(items(second), items(first) + 1, "{second}");
    }
}

#[tokio::test]
async fn a_comparison_of_nothing_says_what_looking_took() {
    let blog = small().await;
    let nobody = onehop::graphql::GlobalId::Post(post_id(999)).encode();
    let (plans, _) = plans(&blog, &format!("request: Q2, id: \"{nobody}\"")).await;
    for plan in plans {
        assert_eq!(told(&plan), ["posts POINT_READ x 1: 0 from 1"]);
    }
}

#[tokio::test]
async fn bad_input_to_a_comparison_names_its_field() {
    let blog = small().await;
    let (user, post) = (user_node(0), post_node(0));
    for (arguments, field) in [
        ("request: Q1".to_owned(), "id"),
        ("request: Q2, id: null".to_owned(), "id"),
        ("request: Q3, id: \"x\"".to_owned(), "id"),
        (format!("request: Q1, id: \"{post}\""), "id"),
        (format!("request: Q4, id: \"{user}\""), "id"),
        (format!("request: Q5, id: \"{user}\""), "id"),
        ("request: Q6, first: 0".to_owned(), "first"),
        ("request: Q6, first: 101".to_owned(), "first"),
        (format!("request: Q1, id: \"{user}\", first: -1"), "first"),
    ] {
        blog.store.take_touched();
        let response = blog.query(&format!("{{ comparison({arguments}) {{ model }} }}")).await;
        assert_eq!(code_and_field(&response), json!(["BAD_USER_INPUT", field]), "{arguments}");
        assert!(blog.store.take_touched().is_empty(), "{arguments}");
    }
}

#[tokio::test]
async fn all_requests_with_largest_pages_fit_one_document_once() {
    let blog = small().await;
    let once = |name: &str| {
        let (user, post) = (user_node(0), post_node(0));
        let id = |number: u8| match number {
            1 | 3 => format!(", id: \"{user}\""),
            6 => String::new(),
            _ => format!(", id: \"{post}\""),
        };
        let field = |number: u8| {
            format!("{name}{number}: comparison(request: Q{number}{}, first: 100) {{ {FIELDS} }}", id(number))
        };
        (1..=6).map(field).collect::<Vec<_>>().join(" ")
    };
    blog.data(&format!("{{ {} }}", once("a"))).await;
    assert!(blog.complexity(&format!("{{ {} }}", once("a")), json!({})).is_ok());
    let refused = blog.complexity(&format!("{{ {} {} }}", once("a"), once("b")), json!({}));
    assert!(refused.is_err_and(|error| error.message.contains("complexity-max")));
}

#[tokio::test]
async fn a_failed_read_of_a_comparison_is_masked() {
    let blog = small().await;
    blog.store.fail();
    let response = blog.query("{ comparison(request: Q6) { model } }").await;
    assert_eq!(crate::graphql::only_error(&response)["extensions"]["code"], "UNAVAILABLE");
}
