//! Names of frames, without what differs from run to run.

use std::borrow::Cow;

/// Classes that the JVM numbers as it makes them.
const NUMBERED: &[&str] = &[
    "GeneratedMethodAccessor",
    "GeneratedConstructorAccessor",
    "GeneratedSerializationConstructorAccessor",
    "$Proxy",
    "$$Lambda$",
];
/// What Spark calls the class it makes of a stage of generated code, before the stage's number.
const WHOLE_STAGE: &str = "GeneratedIteratorForCodegenStage";

/// Packages of the JDK and of Scala's library: what a program is written with.
const LANGUAGE: &[&str] = &["java.", "javax.", "jdk.", "sun.", "com.sun.", "scala."];
/// Methods in which a thread is only while it waits for something.
const WAITS: &[&str] = &[
    "jdk.internal.misc.Unsafe.park",
    "sun.misc.Unsafe.park",
    "java.lang.Object.wait",
    "java.lang.Object.wait0",
    "java.lang.Thread.sleep",
    "java.lang.Thread.sleep0",
    "java.lang.Thread.sleepNanos0",
    "java.lang.ProcessHandleImpl.waitForProcessExit0",
    "java.lang.UNIXProcess.waitForProcessExit",
    "java.net.PlainSocketImpl.socketAccept",
    "java.net.SocketInputStream.socketRead0",
    "sun.nio.ch.EPoll.wait",
    "sun.nio.ch.EPollArrayWrapper.epollWait",
    "sun.nio.ch.KQueue.poll",
    "sun.nio.ch.KQueueArrayWrapper.kevent0",
    "sun.nio.ch.Net.accept",
    "sun.nio.ch.Net.poll",
    "sun.nio.ch.PollArrayWrapper.poll0",
    "sun.nio.ch.SocketDispatcher.read0",
    "sun.nio.ch.UnixDomainSockets.accept0",
];

/// Whether a method is one of the JDK or of Scala's library.
pub(crate) fn is_language(frame: &str) -> bool {
    LANGUAGE.iter().any(|package| frame.starts_with(package))
}

/// Whether threads are in a method only while they wait.
pub(crate) fn is_wait(frame: &str) -> bool {
    WAITS.contains(&frame)
}

/// A class as people write it, from its internal form: `java/util/Map$Entry`, `[Ljava/lang/String;`,
/// `a/B$$Lambda$14+0x0000000800c0`.
pub(crate) fn class_name(internal: &str) -> Cow<'_, str> {
    let dimensions = internal.bytes().take_while(|byte| *byte == b'[').count();
    if dimensions > 0 {
        let element = &internal[dimensions..];
        let element = match primitive(element) {
            Some(name) => Cow::Borrowed(name),
            None => class_name(
                element.strip_prefix('L').and_then(|rest| rest.strip_suffix(';')).unwrap_or(element),
            ),
        };
        return Cow::Owned(element.into_owned() + &"[]".repeat(dimensions));
    }
    let stem = without_number(without_hidden_suffix(internal));
    if stem.contains('/') { Cow::Owned(stem.replace('/', ".")) } else { Cow::Borrowed(stem) }
}

fn primitive(descriptor: &str) -> Option<&'static str> {
    Some(match descriptor {
        "B" => "byte",
        "C" => "char",
        "D" => "double",
        "F" => "float",
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "Z" => "boolean",
        _ => return None,
    })
}

/// Hidden classes carry an address: after `+`, `.` or `/`, as `0x...` or in digits.
fn without_hidden_suffix(name: &str) -> &str {
    for mark in ["+0x", ".0x", "/0x"] {
        if let Some(at) = name.find(mark) {
            return &name[..at];
        }
    }
    match name.rsplit_once('/') {
        Some((stem, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            stem
        }
        _ => name,
    }
}

fn without_number(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = stem.len() < name.len() && NUMBERED.iter().any(|of| stem.ends_with(of));
    let stem = if is_numbered { stem } else { name };
    stem.strip_suffix("$$Lambda$").map_or(stem, |_| &stem[..stem.len() - 1])
}

/// The stage of generated code that a frame belongs to.
pub fn whole_stage(frame: &str) -> Option<u32> {
    let (_, rest) = frame.split_once(WHOLE_STAGE)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        for (internal, name) in [
            ("java/util/Map$Entry", "java.util.Map$Entry"),
            ("[B", "byte[]"),
            ("[[Ljava/lang/String;", "java.lang.String[][]"),
            ("a/B$$Lambda$310.0x00007f61d825b620", "a.B$$Lambda"),
            ("a/B$$Lambda$14+0x0000000800c03000", "a.B$$Lambda"),
            ("a/B$$Lambda/0x0000000800c03000", "a.B$$Lambda"),
            ("a/B$$Lambda$14/1234567", "a.B$$Lambda"),
            ("java/lang/invoke/LambdaForm$MH.0x0001", "java.lang.invoke.LambdaForm$MH"),
            (
                "jdk/internal/reflect/GeneratedMethodAccessor12",
                "jdk.internal.reflect.GeneratedMethodAccessor",
            ),
            ("com/sun/proxy/$Proxy31", "com.sun.proxy.$Proxy"),
            ("a/Base64", "a.Base64"),
            ("", ""),
            ("[", "[]"),
        ] {
            assert_eq!(class_name(internal), name, "{internal}");
        }
    }

    #[test]
    fn generated_code_by_stage() {
        let frame = "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage12.processNext";
        assert_eq!(whole_stage(frame), Some(12));
        assert_eq!(whole_stage("GeneratedIteratorForCodegenStage.x"), None);
        assert_eq!(whole_stage("java.lang.Thread.run"), None);
    }
}
