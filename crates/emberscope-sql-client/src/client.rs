//! The process that answers: found, started, asked.

use crate::Refused;
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;
use emberscope_sql_protocol::{
    self as protocol, BUILD, Done, Failure, Frame, FrameError, Hello, Limits, PROTOCOL, Request, Table,
};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const NAME: &str = "emberscope-sql";

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The process said so.
    #[error("{}", .0.message)]
    Failed(Failure),
    /// The process is gone.
    #[error("{NAME} ended while it was answering: {0}")]
    Gone(String),
    /// It says what cannot be understood.
    #[error("{NAME} is not understood: {0}")]
    NotUnderstood(String),
}

impl AskError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            AskError::Failed(failure) => failure.hint.clone(),
            AskError::Gone(_) => {
                Some("the system may have been short of memory; ask for less, or lower --memory".into())
            }
            AskError::NotUnderstood(_) => Some(how_to_get_it()),
        }
    }
}

fn how_to_get_it() -> String {
    format!(
        "build it with `cargo build --release --manifest-path sql/Cargo.toml` and put it beside emberscope, \
         or name it in EMBERSCOPE_SQL (this is {BUILD})"
    )
}

/// Where the program is: `EMBERSCOPE_SQL`, else beside this one, else, where `on_path` allows, on `PATH`.
///
/// # Errors
/// It is nowhere.
pub fn find(on_path: bool) -> Result<PathBuf, Refused> {
    if let Some(named) = std::env::var_os("EMBERSCOPE_SQL").filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        if !named.is_file() {
            let message = format!("EMBERSCOPE_SQL names {}, which is no file", named.display());
            return Err(Refused::new(message, how_to_get_it()));
        }
        return Ok(named);
    }
    let file = format!("{NAME}{}", std::env::consts::EXE_SUFFIX);
    let here = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(&file)));
    let path = std::env::var_os("PATH").filter(|_| on_path).unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|dir| dir.join(&file));
    let mut places = here.into_iter().chain(on_path);
    places.find(|place| place.is_file()).ok_or_else(|| {
        let message = format!("SQL is answered by {NAME}, which was not found");
        Refused::new(message, how_to_get_it())
    })
}

/// A process that answers. It ends with this value.
pub struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// How long the engine's allocator keeps memory that is free, milliseconds. It gives it back at once otherwise, and a
/// third of the time of a large aggregate went into having it cleared and given again.
const PURGE_DELAY: &str = "MIMALLOC_PURGE_DELAY";
const KEPT_MS: &str = "10000";

impl Client {
    /// Starts `program`.
    ///
    /// # Errors
    /// It cannot be started, or is another program or build.
    pub fn start(program: &Path) -> Result<Client, Refused> {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if std::env::var_os(PURGE_DELAY).is_none() {
            command.env(PURGE_DELAY, KEPT_MS);
        }
        let mut child = command.spawn().map_err(|error| {
            Refused::new(format!("{}: cannot be started: {error}", program.display()), how_to_get_it())
        })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Refused::new(format!("{} has no pipes", program.display()), how_to_get_it()));
        };
        let mut client = Client { child, input, output: BufReader::new(output) };
        match protocol::read(&mut client.output) {
            Ok(Some(Frame::Hello(Hello { protocol: PROTOCOL, .. }))) => Ok(client),
            Ok(Some(Frame::Hello(hello))) => {
                let message = format!(
                    "{} is {} and speaks protocol {}, this is {BUILD} and speaks {PROTOCOL}",
                    program.display(),
                    hello.build,
                    hello.protocol
                );
                Err(Refused::new(message, how_to_get_it()))
            }
            _ => {
                let message = format!("{} does not answer as {NAME} does", program.display());
                Err(Refused::new(message, how_to_get_it()))
            }
        }
    }

    /// Tells which tables there are from now on and what may be spent.
    ///
    /// # Errors
    /// The process is gone.
    pub fn open(&mut self, tables: Vec<Table>, limits: Limits) -> Result<(), AskError> {
        self.send(&Request::Open { tables, limits })
    }

    /// Asks; the answer comes as it is read.
    ///
    /// # Errors
    /// The process is gone.
    pub fn ask(&mut self, sql: &str, max_rows: Option<u64>) -> Result<Answer<'_>, AskError> {
        self.send(&Request::Query { sql: sql.to_owned(), max_rows })?;
        Ok(Answer { stream: Stream::Waiting(Pieces { client: self, rest: Vec::new(), at: 0, end: None }) })
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn send(&mut self, request: &Request) -> Result<(), AskError> {
        let mut line = serde_json::to_vec(request).map_err(|error| understood(&error))?;
        line.push(b'\n');
        let sent = self.input.write_all(&line).and_then(|()| self.input.flush());
        sent.map_err(|_| self.gone())
    }

    /// What became of the process.
    fn gone(&mut self) -> AskError {
        // Its pipe is closed: it is ending if it has not.
        match self.child.wait() {
            Ok(status) => AskError::Gone(status.to_string()),
            Err(error) => AskError::Gone(error.to_string()),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// An answer on its way.
pub struct Answer<'c> {
    stream: Stream<'c>,
}

enum Stream<'c> {
    Waiting(Pieces<'c>),
    Open(Box<StreamReader<Pieces<'c>>>),
    Broken,
}

impl<'c> Answer<'c> {
    /// The columns.
    ///
    /// # Errors
    /// There is no answer.
    pub fn schema(&mut self) -> Result<SchemaRef, AskError> {
        if let Stream::Waiting(mut pieces) = std::mem::replace(&mut self.stream, Stream::Broken) {
            // A failure comes in place of the stream.
            pieces.more()?;
            let reader = StreamReader::try_new(pieces, None).map_err(|error| understood(&error))?;
            self.stream = Stream::Open(Box::new(reader));
        }
        match &self.stream {
            Stream::Open(reader) => Ok(reader.schema()),
            _ => Err(AskError::NotUnderstood("no columns".to_owned())),
        }
    }

    /// The next rows; `None` after the last.
    ///
    /// # Errors
    /// The answer broke off.
    pub fn batch(&mut self) -> Result<Option<RecordBatch>, AskError> {
        let Stream::Open(reader) = &mut self.stream else { return Ok(None) };
        match reader.next() {
            None => Ok(None),
            Some(Ok(batch)) => Ok(Some(batch)),
            Some(Err(error)) => {
                // The stream broke since a failure came instead of its next piece.
                if let Some(Err(failure)) = reader.get_mut().end.take() {
                    return Err(failure);
                }
                Err(understood(&error))
            }
        }
    }

    /// How it ended.
    ///
    /// # Errors
    /// It did not end well.
    pub fn done(mut self) -> Result<Done, AskError> {
        let Stream::Open(reader) = &mut self.stream else {
            return Err(AskError::NotUnderstood("no end".to_owned()));
        };
        let pieces = reader.get_mut();
        while pieces.end.is_none() {
            pieces.more()?;
        }
        match pieces.end.take() {
            Some(Ok(done)) => Ok(done),
            Some(Err(failure)) => Err(failure),
            None => Err(AskError::NotUnderstood("no end".to_owned())),
        }
    }
}

fn understood(error: &impl std::fmt::Display) -> AskError {
    AskError::NotUnderstood(error.to_string())
}

/// The pieces of a stream, one after the other.
struct Pieces<'c> {
    client: &'c mut Client,
    rest: Vec<u8>,
    at: usize,
    end: Option<Result<Done, AskError>>,
}

impl Pieces<'_> {
    /// Waits for the next frame.
    fn more(&mut self) -> Result<(), AskError> {
        let failure = match protocol::read(&mut self.client.output) {
            Ok(Some(Frame::Arrow(bytes))) => {
                (self.rest, self.at) = (bytes, 0);
                return Ok(());
            }
            Ok(Some(Frame::Done(done))) => {
                self.end = Some(Ok(done));
                return Ok(());
            }
            Ok(Some(Frame::Failure(failure))) => AskError::Failed(failure),
            Ok(Some(Frame::Hello(_))) => AskError::NotUnderstood("a second greeting".to_owned()),
            Ok(None) | Err(FrameError::Pipe(_)) => self.client.gone(),
            Err(FrameError::Meaning(text)) => AskError::NotUnderstood(text),
        };
        Err(failure)
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.at == self.rest.len() && self.end.is_none() {
            if let Err(failure) = self.more() {
                self.end = Some(Err(failure));
            }
        }
        if let Some(Err(_)) = &self.end {
            return Err(io::Error::other("the answer was broken off"));
        }
        let rest = &self.rest[self.at..];
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
