//! Recordings made by hand, of which every byte is known.

/// Writes one chunk.
pub(crate) struct Made {
    compressed: bool,
    body: Vec<u8>,
    checkpoints: Vec<usize>,
    metadata: usize,
}

const HEADER: usize = 68;
/// Ids of types, which no reader may take for granted.
const LONG: u64 = 11;
const STRING: u64 = 13;
const STACK: u64 = 20;
const FRAME: u64 = 21;
const METHOD: u64 = 22;
const CLASS: u64 = 23;
const SYMBOL: u64 = 24;
const THREAD: u64 = 25;
const STATE: u64 = 26;
const SAMPLE: u64 = 40;
const BOOLEAN: u64 = 14;
const FRAME_TYPE: u64 = 27;
/// No type has it.
const UNKNOWN: u64 = 99;
/// Nanoseconds since 1970 at tick 0 of each chunk.
pub(crate) const START_NS: i64 = 1_700_000_000_000_000_000;

/// Kinds of frames: the numbers are not those of any recorder.
const KINDS: [(&str, &str); 3] = [("", "JIT compiled"), ("kernel", "Kernel"), ("native", "Native")];

type Fields = &'static [(&'static str, u64, bool, bool)];

/// Name, id, whether it is an event, and fields with type, whether they are keys, and whether they are many.
const TYPES: &[(&str, u64, bool, Fields)] = &[
    ("long", LONG, false, &[]),
    ("boolean", BOOLEAN, false, &[]),
    ("java.lang.String", STRING, false, &[]),
    ("jdk.types.Symbol", SYMBOL, false, &[("string", STRING, false, false)]),
    ("java.lang.Class", CLASS, false, &[("name", SYMBOL, true, false)]),
    ("jdk.types.Method", METHOD, false, &[("type", CLASS, true, false), ("name", SYMBOL, true, false)]),
    ("jdk.types.FrameType", FRAME_TYPE, false, &[("description", STRING, false, false)]),
    (
        "jdk.types.StackFrame",
        FRAME,
        false,
        &[("method", METHOD, true, false), ("type", FRAME_TYPE, true, false)],
    ),
    (
        "jdk.types.StackTrace",
        STACK,
        false,
        &[("truncated", BOOLEAN, false, false), ("frames", FRAME, false, true)],
    ),
    (
        "java.lang.Thread",
        THREAD,
        false,
        &[("javaName", STRING, false, false), ("javaThreadId", LONG, false, false)],
    ),
    ("jdk.types.ThreadState", STATE, false, &[("name", STRING, false, false)]),
    (
        "profiler.WallClockSample",
        SAMPLE,
        true,
        &[
            ("startTime", LONG, false, false),
            ("sampledThread", THREAD, true, false),
            ("stackTrace", STACK, true, false),
            ("state", STATE, true, false),
            ("samples", LONG, false, false),
        ],
    ),
];

impl Made {
    pub(crate) fn new(compressed: bool) -> Made {
        let mut made = Made { compressed, body: Vec::new(), checkpoints: Vec::new(), metadata: 0 };
        made.metadata();
        made
    }

    fn long(&self, out: &mut Vec<u8>, value: i64) {
        if !self.compressed {
            out.extend(value.to_be_bytes());
            return;
        }
        let mut rest = value as u64;
        for _ in 0..8 {
            if rest < 0x80 {
                out.push(rest as u8);
                return;
            }
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn int(&self, out: &mut Vec<u8>, value: i64) {
        match self.compressed {
            true => self.long(out, value),
            false => out.extend((value as i32).to_be_bytes()),
        }
    }

    fn text(&self, out: &mut Vec<u8>, text: &str) {
        out.push(3);
        self.int(out, text.len() as i64);
        out.extend(text.bytes());
    }

    /// Adds a record: its size counts itself.
    fn record(&mut self, class: u64, payload: &[u8]) -> usize {
        let at = self.body.len();
        let mut head = Vec::new();
        self.long(&mut head, class as i64);
        let rest = head.len() + payload.len();
        let mut size = Vec::new();
        for length in 1..9 {
            size.clear();
            self.int(&mut size, (rest + length) as i64);
            if size.len() == length {
                break;
            }
        }
        self.body.extend(size);
        self.body.extend(head);
        self.body.extend(payload);
        at
    }

    fn metadata(&mut self) {
        let mut strings: Vec<String> = Vec::new();
        let mut index = |text: &str| match strings.iter().position(|known| known == text) {
            Some(at) => at as i64,
            None => {
                strings.push(text.to_owned());
                (strings.len() - 1) as i64
            }
        };
        let mut tree = Vec::new();
        self.int(&mut tree, index("root"));
        self.int(&mut tree, 0);
        self.int(&mut tree, TYPES.len() as i64);
        for (name, id, is_event, fields) in TYPES {
            self.int(&mut tree, index("class"));
            let parent = if *is_event { "jdk.jfr.Event" } else { "" };
            self.int(&mut tree, 3);
            for (key, value) in [("name", *name), ("id", &id.to_string()), ("superType", parent)] {
                self.int(&mut tree, index(key));
                self.int(&mut tree, index(value));
            }
            self.int(&mut tree, fields.len() as i64);
            for (name, class, is_key, are_many) in *fields {
                self.int(&mut tree, index("field"));
                self.int(&mut tree, 4);
                let dimension = if *are_many { "1" } else { "0" };
                let attributes = [
                    ("name", (*name).to_owned()),
                    ("class", class.to_string()),
                    ("constantPool", is_key.to_string()),
                    ("dimension", dimension.to_owned()),
                ];
                for (key, value) in attributes {
                    self.int(&mut tree, index(key));
                    self.int(&mut tree, index(&value));
                }
                self.int(&mut tree, 0);
            }
        }
        let mut payload = Vec::new();
        (0..3).for_each(|_| self.long(&mut payload, 0));
        self.int(&mut payload, strings.len() as i64);
        for string in &strings {
            self.text(&mut payload, string);
        }
        payload.extend(tree);
        self.metadata = self.record(0, &payload);
    }

    /// Adds samples of a thread in a stack, numbers of both, with a tick and a weight.
    pub(crate) fn sample(&mut self, ticks: i64, thread: i64, stack: i64, samples: i64) {
        let mut payload = Vec::new();
        for value in [ticks, thread, stack, 1, samples] {
            self.long(&mut payload, value);
        }
        self.record(SAMPLE, &payload);
    }

    /// Adds a record of a type that the metadata does not know.
    pub(crate) fn unknown(&mut self) {
        self.record(UNKNOWN, &[1, 2, 3]);
    }

    /// Adds a size of 0, behind which there are no records.
    pub(crate) fn stop(&mut self) {
        let mut size = Vec::new();
        self.int(&mut size, 0);
        self.body.extend(size);
    }

    /// Makes the next checkpoint call one before it that is none.
    pub(crate) fn mislead(&mut self, at: usize) {
        self.checkpoints.push(at);
    }

    /// Adds pools with these stacks, methods leaf first, and threads 1 to 3. Methods called `native` and `kernel` are
    /// of these kinds, and a stack that ends in `...` was cut there.
    pub(crate) fn checkpoint(&mut self, stacks: &[(i64, &[&str])]) {
        let mut payload = Vec::new();
        let at = self.body.len();
        self.long(&mut payload, 0);
        self.long(&mut payload, 0);
        let delta = self.checkpoints.last().map_or(0, |before| *before as i64 - at as i64);
        self.long(&mut payload, delta);
        payload.push(0);
        let mut methods: Vec<&str> = stacks.iter().flat_map(|(_, frames)| frames.iter().copied()).collect();
        methods.sort_unstable();
        methods.dedup();
        // Keys of methods must not clash with those of other checkpoints.
        let key = |name: &str| name.bytes().fold(7i64, |hash, byte| hash * 31 % 1_000_003 + i64::from(byte));
        self.int(&mut payload, 7);
        self.pool(
            &mut payload,
            STACK,
            stacks.iter().map(|(id, frames)| (*id, *frames)),
            |made, out, frames| {
                let is_cut = frames.last() == Some(&"...");
                let frames = if is_cut { &frames[..frames.len() - 1] } else { frames };
                out.push(u8::from(is_cut));
                made.int(out, frames.len() as i64);
                for frame in frames {
                    made.long(out, key(frame));
                    made.long(out, KINDS.iter().position(|kind| kind.0 == *frame).unwrap_or(0) as i64);
                }
            },
        );
        self.pool(&mut payload, FRAME_TYPE, (0..).zip(KINDS), |made, out, kind| made.text(out, kind.1));
        self.pool(&mut payload, METHOD, methods.iter().map(|name| (key(name), *name)), |made, out, name| {
            made.long(out, 1);
            made.long(out, key(name));
        });
        self.pool(&mut payload, SYMBOL, methods.iter().map(|name| (key(name), *name)), |made, out, name| {
            made.text(out, name);
        });
        self.pool(&mut payload, CLASS, std::iter::once((1, "")), |made, out, _| made.long(out, 0));
        self.pool(&mut payload, THREAD, (1..=3).map(|id| (id, id)), |made, out, id| {
            made.text(out, &format!("thread {id}"));
            made.long(out, 10 * id);
        });
        self.pool(&mut payload, STATE, std::iter::once((1, "STATE_RUNNABLE")), |made, out, name| {
            made.text(out, name);
        });
        let at = self.record(1, &payload);
        self.checkpoints.push(at);
    }

    fn pool<T>(
        &self,
        out: &mut Vec<u8>,
        class: u64,
        entries: impl Iterator<Item = (i64, T)>,
        value: impl Fn(&Made, &mut Vec<u8>, T),
    ) {
        let entries: Vec<(i64, T)> = entries.collect();
        self.long(out, class as i64);
        self.int(out, entries.len() as i64);
        for (key, entry) in entries {
            self.long(out, key);
            value(self, out, entry);
        }
    }

    /// The chunk, which starts at a tick.
    pub(crate) fn finish(self, start_ticks: i64) -> Vec<u8> {
        let size = (HEADER + self.body.len()) as i64;
        let offset = |at: usize| (HEADER + at) as i64;
        let checkpoint = self.checkpoints.last().map_or(0, |at| offset(*at));
        let offsets = [size, checkpoint, offset(self.metadata)];
        self.chunk(start_ticks, offsets)
    }

    /// The chunk as its writer leaves it when it is killed.
    pub(crate) fn unfinished(self, start_ticks: i64) -> Vec<u8> {
        self.chunk(start_ticks, [1 << 30, 0, 0])
    }

    fn chunk(self, start_ticks: i64, offsets: [i64; 3]) -> Vec<u8> {
        let mut chunk = b"FLR\0\0\x02\0\x01".to_vec();
        for value in offsets.into_iter().chain([START_NS, 0, start_ticks, 1_000_000_000]) {
            chunk.extend(value.to_be_bytes());
        }
        chunk.extend([0, 0, 0, u8::from(self.compressed)]);
        chunk.extend(self.body);
        chunk
    }
}

/// Two chunks with samples before and after each of two checkpoints: 100 samples in all, all of them known.
pub(crate) fn recording(compressed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for start in [0, 1000] {
        let mut made = Made::new(compressed);
        made.sample(start + 5, 1, 1, 20);
        made.sample(start + 6, 2, 2, 5);
        made.checkpoint(&[(1, &["leaf", "root"]), (2, &["other", "root"])]);
        made.sample(start + 7, 3, 3, 25);
        made.checkpoint(&[(3, &["leaf", "leaf", "root"])]);
        bytes.extend(made.finish(start));
    }
    bytes
}
