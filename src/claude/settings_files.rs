//! Claude's settings files: whether hooks run at all, and how long transcripts are kept.

use std::path::{Path, PathBuf};

use crate::core::archive::{CleanupPeriod, SettingsScope};
use crate::core::claude::settings::{SettingsArgument, hooks_disabled};
use crate::sys::safe_file::{self, FileRule};

/// The administrator's settings, which take precedence over all others.
const MANAGED: &str = "/etc/claude-code/managed-settings.json";
/// The largest settings file that is read, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Whether `disableAllHooks` is in force. `files` are the user's, the project's and the local settings, in
/// this order; `sources` is the value of `--setting-sources`, which excludes some of them; `flag` is the
/// last `--settings`.
pub fn hooks_off(files: &[PathBuf; 3], sources: Option<&str>, flag: Option<&str>) -> bool {
    hooks_off_with(files, sources, flag, Path::new(MANAGED))
}

fn hooks_off_with(files: &[PathBuf; 3], sources: Option<&str>, flag: Option<&str>, managed: &Path) -> bool {
    let texts = texts(files, sources, flag, managed);
    hooks_disabled(texts.iter().map(String::as_str))
}

/// How long Claude keeps conversations (`cleanupPeriodDays`), according to all settings that it reads at a
/// start with these `files`.
pub fn cleanup_period(files: &[PathBuf; 3]) -> CleanupPeriod {
    cleanup_period_with(files, Path::new(MANAGED))
}

fn cleanup_period_with(files: &[PathBuf; 3], managed: &Path) -> CleanupPeriod {
    let scopes =
        [SettingsScope::User, SettingsScope::Project, SettingsScope::Project, SettingsScope::Managed];
    let paths = files.iter().map(PathBuf::as_path).chain([managed]);
    let texts: Vec<_> =
        scopes.into_iter().zip(paths).filter_map(|(scope, path)| Some((scope, read(path)?))).collect();
    CleanupPeriod::of_settings(texts.iter().map(|(scope, text)| (*scope, text.as_str())))
}

/// The settings in force, those with the lowest precedence first.
fn texts(files: &[PathBuf; 3], sources: Option<&str>, flag: Option<&str>, managed: &Path) -> Vec<String> {
    let wanted = |name: &str| sources.is_none_or(|list| list.split(',').any(|word| word.trim() == name));
    let named = ["user", "project", "local"].iter().zip(files).filter(|(name, _)| wanted(name));
    let mut texts: Vec<String> = named.filter_map(|(_, path)| read(path)).collect();
    texts.extend(flag.and_then(|value| match SettingsArgument::of(value) {
        SettingsArgument::Inline => Some(value.to_owned()),
        SettingsArgument::File => read(Path::new(value)),
    }));
    texts.extend(read(managed));
    texts
}

fn read(path: &Path) -> Option<String> {
    safe_file::read_text(path, FileRule::of_claude(MAX_BYTES)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::archive::PeriodOrigin;

    #[test]
    fn the_setting_with_the_highest_precedence_counts() {
        let dir = tempfile::tempdir().unwrap();
        let files = ["user", "project", "local"].map(|name| dir.path().join(name));
        let managed = dir.path().join("managed");
        let (on, off) = (r#"{"disableAllHooks":false}"#, r#"{"disableAllHooks":true}"#);
        let is_off =
            |sources: Option<&str>, flag: Option<&str>| hooks_off_with(&files, sources, flag, &managed);
        assert!(!is_off(None, None));
        std::fs::write(&files[0], off).unwrap();
        assert!(is_off(None, None));
        assert!(!is_off(Some("project, local"), None), "a file that Claude does not read says nothing");
        assert!(!is_off(None, Some(on)));
        std::fs::write(&files[1], on).unwrap();
        assert!(!is_off(None, None));
        std::fs::write(&files[2], off).unwrap();
        assert!(is_off(None, None));
        let named = dir.path().join("flag");
        std::fs::write(&named, on).unwrap();
        assert!(!is_off(None, named.to_str()));
        std::fs::write(&managed, off).unwrap();
        assert!(is_off(None, named.to_str()));
    }

    #[test]
    fn the_highest_precedence_decides_how_long_transcripts_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let files = ["user", "project", "local"].map(|name| dir.path().join(name));
        let managed = dir.path().join("managed");
        let says = || {
            let period = cleanup_period_with(&files, &managed);
            (period.days, period.origin)
        };
        assert_eq!(says(), (30, PeriodOrigin::Default));
        for (file, days, want) in [
            (&files[0], "3650", (3650, PeriodOrigin::Settings)),
            (&files[1], "\"7\"", (3650, PeriodOrigin::Settings)),
            (&files[1], "9", (9, PeriodOrigin::Project)),
            (&files[2], "7", (7, PeriodOrigin::Project)),
            (&managed, "60", (60, PeriodOrigin::Managed)),
        ] {
            std::fs::write(file, format!("{{\"cleanupPeriodDays\": {days}}}")).unwrap();
            assert_eq!(says(), want, "{days}");
        }
    }

    #[test]
    fn an_invalid_settings_file_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let files = ["a", "b", "c"].map(|name| dir.path().join(name));
        std::fs::create_dir(&files[0]).unwrap();
        std::fs::write(&files[1], "{torn").unwrap();
        assert!(!hooks_off_with(&files, None, Some("/no/such/file"), Path::new("/no/such/file")));
    }
}
