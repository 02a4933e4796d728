//! Read the body: the bytes of a request's body, within a limit, within the body memory of the process, and
//! no slower than a minimum rate. Knows bytes, not their meaning.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::TryStreamExt;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout_at};

use super::parse::{BodyLimits, MalformedRequest};
use crate::body_memory::{BodyBuffer, BodyRoom};
use crate::limit_exceeded::LimitExceeded;
use crate::refusal::Refusal;

/// The multiple of a body's limit that is read and thrown away before the answer, so that a client that
/// writes before it reads sees the answer and not a broken connection.
const DISCARDED_BODIES_MAX: usize = 4;

impl BodyLimits {
    /// Reads a body to its end, in room that is taken as its bytes arrive.
    ///
    /// # Errors
    /// It is too large or too slow, it breaks off, or there is no room for it.
    pub(crate) async fn read(&self, body: Body, room: &mut BodyRoom) -> Result<Bytes, Refusal> {
        let announced = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
        let bytes_max = self.bytes_max.min(announced.unwrap_or(usize::MAX));
        let mut arrived = ArrivedBody::Nothing;
        let mut pace = Pace::new(self, Instant::now());
        let mut chunks = body.into_data_stream();
        let mut length = 0_usize;
        loop {
            let chunk = timeout_at(pace.ends_at(), chunks.try_next()).await;
            let chunk = chunk.map_err(|_| pace.too_slow())?.map_err(|_| MalformedRequest::BodyBroken)?;
            let Some(chunk) = chunk else { break };
            pace.received(chunk.len(), Instant::now());
            length = length.saturating_add(chunk.len());
            if length <= self.bytes_max {
                arrived = arrived.add(chunk, bytes_max, room).map_err(Refusal::BodiesFull)?;
            } else if length <= self.bytes_max.saturating_mul(DISCARDED_BODIES_MAX) {
                arrived = ArrivedBody::Nothing;
                room.hold(0).map_err(Refusal::BodiesFull)?;
            } else {
                break;
            }
        }
        if length > self.bytes_max { Err(self.too_large().into()) } else { Ok(arrived.into_bytes()) }
    }

    pub(crate) fn too_large(&self) -> MalformedRequest {
        let (max, what) = (self.bytes_max, "The body has more than");
        MalformedRequest::BodyTooLarge(LimitExceeded::new("body-bytes-max", max, what, "bytes"))
    }
}

/// The received part of a body. A body in a single chunk is not copied.
enum ArrivedBody {
    Nothing,
    Chunk(Bytes),
    Joined(BodyBuffer),
}

impl ArrivedBody {
    /// Adds a chunk of a body that has no more than so many bytes.
    fn add(self, chunk: Bytes, bytes_max: usize, room: &mut BodyRoom) -> Result<Self, LimitExceeded> {
        let (mut joined, first) = match self {
            Self::Nothing => {
                room.hold(chunk.len())?;
                return Ok(Self::Chunk(chunk));
            }
            Self::Chunk(first) => (BodyBuffer::new(bytes_max, 0), first),
            Self::Joined(joined) => (joined, Bytes::new()),
        };
        joined.append(&first, room)?;
        joined.append(&chunk, room)?;
        Ok(Self::Joined(joined))
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Nothing => Bytes::new(),
            Self::Chunk(chunk) => chunk,
            Self::Joined(joined) => joined.into_bytes(),
        }
    }
}

/// The minimum rate of a body. Each byte buys time, of which no more than the grace can be saved. So a body
/// that stalls after its first megabyte ends as soon as a body that stalls after its first byte.
struct Pace {
    grace: Duration,
    bytes_per_second_min: u32,
    /// When the whole body must have arrived.
    timeout: Duration,
    ends_at: Instant,
    /// When the next byte must have arrived; `None` without a minimum rate.
    stalls_at: Option<Instant>,
}

impl Pace {
    fn new(limits: &BodyLimits, now: Instant) -> Self {
        let BodyLimits { timeout, grace, bytes_per_second_min, .. } = *limits;
        let stalls_at = (bytes_per_second_min > 0).then(|| now + grace);
        Self { grace, bytes_per_second_min, timeout, ends_at: now + timeout, stalls_at }
    }

    /// When the body is too slow unless more of it arrives.
    fn ends_at(&self) -> Instant {
        self.stalls_at.map_or(self.ends_at, |stalls_at| stalls_at.min(self.ends_at))
    }

    /// Counts bytes that arrived now.
    fn received(&mut self, bytes: usize, now: Instant) {
        if let Some(stalls_at) = &mut self.stalls_at {
            let bought = Duration::from_secs_f64(bytes as f64 / f64::from(self.bytes_per_second_min));
            *stalls_at = stalls_at.checked_add(bought).unwrap_or(*stalls_at).min(now + self.grace);
        }
    }

    fn too_slow(&self) -> MalformedRequest {
        let is_stalled = self.stalls_at.is_some_and(|stalls_at| stalls_at < self.ends_at);
        MalformedRequest::BodyTooSlow(if is_stalled {
            let (min, what) = (self.bytes_per_second_min as usize, "The body came more slowly than");
            LimitExceeded::new("body-bytes-per-second-min", min, what, "bytes a second")
        } else {
            let seconds = usize::try_from(self.timeout.as_secs()).unwrap_or(usize::MAX);
            LimitExceeded::new("body-seconds", seconds, "The body took longer than", "seconds")
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt as _, StreamExt as _, stream};

    use super::*;
    use crate::body_memory::BodyMemory;
    use crate::client_address::Network;

    const MIB: usize = 1024 * 1024;

    fn pace(bytes_per_second_min: u32, now: Instant) -> Pace {
        let limits = BodyLimits {
            timeout: Duration::from_secs(15),
            grace: Duration::from_secs(5),
            bytes_per_second_min,
            ..BodyLimits::default()
        };
        Pace::new(&limits, now)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// The limit that a body exceeds which brings nothing more.
    fn limit(pace: &Pace) -> &'static str {
        match pace.too_slow() {
            MalformedRequest::BodyTooSlow(exceeded) => exceeded.limit,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn bytes_that_came_early_buy_no_more_than_the_grace() {
        let start = Instant::now();
        let mut pace = pace(1000, start);
        assert_eq!(pace.ends_at(), start + seconds(5));
        pace.received(MIB, start + seconds(1));
        assert_eq!(pace.ends_at(), start + seconds(6));
        pace.received(1, start + seconds(4));
        assert_eq!(pace.ends_at(), start + seconds(6) + Duration::from_millis(1));
        assert_eq!(limit(&pace), "body-bytes-per-second-min");
    }

    #[test]
    fn a_body_at_the_minimum_rate_ends_by_its_time_limit() {
        let start = Instant::now();
        let mut pace = pace(1000, start);
        for second in 1..15 {
            assert!(start + seconds(second) < pace.ends_at());
            pace.received(1000, start + seconds(second));
        }
        assert_eq!((pace.ends_at(), limit(&pace)), (start + seconds(15), "body-seconds"));
    }

    #[test]
    fn without_a_minimum_rate_only_the_time_limit_ends_a_body() {
        let start = Instant::now();
        let mut pace = pace(0, start);
        pace.received(0, start + seconds(14));
        assert_eq!((pace.ends_at(), limit(&pace)), (start + seconds(15), "body-seconds"));
    }

    /// A body of so many KiB in chunks of one, without an announced length.
    fn in_chunks(kibibytes: usize) -> Body {
        let chunks = (0..kibibytes).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 1024])));
        Body::from_stream(stream::iter(chunks))
    }

    #[tokio::test]
    async fn room_is_taken_as_bytes_arrive_and_never_beyond_the_limit() {
        let memory = BodyMemory::new(8 * MIB);
        let limits = BodyLimits { bytes_max: MIB, ..BodyLimits::default() };
        let mut room = memory.room(Network::V6(1));
        let begun = in_chunks(300).into_data_stream().chain(stream::pending());
        assert!(limits.read(Body::from_stream(begun), &mut room).now_or_never().is_none());
        assert_eq!(memory.taken(), 512 * 1024, "the capacity counts, which grows by doubling");
        assert_eq!(limits.read(in_chunks(1024), &mut room).await.unwrap().len(), MIB);
        assert_eq!(memory.taken(), MIB);
        let refused = limits.read(in_chunks(1025), &mut room).await;
        assert!(matches!(refused, Err(Refusal::Malformed(MalformedRequest::BodyTooLarge(_)))));
        assert_eq!(memory.taken(), 0, "what is thrown away needs no room");
    }

    #[tokio::test]
    async fn a_body_without_room_is_refused_when_its_bytes_arrive() {
        let memory = BodyMemory::new(MIB);
        let limits = BodyLimits { bytes_max: MIB, ..BodyLimits::default() };
        let mut room = memory.room(Network::V6(1));
        assert!(limits.read(in_chunks(128), &mut room).await.is_ok());
        let refused = limits.read(in_chunks(300), &mut room).await;
        let Err(Refusal::BodiesFull(exceeded)) = refused else { panic!("{refused:?}") };
        assert_eq!(exceeded.limit, "bodies-in-flight-bytes-per-network");
    }
}
