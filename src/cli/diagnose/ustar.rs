//! Tar archive in the ustar format (POSIX.1-1988): regular files with short names.

use std::io::{self, Write};

const BLOCK_BYTES: usize = 512;
/// Bytes of a name in a header.
const NAME_BYTES_MAX: usize = 100;
/// Mode, user and group of each file.
const MODE: u64 = 0o600;

/// Writes a tar archive.
pub struct TarWriter<W: Write>(W);

impl<W: Write> TarWriter<W> {
    pub fn new(writer: W) -> Self {
        Self(writer)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// The name is too long, or the archive cannot be written.
    pub fn add(&mut self, name: &str, content: &[u8], modified_s: u64) -> io::Result<()> {
        self.0.write_all(&header(name, content.len(), modified_s)?)?;
        self.0.write_all(content)?;
        let padding = content.len().next_multiple_of(BLOCK_BYTES) - content.len();
        self.0.write_all(&[0; BLOCK_BYTES][..padding])
    }

    /// Writes the end of the archive.
    ///
    /// # Errors
    /// The archive cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.0.write_all(&[0; 2 * BLOCK_BYTES])?;
        Ok(self.0)
    }
}

fn header(name: &str, length: usize, modified_s: u64) -> io::Result<[u8; BLOCK_BYTES]> {
    if name.len() > NAME_BYTES_MAX {
        return Err(io::Error::other(format!(
            "a name in an archive has at most {NAME_BYTES_MAX} bytes: {name}"
        )));
    }
    let mut header = [0; BLOCK_BYTES];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    for (at, digits, value) in
        [(100, 7, MODE), (108, 7, 0), (116, 7, 0), (124, 11, length as u64), (136, 11, modified_s)]
    {
        put(at, format!("{value:0digits$o}").as_bytes());
    }
    // The checksum counts itself as spaces.
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octal(field: &[u8]) -> u64 {
        let digits: String =
            field.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| char::from(*byte)).collect();
        u64::from_str_radix(&digits, 8).unwrap()
    }

    #[test]
    fn a_file_has_a_header_a_checksum_and_whole_blocks() {
        let mut writer = TarWriter::new(Vec::new());
        writer.add("a/log.txt", &[b'x'; 513], 1_700_000_000).unwrap();
        writer.add("empty", b"", 0).unwrap();
        let archive = writer.finish().unwrap();
        assert_eq!(archive.len(), 512 + 1024 + 512 + 1024);
        let header = &archive[..512];
        assert_eq!(&header[..10], b"a/log.txt\0");
        assert_eq!(
            (octal(&header[100..]), octal(&header[124..]), octal(&header[136..])),
            (0o600, 513, 1_700_000_000)
        );
        assert_eq!(&header[257..265], b"ustar\x0000");
        let mut summed = header.to_vec();
        summed[148..156].fill(b' ');
        assert_eq!(octal(&header[148..]), summed.iter().map(|byte| u64::from(*byte)).sum::<u64>());
        assert_eq!(&archive[512 + 512..512 + 513], b"x");
        assert!(archive[512 + 513..512 + 1024].iter().all(|byte| *byte == 0));
        assert_eq!(&archive[1536..1541], b"empty");
        assert!(TarWriter::new(Vec::new()).add(&"n".repeat(101), b"", 0).is_err());
    }
}
