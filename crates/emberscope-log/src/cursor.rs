//! A forward-only reader over one line of compact JSON.
//!
//! Spark writes every event on one line, without white space and with a stable key order
//! (`JsonProtocol`, Jackson). The cursor is made for just that: it never allocates, never looks back,
//! and answers `None` for anything it does not expect (white space, a number with a fraction, a cut
//! line). `None` is not an error: the caller then reads the same line with serde, so an unusual
//! writer costs speed and never correctness.

use memchr::memchr2;

/// A position in one line of JSON. Every method answers `None` where the line is not what was asked
/// for; the position is then unspecified and the line belongs to the slow road.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A string as it stands in the line, between its quotes, escapes untouched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawStr<'a> {
    /// The bytes between the quotes.
    pub bytes: &'a [u8],
    /// Whether a backslash occurs in them.
    pub escaped: bool,
}

impl<'a> RawStr<'a> {
    /// The text, if it has no escapes and is UTF-8.
    pub fn plain(self) -> Option<&'a str> {
        if self.escaped { None } else { std::str::from_utf8(self.bytes).ok() }
    }

    /// Appends the unescaped text to `out`; `None` on a bad escape. Whether it is UTF-8 is for the caller
    /// to see, who can do so for many texts at once.
    pub fn unescape_into(self, out: &mut Vec<u8>) -> Option<()> {
        if !self.escaped {
            out.extend_from_slice(self.bytes);
            return Some(());
        }
        let mut rest = self.bytes;
        while let Some(slash) = memchr::memchr(b'\\', rest) {
            out.extend_from_slice(&rest[..slash]);
            let code = *rest.get(slash + 1)?;
            rest = &rest[slash + 2..];
            let plain = match code {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'b' => 0x8,
                b'f' => 0xc,
                b'"' | b'\\' | b'/' => code,
                b'u' => {
                    let (unescaped, used) = unicode_escape(rest)?;
                    rest = &rest[used..];
                    out.extend_from_slice(unescaped.encode_utf8(&mut [0; 4]).as_bytes());
                    continue;
                }
                _ => return None,
            };
            out.push(plain);
        }
        out.extend_from_slice(rest);
        Some(())
    }

    /// The unescaped text; `None` on a bad escape or bad UTF-8.
    pub fn to_text(self) -> Option<String> {
        let mut out = Vec::with_capacity(self.bytes.len());
        self.unescape_into(&mut out)?;
        String::from_utf8(out).ok()
    }
}

/// Reads `XXXX` or, for a surrogate pair, `XXXX\uXXXX`; gives the character and the bytes used.
fn unicode_escape(rest: &[u8]) -> Option<(char, usize)> {
    let high = hex4(rest)?;
    if !(0xd800..0xdc00).contains(&high) {
        return Some((char::from_u32(high)?, 4));
    }
    if rest.get(4..6)? != b"\\u" {
        return None;
    }
    let low = hex4(rest.get(6..)?)?;
    if !(0xdc00..0xe000).contains(&low) {
        return None;
    }
    let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    Some((char::from_u32(code)?, 10))
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.get(..4)?.iter().try_fold(0u32, |value, &digit| {
        let digit = char::from(digit).to_digit(16)?;
        Some(value * 16 + digit)
    })
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The byte at the position.
    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// How many bytes lie before the position.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether everything has been read.
    #[inline]
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Steps over `literal` if it comes next.
    #[inline(always)]
    pub fn take(&mut self, literal: &[u8]) -> bool {
        let comes_next = self.bytes[self.at..].starts_with(literal);
        if comes_next {
            self.at += literal.len();
        }
        comes_next
    }

    /// Steps over one expected byte.
    #[inline(always)]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// An integer. A fraction, an exponent or more digits than an `i64` holds are refused.
    #[inline(always)]
    pub fn int(&mut self) -> Option<i64> {
        let negative = self.peek()? == b'-';
        self.at += usize::from(negative);
        let rest = &self.bytes[self.at..];
        let mut value: u64 = 0;
        let mut digits = 0;
        let mut next = b',';
        for &byte in rest {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                next = byte;
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            digits += 1;
        }
        // 18 digits cannot overflow; longer numbers do not occur in what the cursor is used for.
        if digits == 0 || digits > 18 || matches!(next, b'.' | b'e' | b'E') {
            return None;
        }
        // JSON has no leading zeros, and `-0` is a float to serde: let it decide.
        if rest[0] == b'0' && (digits > 1 || negative) {
            return None;
        }
        self.at += digits;
        let value = value as i64;
        Some(if negative { -value } else { value })
    }

    /// An integer in quotes, as SQL metrics are written; stays where it is on anything else.
    #[inline(always)]
    pub fn quoted_int(&mut self) -> Option<i64> {
        let mut ahead = *self;
        ahead.expect(b'"')?;
        let value = ahead.int()?;
        ahead.expect(b'"')?;
        *self = ahead;
        Some(value)
    }

    /// `true` or `false`.
    #[inline]
    pub fn bool(&mut self) -> Option<bool> {
        if self.take(b"true") {
            Some(true)
        } else if self.take(b"false") {
            Some(false)
        } else {
            None
        }
    }

    /// Steps over everything up to and including the next `last`, if that part ends with `end`; stays
    /// where it is otherwise.
    #[inline(always)]
    pub fn take_through(&mut self, last: u8, end: &[u8]) -> bool {
        let rest = &self.bytes[self.at..];
        let Some(found) = memchr::memchr(last, rest) else { return false };
        let matches = rest[..=found].ends_with(end);
        if matches {
            self.at += found + 1;
        }
        matches
    }

    /// A string, escapes untouched.
    #[inline(always)]
    pub fn string(&mut self) -> Option<RawStr<'a>> {
        self.expect(b'"')?;
        self.rest_of_string()
    }

    /// The rest of a string, whose first bytes have been taken.
    #[inline(always)]
    pub fn rest_of_string(&mut self) -> Option<RawStr<'a>> {
        let start = self.at;
        let mut escaped = false;
        loop {
            let found = self.at + memchr2(b'"', b'\\', self.bytes.get(self.at..)?)?;
            if self.bytes[found] == b'"' {
                self.at = found + 1;
                return Some(RawStr { bytes: &self.bytes[start..found], escaped });
            }
            escaped = true;
            self.at = found + 2;
        }
    }

    /// An object key and its colon. Keys are short, so a plain loop beats a search.
    #[inline(always)]
    pub fn key(&mut self) -> Option<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => break,
                // An escaped key is nothing that Spark writes.
                b'\\' => return None,
                _ => self.at += 1,
            }
        }
        let key = &self.bytes[start..self.at];
        self.at += 1;
        self.expect(b':')?;
        Some(key)
    }

    /// Reads an object: `field` is called at each value and must consume it.
    #[inline(always)]
    pub fn object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.expect(b'{')?;
        if self.take(b"}") {
            return Some(());
        }
        loop {
            let key = self.key()?;
            field(self, key)?;
            if self.object_ends()? {
                return Some(());
            }
        }
    }

    /// Steps over `,` (false) or `}` (true).
    #[inline(always)]
    pub fn object_ends(&mut self) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b',' => Some(false),
            b'}' => Some(true),
            _ => None,
        }
    }

    /// Reads the rest of an object whose last value has just been read.
    #[inline]
    pub fn rest_of_object(&mut self, mut field: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        while !self.object_ends()? {
            let key = self.key()?;
            field(self, key)?;
        }
        Some(())
    }

    /// Reads an array: `element` is called at each value and must consume it.
    #[inline(always)]
    pub fn array(&mut self, mut element: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.expect(b'[')?;
        if self.take(b"]") {
            return Some(());
        }
        loop {
            element(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Steps over one value of any kind. Nesting costs no stack.
    pub fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => {
                self.string()?;
            }
            b'{' | b'[' => self.skip_container()?,
            b',' | b'}' | b']' | b':' => return None,
            _ => {
                while !matches!(self.peek()?, b',' | b'}' | b']') {
                    self.at += 1;
                }
            }
        }
        Some(())
    }

    fn skip_container(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Some(());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Steps over one value and gives its bytes.
    pub fn raw_value(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        self.skip()?;
        Some(&self.bytes[start..self.at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers() {
        let cases: &[(&str, Option<i64>)] = &[
            ("0,", Some(0)),
            ("-12}", Some(-12)),
            ("123456789012345678]", Some(123_456_789_012_345_678)),
            ("1234567890123456789,", None),
            ("1.5,", None),
            ("1e3,", None),
            ("01,", None),
            ("-0,", None),
            ("-01,", None),
            ("-,", None),
            ("\"1\",", None),
            ("", None),
            ("7", Some(7)),
        ];
        for (text, expected) in cases {
            assert_eq!(Cursor::new(text.as_bytes()).int(), *expected, "{text}");
        }
    }

    #[test]
    fn strings_and_escapes() {
        let cases: &[(&str, Option<&str>)] = &[
            (r#""plain""#, Some("plain")),
            (r#""a\"b\\c\/d\n""#, Some("a\"b\\c/d\n")),
            (r#""\u00e9\ud83d\ude00""#, Some("é😀")),
            (r#""\ud83d""#, None),
            (r#""\q""#, None),
            (r#""open"#, None),
            (r#""\"#, None),
        ];
        for (text, expected) in cases {
            let got = Cursor::new(text.as_bytes()).string().and_then(RawStr::to_text);
            assert_eq!(got.as_deref(), *expected, "{text}");
        }
    }

    #[test]
    fn skips_whole_values() {
        for text in
            [r#"{"a":[1,{"b":"}]"}],"c":null}"#, "[]", "{}", r#""x\"y""#, "12.5e3", "true", "[[[[]]]]"]
        {
            let line = format!("{text},");
            let mut cursor = Cursor::new(line.as_bytes());
            assert_eq!(cursor.raw_value(), Some(text.as_bytes()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn unescaping_agrees_with_serde(text in "\\PC*|[\\x00-\\x7f]*") {
            let json = serde_json::to_string(&text).unwrap();
            let got = Cursor::new(json.as_bytes()).string().and_then(RawStr::to_text);
            prop_assert_eq!(got, Some(text));
        }

        #[test]
        fn no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.skip();
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.object(|c, _| c.skip());
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.string().and_then(RawStr::to_text);
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.int();
        }
    }
}
