//! The images that a person pasted into Claude's prompt box: Claude keeps a copy of each (2.1.332).

use std::env;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use crate::core::ids::ConversationId;

/// The forms of images that Claude keeps.
const ENDS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The most directories of projects that are looked through.
const PROJECTS: usize = 4096;

/// The file of `[Image #NUMBER]` in this conversation, if Claude has written it.
pub fn pasted_image(conversation: &ConversationId, number: u32) -> Option<PathBuf> {
    let base = env::var_os("CLAUDE_CODE_TMPDIR").or_else(|| env::var_os("TMPDIR"));
    let base = base.filter(|base| !base.is_empty()).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    image_below(&base.join(format!("claude-{}", Uid::current())), conversation, number)
}

fn image_below(user: &Path, conversation: &ConversationId, number: u32) -> Option<PathBuf> {
    let projects = user.read_dir().ok()?.flatten().take(PROJECTS);
    let images = projects.map(|project| project.path().join(conversation.as_str()).join("images"));
    let mut files = images.flat_map(|images| ENDS.map(|end| images.join(format!("{number}.{end}"))));
    files.find(|file| file.symlink_metadata().is_ok_and(|found| found.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_found_by_its_conversation_and_number() {
        let dir = tempfile::tempdir().unwrap();
        let id = "1a44c06e-0000-4000-8000-000000000001";
        let images = dir.path().join("-home-me-proj").join(id).join("images");
        std::fs::create_dir_all(&images).unwrap();
        std::fs::write(images.join("2.png"), "an image").unwrap();
        std::os::unix::fs::symlink("2.png", images.join("3.png")).unwrap();
        let conversation: ConversationId = id.parse().unwrap();
        assert_eq!(image_below(dir.path(), &conversation, 2), Some(images.join("2.png")));
        assert_eq!(image_below(dir.path(), &conversation, 1), None);
        assert_eq!(image_below(dir.path(), &conversation, 3), None, "a link is no image of Claude's");
    }
}
