//! Environment variables that are no flags: secrets, and hints of a platform.

use std::collections::HashMap;

/// The environment of the process, or one that a test makes.
#[derive(Clone)]
pub struct Environment(Variables);

#[derive(Clone)]
enum Variables {
    OfProcess,
    Made(HashMap<&'static str, &'static str>),
}

impl Environment {
    /// That of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(Variables::OfProcess)
    }

    /// Exactly these variables.
    #[must_use]
    pub fn made<const N: usize>(variables: [(&'static str, &'static str); N]) -> Self {
        Self(Variables::Made(variables.into()))
    }

    /// A variable's value; an empty one counts as none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match &self.0 {
            Variables::OfProcess => std::env::var(name).ok(),
            Variables::Made(variables) => variables.get(name).map(|value| (*value).to_owned()),
        };
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}
