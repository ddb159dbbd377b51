//! Telling formats apart by their first bytes. Suffixes are hints at most: extensionless zstd and plain text
//! called `.lz4` are both common.

use super::Codec;

/// zstd frame magic 0xFD2FB528, little endian.
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// `LZ4BlockOutputStream.MAGIC` of lz4-java.
pub(super) const LZ4_BLOCK: &[u8] = b"LZ4Block";
/// `SnappyCodec.MAGIC_HEADER` of snappy-java.
pub(super) const SNAPPY: &[u8] = b"\x82SNAPPY\0";
const GZIP: &[u8] = b"\x1f\x8b";

/// The codec whose magic `head` starts with; [`Codec::Plain`] when none does.
///
/// A head shorter than a magic, but equal to its beginning, counts as that codec: it is a log cut in its
/// first bytes, not text.
pub fn sniff(head: &[u8]) -> Codec {
    let starts = |magic: &[u8]| {
        !head.is_empty()
            && if head.len() < magic.len() { magic.starts_with(head) } else { head.starts_with(magic) }
    };
    // Skippable frames are 0x184D2A50 to 0x184D2A5F; zstd writers may put one first.
    let skippable = head.len() >= 4 && head[0] & 0xf0 == 0x50 && head[1..4] == [0x2a, 0x4d, 0x18];
    // compress-lzf chunks: `ZV`, then type 0 (stored) or 1 (compressed).
    let lzf = starts(b"ZV") && head.get(2).is_none_or(|kind| *kind <= 1);
    if starts(ZSTD) || skippable {
        Codec::Zstd
    } else if starts(LZ4_BLOCK) {
        Codec::Lz4Block
    } else if starts(super::lz4frame::MAGIC) {
        Codec::Lz4Frame
    } else if starts(SNAPPY) {
        Codec::Snappy
    } else if starts(GZIP) {
        Codec::Gzip
    } else if lzf {
        Codec::Lzf
    } else {
        Codec::Plain
    }
}

/// A known format that is not an event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// What the file is, to follow "this is".
    pub what: &'static str,
    /// What the user can do about it.
    pub hint: Option<&'static str>,
}

/// Whether `head` starts a zip archive (History Server downloads are such).
pub fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Names the format of `head` when it is one we know and cannot read as an event log.
pub fn foreign(head: &[u8]) -> Option<Foreign> {
    const UNPACK: Option<&str> = Some("unpack it and name the log inside");
    const TABLE: &[(&[u8], &str, Option<&str>)] = &[
        (b"PAR1", "a Parquet file", None),
        (b"ORC", "an ORC file", None),
        (b"Obj\x01", "an Avro file", None),
        (b"%PDF", "a PDF document", None),
        (b"\x7fELF", "a program (ELF)", None),
        (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program", None),
        (b"FLR\0", "a Java flight recording (JFR)", Some("profiles are read by the flame and jfr commands")),
        (b"JAVA PROFILE", "a Java heap dump", None),
        (
            b"\xff\x06\0\0sNaPpY",
            "a framed snappy file, not the snappy-java stream Spark writes",
            Some("unpack it first"),
        ),
        (b"\xfd7zXZ\0", "an xz archive", UNPACK),
        (b"BZh", "a bzip2 file", UNPACK),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
        (b"Rar!", "a RAR archive", UNPACK),
        (b"PK\x03\x04", "a zip archive", UNPACK),
        (b"PK\x05\x06", "an empty zip archive", None),
        (b"\x89PNG", "an image", None),
        (b"\xff\xd8\xff", "an image", None),
        (b"GIF8", "an image", None),
        (b"SQLite format 3\0", "an SQLite database", None),
        (b"SEQ\x06", "a Hadoop sequence file", None),
        (b"ARROW1", "an Arrow file", None),
        (b"\xff\xfe", "UTF-16 text", Some("write it again as UTF-8; PowerShell's `>` makes UTF-16")),
        (b"\xfe\xff", "UTF-16 text", Some("write it again as UTF-8; PowerShell's `>` makes UTF-16")),
    ];
    const LOGIN: Option<&str> = Some("this is often a login or error page saved in place of the log");
    if let Some((_, what, hint)) = TABLE.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Some(Foreign { what, hint: *hint });
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some(Foreign { what: "a tar archive", hint: UNPACK });
    }
    let text = head.trim_ascii_start();
    let starts = |word: &str| text.get(..word.len()).is_some_and(|s| s.eq_ignore_ascii_case(word.as_bytes()));
    if starts("<!doctype") || starts("<html") {
        return Some(Foreign { what: "an HTML page", hint: LOGIN });
    }
    if starts("<?xml") {
        return Some(Foreign { what: "an XML document", hint: LOGIN });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sniffs_by_magic() {
        let cases: &[(&[u8], Codec)] = &[
            (b"", Codec::Plain),
            (b"{\"Event\":", Codec::Plain),
            (b"\xef\xbb\xbf{\"Event\":", Codec::Plain),
            (b"\n\n  {", Codec::Plain),
            (b"\x28\xb5\x2f\xfd\0", Codec::Zstd),
            (b"\x28\xb5", Codec::Zstd),
            (b"\x52\x2a\x4d\x18\x04\0\0\0", Codec::Zstd),
            (b"LZ4Block\x25", Codec::Lz4Block),
            (b"LZ4", Codec::Lz4Block),
            (b"\x04\x22\x4d\x18d@", Codec::Lz4Frame),
            (b"LZ4 is a codec", Codec::Plain),
            (b"\x82SNAPPY\0\0\0\0\x01", Codec::Snappy),
            (b"ZV\x01\0\x10", Codec::Lzf),
            (b"ZVX", Codec::Plain),
            (b"\x1f\x8b\x08", Codec::Gzip),
        ];
        for (head, codec) in cases {
            assert_eq!(sniff(head), *codec, "{head:?}");
        }
    }

    #[test]
    fn names_foreign_formats() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let cases: &[(&[u8], &str)] = &[
            (b"PAR1\x15", "a Parquet file"),
            (b"FLR\0\0\x02", "a Java flight recording (JFR)"),
            (b"\n <!DOCTYPE html>", "an HTML page"),
            (&tar, "a tar archive"),
            (b"\xff\xfe{\0", "UTF-16 text"),
        ];
        for (head, what) in cases {
            assert_eq!(foreign(head).map(|f| f.what), Some(*what));
        }
        assert_eq!(foreign(b"{\"Event\":1}"), None);
        assert_eq!(foreign(b""), None);
    }
}
