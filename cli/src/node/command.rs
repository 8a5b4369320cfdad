//! The subcommand.

use std::sync::Arc;

use guard_supervisor::config::Paths;
use guard_supervisor::config::options::Options;
use guard_supervisor::exit::Exit;

use super::arguments::{NodeArgs, NodeError, NodeTask};
use super::files::NodeFiles;
use super::host::NodeHost;
use super::{connection, status};

/// Runs the node, or shows its status.
///
/// # Errors
/// When there is no node.
pub fn act(options: &Options, arguments: &NodeArgs) -> Result<Exit, NodeError> {
    let paths = Paths::find(options)?;
    match &arguments.task {
        Some(NodeTask::Status { json }) => status::show(&NodeFiles::new(&paths.state_directory), *json),
        None => serve(options, arguments, &paths),
    }
}

fn serve(options: &Options, arguments: &NodeArgs, paths: &Paths) -> Result<Exit, NodeError> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    if let Some(guard) = guard_openclaw::peer::nested_guard::guard_above(own) {
        return Err(NodeError::Inside(guard));
    }
    // The memory of this process has the gateway's token.
    nix::sys::prctl::set_dumpable(false).map_err(|error| NodeError::Start(error.into()))?;
    let host = Arc::new(NodeHost::new(options, arguments, paths)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(host.threads())
        .build()
        .map_err(NodeError::Start)?;
    let done = runtime.block_on(connection::run(host));
    runtime.shutdown_background();
    done.map(|()| Exit::Success).map_err(NodeError::Start)
}
