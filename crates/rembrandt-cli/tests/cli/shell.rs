//! `rembrandt completions` and `rembrandt man`.

use crate::common::Desk;

#[test]
fn every_shell_learns_commands_and_options() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = desk.ok(&format!("completions {shell}")).stdout;
        for word in ["rembrandt", "add-label", "per-label", "label-separator"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    assert_eq!(desk.run("completions cobol").code, 2);
}

#[test]
fn bash_takes_the_script() {
    let desk = Desk::new();
    desk.write("completions", desk.ok("completions bash").stdout);
    let script = "source ./completions && COMP_WORDS=(rembrandt ev) COMP_CWORD=1 && \
                  _rembrandt rembrandt ev rembrandt && echo ${COMPREPLY[*]}";
    let Ok(shell) = std::process::Command::new("bash").args(["-c", script]).current_dir(desk.path(".")).output() else {
        println!("skipped: there is no bash");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&shell.stdout).trim(), "eval", "{}", String::from_utf8_lossy(&shell.stderr));
}

#[test]
fn every_command_has_a_page() {
    let desk = Desk::new();
    desk.ok("man pages/man1");
    let page = |name: &str| desk.text(&format!("pages/man1/rembrandt{name}.1"));
    assert!(page("").contains("rembrandt\\-eval(1)"));
    for (name, words) in [("-eval", "per\\-label"), ("-train", "group\\-duplicates"), ("-bench-solvers", "threads")] {
        assert!(page(name).contains(words) && page(name).starts_with(".ie"), "{name}: {}", page(name));
    }
    desk.write("file", "");
    assert!(desk.refused("man file").contains("file"));
}
