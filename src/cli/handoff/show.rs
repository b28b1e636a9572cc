//! Verbs that only read: `show`, `list`, `path`, `id`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::handoff_args::{ChannelAndFormat, HandoffArg, HandoffShowOptions};
use super::handoff_output::{answer, object};
use super::handoff_place::{HandoffPlace, scope};
use super::handoff_store_error::store_failed;
use crate::cli::error::{VerbError, note, say, visible};
use crate::cli::table;
use crate::core::handoff::manifest_entry::IndexEntry;
use crate::core::ids::{Channel, HandoffId};
use crate::core::text::safe_text::safe;
use crate::core::time::age;
use crate::fs::project::project_of;
use crate::fs::store::HandoffScope;
use crate::sys::clock::Clock;

/// The handoff for `show`: the one with the given id; without an id the one that waits here, or if none waits
/// the last one of this directory.
fn handoff_to_show(place: &HandoffPlace, which: &HandoffArg) -> Result<HandoffId, VerbError> {
    let missing = match place.find(which) {
        Ok(id) => return Ok(id),
        Err(failed) if which.id.is_some() => return Err(failed),
        Err(failed) => failed,
    };
    let channel = place.channel(&which.at);
    let known = place.store.list(Some(&channel)).map_err(store_failed)?;
    let newest = known.into_iter().find(|(_, entry)| belongs_here(entry, &which.at, &place.dir()));
    newest.map(|(_, entry)| entry.id).ok_or(missing)
}

/// Whether an entry of the channel belongs to this directory.
fn belongs_here(entry: &IndexEntry, at: &ChannelAndFormat, dir: &Path) -> bool {
    // Older versions recorded no project for handoffs that no longer wait.
    let project =
        entry.project.clone().map_or_else(|| project_of(Path::new(&entry.working_dir)), PathBuf::from);
    scope(at) == HandoffScope::Channel || project == project_of(dir)
}

pub(super) fn show(place: &HandoffPlace, options: &HandoffShowOptions) -> Result<u8, VerbError> {
    let id = handoff_to_show(place, &options.which)?;
    if options.redactions {
        return super::redactions::redactions(place, &id, options.which.at.json);
    }
    let loaded = place.store.show(&id).map_err(store_failed)?;
    if options.frame {
        let (text, _) = loaded.brief(&[], place.budget());
        return answer(options.which.at.json, &json!({"id": id, "frame": text}), text.trim_end_matches('\n'));
    }
    // hopty's own text is safe already; another program's is not.
    answer(options.which.at.json, &object(&loaded.entry), safe(&loaded.text).trim_end_matches('\n'))?;
    if !options.which.at.json {
        note(format_args!("`hopty handoff show --frame {id}` shows the brief that Claude gets"));
    }
    Ok(0)
}

pub(super) fn list(place: &HandoffPlace, at: &ChannelAndFormat, all: bool) -> Result<u8, VerbError> {
    let channel = if all { at.channel.clone() } else { Some(place.channel(at)) };
    super::settle(&place.paths, &place.store, channel.as_ref());
    let now = Clock::wall();
    let mut found = place.store.list(channel.as_ref()).map_err(store_failed)?;
    let dir = place.dir();
    found.retain(|(_, entry)| all || entry.is_pending(now) && belongs_here(entry, at, &dir));
    if at.json {
        let list: Vec<Value> = found.iter().map(|(channel, entry)| with_channel(channel, entry)).collect();
        say(format_args!("{}", json!(list)))?;
        return Ok(0);
    }
    if found.is_empty() {
        match channel {
            Some(channel) if !all => {
                let none = visible(&place.store.no_pending_sentence(&channel, &dir, now));
                note(format_args!(
                    "{none}; `hopty handoff list --all` includes finished ones and other channels and \
                     projects"
                ));
            }
            Some(channel) => note(format_args!("there is no handoff in channel {channel}")),
            None => note(format_args!("there is no handoff")),
        }
        return Ok(0);
    }
    let mut rows = vec![
        ["ID", "STATUS", "TYPE", "AGE", "SESSION", "CHANNEL", if all { "PROJECT" } else { "DIRECTORY" }]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (channel, entry) in &found {
        let object = object(entry);
        let held = entry.held(now, crate::sys::process::is_alive).is_some() && entry.is_pending(now);
        let status =
            if held { "loading".to_owned() } else { visible(object["status"].as_str().unwrap_or_default()) };
        rows.push(
            [
                entry.id.to_string(),
                status,
                entry.kind.word().to_owned(),
                age(now.0.saturating_sub(entry.created_at.0)),
                entry.hopty_session.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                channel.to_string(),
                visible(if all { entry.project() } else { &entry.working_dir }),
            ]
            .to_vec(),
        );
    }
    table::print(rows, &SPARE)?;
    Ok(0)
}

/// The columns that are dropped in a narrow terminal, in this order; the id and the status stay.
const SPARE: [&str; 6] = ["TYPE", "CHANNEL", "SESSION", "PROJECT", "DIRECTORY", "AGE"];

fn with_channel(channel: &Channel, entry: &IndexEntry) -> Value {
    let mut object = object(entry);
    object["channel"] = json!(channel);
    object
}

pub(super) fn path(place: &HandoffPlace, which: &HandoffArg, record: bool) -> Result<u8, VerbError> {
    let id = place.find(which)?;
    let dir = place.store.records().dir_of(&id);
    let document = dir.join("handoff.md");
    let shown = if record { &dir } else { &document };
    answer(
        which.at.json,
        &json!({"id": id, "record": dir, "document": document}),
        &visible(&shown.to_string_lossy()),
    )
}

pub(super) fn id(place: &HandoffPlace, at: &ChannelAndFormat) -> Result<u8, VerbError> {
    let entry = place.waiting(at)?;
    answer(at.json, &object(&entry), entry.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_list_keeps_the_status() {
        let row = [
            "HO-20261120-142950-c74cc080", "consumed", "handoff", "2 min", "proj", "global",
            "/home/user/a/project",
        ];
        let table = |cols| {
            let head = ["ID", "STATUS", "TYPE", "AGE", "SESSION", "CHANNEL", "PROJECT"];
            let mut rows: Vec<Vec<String>> = [head, row].map(|row| row.map(str::to_owned).to_vec()).to_vec();
            table::narrow(&mut rows, cols, &SPARE);
            rows[0].join(" ")
        };
        assert_eq!(table(40), "ID STATUS");
        assert_eq!(table(60), "ID STATUS AGE PROJECT");
        assert_eq!(table(120), "ID STATUS TYPE AGE SESSION CHANNEL PROJECT");
    }
}
