//! LZ4 blocks: a decoder that takes any bytes. The engine's own decoder trusts its input, and a salvage reads
//! input that nothing vouches for.
//!
//! Source: LZ4 block format description, <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>.

/// The least length of a match.
const MATCH_BYTES_MIN: usize = 4;
/// The value of a length in a token that says that further bytes follow.
const LENGTH_CONTINUES: usize = 15;

/// The decompressed bytes of a block; `None` where the block does not have this length or is damaged.
pub(super) fn decompress(block: &[u8], length: usize) -> Option<Vec<u8>> {
    // A block takes at least one byte for 255 bytes of a match.
    if length / 256 > block.len() {
        return None;
    }
    let (mut whole, mut rest) = (Vec::with_capacity(length), block);
    loop {
        let (token, after) = rest.split_first()?;
        rest = after;
        let literals = take_length(usize::from(token >> 4), &mut rest)?;
        let (copied, after) = rest.split_at_checked(literals)?;
        whole.extend_from_slice(copied);
        if after.is_empty() {
            return (whole.len() == length).then_some(whole);
        }
        let (offset, after) = after.split_first_chunk()?;
        rest = after;
        let offset = usize::from(u16::from_le_bytes(*offset));
        let matched = take_length(usize::from(token & 15), &mut rest)? + MATCH_BYTES_MIN;
        if offset == 0 || whole.len() + matched > length {
            return None;
        }
        let start = whole.len().checked_sub(offset)?;
        // The match may overlap its own copy.
        for place in start..start + matched {
            whole.push(whole[place]);
        }
    }
}

/// The length in a token with its further bytes.
fn take_length(in_token: usize, rest: &mut &[u8]) -> Option<usize> {
    let mut length = in_token;
    if in_token == LENGTH_CONTINUES {
        loop {
            let (byte, after) = rest.split_first()?;
            *rest = after;
            length = length.checked_add(usize::from(*byte))?;
            if *byte != u8::MAX {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn literals_and_an_overlapping_match_are_decompressed() {
        // Three literals, a match of nine bytes from three bytes before, and two literals.
        let block = [0x35, b'a', b'b', b'c', 3, 0, 0x20, b'x', b'y'];
        assert_eq!(decompress(&block, 14).as_deref(), Some(&b"abcabcabcabcxy"[..]));
        assert_eq!(decompress(&block, 13), None);
        assert_eq!(decompress(&block[..7], 14), None);
        // 18 literals: the length goes on in a further byte.
        let long = [&[0xf0, 3][..], &[b'l'; 18]].concat();
        assert_eq!(decompress(&long, 18).as_deref(), Some(&[b'l'; 18][..]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_no_panic(block in proptest::collection::vec(any::<u8>(), 0..100), length in 0_usize..5000) {
            if let Some(whole) = decompress(&block, length) {
                prop_assert_eq!(whole.len(), length);
            }
        }
    }
}
