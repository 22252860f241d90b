//! `rembrandt completions` and `rembrandt man`: what a shell and `man` know of the command line.

use std::io::Write;
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use rembrandt::Error;
use rembrandt::model::write_file;

use crate::args::{Arguments, CompletionsArgs, ManArgs};
use crate::output::print;

/// Prints the script for a shell.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "rembrandt", &mut script);
    print(&String::from_utf8(script)?)
}

/// Writes a page for the program and for each command.
pub fn man(args: &ManArgs) -> anyhow::Result<()> {
    if args.folder.exists() && !args.folder.is_dir() {
        return Err(Error::file(&args.folder, "is not a folder, and pages are files: name a folder").into());
    }
    std::fs::create_dir_all(&args.folder).map_err(Error::io(&args.folder))?;
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    write_pages(&program, &args.folder)
}

fn write_pages(command: &Command, folder: &Path) -> anyhow::Result<()> {
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    let mut page = Vec::new();
    man.render(&mut page)?;
    write_file(&path, |out| out.write_all(&page).map_err(Error::io(&path)))?;
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| write_pages(command, folder))
}
