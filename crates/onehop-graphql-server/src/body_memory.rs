//! Body memory: a limit on the bytes of all request bodies that the process holds, in all and for each
//! network. Room is taken while a body arrives, and kept until its request has been answered.

use std::sync::Arc;

use bytes::Bytes;

use super::client_address::Network;
use super::limit_exceeded::LimitExceeded;
use super::shared_limit::{Share, ShareRefusal, SharedLimit};

/// Bytes of all request bodies that are being read or worked on.
pub const BODIES_IN_FLIGHT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The part of these bytes that one network may take.
const NETWORK_PART: usize = 8;

/// The first bytes of each body, which need no room: a flood of large bodies keeps no small request out.
const FREE_BYTES: usize = 8 * 1024;

/// Room is taken in steps of this many bytes.
const ROOM_STEP_BYTES: usize = 64 * 1024;

/// The first buffer of a body that comes in parts, in bytes.
const BUFFER_BYTES_MIN: usize = 4 * 1024;

/// The bodies of the process.
pub(crate) struct BodyMemory {
    bytes_max: usize,
    held: Arc<SharedLimit<Network>>,
}

/// The room of one body, given back when this is dropped.
pub(crate) struct BodyRoom {
    bytes_max: usize,
    share: Share<Network>,
}

impl BodyMemory {
    /// Room for this many bytes in all.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, held: SharedLimit::new(bytes_max, bytes_max / NETWORK_PART) }
    }

    /// The room of a body from a network. Nothing is taken yet.
    pub(crate) fn room(&self, network: Network) -> BodyRoom {
        BodyRoom { bytes_max: self.bytes_max, share: self.held.share(network.known()) }
    }

    /// Bytes of room that are taken.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.held.used()
    }
}

impl BodyRoom {
    /// Holds this many bytes from now on, in place of the earlier number.
    ///
    /// # Errors
    /// The process, or the network, holds as many bytes as it may.
    pub(crate) fn hold(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        let needed = bytes.saturating_sub(FREE_BYTES).next_multiple_of(ROOM_STEP_BYTES);
        self.share.resize(needed).map_err(|refusal| self.exceeded(refusal))
    }

    fn exceeded(&self, refusal: ShareRefusal) -> LimitExceeded {
        let unit = "bytes of request bodies at once: try again later";
        match refusal {
            ShareRefusal::All => {
                let what = "The server does not hold more than";
                LimitExceeded::new("bodies-in-flight-bytes-max", self.bytes_max, what, unit)
            }
            ShareRefusal::OneKey => {
                let (max, what) = (self.bytes_max / NETWORK_PART, "A network may not have more than");
                LimitExceeded::new("bodies-in-flight-bytes-per-network", max, what, unit)
            }
        }
    }
}

/// A buffer that grows by doubling, in room that is taken before it grows.
pub(crate) struct BodyBuffer {
    bytes: Vec<u8>,
    bytes_max: usize,
    bytes_beside: usize,
}

impl BodyBuffer {
    /// A buffer that has no more than so many bytes, beside so many that are held otherwise.
    pub(crate) fn new(bytes_max: usize, bytes_beside: usize) -> Self {
        Self { bytes: Vec::new(), bytes_max, bytes_beside }
    }

    /// Appends a chunk.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn append(&mut self, chunk: &[u8], room: &mut BodyRoom) -> Result<(), LimitExceeded> {
        let length = self.bytes.len() + chunk.len();
        if length > self.bytes.capacity() {
            let doubled = self.bytes.capacity().saturating_mul(2).max(BUFFER_BYTES_MIN);
            let capacity = doubled.min(self.bytes_max).max(length);
            room.hold(capacity.saturating_add(self.bytes_beside))?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Network = Network::V6(1);
    const MIB: usize = 1024 * 1024;

    #[test]
    fn small_bodies_need_no_room() {
        let memory = BodyMemory::new(0);
        let mut room = memory.room(ONE);
        assert_eq!(room.hold(FREE_BYTES), Ok(()));
        assert_eq!(room.hold(FREE_BYTES + 1).unwrap_err().limit, "bodies-in-flight-bytes-per-network");
    }

    #[test]
    fn a_network_takes_an_eighth_of_the_room() {
        let memory = BodyMemory::new(16 * MIB);
        let mut rooms: Vec<_> = (0..3).map(|_| memory.room(ONE)).collect();
        let held: Vec<_> = rooms.iter_mut().map(|room| room.hold(MIB).is_ok()).collect();
        assert_eq!(held, [true, true, false]);
        let others: Vec<_> = (2..=16)
            .map(|network| {
                let mut room = memory.room(Network::V6(network));
                let held = room.hold(MIB);
                (room, held)
            })
            .collect();
        let refused: Vec<_> = others.iter().filter_map(|(_, held)| held.err()).collect();
        assert_eq!(refused.iter().map(|over| over.limit).collect::<Vec<_>>(), ["bodies-in-flight-bytes-max"]);
        rooms[0].hold(0).unwrap();
        assert_eq!(memory.taken(), 15 * MIB);
        drop((rooms, others));
        assert_eq!(memory.taken(), 0);
    }
}
