//! The frames of a WebSocket client and the messages in them are read within their limits, or close the
//! socket with a code that the protocol has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onehop_graphql_server::pipeline::parse::BodyLimits;
use onehop_graphql_server::live::{LiveLimits, read_client};

const MESSAGE_BYTES_MAX: usize = 512;
/// Bytes that the reason of a close frame may have: RFC 6455, section 5.5.
const REASON_BYTES_MAX: usize = 123;

fuzz_target!(|bytes: &[u8]| {
    let body = BodyLimits { bytes_max: MESSAGE_BYTES_MAX, ..BodyLimits::default() };
    let (messages, closing) = read_client(bytes, &body, LiveLimits::default());
    assert!(messages.iter().all(|message| message.len() <= MESSAGE_BYTES_MAX));
    // A frame has a header of six bytes at least.
    assert!(messages.iter().map(|message| message.len() + 6).sum::<usize>() <= bytes.len());
    if let Some((code, reason)) = closing {
        assert!([1002, 1008, 1009, 1013, 4400].contains(&code), "{code}");
        assert!(reason.len() <= REASON_BYTES_MAX, "{reason}");
    }
});
