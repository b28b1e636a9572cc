//! The configuration files of Claude's MCP servers, read for handoffs that mention a server.

use std::path::Path;

use super::paths::Paths;
use crate::core::claude::mcp_servers::has_memory_keeper;
use crate::core::claude::settings_code::Role;
use crate::core::handoff::capture::MemoryKeeper;
use crate::sys::safe_file::{self, FileRule};

/// The largest file that is read, in bytes; Claude's own state grows to some megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// Whether the memory-keeper server is configured for `project`.
pub fn memory_keeper(paths: &Paths, project: &Path) -> MemoryKeeper {
    let here = [project.to_string_lossy().into_owned()];
    let [user, shared, local] = paths.claude_settings(project);
    let files = [
        (Role::State { projects: &here }, paths.claude_json()),
        (Role::Mcp, project.join(".mcp.json")),
        (Role::Settings, user),
        (Role::Settings, shared),
        (Role::Settings, local),
    ];
    let text = |path: &Path| safe_file::read_text(path, FileRule::of_claude(MAX_BYTES)).ok().flatten();
    let texts: Vec<_> = files.iter().filter_map(|(role, path)| Some((*role, text(path)?))).collect();
    let texts: Vec<_> = texts.iter().map(|(role, text)| (*role, text.as_str())).collect();
    if has_memory_keeper(&texts) { MemoryKeeper::Present } else { MemoryKeeper::Absent }
}
