//! Secrets are masked before anything is kept, so that no output and no debug print can hold them.
//!
//! By key, as Spark does (`spark.redaction.regex`) and a little more; and by value, where a command
//! line, an address or SQL text carries a secret inside.

use crate::run::Run;
use emberscope_log::event::app::EnvironmentUpdate;
use emberscope_log::event::lenient::TextOrJson;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What Spark itself writes in place of a secret.
pub const MASK: &str = "*********(redacted)";

const SECRET_WORDS: &[&str] = &[
    "secret",
    "password",
    "passwd",
    "token",
    "access.key",
    "accesskey",
    "access_key",
    "access-key",
    "credential",
    "apikey",
    "api.key",
    "api_key",
    "api-key",
    "account.key",
    "private.key",
    "privatekey",
    "signature",
    SHARED_ACCESS,
];

/// Short for "shared access signature": only as a word of its own, since others hold it (SASL).
const SHARED_ACCESS: &str = "sas";

/// Words that make a key look secret although its value is a class, a path or a switch.
const HARMLESS_ENDINGS: &[&str] = &[
    ".enabled",
    ".provider",
    ".provider.path",
    ".class",
    ".impl",
    ".interval",
    ".renewal",
    ".renewalratio",
    ".retrywait",
    ".numpartitions",
    ".maxlifetime",
];

/// Plans are megabytes of text: a search must be a fast one.
static FINDERS: LazyLock<Vec<Finder<'static>>> =
    LazyLock::new(|| SECRET_WORDS.iter().map(Finder::new).collect());

/// Where words that make a secret end in a text in lower case.
fn ends_of_secret_words(lower: &str) -> impl Iterator<Item = usize> {
    let bytes = lower.as_bytes();
    let is_within =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    FINDERS.iter().flat_map(move |word| {
        let needle = word.needle();
        let found = word.find_iter(bytes).map(move |start| (start, start + needle.len()));
        found.filter_map(move |(start, end)| {
            let is_part = is_within(start.checked_sub(1)) || is_within(Some(end));
            (needle != SHARED_ACCESS.as_bytes() || !is_part).then_some(end)
        })
    })
}

/// Whether the value of a property with this key is a secret.
pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ends_of_secret_words(&key).next().is_some()
        && !HARMLESS_ENDINGS.iter().any(|ending| key.ends_with(ending))
}

/// The value to show for a property.
pub fn value<'a>(key: &str, value: &'a str) -> Cow<'a, str> {
    if is_secret_key(key) && !value.is_empty() { Cow::Borrowed(MASK) } else { text(value) }
}

/// Masks secrets inside a text: `….password=x`, `--token x` in command lines, `password 'x'` in SQL,
/// and the password of `scheme://user:password@host`.
pub fn text(text: &str) -> Cow<'_, str> {
    let lower = text.to_ascii_lowercase();
    let mut masks: Vec<(usize, usize)> =
        ends_of_secret_words(&lower).filter_map(|end| value_after(text, end)).collect();
    masks.extend(address_passwords(text));
    if masks.is_empty() {
        return Cow::Borrowed(text);
    }
    masks.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end) in masks {
        if start < at {
            continue;
        }
        out.push_str(&text[at..start]);
        out.push_str(MASK);
        at = end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// The span of the value that belongs to a secret word ending at `at`: the rest of the key, then `=`,
/// `:` or blanks, then the value, quoted or bare. Without a sign between, only a quoted value counts:
/// prose that mentions a token is not masked.
fn value_after(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut start = at;
    while bytes.get(start).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte)) {
        start += 1;
    }
    let mut has_sign = false;
    while let Some(byte) = bytes.get(start) {
        match byte {
            b'=' | b':' if !has_sign => has_sign = true,
            b'=' | b':' => break,
            b' ' | b'"' | b'\'' | b'`' => {}
            _ => break,
        }
        start += 1;
    }
    let quote = bytes.get(start.checked_sub(1)?).copied().filter(|byte| b"\"'".contains(byte));
    if !has_sign && (quote.is_none() || start == at) {
        return None;
    }
    let is_end = |byte: u8| match quote {
        Some(quote) => byte == quote,
        None => byte.is_ascii_whitespace() || b",;&\"')".contains(&byte),
    };
    let len = bytes[start..].iter().position(|byte| is_end(*byte)).unwrap_or(bytes.len() - start);
    let end = start + len;
    (len > 0
        && text.is_char_boundary(start)
        && text.is_char_boundary(end)
        && !text[start..end].starts_with('*'))
    .then_some((start, end))
}

/// Spans of passwords in `scheme://user:password@host`.
fn address_passwords(text: &str) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    for (scheme_end, _) in text.match_indices("://") {
        let rest = &text[scheme_end + 3..];
        let authority = rest.find(['/', ' ', '"', '\'', '?', ',']).map_or(rest, |end| &rest[..end]);
        if let Some(host) = authority.rfind('@')
            && let Some(colon) = authority[..host].find(':')
            && colon + 1 < host
        {
            let start = scheme_end + 3;
            spans.push((start + colon + 1, start + host));
        }
    }
    spans
}

/// Masks all secrets of an environment in place.
pub fn environment(environment: &mut EnvironmentUpdate) {
    for map in [
        &mut environment.jvm,
        &mut environment.spark,
        &mut environment.hadoop,
        &mut environment.system,
        &mut environment.metrics,
    ] {
        for (key, property) in map.iter_mut() {
            if let TextOrJson(Some(plain)) = property {
                mask(key, plain);
            }
        }
    }
}

/// Masks what texts of a run quote: descriptions, names and messages of failures.
pub(crate) fn run(run: &mut Run) {
    for job in &mut run.jobs {
        let texts = [&mut job.description, &mut job.group, &mut job.call_site, &mut job.error];
        texts.into_iter().flatten().for_each(in_place);
    }
    for stage in &mut run.stages {
        stage.failure_reason.iter_mut().for_each(in_place);
        if let Cow::Owned(masked) = text(&stage.name) {
            stage.name = masked.into();
        }
    }
    run.unsubmitted_stages.iter_mut().for_each(|stage| in_place(&mut stage.name));
    run.executors.iter_mut().filter_map(|executor| executor.removed_reason.as_mut()).for_each(in_place);
    for group in &mut run.failures {
        in_place(&mut group.pattern);
        in_place(&mut group.example.text);
    }
    for stream in &mut run.streams {
        stream.exception.iter_mut().for_each(in_place);
    }
}

fn in_place(plain: &mut String) {
    if let Cow::Owned(masked) = text(plain) {
        *plain = masked;
    }
}

/// Masks all secrets of a configuration in place.
pub fn properties(properties: &mut BTreeMap<String, String>) {
    for (key, plain) in properties.iter_mut() {
        mask(key, plain);
    }
}

fn mask(key: &str, plain: &mut String) {
    let masked = value(key, plain);
    if masked != plain.as_str() {
        *plain = masked.into_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let cases = [
            ("java -Dx --conf x.password=p1 main", "java -Dx --conf x.password=*********(redacted) main"),
            (
                "jdbc:db://u:pw@host/x?user=a&password=b;c",
                "jdbc:db://u:*********(redacted)@host/x?user=a&password=*********(redacted);c",
            ),
            ("OPTIONS (password 'a b', url 'x')", "OPTIONS (password '*********(redacted)', url 'x')"),
            ("{\"fs.s3a.secret.key\": \"abc\"}", "{\"fs.s3a.secret.key\": \"*********(redacted)\"}"),
            ("select token from t where x = 1", "select token from t where x = 1"),
            ("password=*********(redacted)", "password=*********(redacted)"),
            ("plain é text", "plain é text"),
            ("world:anyone:r, sasl:yarn@, arkansas=1", "world:anyone:r, sasl:yarn@, arkansas=1"),
            ("fs.azure.sas.box.account=abc", "fs.azure.sas.box.account=*********(redacted)"),
        ];
        for (plain, masked) in cases {
            assert_eq!(text(plain), masked);
        }
    }

    #[test]
    fn keys() {
        for key in [
            "spark.hadoop.fs.s3a.access.key",
            "my.PASSWORD",
            "spark.ssl.keyStorePassword",
            "a.token",
            "fs.azure.sas.box.account",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
        for key in [
            "spark.sql.shuffle.partitions",
            "spark.executor.cores",
            "spark.arkansas.rows",
            "spark.sasl.qop",
            "spark.security.credentials.hive.enabled",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }
}
