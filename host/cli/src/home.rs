//! Where things are kept when nobody says where.

use std::path::PathBuf;

use anyhow::Context as _;

/// The folder of sessions: `dsh-wasm/sessions` in the user's data folder.
///
/// Not dsh's own folder: a person decides which sessions a second program may touch, with `--root`.
pub(crate) fn sessions() -> anyhow::Result<PathBuf> {
    let data = dirs::data_dir()
        .context("no data folder is known for this user; say where sessions are with --root")?;
    Ok(data.join("dsh-wasm").join("sessions"))
}

/// The folder of compiled plugins: `dsh-wasm/compiled` in the user's cache folder; none compiles at every start.
pub(crate) fn compiled() -> Option<PathBuf> {
    Some(dirs::cache_dir()?.join("dsh-wasm").join("compiled"))
}
