//! The values of a chunk: integers of variable or fixed length, floats, and strings in six encodings.

use std::borrow::Cow;

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

pub(crate) type Result<T> = std::result::Result<T, Malformed>;

const CUT: Malformed = Malformed("a record ends in the middle of a value");

/// A string as it stands in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text<'a> {
    /// None.
    Null,
    /// A key of the pool of strings.
    Key(u64),
    /// The characters.
    Literal(Cow<'a, str>),
}

/// Reads values one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether integers are LEB128; else they are big-endian and of fixed length.
    compressed: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], compressed: bool) -> Self {
        Cursor { bytes, at: 0, compressed }
    }

    /// Bytes consumed.
    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes left.
    #[inline]
    pub(crate) fn rest(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or(CUT)?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length).ok_or(CUT)?;
        let taken = self.bytes.get(self.at..end).ok_or(CUT)?;
        self.at = end;
        Ok(taken)
    }

    /// LEB128 of at most nine bytes, of which the ninth carries eight bits.
    #[inline]
    fn variable(&mut self) -> Result<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut value = u64::from(first & 0x7f);
        for shift in (7..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Ok(value | u64::from(self.byte()?) << 56)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| CUT)
    }

    /// A `long`, a key, or a reference.
    #[inline]
    pub(crate) fn long(&mut self) -> Result<i64> {
        match self.compressed {
            true => Ok(self.variable()? as i64),
            false => Ok(i64::from_be_bytes(self.fixed()?)),
        }
    }

    /// An `int`, or a count.
    #[inline]
    pub(crate) fn int(&mut self) -> Result<i64> {
        match self.compressed {
            // Negative ones come in five bytes or in nine.
            true => Ok(i64::from(self.variable()? as i32)),
            false => Ok(i64::from(i32::from_be_bytes(self.fixed()?))),
        }
    }

    /// A `short`.
    pub(crate) fn short(&mut self) -> Result<i64> {
        match self.compressed {
            true => Ok(i64::from(self.variable()? as i16)),
            false => Ok(i64::from(i16::from_be_bytes(self.fixed()?))),
        }
    }

    /// A `char`.
    pub(crate) fn character(&mut self) -> Result<u16> {
        match self.compressed {
            true => Ok(self.variable()? as u16),
            false => Ok(u16::from_be_bytes(self.fixed()?)),
        }
    }

    pub(crate) fn float(&mut self) -> Result<f64> {
        Ok(f64::from(f32::from_be_bytes(self.fixed()?)))
    }

    pub(crate) fn double(&mut self) -> Result<f64> {
        Ok(f64::from_be_bytes(self.fixed()?))
    }

    /// A number of things to come, none of which takes less than `least` bytes.
    pub(crate) fn count(&mut self, least: usize) -> Result<usize> {
        let count = usize::try_from(self.int()?).map_err(|_| Malformed("a count is negative"))?;
        match count.checked_mul(least) {
            Some(bytes) if bytes <= self.rest() => Ok(count),
            _ => Err(Malformed("a count goes beyond its record")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<Text<'a>> {
        Ok(match self.byte()? {
            0 => Text::Null,
            1 => Text::Literal(Cow::Borrowed("")),
            2 => Text::Key(self.long()? as u64),
            3 => {
                let length = self.count(1)?;
                Text::Literal(String::from_utf8_lossy(self.take(length)?))
            }
            4 => {
                let length = self.count(1)?;
                let characters = (0..length).map(|_| self.character()).collect::<Result<Vec<u16>>>()?;
                Text::Literal(Cow::Owned(String::from_utf16_lossy(&characters)))
            }
            5 => {
                let length = self.count(1)?;
                let bytes = self.take(length)?;
                Text::Literal(match std::str::from_utf8(bytes) {
                    // ASCII is the same in both.
                    Ok(text) if text.is_ascii() => Cow::Borrowed(text),
                    _ => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
                })
            }
            _ => return Err(Malformed("a string has an unknown encoding")),
        })
    }

    /// As [`Cursor::text`], for who does not need it.
    pub(crate) fn skip_text(&mut self) -> Result<()> {
        match self.byte()? {
            0 | 1 => {}
            2 => _ = self.long()?,
            3 | 5 => {
                let length = self.count(1)?;
                self.take(length)?;
            }
            4 => {
                for _ in 0..self.count(1)? {
                    self.character()?;
                }
            }
            _ => return Err(Malformed("a string has an unknown encoding")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(bytes: &[u8]) -> Result<i64> {
        Cursor::new(bytes, true).long()
    }

    #[test]
    fn integers_of_variable_length() {
        assert_eq!(long(&[0]), Ok(0));
        assert_eq!(long(&[0x7f]), Ok(127));
        assert_eq!(long(&[0x80, 1]), Ok(128));
        // The recorder of async-profiler pads sizes to five bytes.
        assert_eq!(long(&[0x85, 0x80, 0x80, 0x80, 0]), Ok(5));
        // No zigzag: a negative number takes nine bytes, the last with eight bits.
        assert_eq!(long(&[0xff; 9]), Ok(-1));
        assert_eq!(long(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80]), Ok(i64::MIN));
        assert_eq!(long(&[0xff; 8]), Err(CUT));
        assert_eq!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x0f], true).int(), Ok(-1));
    }

    #[test]
    fn integers_of_fixed_length() {
        let mut cursor = Cursor::new(&[0, 0, 0, 5, 0xff, 0xfe, 0, 0, 0, 0, 0, 0, 0, 9, 0, 65], false);
        assert_eq!(cursor.int(), Ok(5));
        assert_eq!(cursor.short(), Ok(-2));
        assert_eq!(cursor.long(), Ok(9));
        assert_eq!(cursor.character(), Ok(65));
        assert_eq!(cursor.byte(), Err(CUT));
    }

    #[test]
    fn strings_in_all_encodings() {
        let literal = |text: &'static str| Text::Literal(Cow::Borrowed(text));
        let cases: [(&[u8], Text<'_>); 7] = [
            (&[0], Text::Null),
            (&[1], literal("")),
            (&[2, 0x80, 1], Text::Key(128)),
            (&[3, 3, 0xc3, 0xa4, b'b'], literal("äb")),
            (&[4, 2, 0xe4, 1, b'b'], literal("äb")),
            (&[5, 2, 0xe4, b'b'], literal("äb")),
            (&[3, 1, 0xff], literal("\u{fffd}")),
        ];
        for (bytes, text) in cases {
            let mut cursor = Cursor::new(bytes, true);
            assert_eq!(cursor.text(), Ok(text), "{bytes:?}");
            let mut skipping = Cursor::new(bytes, true);
            assert_eq!(skipping.skip_text(), Ok(()));
            assert_eq!(skipping.at(), bytes.len());
        }
        for bad in [&[6][..], &[3, 200, 1, 1], &[4, 0xff, 0xff, 0xff, 0xff, 0x0f], &[]] {
            assert!(Cursor::new(bad, true).text().is_err() && Cursor::new(bad, true).skip_text().is_err());
        }
    }
}
