//! The server's life: listening, looking for new logs, stopping.

use crate::app::{App, Options};
use crate::error::ServerError;
use crate::http::router;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;

/// Between looks at the directories.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Time that requests have to end when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// What is told when the server listens.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where it listens, as an address of the web.
    pub address: String,
    /// The address that lets a browser in, once.
    pub entrance: String,
    /// The token for tools.
    pub token: String,
    /// Logs that were found.
    pub logs: usize,
    /// Paths that gave no run.
    pub skipped: usize,
}

/// Serves until the process is asked to stop. `ready` is called when it listens.
///
/// # Errors
/// When it cannot listen, or there is nothing to serve.
pub fn serve(options: Options, ready: impl FnOnce(&Ready)) -> Result<(), ServerError> {
    let (host, port) = (options.host.clone(), options.port);
    let listener = listen(&host, port)?;
    let address = listener.local_addr().map_err(ServerError::Stopped)?;
    let app = Arc::new(App::new(options)?);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(ServerError::Stopped)?;
    let listing = app.catalog.listing();
    let shown = shown_address(&host, address);
    ready(&Ready {
        entrance: format!("{shown}/enter?code={}", app.guard.invitation()),
        address: shown,
        token: app.guard.token().to_owned(),
        logs: listing.entries.len(),
        skipped: listing.skipped,
    });
    drop(listing);
    let served = runtime.block_on(run(app, listener));
    // What still reads a log is not waited for.
    runtime.shutdown_background();
    served.map_err(ServerError::Stopped)
}

fn listen(host: &str, port: u16) -> Result<TcpListener, ServerError> {
    let name = host.trim_matches(['[', ']']);
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => ServerError::PortTaken { host: host.to_owned(), port },
        _ => ServerError::Listen { host: host.to_owned(), port, error },
    };
    let listener = TcpListener::bind((name, port)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(ServerError::Stopped)?;
    Ok(listener)
}

/// An address that a browser on this machine can open.
fn shown_address(host: &str, address: SocketAddr) -> String {
    match address {
        _ if address.ip().is_unspecified() => format!("http://127.0.0.1:{}", address.port()),
        _ if host == "localhost" => format!("http://localhost:{}", address.port()),
        _ => format!("http://{address}"),
    }
}

async fn run(app: Arc<App>, listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let looking = tokio::spawn(look_again_and_again(Arc::clone(&app)));
    let (stop, stopped) = oneshot::channel::<()>();
    let stopping = Arc::clone(&app);
    let server = axum::serve(listener, router(app)).with_graceful_shutdown(async {
        // Also when the sender is gone.
        _ = stopped.await;
    });
    let server = tokio::spawn(server.into_future());
    asked_to_stop().await;
    looking.abort();
    stopping.is_stopping.store(true, Ordering::Relaxed);
    _ = stop.send(());
    match tokio::time::timeout(GRACE, server).await {
        Ok(Ok(ended)) => ended,
        // It took too long, or broke: either way it is over.
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

async fn look_again_and_again(app: Arc<App>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let app = Arc::clone(&app);
        // A look that fails is made again.
        _ = tokio::task::spawn_blocking(move || app.catalog.refresh()).await;
    }
}

#[cfg(unix)]
async fn asked_to_stop() {
    use std::future::poll_fn;
    use std::task::Poll;
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    poll_fn(|context| match signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

#[cfg(not(unix))]
async fn asked_to_stop() {
    // Where it cannot be waited for, the process is ended from outside.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
