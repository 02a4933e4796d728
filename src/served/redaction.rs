//! Redaction: stored items as their operator may see them, without passwords, hashes, tokens and other
//! secrets.

use serde_json::Value;

use super::model::Body;

/// The value in the place of a secret.
pub const REDACTED: &str = "(not shown)";
/// Parts of the names of properties that hold secrets, in lower case and without separators.
const SECRET_NAMES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pincode",
    "secret",
    "hash",
    "salt",
    "token",
    "credential",
    "apikey",
    "privatekey",
    "otp",
];
/// The beginnings of password hashes in their usual text forms (PHC, modular crypt).
const HASH_PREFIXES: [&str; 8] = ["$argon2", "$2a$", "$2b$", "$2y$", "$scrypt$", "$pbkdf2", "$5$", "$6$"];

/// An item without its secrets: values are replaced at every depth.
#[must_use]
pub fn redacted(body: &Body) -> Body {
    body.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect()
}

/// Whether the values of a property are replaced.
#[must_use]
pub fn is_secret(property: &str) -> bool {
    let name: String =
        property.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    SECRET_NAMES.iter().any(|secret| match *secret {
        // A short name is part of many words.
        "otp" => name == "otp" || property.ends_with("Otp"),
        secret => name.contains(secret),
    })
}

fn shown(name: &str, value: &Value) -> Value {
    if is_secret(name) && !value.is_null() {
        return Value::from(REDACTED);
    }
    match value {
        Value::Object(members) => Value::Object(redacted(members)),
        Value::Array(elements) => elements.iter().map(|element| shown("", element)).collect(),
        Value::String(text) if HASH_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) => {
            Value::from(REDACTED)
        }
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_replaced_at_every_depth() {
        let Value::Object(body) = json!({
            "name": "Ada", "passwordHash": "x", "api_key": "x", "resetToken": ["x"], "bcrypt": "$2b$10$x",
            "devices": [{ "label": "phone", "otp": 1 }, "$argon2id$v=19$x"], "secretKey": null, "photo": "opt"
        }) else {
            panic!("an object")
        };
        let expected = json!({
            "name": "Ada", "passwordHash": REDACTED, "api_key": REDACTED, "resetToken": REDACTED,
            "bcrypt": REDACTED, "devices": [{ "label": "phone", "otp": REDACTED }, REDACTED],
            "secretKey": null, "photo": "opt"
        });
        assert_eq!(Value::Object(redacted(&body)), expected);
    }
}
