//! The processes that a host starts, signals and inspects. A trait, so that the laws of the host can supply a
//! child that starts, stops and ends on command.

use std::io;

use crate::core::process_change::{ProcessEnd, Signal};
use crate::core::terminal::Size;
use crate::pty::child;
use crate::pty::open::Pty;
use crate::pty::spawn::{ChildProgram, SpawnError, spawn};
use crate::sys::fault_injection;
use crate::sys::process::{Process, Stat, descendants, ignores, own_children};

/// A host's operations on processes.
pub(in crate::host) trait Processes: std::fmt::Debug {
    fn open(&mut self, size: Size) -> io::Result<Pty>;
    /// Starts a program in a pseudo-terminal and returns its process id.
    fn start(&mut self, pty: &Pty, program: &ChildProgram) -> Result<i32, SpawnError>;
    /// The child's next status change; `None` if there is none now.
    fn change(&mut self, pid: i32) -> io::Result<Option<ProcessEnd>>;
    /// Signals the child, or its process group.
    fn signal(&mut self, pid: i32, signal: Signal, group: bool) -> io::Result<()>;
    fn is_stopped(&self, pid: i32) -> bool;
    fn ignores(&self, pid: i32, signal: Signal) -> bool;
    /// Reaps the host's children other than `child`: orphans that it adopted.
    fn collect_orphans(&mut self, child: i32);
    fn descendants(&self, pid: i32) -> Vec<Process>;
}

/// The operating system's processes.
#[derive(Debug)]
pub(in crate::host) struct System;

impl Processes for System {
    fn open(&mut self, size: Size) -> io::Result<Pty> {
        Pty::open(size)
    }

    fn start(&mut self, pty: &Pty, program: &ChildProgram) -> Result<i32, SpawnError> {
        fault_injection::fork_fails()?;
        spawn(pty, program)
    }

    fn change(&mut self, pid: i32) -> io::Result<Option<ProcessEnd>> {
        child::change(pid)
    }

    fn signal(&mut self, pid: i32, signal: Signal, group: bool) -> io::Result<()> {
        child::signal(pid, signal, group)
    }

    fn is_stopped(&self, pid: i32) -> bool {
        Stat::of(pid).is_some_and(|stat| stat.state == b'T')
    }

    fn ignores(&self, pid: i32, signal: Signal) -> bool {
        ignores(pid, signal)
    }

    fn collect_orphans(&mut self, child: i32) {
        for orphan in own_children() {
            if orphan != child {
                let _ = child::collect(orphan);
            }
        }
    }

    fn descendants(&self, pid: i32) -> Vec<Process> {
        descendants(pid)
    }
}
