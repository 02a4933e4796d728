//! Words for syntax errors: the expected form, in the terms of the language instead of the parser's.

/// The expected form at an error. `before` and `after` are the texts on both sides of it.
pub(super) fn expected_form(parser_message: &str, before: &str, after: &str) -> String {
    let message = parser_message.to_lowercase();
    let field = last_token(before).filter(|token| is_name(token));
    if message.contains("unterminated") && after.starts_with("\"\"\"") {
        return "`\"\"\"` at the end of the block string".to_owned();
    }
    if message.contains("unterminated string") {
        return "`\"` at the end of the string, on the same line".to_owned();
    }
    if message.contains("expected a type") {
        return match field {
            Some(name) if !after.starts_with(':') => format!("`:` and a type after `{name}`"),
            _ => "a type, such as `String!` or `[Post!]!`".to_owned(),
        };
    }
    if message.contains("r_paren") {
        return "`name: value` or `)`".to_owned();
    }
    if message.contains("r_curly") && before.rfind("enum ") > before.rfind("type ") {
        return "a value of the enum or `}`".to_owned();
    }
    if message.contains("r_curly") {
        return "`name: Type` or `}`".to_owned();
    }
    if message.contains("r_brack") {
        return "`]`".to_owned();
    }
    if message.contains("expected field definition") {
        return "at least one field, `name: Type`".to_owned();
    }
    if message.contains("enum value") {
        return "at least one value of the enum".to_owned();
    }
    if message.contains("valid value") || message.contains("variable value") {
        return "a value, such as `\"text\"`, `12`, `true`, `NAME` or `[\"a\", \"b\"]`".to_owned();
    }
    if message.contains("expected definition") || message.contains("operationdefinition") {
        return "a definition: `extend schema`, `type` or `enum`".to_owned();
    }
    if message.contains("unexpected <eof>") {
        return "`extend schema @model(name: ..)`".to_owned();
    }
    if message.contains("expected a name") {
        return "a name of letters, digits and `_`".to_owned();
    }
    if message.contains("unexpected character") {
        return "a name, a value or a bracket".to_owned();
    }
    match parser_message.strip_prefix("expected ") {
        Some(form) => form.to_owned(),
        None => format!("valid GraphQL ({parser_message})"),
    }
}

/// The last name or character of a text.
fn last_token(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let start = text
        .rfind(|character: char| !is_name_character(character))
        .map_or(0, |place| place + text[place..].chars().next().map_or(0, char::len_utf8));
    (start < text.len()).then(|| &text[start..])
}

fn is_name(token: &str) -> bool {
    token.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// The token at the start of a text, as an error shows it.
pub(super) fn found_token(text: &str) -> String {
    let text = text.trim_start_matches([' ', '\t', ',']);
    let Some(first) = text.chars().next() else { return "the end of the file".to_owned() };
    let rest = match first {
        '"' => text[1..].find(['"', '\n']).map_or(text.len(), |end| end + 1),
        _ if is_name_character(first) => {
            text.find(|character| !is_name_character(character)).unwrap_or(text.len())
        }
        _ => first.len_utf8(),
    };
    let token: String = text[..rest].trim_end().chars().take(30).collect();
    if token.is_empty() { "the end of the line".to_owned() } else { format!("`{token}`") }
}
