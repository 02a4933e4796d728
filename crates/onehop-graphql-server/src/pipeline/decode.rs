//! Decode: the body of a request without its content coding, within the limit of a body and its room.
//! Decoding takes its turn, and is charged for the decoded length.

use bytes::Bytes;

use super::parse::{BodyLimits, MalformedRequest};
use super::prepare::{Preparation, PreparationWork};
use crate::body_memory::{BodyBuffer, BodyRoom};
use crate::content_coding::{Coding, gunzip};
use crate::refusal::Refusal;

impl BodyLimits {
    /// The body without its coding.
    ///
    /// # Errors
    /// The body is longer than a body may be, or does not have the stated coding; there is no room for it, or
    /// no turn.
    pub(crate) async fn decode(
        &self,
        body: Bytes,
        coding: Coding,
        room: &mut BodyRoom,
        preparation: &mut Preparation<'_>,
    ) -> Result<Bytes, Refusal> {
        if coding == Coding::Identity {
            preparation.work(PreparationWork::decoding(body.len())).await?;
            return Ok(body);
        }
        preparation.await_turn().await?;
        let mut decoded = BodyBuffer::new(self.bytes_max, body.len());
        let is_decoded = gunzip(
            &body,
            || MalformedRequest::BodyNotGzip.into(),
            |part| {
                // It stops at the first part beyond the limit, regardless of the rest.
                if decoded.len() + part.len() > self.bytes_max {
                    return Err(Refusal::from(self.too_large()));
                }
                decoded.append(part, room).map_err(Refusal::BodiesFull)
            },
        );
        preparation.done(PreparationWork::decoding(decoded.len()));
        is_decoded?;
        Ok(decoded.into_bytes())
    }
}
