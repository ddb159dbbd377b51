//! Lines too long to hold, made short as they stream by.
//!
//! A single line can be larger than memory (a plan of hundreds of megabytes). Such a line is copied
//! through a small state machine that keeps its structure and its small values and cuts every long
//! string, so that ids, times and metrics of the event survive.

/// Longest string kept whole, bytes as written.
const KEPT_STRING_BYTES: usize = 4096;

/// Copies one line of JSON, cutting long strings.
#[derive(Debug)]
pub(crate) struct Elider {
    kept: Vec<u8>,
    limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Outside,
    /// Inside a string of which `len` bytes have been kept; nothing is kept once it is `full`.
    Inside {
        len: usize,
        full: bool,
    },
    /// Inside an escape of a string, collected until it is whole.
    Escape {
        len: usize,
        full: bool,
        seen: [u8; 6],
        n_seen: usize,
    },
}

impl Elider {
    /// An elider whose output stays below about `limit` bytes; a line whose small values alone are
    /// larger comes out broken.
    pub(crate) fn new(limit: usize) -> Self {
        Elider { kept: Vec::new(), limit, state: State::Outside }
    }

    /// Takes the next part of the line, which holds no line end.
    pub(crate) fn feed(&mut self, mut part: &[u8]) {
        while !part.is_empty() {
            part = match self.state {
                State::Outside => self.feed_outside(part),
                State::Inside { len, full } => self.feed_inside(part, len, full),
                State::Escape { len, full, seen, n_seen } => {
                    self.feed_escape(part[0], len, full, seen, n_seen);
                    &part[1..]
                }
            };
        }
    }

    /// Whether the limit was reached, so that the line is no longer whole.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() > self.limit
    }

    /// The shortened line.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.kept
    }

    fn feed_outside<'a>(&mut self, part: &'a [u8]) -> &'a [u8] {
        let Some(quote) = memchr::memchr(b'"', part) else {
            self.keep(part);
            return &[];
        };
        self.keep(&part[..=quote]);
        self.state = State::Inside { len: 0, full: false };
        &part[quote + 1..]
    }

    fn feed_inside<'a>(&mut self, part: &'a [u8], mut len: usize, mut full: bool) -> &'a [u8] {
        let end = memchr::memchr2(b'"', b'\\', part).unwrap_or(part.len());
        let run = &part[..end];
        if !full {
            let mut take = run.len().min(KEPT_STRING_BYTES.saturating_sub(len));
            // A character is kept or cut as a whole, also one that began in the part before.
            while run.get(take).is_some_and(|byte| byte & 0xc0 == 0x80) {
                take += 1;
            }
            self.keep(&run[..take]);
            len += take;
            full = take < run.len();
        }
        match part.get(end) {
            None => {
                self.state = State::Inside { len, full };
                &[]
            }
            Some(b'"') => {
                self.keep(b"\"");
                self.state = State::Outside;
                &part[end + 1..]
            }
            Some(_) => {
                let seen = [b'\\', 0, 0, 0, 0, 0];
                self.state = State::Escape { len, full, seen, n_seen: 1 };
                &part[end + 1..]
            }
        }
    }

    fn feed_escape(&mut self, byte: u8, len: usize, full: bool, mut seen: [u8; 6], n_seen: usize) {
        seen[n_seen] = byte;
        let n_seen = n_seen + 1;
        let whole = if seen[1] == b'u' { 6 } else { 2 };
        if n_seen < whole {
            self.state = State::Escape { len, full, seen, n_seen };
            return;
        }
        // Half of a surrogate pair would be an error, so the string is full from here on.
        let full = full || len + 12 > KEPT_STRING_BYTES;
        if !full {
            self.keep(&seen[..whole]);
        }
        self.state = State::Inside { len: len + whole, full };
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.kept.len() <= self.limit {
            self.kept.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn elide_in_parts(line: &[u8], part: usize) -> Vec<u8> {
        let mut elider = Elider::new(1 << 20);
        line.chunks(part.max(1)).for_each(|chunk| elider.feed(chunk));
        elider.finish()
    }

    #[test]
    fn small_values_survive() {
        let long = "plan \\n é \\ud83d\\ude00 \\\" ".repeat(1000);
        let line = format!(r#"{{"Event":"X","text":"{long}","executionId":7,"list":[1,"a"]}}"#);
        for part in [1, 2, 3, 7, 100, 1 << 20] {
            let short = elide_in_parts(line.as_bytes(), part);
            assert!(short.len() < 5000);
            let value: serde_json::Value = serde_json::from_slice(&short).unwrap();
            assert_eq!(value["executionId"], 7);
            assert_eq!(value["list"], serde_json::json!([1, "a"]));
            assert!(value["text"].as_str().unwrap().starts_with("plan \n é 😀 \""));
        }
    }

    proptest! {
        #[test]
        fn short_lines_are_untouched(text in "\\PC{0,300}", part in 1usize..50) {
            let line = serde_json::json!({"a": text, "b": [1, null, {"c": "x"}]}).to_string();
            prop_assert_eq!(elide_in_parts(line.as_bytes(), part), line.as_bytes());
        }

        #[test]
        fn long_lines_stay_json(text in "[a-z\\\\\"\né😀]{4000,9000}", part in 1usize..5000) {
            let line = serde_json::json!({"a": text, "id": 5}).to_string();
            let short = elide_in_parts(line.as_bytes(), part);
            let value: serde_json::Value = serde_json::from_slice(&short).unwrap();
            prop_assert_eq!(&value["id"], 5);
            prop_assert!(text.starts_with(value["a"].as_str().unwrap()));
        }
    }
}
