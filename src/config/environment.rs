//! Environment variables without flags: secrets, and variables by which a platform is recognised.

use std::collections::HashMap;

/// The environment variables of the process, or of a test.
#[derive(Clone)]
pub struct Environment(Variables);

#[derive(Clone)]
enum Variables {
    OfProcess,
    Made(HashMap<&'static str, &'static str>),
}

impl Environment {
    /// The variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self(Variables::OfProcess)
    }

    /// Exactly these variables.
    #[must_use]
    pub fn made<const N: usize>(variables: [(&'static str, &'static str); N]) -> Self {
        Self(Variables::Made(variables.into()))
    }

    /// A variable's value; an empty value is treated as absent.
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
