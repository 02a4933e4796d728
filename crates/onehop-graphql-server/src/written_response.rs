//! Written responses: the data of a query that a service has written as JSON by itself, without values in
//! between.
//!
//! The bytes of the data are the start of the response's body, so that nothing is copied. Knows no fields.

use std::collections::BTreeMap;

use async_graphql::Value;

/// The beginning of a body with data.
const BODY_START: &[u8] = b"{\"data\":";

/// The data of a response, as the start of its body.
#[derive(Debug)]
pub struct WrittenData(Vec<u8>);

impl WrittenData {
    /// Without data, and with room for this many bytes.
    #[must_use]
    pub fn with_capacity(bytes_expected: usize) -> Self {
        let mut body = Vec::with_capacity(BODY_START.len() + bytes_expected);
        body.extend_from_slice(BODY_START);
        Self(body)
    }

    /// The buffer for the data, which may hold bytes already.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }

    /// The data as JSON.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.0[BODY_START.len()..]
    }

    /// The body without the part behind the data.
    pub(crate) fn into_body(self) -> Vec<u8> {
        self.0
    }
}

/// A response without errors whose data is written.
#[derive(Debug)]
pub struct WrittenResponse {
    pub data: WrittenData,
    pub extensions: BTreeMap<String, Value>,
}
