//! The report of errors: all at once, in the order of the file, as text and as JSON.

use onehop_model::{Model, limits};

#[test]
fn a_model_without_a_name_is_refused() {
    let errors = Model::read("empty.graphql", "type A @embedded { a: Int }").expect_err("no @model");
    let codes: Vec<_> = errors.iter().map(|error| (error.code.as_str(), error.line, error.column)).collect();
    assert_eq!(codes, [("no-model", 1, 1)]);
}

#[test]
fn all_errors_come_at_once_in_the_order_of_the_file() {
    let text = "extend schema @model(name: \"m\")\ntype A @item(container: \"b\") {\n  a: Strin\n  b: Int @lenght\n}";
    let errors = Model::read("m.graphql", text).expect_err("three errors");
    assert_eq!(
        errors.to_string(),
        "m.graphql:2:25: unknown container `b`\n  2 | type A @item(container: \"b\") {\n    |                         ^^^\n\n\
         m.graphql:3:6: unknown type `Strin`; did you mean `String`?\n  3 |   a: Strin\n    |      ^^^^^\n\n\
         m.graphql:4:10: unknown directive @lenght on A.b; did you mean `@length`?\n  4 |   b: Int @lenght\n    |          ^^^^^^^\n"
    );
}

#[test]
fn a_syntax_error_hides_no_wrong_directive() {
    let text = "type A {\n  a String\n}\n\ntype B @embedded {\n  b: Int @lenght\n}\n";
    let errors = Model::read("m.graphql", text).expect_err("two errors");
    let codes: Vec<_> = errors.iter().map(|error| (error.code.as_str(), error.line, error.column)).collect();
    assert_eq!(codes, [("syntax", 2, 5), ("unknown-directive", 6, 10)]);
}

#[test]
fn errors_are_json() {
    let errors = Model::read("m.graphql", "enum É").expect_err("a syntax error");
    let json = serde_json::to_value(&errors).expect("errors are JSON");
    let error = serde_json::json!({
        "code": "syntax",
        "line": 1,
        "column": 6,
        "length": 1,
        "message": "expected a name, a value or a bracket, found `É`",
        "suggestion": null,
        "source_line": "enum É",
    });
    assert_eq!(json, serde_json::json!({ "file": "m.graphql", "errors": [error], "omitted": 0 }));
}

#[test]
fn columns_count_characters() {
    let text = "extend schema @model(name: \"é\", nam: 1)";
    let errors = Model::read("m.graphql", text).expect_err("an unknown argument");
    let error = errors.iter().next().expect("an error");
    assert_eq!((error.column, error.length, error.suggestion.as_deref()), (33, 3, Some("name")));
}

#[test]
fn errors_beyond_the_limit_are_counted() {
    let types: String =
        (0..limits::ERRORS_MAX + 7).map(|number| format!("type T{number} {{ a: Int }}\n")).collect();
    let errors =
        Model::read("m.graphql", &format!("extend schema @model(name: \"m\")\n{types}")).expect_err("errors");
    assert_eq!((errors.iter().count(), errors.omitted()), (limits::ERRORS_MAX, 7));
    assert!(errors.to_string().ends_with("m.graphql: 7 more errors (limit: 100)"), "{errors}");
}

/// The codes and messages of a text's errors.
fn messages(text: &str) -> Vec<String> {
    let errors = Model::read("m.graphql", text).expect_err("an error");
    errors.iter().map(|error| error.message.clone()).collect()
}

#[test]
fn a_huge_file_is_refused_by_named_limits() {
    let long = "#".repeat(limits::FILE_BYTES_MAX + 1);
    assert_eq!(messages(&long), ["too many bytes: the limit is 1048576"]);
    let types: String = (0..=limits::TYPES_MAX).map(|number| format!("enum T{number} {{ A }}\n")).collect();
    assert_eq!(
        messages(&format!("extend schema @model(name: \"m\")\n{types}")),
        ["too many types: the limit is 500"]
    );
    let fields: String = (0..=limits::MEMBERS_MAX).map(|number| format!("f{number}: Int ")).collect();
    assert_eq!(
        messages(&format!("extend schema @model(name: \"m\")\ntype A @embedded {{ {fields} }}")),
        ["too many fields of a type: the limit is 500"]
    );
}

#[test]
fn deep_nesting_overflows_no_stack() {
    for bracket in ["[", "{", "("] {
        let text = format!("type A @embedded {{ a: Int @default(value: {}", bracket.repeat(300_000));
        assert_eq!(messages(&text), ["too many levels of brackets: the limit is 32"]);
    }
}

#[test]
fn a_broken_file_of_the_largest_size_has_errors() {
    for part in
        ["type a { ", "a ", "type a {\n}\n", "enum a {\n b @\n}\n", "\"", "\"\"\"", "}", "type a @a(", "é"]
    {
        let text = part.repeat(limits::FILE_BYTES_MAX / part.len() / 8);
        assert!(!messages(&text).is_empty(), "{part}");
    }
}

#[test]
fn a_text_without_definitions_names_the_expected_form() {
    for text in ["", "# nothing\n", "  \n,,,"] {
        assert_eq!(
            messages(text),
            ["expected `extend schema @model(name: ..)`, found the end of the file"],
            "{text:?}"
        );
    }
}

#[test]
fn line_ends_and_a_byte_order_mark_do_not_matter() {
    let world = super::WORLD;
    let plain = Model::read("m.graphql", world).expect("a sound model");
    assert_eq!(Model::read("m.graphql", &world.replace('\n', "\r\n")).as_ref(), Ok(&plain));
    assert_eq!(Model::read("m.graphql", &format!("\u{feff}{world}")).as_ref(), Ok(&plain));
    let errors = Model::read("m.graphql", "enum A {\r\n  B @hiden\r\n}").expect_err("errors");
    let error = errors.iter().last().expect("an error");
    assert_eq!((error.line, error.column, error.source_line.as_str()), (2, 5, "  B @hiden"));
}

#[test]
fn a_key_may_name_the_id_and_the_type() {
    let text = "extend schema @model(name: \"m\") @container(name: \"c\", key: [\"/a\", \"/b\"])\n\
                type A @item(container: \"c\", partition: [\"id\", \"type\"]) { x: Int }";
    let model = Model::read("m.graphql", text).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(Model::read("m.graphql", &model.print()).as_ref(), Ok(&model));
}
