//! `openclaw-guard completions`: prints the completion script for a shell.

use std::io;

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;
use guard_supervisor::exit::Exit;

use super::print;

/// For which shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    openclaw-guard completions bash > ~/.local/share/bash-completion/completions/openclaw-guard\n  \
    openclaw-guard completions zsh > ~/.zfunc/_openclaw-guard\n  \
    openclaw-guard completions fish > ~/.config/fish/completions/openclaw-guard.fish\n\n\
    Create the directory if it does not exist. For zsh, ~/.zshrc needs `fpath+=~/.zfunc` before\n\
    `autoload -U compinit && compinit`. For this bash only: eval \"$(openclaw-guard completions bash)\".\n\n\
    Exit status: 0, 125 the output cannot be written.")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: ShellArg,
}

/// The shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

/// Lines to insert into the function that clap_complete writes, after its first line or at the script's end. They
/// complete the user's command after `--` in the same way as without the guard.
struct Patch {
    after: &'static str,
    lines: &'static str,
    end: &'static str,
}

const BASH: Patch = Patch {
    after: "_openclaw__guard() {\n",
    lines: r#"    local at
    for ((at = 1; at < COMP_CWORD; at++)); do
        [[ ${COMP_WORDS[at]} == -- ]] || continue
        COMPREPLY=()
        if declare -F _command_offset >/dev/null; then
            _command_offset $((at + 1))
        elif ((COMP_CWORD == at + 1)); then
            mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
        fi
        return
    done
"#,
    end: "",
};

const ZSH: Patch = Patch {
    after: "_openclaw-guard() {\n",
    lines: r#"    local at=${words[(i)--]}
    if ((at < CURRENT)); then
        shift $at words
        ((CURRENT -= at))
        _normal
        return
    fi
"#,
    end: "",
};

const FISH: Patch = Patch {
    after: "function __fish_openclaw_guard_needs_command\n",
    lines: "    contains -- -- (commandline -opc)\n    and return 1\n",
    end: r#"
function __fish_openclaw_guard_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -e words[1..$at]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end
complete -c openclaw-guard -n "contains -- -- (commandline -opc)" -f -a "(__fish_openclaw_guard_command)"
"#,
};

/// Prints the completion script.
///
/// # Errors
/// When the output cannot be written.
pub fn act(program: &Command, arguments: &CompletionsArgs) -> io::Result<Exit> {
    let (shell, patch) = match arguments.shell {
        ShellArg::Bash => (Shell::Bash, BASH),
        ShellArg::Zsh => (Shell::Zsh, ZSH),
        ShellArg::Fish => (Shell::Fish, FISH),
    };
    let mut command = before_command(program);
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    // clap_complete gives a subcommand two names in bash if the program's name has a hyphen (clap issue 6421).
    let script = String::from_utf8_lossy(&script)
        .replace("openclaw__subcmd__guard__subcmd__", "openclaw__guard__subcmd__");
    print(&(script.replacen(patch.after, &format!("{}{}", patch.after, patch.lines), 1) + patch.end))?;
    Ok(Exit::Success)
}

/// Removes the argument after `--`, which zsh would take for a subcommand.
fn before_command(command: &Command) -> Command {
    Command::new(env!("CARGO_PKG_NAME"))
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments().filter(|argument| !argument.is_last_set()))
        .subcommands(command.get_subcommands())
}
