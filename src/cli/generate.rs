//! `hopty man`: pages that are made from the tree of verbs in `args`, so that they cannot say anything else.

use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};

use clap::CommandFactory;
use clap_mangen::Man;

use super::args::Cli;
use super::error::Failed;

/// The manual page of hopty, or of a verb such as `handoff show`: shown where a person looks, as it is where something else reads.
pub(super) fn man(verb: &[String]) -> Result<u8, Failed> {
    let page = page(verb)?;
    if !(std::io::stdout().is_terminal() && shown(&page)) {
        std::io::stdout().write_all(&page)?;
    }
    Ok(0)
}

fn page(verb: &[String]) -> Result<Vec<u8>, Failed> {
    // `hopty --help` is Claude's; and the page is what `help` would say.
    let mut tree =
        Cli::command().disable_help_flag(true).about("run it in place of claude, and Claude Code never runs out of context");
    tree.build();
    let unknown = || Failed::new(2, "no such verb").about(verb.join(" ")).hint("`hopty help` lists the verbs");
    let of = verb.iter().try_fold(&tree, |at, word| at.find_subcommand(word)).ok_or_else(unknown)?.clone();
    let of = if of.find_subcommand("help").is_some() { of.mut_subcommand("help", |help| help.hide(true)) } else { of };
    let name: Vec<&str> = std::iter::once("hopty").chain(verb.iter().map(String::as_str)).collect();
    let mut page = Vec::new();
    let man = Man::new(of.version(env!("CARGO_PKG_VERSION"))).title(name.join("-"));
    man.source(concat!("hopty ", env!("CARGO_PKG_VERSION"))).manual("hopty").render(&mut page)?;
    Ok(page)
}

/// Whether `man` has shown it.
fn shown(page: &[u8]) -> bool {
    let Ok(mut man) = Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn() else { return false };
    // One that ends without reading says so by its code.
    let _ = man.stdin.take().map(|mut pipe| pipe.write_all(page));
    man.wait().is_ok_and(|status| status.success())
}
