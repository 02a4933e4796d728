//! Trace context (W3C): the identity of a span, and the `traceparent` header:
//! <https://www.w3.org/TR/trace-context/>. Knows no exporter; untraced work has no context.

/// One span of one trace that is recorded. Neither id is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanContext {
    /// The trace id of W3C Trace Context.
    pub trace_id: u128,
    /// The span id of W3C Trace Context.
    pub span_id: u64,
}

/// A caller's statement about the trace that a request is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteParent {
    /// The caller's span.
    pub span: SpanContext,
    /// Whether the caller records its own span.
    pub is_sampled: bool,
}

impl RemoteParent {
    /// Reads a `traceparent` header. `None` for an invalid header; then a trace begins here.
    #[must_use]
    pub fn parse(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace_id, span_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Later versions may say more behind the flags; this one does not.
        if hexadecimal(version, 2)? == 0xff || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let trace_id = hexadecimal(trace_id, 32).filter(|id| *id != 0)?;
        let span_id = hexadecimal(span_id, 16).and_then(|id| u64::try_from(id).ok()).filter(|id| *id != 0)?;
        let flags = hexadecimal(flags, 2)?;
        Some(Self { span: SpanContext { trace_id, span_id }, is_sampled: flags & 1 == 1 })
    }
}

/// Reads exactly this many hexadecimal digits in lower case.
fn hexadecimal(digits: &str, count: usize) -> Option<u128> {
    let is_lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (digits.len() == count && digits.bytes().all(is_lower_hex))
        .then(|| u128::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: u128 = 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
    const SPAN: u64 = 0xb7ad_6b71_6920_3331;

    #[test]
    fn a_traceparent_is_read_as_the_specification_has_it() {
        let parent = |flags: &str| {
            RemoteParent::parse(&format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}"))
        };
        let span = SpanContext { trace_id: TRACE, span_id: SPAN };
        assert_eq!(parent("01"), Some(RemoteParent { span, is_sampled: true }));
        assert_eq!(parent("00"), Some(RemoteParent { span, is_sampled: false }));
        assert_eq!(parent("03"), Some(RemoteParent { span, is_sampled: true }));
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more";
        assert_eq!(RemoteParent::parse(later), Some(RemoteParent { span, is_sampled: true }));
    }

    #[test]
    fn what_is_no_traceparent_begins_a_trace() {
        for header in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0ü",
        ] {
            assert_eq!(RemoteParent::parse(header), None, "{header:?}");
        }
    }
}
