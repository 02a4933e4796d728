//! Hashes under which accounts, keys and contents are recognised without being stored.

use sha2::{Digest, Sha256};

/// SHA-256, in hexadecimal digits, of the parts with a NUL between them. All parts but the last must be free
/// of NUL, so that different parts never give the same text.
pub(crate) fn sha256_hex(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            digest.update([0]);
        }
        digest.update(part.as_bytes());
    }
    format!("{:x}", digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        assert_ne!(sha256_hex(&["ab", "c"]), sha256_hex(&["a", "bc"]));
        assert_eq!(sha256_hex(&["abc"]), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
