//! Tokens of SPNEGO (RFC 4178, RFC 4559) for logging in to HTTP servers with a Kerberos ticket that the user has.
//!
//! The system's GSSAPI library (RFC 2744) is loaded when it is asked for, so that the program runs where there is
//! none, and follows the system's configuration, ticket caches and name rules where there is one.

mod ffi;

use ffi::{Buffer, Context, Functions, Name, Oid};
use std::ptr;

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum NegotiateError {
    /// The system has no library.
    #[error("Kerberos needs the system's GSSAPI library, and none of {tried} can be loaded")]
    Missing {
        /// Names of libraries that were looked for.
        tried: String,
    },
    /// The library has not what every GSSAPI has.
    #[error("the system's GSSAPI library {library} lacks `{function}`")]
    Incomplete {
        /// Name of the library.
        library: &'static str,
        /// Name of the function.
        function: &'static str,
    },
    /// The library gives no token.
    #[error("no Kerberos token for HTTP@{host}: {said}")]
    Refused {
        /// Host of the service.
        host: String,
        /// What the library says, on one line.
        said: String,
    },
}

impl NegotiateError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { .. } | Self::Incomplete { .. } => {
                "install it: libgssapi-krb5-2 (Debian, Ubuntu), krb5-libs (Red Hat), krb5 (Homebrew)".to_owned()
            }
            Self::Refused { .. } => {
                "`klist` shows the tickets there are, `kinit` gets one; the host must be named as its service is \
                 registered (HTTP/host@REALM)"
                    .to_owned()
            }
        }
    }
}

/// The system's GSSAPI.
#[derive(Debug)]
pub struct Negotiator {
    functions: Functions,
}

impl Negotiator {
    /// Loads the library.
    ///
    /// # Errors
    /// Where there is none.
    pub fn load() -> Result<Self, NegotiateError> {
        Ok(Negotiator { functions: Functions::load()? })
    }

    /// A token for one request to a host, from the user's default ticket cache. Servers take a token once, so that
    /// every request needs its own. Credentials are not delegated.
    ///
    /// # Errors
    /// When the library gives none: no ticket, an unknown service, no KDC.
    pub fn token(&self, host: &str) -> Result<Vec<u8>, NegotiateError> {
        let service = self.service(host)?;
        let mut context = Held { functions: &self.functions, context: ptr::null_mut() };
        let mut minor = 0;
        let mut output = Owned { functions: &self.functions, buffer: Buffer::empty() };
        // SAFETY: all pointers are valid for the call or null where RFC 2744 allows it (default credentials, no
        // bindings, no input of the first call); `context` and `output` are released by their owners.
        let major = unsafe {
            (self.functions.init_sec_context)(
                &raw mut minor,
                ptr::null_mut(),
                &raw mut context.context,
                service.name,
                &raw const ffi::SPNEGO,
                ffi::MUTUAL | ffi::REPLAY,
                0,
                ptr::null(),
                ptr::null(),
                ptr::null_mut(),
                &raw mut output.buffer,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        if ffi::is_error(major) {
            return Err(self.refused(host, major, minor));
        }
        Ok(output.buffer.bytes().to_vec())
    }

    fn service(&self, host: &str) -> Result<Service<'_>, NegotiateError> {
        let text = format!("HTTP@{host}");
        let input = Buffer { length: text.len(), value: text.as_ptr().cast_mut().cast() };
        let mut service = Service { functions: &self.functions, name: ptr::null_mut() };
        let mut minor = 0;
        // SAFETY: `input` points to `text`, which lives over the call and is only read; `name` is released by
        // `Service`.
        let major = unsafe {
            (self.functions.import_name)(
                &raw mut minor,
                &raw const input,
                &raw const ffi::HOSTBASED_SERVICE,
                &raw mut service.name,
            )
        };
        if ffi::is_error(major) { Err(self.refused(host, major, minor)) } else { Ok(service) }
    }

    fn refused(&self, host: &str, major: u32, minor: u32) -> NegotiateError {
        let mut said = self.words(major, ffi::GSS_CODE);
        // What the mechanism says is what helps: the expired ticket, the unknown server.
        let more = if minor == 0 { String::new() } else { self.words(minor, ffi::MECH_CODE) };
        if !more.is_empty() && !said.contains(&more) {
            said = format!("{said}: {more}");
        }
        NegotiateError::Refused { host: host.to_owned(), said }
    }

    fn words(&self, code: u32, kind: i32) -> String {
        /// A library that never ends its messages is not waited for.
        const MOST: usize = 8;
        let (mut more, mut lines) = (0, Vec::new());
        for _ in 0..MOST {
            let mut minor = 0;
            let mut text = Owned { functions: &self.functions, buffer: Buffer::empty() };
            // SAFETY: pointers are valid for the call; a null mechanism means the default; `text` is released by its
            // owner.
            let major = unsafe {
                (self.functions.display_status)(
                    &raw mut minor,
                    code,
                    kind,
                    ptr::null::<Oid>(),
                    &raw mut more,
                    &raw mut text.buffer,
                )
            };
            if ffi::is_error(major) {
                break;
            }
            let line = String::from_utf8_lossy(text.buffer.bytes());
            lines.push(line.chars().filter(|c| !c.is_control()).collect::<String>());
            if more == 0 {
                break;
            }
        }
        lines.join("; ")
    }
}

/// A buffer of the library, given back to it.
struct Owned<'f> {
    functions: &'f Functions,
    buffer: Buffer,
}

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the buffer is the library's or empty, and nobody uses it after this.
        unsafe { (self.functions.release_buffer)(&raw mut minor, &raw mut self.buffer) };
    }
}

struct Service<'f> {
    functions: &'f Functions,
    name: Name,
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        if !self.name.is_null() {
            // SAFETY: the name is the library's, and nobody uses it after this.
            unsafe { (self.functions.release_name)(&raw mut minor, &raw mut self.name) };
        }
    }
}

struct Held<'f> {
    functions: &'f Functions,
    context: Context,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut minor = 0;
        if !self.context.is_null() {
            // SAFETY: the context is the library's, and nobody uses it after this; no token is wanted.
            unsafe {
                (self.functions.delete_sec_context)(&raw mut minor, &raw mut self.context, ptr::null_mut())
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where there is a library there is no ticket in a test, and where there is none that is what is said.
    #[test]
    fn without_a_ticket_there_is_no_token_and_a_reason() {
        match Negotiator::load() {
            Ok(negotiator) => {
                let error = negotiator.token("no-such-host.invalid").unwrap_err();
                let said = error.to_string();
                assert!(said.starts_with("no Kerberos token for HTTP@no-such-host.invalid: "), "{said}");
                assert!(said.len() > 60 && !said.contains('\n'), "{said}");
                assert!(error.hint().contains("kinit"));
            }
            Err(error) => {
                assert!(matches!(error, NegotiateError::Missing { .. }), "{error}");
                assert!(error.hint().contains("libgssapi-krb5-2"));
            }
        }
    }
}
