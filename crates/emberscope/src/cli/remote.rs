//! What the arguments about servers mean.

use super::low::RemoteArgs;
use crate::exit::UsageError;
use emberscope_source::client::ClientOptions;
use emberscope_source::credentials::Credentials;
use emberscope_source::limits::Limits;
use emberscope_source::secret::Secret;
use std::path::{Path, PathBuf};

/// Options of the client.
pub(super) fn mean(args: &RemoteArgs) -> anyhow::Result<ClientOptions> {
    let mut credentials = Credentials {
        cookie: secret("--cookie", args.cookie.as_deref())?,
        user: secret("--user", args.user.as_deref())?,
        token: secret("--token", args.token.as_deref())?,
        netrc: match &args.netrc {
            Some(file) => Some(netrc(file.as_deref())?),
            None => None,
        },
        ..Credentials::default()
    };
    for header in &args.header {
        let wrong = |error| UsageError::new(format!("{error}"), "such as --header 'X-Token: abc'");
        credentials.add_header(header).map_err(wrong)?;
    }
    let mut limits = Limits::default();
    limits.idle = args.idle_timeout.unwrap_or(limits.idle);
    limits.total = args.max_time.unwrap_or(limits.total);
    limits.download_bytes = args.max_download.unwrap_or(limits.download_bytes);
    Ok(ClientOptions {
        credentials,
        limits,
        kerberos: args.kerberos,
        ca_cert: args.ca_cert.clone(),
        insecure: args.insecure,
        allow_redirects: args.allow_redirects,
    })
}

/// The value, or the content of the file that `@` names.
fn secret(option: &str, typed: Option<&str>) -> anyhow::Result<Option<Secret>> {
    let Some(typed) = typed else { return Ok(None) };
    let Some(file) = typed.strip_prefix('@') else { return Ok(Some(Secret::new(typed))) };
    Ok(Some(Secret::new(read(option, Path::new(file))?.trim())))
}

fn netrc(file: Option<&Path>) -> anyhow::Result<Secret> {
    let home = || std::env::home_dir().map(|home| home.join(".netrc"));
    let named =
        file.map(Path::to_owned).or_else(|| std::env::var_os("NETRC").map(PathBuf::from)).or_else(home);
    let Some(file) = named else {
        let message = "--netrc: there is no home directory to look in";
        return Err(UsageError::new(message, "name the file: --netrc=FILE").into());
    };
    Ok(Secret::new(read("--netrc", &file)?))
}

fn read(option: &str, file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).map_err(|error| {
        let message = format!("{option}: {}: {error}", file.display());
        UsageError::new(message, "name a text file that may be read").into()
    })
}
