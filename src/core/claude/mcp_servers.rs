//! Finds the MCP server in Claude's configuration that handoffs mention.

use serde_json::{Map, Value};

use super::settings_code::Role;

/// The name of the memory-keeper server, as its page adds it, and of its package.
const MEMORY_KEEPER: &str = "memory-keeper";

/// Whether one of `files`, each with its role and text, configures the memory-keeper server and none disables
/// it.
pub fn has_memory_keeper(files: &[(Role<'_>, &str)]) -> bool {
    let mut servers = Vec::new();
    let mut off = Vec::new();
    for (role, text) in files {
        let Ok(Value::Object(parts)) = serde_json::from_str(text) else { continue };
        match role {
            Role::Mcp => servers.extend(named(&parts)),
            Role::Settings => off.extend(list(&parts, "disabledMcpjsonServers")),
            Role::State { projects } => {
                servers.extend(named(&parts));
                let records =
                    projects.iter().filter_map(|project| parts.get("projects")?.get(project)?.as_object());
                for here in records {
                    servers.extend(named(here));
                    off.extend(list(here, "disabledMcpServers"));
                    off.extend(list(here, "disabledMcpjsonServers"));
                }
            }
        }
    }
    servers.iter().any(|name| !off.contains(name))
}

/// The names under `mcpServers` that are a memory-keeper, by the name or by the command.
fn named(parts: &Map<String, Value>) -> Vec<String> {
    let servers = parts.get("mcpServers").and_then(Value::as_object);
    let is_it = |name: &str, server: &Value| {
        let started = server["args"].as_array().into_iter().flatten().chain([&server["command"]]);
        name == MEMORY_KEEPER
            || started.filter_map(Value::as_str).any(|word| word.contains("mcp-memory-keeper"))
    };
    servers
        .into_iter()
        .flatten()
        .filter(|(name, server)| is_it(name, server))
        .map(|(name, _)| name.clone())
        .collect()
}

fn list(parts: &Map<String, Value>, key: &str) -> Vec<String> {
    parts
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_known_by_name_or_package_where_it_is_on() {
        let projects = ["/p".to_owned()];
        let state = Role::State { projects: &projects };
        let server = r#"{"mcpServers":{"memory-keeper":{"command":"npx","args":["mcp-memory-keeper"]}}}"#;
        let renamed = r#"{"mcpServers":{"mk":{"command":"npx","args":["-y","mcp-memory-keeper"]}}}"#;
        let here = format!(r#"{{"projects":{{"/p":{server},"/q":{{}}}}}}"#);
        let there = format!(r#"{{"projects":{{"/q":{server}}}}}"#);
        for (role, text, expected) in [
            (state, server, true),
            (state, here.as_str(), true),
            (state, there.as_str(), false),
            (Role::Mcp, renamed, true),
            (Role::Settings, server, false),
            (Role::Mcp, r#"{"mcpServers":{"other":{"command":"x","args":"memory-keeper"}}}"#, false),
            (Role::Mcp, r#"{"mcpServers":["memory-keeper"]}"#, false),
            (Role::Mcp, "{", false),
        ] {
            assert_eq!(has_memory_keeper(&[(role, text)]), expected, "{text}");
        }
        let off = r#"{"disabledMcpjsonServers":["memory-keeper"]}"#;
        assert!(!has_memory_keeper(&[(Role::Mcp, server), (Role::Settings, off)]));
        assert!(has_memory_keeper(&[(Role::Mcp, renamed), (Role::Settings, off)]));
    }
}
