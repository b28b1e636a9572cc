//! `hopty channel`: the name under which a directory's handoffs are kept.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::{Value, json};

use super::control::paths;
use super::error::{VerbError, note, say, say_wrapped, visible, working_dir};
use super::exit_codes::{FAILED, INTERNAL, USAGE};
use super::table;
use crate::core::ids::Channel;
use crate::fs::registry::{self, RegistryError};

#[derive(Debug, Subcommand)]
pub(super) enum ChannelVerb {
    /// Keep a directory's handoffs, and those of everything below it, under a name
    Set {
        /// The channel: letters, digits, `.`, `_` and `-`
        name: String,
        /// The directory; the current one by default
        path: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the directories that have a channel
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn unusable(error: RegistryError) -> VerbError {
    let hint = match &error {
        RegistryError::Fs(_) => "the registry is in Claude's directory, ~/.claude by default",
        RegistryError::Bad { .. } => "hopty does not change it: correct it, or move it out of the way",
    };
    VerbError::new(INTERNAL, error.to_string()).hint(hint)
}

/// The directory with all links resolved.
fn dir(given: Option<&Path>) -> Result<PathBuf, VerbError> {
    let path = match given {
        Some(path) if path.is_absolute() => path.to_owned(),
        Some(path) => working_dir()?.join(path),
        None => working_dir()?,
    };
    Ok(registry::real(&path))
}

pub(super) fn channel(path: Option<&Path>, as_json: bool) -> Result<u8, VerbError> {
    let paths = paths()?;
    // A word that is no directory is more likely a mistyped verb.
    if let Some(word) =
        path.filter(|path| path.components().count() == 1 && !path.is_absolute() && !path.exists())
    {
        let hint = "usage: `hopty channel [PATH]`, `hopty channel set NAME [PATH]` or `hopty channel list`";
        return Err(VerbError::new(FAILED, "there is no such directory").about(word.display()).hint(hint));
    }
    let dir = dir(path)?;
    let registry = registry::read(&paths.claude).map_err(unusable)?;
    let found = registry.covering(&dir, registry::resolved);
    let name = found.as_ref().map_or_else(Channel::global, |(_, channel)| channel.clone());
    if as_json {
        say(format_args!(
            "{}",
            json!({"channel": name, "dir": dir, "entry": found.map(|(entry, _)| entry)})
        ))?;
    } else {
        say(format_args!("{name}"))?;
    }
    Ok(0)
}

pub(super) fn verb(verb: &ChannelVerb) -> Result<u8, VerbError> {
    let paths = paths()?;
    match verb {
        ChannelVerb::Set { name, path, json } => {
            let channel: Channel = name.parse().map_err(|_| {
                VerbError::new(USAGE, "not a channel name").about(name).hint(
                    "a name has 1 to 64 letters, digits, `.`, `_` and `-`, and does not begin with `.` \
                           or `-`",
                )
            })?;
            let dir = dir(path.as_deref())?;
            if !dir.is_dir() {
                return Err(VerbError::new(FAILED, "there is no such directory")
                    .about(dir.display())
                    .hint("a channel belongs to a directory"));
            }
            let text = dir.to_str().ok_or_else(|| {
                VerbError::new(USAGE, "its name is not UTF-8, which the registry needs")
                    .about(dir.display())
                    .hint("choose a directory above it")
            })?;
            registry::set(&paths.claude, text, &channel).map_err(unusable)?;
            if *json {
                say(format_args!("{}", json!({"channel": channel, "dir": text})))?;
            } else {
                say_wrapped(format_args!("{} is in channel {channel}", visible(text)))?;
            }
        }
        ChannelVerb::List { json } => {
            let registry = registry::read(&paths.claude).map_err(unusable)?;
            let valid = |name: &Value| name.as_str().is_some_and(|name| name.parse::<Channel>().is_ok());
            if *json {
                let list: Vec<Value> = registry
                    .entries()
                    .map(|(dir, name)| json!({"dir": dir, "channel": name, "valid": valid(name)}))
                    .collect();
                say(format_args!("{}", json!(list)))?;
                return Ok(0);
            }
            let text = |name: &Value| name.as_str().map_or_else(|| name.to_string(), str::to_owned);
            let mut rows = vec![["CHANNEL", "DIRECTORY"].map(str::to_owned).to_vec()];
            for (dir, name) in registry.entries() {
                let note = if valid(name) { "" } else { " (not a channel name, ignored)" };
                rows.push(vec![visible(&text(name)) + note, visible(dir)]);
            }
            if rows.len() == 1 {
                note(format_args!(
                    "no directory has a channel of its own; all handoffs are in channel global"
                ));
            } else {
                table::print(rows, &[])?;
            }
        }
    }
    Ok(0)
}
