//! Every limit of an input and of a document: a value at the limit is accepted, a value beyond it is refused
//! by name.

use onehop::api::ApiOptions;
use onehop::blog::commands::{
    COMMENT_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MAX, POST_CONTENT_CHARS_MAX, TITLE_CHARS_MAX,
};
use onehop_graphql_server::document_limits::{
    DOCUMENT_ALIASES_MAX, DOCUMENT_DEPTH_MAX, DOCUMENT_SELECTIONS_MAX, DocumentLimits,
    MUTATION_ROOT_FIELDS_MAX, QUERY_ROOT_FIELDS_MAX,
};
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::json_size::VariableLimits;
use onehop_graphql_server::pipeline::parse::{BODY_BYTES_MAX, BodyLimits};
use onehop_graphql_server::service::COMPLEXITY_MAX;
use serde_json::{Value, json};

use crate::api::caller::Caller;
use crate::api::server::{PASSWORD, Server, Setup};

/// Asserts that the field is refused with this value, and that the message says the limit.
async fn assert_refused(
    caller: &Caller<'_>,
    mutation: &str,
    mut input: Value,
    field: &str,
    value: &str,
    limit: &str,
) {
    input[field] = json!(value);
    let refused = caller.refused_mutation(mutation, input).await;
    let length = value.chars().count();
    assert_eq!(refused.of(), ("BAD_USER_INPUT", Some(field)), "{mutation} with {length} characters");
    let names_field = refused.message.to_lowercase().starts_with(&field.to_lowercase());
    assert!(names_field && refused.message.contains(limit), "{refused:?}");
}

#[tokio::test]
async fn a_username_has_3_to_30_letters_digits_and_marks() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    for name in ["abc", &"é".repeat(30), "a.b-c_9"] {
        server.anonymous().sign_up(name, PASSWORD).await;
    }
    for (name, limit) in [
        ("ab", "3 to 30"),
        ("", "3 to 30"),
        (&*"é".repeat(31), "3 to 30"),
        (&*"e".repeat(5000), "3 to 30"),
        ("two words", "cannot contain spaces"),
        ("a/b", "letters, digits"),
        ("ada\u{200d}", "character 4 is U+200D"),
        ("null\0", "character 5 is U+0000"),
    ] {
        let input = json!({ "password": PASSWORD });
        assert_refused(&server.anonymous(), "createUser", input, "username", name, limit).await;
        assert_refused(&ada, "updateUser", json!({}), "username", name, limit).await;
    }
}

#[tokio::test]
async fn a_password_has_10_to_200_characters() {
    let server = Server::start().await;
    for (name, length) in [("nadia", 10), ("viktor", 200)] {
        let password: String =
            (0..length).filter_map(|n: u32| char::from_u32(0xe0 + (n * n + 3 * n) % 31)).collect();
        server.anonymous().sign_up(name, &password).await;
    }
    for length in [0, 9, 201] {
        let password = "é".repeat(length);
        let input = json!({ "username": "ada" });
        assert_refused(&server.anonymous(), "createUser", input, "password", &password, "10 to 200").await;
    }
}

#[tokio::test]
async fn texts_have_at_least_one_character_and_at_most_their_limit() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let new_post = json!({ "title": "t", "content": "c" });
    let edit = json!({ "postId": post });
    let comment = json!({ "postId": post, "content": "c" });
    for (mutation, input, field, limit) in [
        ("createPost", &new_post, "title", TITLE_CHARS_MAX),
        ("createPost", &new_post, "content", POST_CONTENT_CHARS_MAX),
        ("updatePost", &edit, "title", TITLE_CHARS_MAX),
        ("updatePost", &edit, "content", POST_CONTENT_CHARS_MAX),
        ("createComment", &comment, "content", COMMENT_CHARS_MAX),
        ("createPost", &new_post, "idempotencyKey", IDEMPOTENCY_KEY_CHARS_MAX),
        ("createComment", &comment, "idempotencyKey", IDEMPOTENCY_KEY_CHARS_MAX),
    ] {
        let mut longest = input.clone();
        longest[field] = json!("🦀".repeat(limit));
        ada.mutate(mutation, longest).await;
        let said = format!("1 to {limit} characters");
        for refused in ["", " \n\t ", &"a".repeat(limit + 1)] {
            assert_refused(&ada, mutation, input.clone(), field, refused, &said).await;
        }
    }
    let input = json!({ "username": "grace", "password": PASSWORD });
    let key = "k".repeat(IDEMPOTENCY_KEY_CHARS_MAX + 1);
    let anonymous = server.anonymous();
    assert_refused(&anonymous, "createUser", input, "idempotencyKey", &key, "1 to 200 characters").await;
}

#[tokio::test]
async fn first_is_1_to_100_in_every_list() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    for list in ["feed", "posts", "comments", "likes"] {
        for (first, accepted) in
            [(1, true), (100, true), (0, false), (-1, false), (101, false), (i32::MAX, false)]
        {
            let answer = ada.ask(&list_query(list, &ada.id, &post), json!({ "first": first })).await;
            assert_eq!(answer.body.get("errors").is_none(), accepted, "{list}: {first}");
            if !accepted {
                let refused = answer.refused();
                assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("first")), "{list}: {first}");
                assert!(refused.message.contains("1 to 100"), "{refused:?}");
            }
        }
    }
}

fn list_query(list: &str, user: &str, post: &str) -> String {
    let list = format!("{list}(first: $first) {{ nodes {{ id }} }}");
    let root = match &list[..4] {
        "feed" => list,
        "post" => format!("user(id: \"{user}\") {{ {list} }}"),
        _ => format!("post(id: \"{post}\") {{ {list} }}"),
    };
    format!("query($first: Int!) {{ {root} }}")
}

#[tokio::test]
async fn a_text_that_is_no_id_is_refused_by_the_name_of_its_field() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    let comment = ada.comment(&post, "indeed").await;
    for id in ["", "x", "0189c7f4-7a00-7000-8000-000000000000", &"A".repeat(10_000), &comment, &ada.id] {
        for (mutation, input) in [
            ("updatePost", json!({ "title": "t" })),
            ("deletePost", json!({})),
            ("createComment", json!({ "content": "c" })),
            ("likePost", json!({})),
            ("unlikePost", json!({})),
        ] {
            assert_refused(&ada, mutation, input, "postId", id, "is not").await;
        }
        if id != comment {
            assert_refused(&ada, "deleteComment", json!({}), "commentId", id, "is not").await;
        }
        let query = "query($id: ID!) { post(id: $id) { id } }";
        assert_eq!(ada.refused(query, json!({ "id": id })).await.of(), ("BAD_USER_INPUT", Some("id")));
    }
}

/// Asserts that a document is refused before it is executed, and that the message says the limit.
async fn assert_too_much(server: &Server, document: &str, limit: usize) {
    let answer = server.anonymous().ask(document, json!({})).await;
    let refused = answer.refused();
    assert_eq!((answer.status, refused.of()), (400, ("LIMIT_EXCEEDED", None)), "{refused:?}");
    assert!(refused.message.contains(&limit.to_string()), "{refused:?}");
    assert!(answer.body.get("data").is_none());
}

#[tokio::test]
async fn a_document_beyond_a_limit_is_refused() {
    let server = Server::start().await;
    let nested = |depth: usize| {
        format!(
            "{{ __type(name: \"Post\") {}name{} }}",
            "{ ofType ".repeat(depth - 2) + "{ ",
            " }".repeat(depth - 1)
        )
    };
    let fields = |number: usize| format!("{{ feed {{ nodes {{ {} }} }} }}", "id ".repeat(number - 2));
    let aliases = |number: usize| {
        let aliases: String = (0..number).map(|number| format!("a{number}: id ")).collect();
        format!("{{ feed {{ nodes {{ {aliases} }} }} }}")
    };
    let roots = |number: usize| format!("{{ {} }}", "viewer { id } ".repeat(number));
    // 100 posts with so many comments each, and the fields around them.
    let complex = |first: usize| {
        format!("{{ feed(first: 100) {{ nodes {{ comments(first: {first}) {{ nodes {{ id }} }} }} }} }}")
    };
    for (at, beyond, limit) in [
        (nested(DOCUMENT_DEPTH_MAX), nested(DOCUMENT_DEPTH_MAX + 1), DOCUMENT_DEPTH_MAX),
        (fields(400), fields(DOCUMENT_SELECTIONS_MAX + 1), DOCUMENT_SELECTIONS_MAX),
        (aliases(DOCUMENT_ALIASES_MAX), aliases(DOCUMENT_ALIASES_MAX + 1), DOCUMENT_ALIASES_MAX),
        (roots(QUERY_ROOT_FIELDS_MAX), roots(QUERY_ROOT_FIELDS_MAX + 1), QUERY_ROOT_FIELDS_MAX),
        (complex(43), complex(50), COMPLEXITY_MAX),
    ] {
        server.anonymous().data(&at, json!({})).await;
        assert_too_much(&server, &beyond, limit).await;
    }
}

#[tokio::test]
async fn each_limit_of_a_request_is_refused_by_its_name() {
    let limits = RequestLimits {
        body: BodyLimits {
            bytes_max: 9000,
            variables: VariableLimits { bytes_max: 1000, values_max: 20, depth_max: 2 },
            ..BodyLimits::default()
        },
        documents: DocumentLimits {
            bytes_max: 2000,
            tokens_max: 300,
            depth_max: 3,
            selections_max: 30,
            aliases_max: 2,
            directives_max: 2,
            query_root_fields_max: 3,
            mutation_root_fields_max: 2,
        },
        ..RequestLimits::default()
    };
    let options = ApiOptions { limits, ..ApiOptions::default() };
    let server = Server::start_with(Setup { options, ..Setup::default() }).await;
    let body = |query: String| json!({ "query": query });
    let with = |variables: Value| json!({ "query": "{ viewer { id } }", "variables": variables });
    for (body, limit, max) in [
        (body(" ".repeat(2001)), "document-bytes-max", 2000),
        (body(format!("{{ feed(first: [{}]) }}", "1 ".repeat(300))), "document-tokens-max", 300),
        (body("{ feed { nodes { author { id } } } }".to_owned()), "document-depth-max", 3),
        (body(format!("{{ viewer {{ {} }} }}", "id ".repeat(30))), "document-selections-max", 30),
        (body("{ viewer { a: id b: id c: id } }".to_owned()), "document-aliases-max", 2),
        (body("{ viewer @a @b { id @c } }".to_owned()), "document-directives-max", 2),
        (body(format!("{{ {} }}", "viewer { id } ".repeat(4))), "query-root-fields-max", 3),
        (body("mutation { a b c }".to_owned()), "mutation-root-fields-max", 2),
        (with(json!({ "a": "x".repeat(1000) })), "variables-bytes-max", 1000),
        (with(json!({ "a": vec![0; 20] })), "variables-values-max", 20),
        (with(json!({ "a": [[]] })), "variables-depth-max", 2),
        (body(" ".repeat(9000)), "body-bytes-max", 9000),
    ] {
        let answer = server.anonymous().send(body).await;
        let expected = json!({ "code": "LIMIT_EXCEEDED", "limit": limit, "max": max });
        assert_eq!(answer.body["errors"][0]["extensions"], expected, "{:?}", answer.body);
    }
}

#[tokio::test]
async fn a_mutation_with_too_many_commands_runs_none_of_them() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let commands = |number: usize| {
        let commands: String = (0..number)
            .map(|number| {
                format!(
                    "c{number}: createPost(input: {{ title: \"t\", content: \"c\" }}) {{ post {{ id }} }} "
                )
            })
            .collect();
        format!("mutation {{ {commands} }}")
    };
    let refused = ada.refused(&commands(MUTATION_ROOT_FIELDS_MAX + 1), json!({})).await;
    assert_eq!(refused.code, "LIMIT_EXCEEDED");
    assert!(refused.message.contains(&MUTATION_ROOT_FIELDS_MAX.to_string()), "{refused:?}");
    ada.data(&commands(MUTATION_ROOT_FIELDS_MAX), json!({})).await;
    let data = ada.data("{ feed(model: V2, first: 100) { nodes { id } } }", json!({})).await;
    assert_eq!(data["feed"]["nodes"].as_array().unwrap().len(), MUTATION_ROOT_FIELDS_MAX);
}

#[tokio::test]
async fn a_body_beyond_its_limit_is_refused() {
    let server = Server::start().await;
    let request =
        json!({ "query": "{ viewer { id } }", "variables": { "unused": "x".repeat(BODY_BYTES_MAX) } });
    let answer = server.anonymous().send(request).await;
    assert_eq!((answer.status, answer.refused().of()), (413, ("LIMIT_EXCEEDED", None)));
    assert!(answer.refused().message.contains(&BODY_BYTES_MAX.to_string()));
}
