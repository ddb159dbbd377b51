//! The part of the C bindings of GSSAPI (RFC 2744) that a client needs.

use crate::NegotiateError;
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::fmt;

/// `gss_name_t`.
pub(crate) type Name = *mut c_void;
/// `gss_ctx_id_t`.
pub(crate) type Context = *mut c_void;
type Credential = *mut c_void;

/// `gss_buffer_desc`.
#[repr(C)]
pub(crate) struct Buffer {
    pub(crate) length: usize,
    pub(crate) value: *mut c_void,
}

impl Buffer {
    pub(crate) fn empty() -> Self {
        Buffer { length: 0, value: std::ptr::null_mut() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.value.is_null() || self.length == 0 {
            return &[];
        }
        // SAFETY: the library says that so many bytes are there, and keeps them until the buffer is released, which
        // its owner does when no borrow of it is left.
        unsafe { std::slice::from_raw_parts(self.value.cast(), self.length) }
    }
}

/// `gss_OID_desc`. On the older Macs of Apple its header packs it.
#[cfg_attr(not(all(target_os = "macos", target_arch = "x86_64")), repr(C))]
#[cfg_attr(all(target_os = "macos", target_arch = "x86_64"), repr(C, packed(2)))]
pub(crate) struct Oid {
    length: u32,
    elements: *const u8,
}

// SAFETY: both hold a pointer to bytes that never change.
unsafe impl Sync for Oid {}

/// 1.3.6.1.5.5.2, SPNEGO.
pub(crate) static SPNEGO: Oid = oid(b"\x2b\x06\x01\x05\x05\x02");
/// 1.2.840.113554.1.2.1.4, `GSS_C_NT_HOSTBASED_SERVICE`.
pub(crate) static HOSTBASED_SERVICE: Oid = oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04");

const fn oid(bytes: &'static [u8]) -> Oid {
    Oid { length: bytes.len() as u32, elements: bytes.as_ptr() }
}

/// `GSS_C_MUTUAL_FLAG`.
pub(crate) const MUTUAL: u32 = 2;
/// `GSS_C_REPLAY_FLAG`.
pub(crate) const REPLAY: u32 = 4;
/// `GSS_C_GSS_CODE`.
pub(crate) const GSS_CODE: c_int = 1;
/// `GSS_C_MECH_CODE`.
pub(crate) const MECH_CODE: c_int = 2;

/// `GSS_ERROR`: calling errors and routine errors are in the upper half; the lower one has information.
pub(crate) fn is_error(major: u32) -> bool {
    major & 0xffff_0000 != 0
}

type ImportName = unsafe extern "C" fn(*mut u32, *const Buffer, *const Oid, *mut Name) -> u32;
type InitSecContext = unsafe extern "C" fn(
    *mut u32,
    Credential,
    *mut Context,
    Name,
    *const Oid,
    u32,
    u32,
    *const c_void,
    *const Buffer,
    *mut *mut Oid,
    *mut Buffer,
    *mut u32,
    *mut u32,
) -> u32;
type DisplayStatus = unsafe extern "C" fn(*mut u32, u32, c_int, *const Oid, *mut u32, *mut Buffer) -> u32;
type ReleaseBuffer = unsafe extern "C" fn(*mut u32, *mut Buffer) -> u32;
type ReleaseName = unsafe extern "C" fn(*mut u32, *mut Name) -> u32;
type DeleteSecContext = unsafe extern "C" fn(*mut u32, *mut Context, *mut Buffer) -> u32;

/// MIT's library, Heimdal's, and Apple's framework.
const LIBRARIES: &[&str] = if cfg!(target_os = "macos") {
    &["/System/Library/Frameworks/GSS.framework/GSS", "libgssapi_krb5.dylib"]
} else {
    &["libgssapi_krb5.so.2", "libgssapi.so.3", "libgssapi_krb5.so", "libgssapi.so"]
};

/// The functions, for as long as the library is loaded.
pub(crate) struct Functions {
    pub(crate) import_name: ImportName,
    pub(crate) init_sec_context: InitSecContext,
    pub(crate) display_status: DisplayStatus,
    pub(crate) release_buffer: ReleaseBuffer,
    pub(crate) release_name: ReleaseName,
    pub(crate) delete_sec_context: DeleteSecContext,
    name: &'static str,
    /// Last, since the functions are part of it.
    _library: Library,
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Functions").field(&self.name).finish()
    }
}

impl Functions {
    pub(crate) fn load() -> Result<Self, NegotiateError> {
        for name in LIBRARIES {
            // SAFETY: these names are the system's GSSAPI, whose initializers any program may run.
            if let Ok(library) = unsafe { Library::new(*name) } {
                return Self::of(name, library);
            }
        }
        Err(NegotiateError::Missing { tried: LIBRARIES.join(", ") })
    }

    fn of(name: &'static str, library: Library) -> Result<Self, NegotiateError> {
        macro_rules! function {
            ($function:literal) => {{
                // SAFETY: the type is that of RFC 2744 for this name, and the pointer is used only while the library,
                // which lives beside it, is loaded.
                let found = unsafe { library.get(concat!($function, "\0").as_bytes()) };
                *found.map_err(|_| NegotiateError::Incomplete { library: name, function: $function })?
            }};
        }
        Ok(Functions {
            import_name: function!("gss_import_name"),
            init_sec_context: function!("gss_init_sec_context"),
            display_status: function!("gss_display_status"),
            release_buffer: function!("gss_release_buffer"),
            release_name: function!("gss_release_name"),
            delete_sec_context: function!("gss_delete_sec_context"),
            name,
            _library: library,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_in_the_upper_half() {
        assert!(!is_error(0));
        assert!(!is_error(1), "GSS_S_CONTINUE_NEEDED");
        assert!(is_error(13 << 16), "GSS_S_FAILURE");
        assert!(is_error(1 << 24), "GSS_S_CALL_INACCESSIBLE_READ");
    }

    #[test]
    fn an_empty_buffer_has_no_bytes() {
        assert!(Buffer::empty().bytes().is_empty());
    }
}
