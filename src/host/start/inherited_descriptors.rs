//! Descriptors that the program inherits from the process that started the session.

use std::ffi::OsString;
use std::os::fd::{AsFd, RawFd};
use std::path::PathBuf;
use std::sync::Arc;

use super::launch::Launch;
use crate::core::inherited_state::ErrorOutput;
use crate::core::supervisor::ProgramKind;
use crate::pty::spawn::{ChildProgram, ErrorStream};
use crate::sys::{fd, inherited};

/// Inherited descriptors that every run gets and the host itself does not use. Kept only for a session with a
/// terminal: a process that starts one without a terminal may wait for the end of a pipe that would stay
/// open.
#[derive(Debug)]
pub struct InheritedDescriptors {
    pub descriptors: Vec<RawFd>,
    pub errors: ErrorStream,
}

impl InheritedDescriptors {
    pub(super) fn new(launch: &Launch, descriptors: Vec<RawFd>) -> Self {
        if launch.detached {
            fd::close_all(&descriptors);
            return InheritedDescriptors { descriptors: Vec::new(), errors: ErrorStream::Terminal };
        }
        fd::close_on_exec(&descriptors);
        let errors = match launch.errors {
            ErrorOutput::Terminal => ErrorStream::Terminal,
            ErrorOutput::Closed => ErrorStream::Closed,
            ErrorOutput::Redirected => std::io::stderr()
                .as_fd()
                .try_clone_to_owned()
                .map_or(ErrorStream::Terminal, |fd| ErrorStream::To(Arc::new(fd))),
        };
        InheritedDescriptors { descriptors, errors }
    }

    /// The program of a run.
    pub fn program(
        &self,
        launch: &Launch,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        dir: PathBuf,
    ) -> ChildProgram {
        let path = launch.program.clone();
        let name = match launch.agent {
            ProgramKind::Plain => launch.called.clone().into(),
            ProgramKind::Claude => path.clone().into(),
        };
        let (descriptors, errors) = (self.descriptors.clone(), self.errors.clone());
        ChildProgram {
            path,
            name,
            args,
            env,
            dir,
            signals: launch.signals,
            descriptors,
            errors,
            umask: inherited::umask(),
        }
    }
}
