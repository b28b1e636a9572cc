//! Where the layouts of a handoff are written, and the changes of files that write them.

use std::path::{Path, PathBuf};

use super::memory::{MemoryReason, SessionNotes};
use super::memory_layout::MemoryLayout;
use super::orchestrator::StateBefore;
use super::{Material, acm, checkpoint, orchestrator, pid};
use crate::core::config::Layout;
use crate::core::file_edit::{FileEdit, FileEdits, FileView};
use crate::core::handoff::capture::Capture;
use crate::core::ids::{Channel, HandoffId};
use crate::core::time::WallTime;

/// The destination of a handoff's layouts.
#[derive(Clone, Debug)]
pub struct LayoutPlace {
    /// The working directory.
    pub project: PathBuf,
    /// Claude's directory (`C`).
    pub claude: PathBuf,
    pub channel: Channel,
    /// The process of the handoff: Claude's, if known.
    pub pid: u32,
    /// The transcript, for the raw copy.
    pub transcript: Option<PathBuf>,
}

impl LayoutPlace {
    /// The changes that write each of these layouts, each with the words for an error message.
    pub fn write(
        &self,
        layouts: &[Layout],
        of: &Material,
        files: &dyn FileView,
        now: WallTime,
    ) -> Vec<(String, FileEdits)> {
        let changes = |layout| match layout {
            Layout::Acm => self.acm(of),
            Layout::Orchestrator => self.orchestrator(of, files),
            Layout::Pid => self.pid(of),
            Layout::Memory => {
                self.copy(&MemoryReason::Handoff, files, now, None).map(|copy| copy.1).unwrap_or_default()
            }
        };
        let failed = |layout: Layout| format!("Layout {} could not be written", layout.word());
        layouts.iter().map(|layout| (failed(*layout), changes(*layout))).collect()
    }

    /// Where layout `memory` copies the transcript to, and what makes the copy; `None` if there is nothing to
    /// copy. `of`: the state of the session, for `active-context.md`.
    pub fn copy(
        &self,
        reason: &MemoryReason,
        files: &dyn FileView,
        now: WallTime,
        of: Option<&Capture>,
    ) -> Option<(PathBuf, FileEdits)> {
        let notes = of.map(SessionNotes::of).unwrap_or_default();
        self.memory(files).copy(self.transcript.as_ref()?, reason, now, &notes)
    }

    fn memory<'a>(&'a self, files: &'a dyn FileView) -> MemoryLayout<'a> {
        MemoryLayout { project: &self.project, files }
    }

    fn acm(&self, of: &Material) -> FileEdits {
        let file = |name, text| Ok(FileEdit::Replace(self.project.join(acm::DIR).join(name), text));
        vec![
            Ok(FileEdit::dir_in_project(&self.project, acm::DIR)),
            file(acm::STATE, acm::state(of)),
            file(acm::DOCUMENT, acm::document(of)),
        ]
    }

    fn orchestrator(&self, of: &Material, files: &dyn FileView) -> FileEdits {
        let (path, signal) = self.of_orchestrator();
        let before = StateBefore::of_signal(files.text(&signal).unwrap_or_default().as_bytes());
        let no = |why| format!("cannot change {}: {why}", path.display());
        let state = files.text(&path).and_then(|old| orchestrator::state(of, &old, before).map_err(no));
        let mut changes = vec![Ok(FileEdit::dir_in_project(&self.project, orchestrator::DIR))];
        match state {
            Err(why) => changes.push(Err(why)),
            Ok((state, before)) => {
                changes.push(Ok(FileEdit::Replace(path, state)));
                // Last: whoever reads it finds the state already written.
                changes.push(Ok(FileEdit::Replace(signal, orchestrator::signal(of, &before))));
            }
        }
        changes
    }

    /// An orchestrator's state and signal.
    fn of_orchestrator(&self) -> (PathBuf, PathBuf) {
        let dir = self.project.join(orchestrator::DIR);
        (dir.join(orchestrator::STATE), dir.join(orchestrator::SIGNAL))
    }

    fn pid(&self, of: &Material) -> FileEdits {
        let dir = self.handoffs();
        let path = dir.join(self.channel.file_name(Some(self.pid)));
        vec![Ok(FileEdit::PrivateDir(dir)), Ok(FileEdit::Replace(path, pid::render(of)))]
    }

    fn handoffs(&self) -> PathBuf {
        self.claude.join("handoff")
    }

    /// A handoff was consumed: its file of layout `pid`, hopty's own signal and the marker of its raw copy
    /// are no longer needed. The changes are independent.
    pub fn settle(&self, id: &HandoffId, files: &dyn FileView) -> Vec<FileEdits> {
        let mark = pid::mark(id);
        let dir = self.handoffs();
        let own = |path: &Path| files.text(path).is_ok_and(|text| text.ends_with(&mark));
        let names = files.names(&dir).into_iter().filter(|name| pid::is_name(name, &self.channel));
        let own_files = names.map(|name| dir.join(name)).filter(|path| own(path));
        let mut settled: Vec<FileEdits> = own_files.map(|path| vec![Ok(FileEdit::Remove(path))]).collect();
        settled.push(self.memory(files).settle_copy_of_handoff());
        if !files.is_inside(&self.project, orchestrator::DIR) {
            return settled;
        }
        let (state, signal) = self.of_orchestrator();
        let asked = files.text(&signal).unwrap_or_default();
        let before = StateBefore::of_signal(asked.as_bytes());
        let old = files.text(&state).ok();
        if let Some(new) = old.and_then(|old| orchestrator::consumed(&old, &checkpoint(id), &before)) {
            settled.push(vec![Ok(FileEdit::Replace(state, new))]);
        }
        let named = asked.contains(&format!("\"{}\"", checkpoint(id)));
        if named && orchestrator::read(asked.as_bytes()).is_none() {
            settled.push(vec![Ok(FileEdit::Remove(signal))]);
        }
        settled
    }
}

#[cfg(test)]
mod tests {
    use super::super::material;
    use super::*;
    use crate::core::file_edit::fake::FakeFiles;

    #[test]
    fn files_of_a_handoff_are_settled_when_it_is_consumed() {
        let (of, mut files) = (material(), FakeFiles::default());
        let state: PathBuf = "/p/.claude/auto-execution/state.yaml".into();
        files.0.insert(state.clone(), "status: testing\n".to_owned());
        files.0.insert("/c/handoff/web.md".into(), "by hand".to_owned());
        files.0.insert("/t".into(), "{}\n".to_owned());
        let before = files.clone();
        let place = LayoutPlace {
            project: "/p".into(),
            claude: "/c".into(),
            channel: "web".parse().unwrap(),
            pid: 77,
            transcript: Some("/t".into()),
        };
        let layouts = [Layout::Orchestrator, Layout::Pid, Layout::Memory];
        for (_, changes) in place.write(&layouts, &of, &files.clone(), WallTime(0)) {
            files.change(changes).unwrap();
        }
        assert!(files.0[&state].contains("handoff_requested"));
        let written = files.0.len();
        let other = HandoffId::new(WallTime(0), &"c74cc080-94b9-4841-b82f-a62cfb8efdc0".parse().unwrap());
        for (id, gone) in [(&other, 1), (&of.state.id, 3)] {
            for changes in place.settle(id, &files.clone()) {
                files.change(changes).unwrap();
            }
            assert_eq!(written - files.0.len(), gone, "{:?}", files.0.keys());
        }
        assert!(files.0[&state].starts_with("status: testing\n"));
        assert!(before.0.keys().all(|path| files.0.contains_key(path)));
    }

    #[test]
    fn a_state_of_another_form_costs_only_its_own_layout() {
        let (of, mut files) = (material(), FakeFiles::default());
        files.0.insert("/p/.claude/auto-execution/state.yaml".into(), "{a: 1}\n".to_owned());
        let place = LayoutPlace {
            project: "/p".into(),
            claude: "/c".into(),
            channel: Channel::global(),
            pid: 1,
            transcript: None,
        };
        let all = [Layout::Orchestrator, Layout::Acm, Layout::Memory];
        let done: Vec<Result<(), String>> = place
            .write(&all, &of, &files.clone(), WallTime(0))
            .into_iter()
            .map(|(_, changes)| files.change(changes))
            .collect();
        let why =
            "cannot change /p/.claude/auto-execution/state.yaml: line 1 is not part of a simple mapping";
        assert_eq!(done, [Err(why.to_owned()), Ok(()), Ok(())]);
        assert_eq!(files.0.len(), 3);
    }
}
