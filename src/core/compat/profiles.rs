//! Profiles: the levels and the mode of each source document.

use std::path::{Path, PathBuf};

use crate::core::config::{Levels, Profile, RestartMode, Threshold};

impl Profile {
    /// The configuration file of its source document, if there is one. `claude` is Claude's directory.
    #[must_use]
    pub fn file(self, claude: &Path, project: &Path) -> Option<PathBuf> {
        match self {
            Profile::S2 => Some(project.join(".claude/config.yaml")),
            Profile::S3 => Some(claude.join("claudikins-acm.conf")),
            Profile::Default | Profile::S0 | Profile::S1 | Profile::S4 | Profile::Test => None,
        }
    }

    /// Whether that file is in the project, and so may have come with a clone.
    #[must_use]
    pub fn file_is_of_project(self) -> bool {
        self == Profile::S2
    }

    /// The mode that replaces the default: the third document asks.
    #[must_use]
    pub fn mode(self) -> Option<RestartMode> {
        (self == Profile::S3).then_some(RestartMode::Ask)
    }

    /// The levels that replace the defaults. A level that any layer sets by name keeps its own value.
    #[must_use]
    pub fn levels(self) -> Levels {
        // In these scripts EARLY_WARN only informs, WARN asks to finish, CRITICAL hands over.
        let kb = |early, warn, critical| Levels {
            ask: Threshold::kb(early),
            warn: Threshold::kb(warn),
            handoff: Threshold::kb(critical),
            hard: Threshold::NEVER,
        };
        let only = Levels {
            ask: Threshold::NEVER,
            warn: Threshold::NEVER,
            handoff: Threshold::NEVER,
            hard: Threshold::NEVER,
        };
        match self {
            Profile::Default => Levels::default(),
            Profile::S0 => kb(1_300, 1_500, 1_700),
            Profile::S1 => kb(4 * 1_024, 6 * 1_024, 8 * 1_024),
            Profile::Test => kb(5, 10, 15),
            Profile::S2 => {
                Levels { warn: Threshold::percent(70.0), handoff: Threshold::percent(80.0), ..only }
            }
            Profile::S3 => Levels { ask: Threshold::percent(60.0), ..only },
            Profile::S4 => Levels { handoff: Threshold::percent(90.0), ..only },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kb(profile: Profile) -> [Option<u64>; 4] {
        let Levels { ask, warn, handoff, hard } = profile.levels();
        [ask, warn, handoff, hard].map(|level| level.kb)
    }

    #[test]
    fn item_024_the_first_document_s_thresholds_are_a_profile() {
        assert_eq!(kb(Profile::S0), [Some(1300), Some(1500), Some(1700), None]);
        assert_eq!(kb(Profile::Default), [None; 4], "bytes say little about the fill today");
    }

    #[test]
    fn item_048_the_second_document_s_thresholds_and_those_for_trying_it_out_are_profiles() {
        assert_eq!(kb(Profile::S1), [Some(4096), Some(6144), Some(8192), None]);
        assert_eq!(kb(Profile::Test), [Some(5), Some(10), Some(15), None]);
    }

    #[test]
    fn the_figures_of_the_source_documents() {
        assert_eq!(Profile::Default.levels(), Levels::default());
        assert_eq!(Profile::S2.levels().handoff.percent, Some(80.0));
        assert_eq!(Profile::S3.levels().handoff, Threshold::NEVER);
    }
}
