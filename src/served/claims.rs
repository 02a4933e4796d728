//! Claims of access tokens, by which a model grants rights (`@auth(claim:, has:)`), and the claims of a
//! caller.

use onehop_model::{Claim, Grants, Literal, Model};
use serde_json::{Map, Value};

/// The most different claims of a model.
pub const CLAIMS_MAX: usize = 64;

/// The claims of a model, each once.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModelClaims(&'static [Claim]);

/// The claims of a model that the token of a caller has.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeldClaims {
    of: ModelClaims,
    bits: u64,
}

impl ModelClaims {
    /// The claims of a model, which are kept for the life of the process.
    #[must_use]
    pub fn of(model: &Model) -> Self {
        Self(Vec::leak(claims_of(model)))
    }

    /// The claims that a token has, as one bit for each claim of the model.
    #[must_use]
    pub fn found_in(self, token: &Map<String, Value>) -> u64 {
        let found = self.0.iter().take(CLAIMS_MAX).enumerate().filter(|(_, claim)| is_held(claim, token));
        found.fold(0, |bits, (place, _)| bits | 1 << place)
    }

    /// The claims with these bits.
    #[must_use]
    pub fn held(self, bits: u64) -> HeldClaims {
        HeldClaims { of: self, bits }
    }
}

impl HeldClaims {
    /// Whether the caller has one of these claims.
    #[must_use]
    pub fn has_any(&self, wanted: &[Claim]) -> bool {
        let is_held = |wanted: &Claim| {
            let place = self.of.0.iter().position(|claim| claim == wanted);
            place.is_some_and(|place| place < CLAIMS_MAX && self.bits >> place & 1 == 1)
        };
        wanted.iter().any(is_held)
    }
}

/// The claims of a model, each once.
#[must_use]
pub fn claims_of(model: &Model) -> Vec<Claim> {
    let of_types = model.items().iter().flat_map(|item| {
        let rules = &item.authorization;
        [&rules.create, &rules.read, &rules.update, &rules.delete]
    });
    let items = model.items().iter().flat_map(|item| &item.fields);
    let embedded = model.embedded().iter().flat_map(|embedded| &embedded.fields);
    let of_fields = items.chain(embedded).flat_map(|field| {
        let rules = &field.authorization;
        [&rules.read, &rules.update].into_iter().flatten()
    });
    let of_operations = (model.queries().iter().filter_map(|query| query.authorization.as_ref()))
        .chain(model.mutations().iter().filter_map(|mutation| mutation.authorization.as_ref()))
        .chain(model.subscriptions().iter().filter_map(|found| found.authorization.as_ref()));
    let mut claims: Vec<Claim> = Vec::new();
    for Grants { claims: wanted, .. } in of_types.chain(of_fields).chain(of_operations) {
        for claim in wanted {
            if !claims.contains(claim) {
                claims.push(claim.clone());
            }
        }
    }
    claims
}

/// Whether a token has a claim that is or contains the value. A name with dots leads into objects where no
/// claim has that name. A text contains its words, as `scope` does (RFC 8693, section 4.2).
fn is_held(claim: &Claim, token: &Map<String, Value>) -> bool {
    let nested = || {
        let mut parts = claim.name.split('.');
        let first = token.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    };
    token.get(&claim.name).or_else(nested).is_some_and(|value| contains(value, &claim.has))
}

fn contains(value: &Value, wanted: &Literal) -> bool {
    match (value, wanted) {
        (Value::Array(values), _) => values.iter().any(|value| !value.is_array() && contains(value, wanted)),
        (Value::String(text), Literal::String(wanted)) => {
            text == wanted || text.split_ascii_whitespace().any(|word| word == wanted)
        }
        (Value::Bool(value), Literal::Boolean(wanted)) => value == wanted,
        (Value::Number(number), Literal::Int(wanted)) => number.as_i64() == Some(*wanted),
        (Value::Number(number), Literal::Float(wanted)) => number.as_f64() == Some(*wanted),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MODEL: &str = r#"
extend schema @model(name: "docs") @container(name: "docs", key: "/id")
type Doc @item(container: "docs", write: [CREATE, UPDATE])
  @auth(on: READ, claim: "roles", has: "reader") @auth(on: UPDATE, claim: "realm.roles", has: "editor")
  @auth(on: CREATE, claim: "scope", has: "docs:write") @auth(on: CREATE, claim: "roles", has: "reader") {
  id: ID!
  salary: Int @auth(claim: "level", has: 3)
}
"#;

    #[test]
    fn a_token_has_the_claims_that_are_or_contain_a_value() {
        let model = Model::read("docs.graphql", MODEL).unwrap();
        let (claims, all) = (ModelClaims::of(&model), claims_of(&model));
        assert_eq!(all.len(), 4, "each once: {all:?}");
        let names = |token: Value| -> Vec<&str> {
            let held = claims.held(claims.found_in(token.as_object().unwrap()));
            let held = all.iter().filter(|claim| held.has_any(std::slice::from_ref(claim)));
            held.map(|claim| claim.name.as_str()).collect()
        };
        assert_eq!(names(json!({})), [""; 0]);
        assert_eq!(names(json!({ "roles": "reader" })), ["roles"]);
        assert_eq!(names(json!({ "roles": ["writer", "reader"] })), ["roles"]);
        assert_eq!(names(json!({ "roles": ["readers"], "level": "3" })), [""; 0]);
        assert_eq!(names(json!({ "realm": { "roles": ["editor"] }, "level": 3 })), ["realm.roles", "level"]);
        assert_eq!(names(json!({ "realm.roles": "editor", "realm": 1 })), ["realm.roles"]);
        assert_eq!(names(json!({ "scope": "openid docs:write", "roles": [["reader"]] })), ["scope"]);
        assert!(!HeldClaims::default().has_any(&all));
    }
}
