//! What a human should notice about a command: arguments that delete, overwrite or force, and code from the network.
//!
//! This decides nothing. It points at words that are easily missed in a long command.

use super::name::{is_of, program_name};

/// Words of a command that are worth a remark.
struct Risk {
    programs: &'static [&'static str],
    /// The words that the arguments begin with, apart from options: `["push"]`. Empty for any.
    command: &'static [&'static str],
    /// Any of these: an option (`--force`, also `--force=x`), a letter (`-f`, also `-rf`), or the beginning of a word
    /// (`of=`). Empty if the command alone is worth a remark.
    words: &'static [&'static str],
    meaning: &'static str,
}

const fn risk(
    programs: &'static [&'static str],
    command: &'static [&'static str],
    words: &'static [&'static str],
    meaning: &'static str,
) -> Risk {
    Risk { programs, command, words, meaning }
}

const FETCHES: &str = "runs code from a package registry";
const INSTALLS: &str = "installs packages from the network, whose scripts may run";
const PUBLISHES: &str = "publishes, which cannot be taken back";
const REPLACES: &str = "replaces or deletes what others have at the remote";

/// What a card warns about, from the manuals: rm(1), shred(1), truncate(1), dd(1), chmod(1), find(1), rsync(1), mkfs(8),
/// wipefs(8), git(1) and the pages of its subcommands such as git-push(1), docker(1), kubectl, helm, terraform,
/// npm, pnpm, yarn, bun, pip, pipx, uv, cargo, go, gem, deno.
const RISKS: &[Risk] = &[
    risk(&["rm"], &[], &["-r", "-R", "--recursive"], "deletes whole directories"),
    risk(&["shred"], &[], &[], "overwrites files"),
    risk(&["truncate"], &[], &[], "cuts files"),
    risk(&["dd"], &[], &["of="], "overwrites a file or a device"),
    risk(
        &[
            "mkfs",
            "mke2fs",
            "mkfs.ext4",
            "mkfs.xfs",
            "mkfs.btrfs",
            "mkfs.vfat",
            "wipefs",
            "mkswap",
            "blkdiscard",
        ],
        &[],
        &[],
        "erases a file system or a device",
    ),
    risk(&["chmod", "chown", "chgrp"], &[], &["-R", "--recursive"], "changes whole directories"),
    risk(&["find"], &[], &["-delete"], "deletes what it finds"),
    risk(
        &["rsync"],
        &[],
        &["--delete", "--delete-after", "--delete-before", "--delete-during", "--delete-excluded"],
        "deletes at the target",
    ),
    risk(&["rsync"], &[], &["--remove-source-files"], "deletes at the source"),
    risk(&["crontab"], &[], &["-r"], "deletes the table of cron"),
    risk(&["dropdb"], &[], &[], "deletes a database"),
    risk(&["git"], &["push"], &["-f", "--force", "--force-with-lease", "--mirror"], REPLACES),
    risk(&["git"], &["push"], &["-d", "--delete", "--prune", "+", ":"], REPLACES),
    risk(&["git"], &["reset"], &["--hard"], "discards changes that are not committed"),
    risk(&["git"], &["checkout"], &["-f", "--force", "."], "discards changes that are not committed"),
    risk(&["git"], &["restore"], &["."], "discards changes that are not committed"),
    risk(
        &["git"],
        &["switch"],
        &["-f", "--force", "--discard-changes"],
        "discards changes that are not committed",
    ),
    risk(&["git"], &["clean"], &["-f", "--force"], "deletes files that git does not know"),
    risk(&["git"], &["branch"], &["-D"], "deletes a branch, merged or not"),
    risk(&["git"], &["stash", "drop"], &[], "deletes stashed changes"),
    risk(&["git"], &["stash", "clear"], &[], "deletes stashed changes"),
    risk(&["git"], &["filter-branch"], &[], "rewrites the history"),
    risk(&["git"], &["filter-repo"], &[], "rewrites the history"),
    risk(&["git"], &["commit"], &["--no-verify"], "skips the hooks"),
    risk(&["git"], &["push"], &["--no-verify"], "skips the hooks"),
    risk(&["docker", "podman"], &["run"], &["--privileged"], "gives the container the rights of the host"),
    risk(&["docker", "podman"], &["system", "prune"], &[], "deletes containers and images"),
    risk(&["docker", "podman"], &["volume", "rm"], &[], "deletes volumes"),
    risk(&["docker", "podman"], &["volume", "prune"], &[], "deletes volumes"),
    risk(&["kubectl"], &["delete"], &[], "deletes what runs in the cluster"),
    risk(&["helm"], &["uninstall"], &[], "deletes what runs in the cluster"),
    risk(&["terraform", "tofu"], &["destroy"], &[], "destroys what it manages"),
    risk(
        &["terraform", "tofu"],
        &["apply"],
        &["-auto-approve", "--auto-approve"],
        "asks nothing before it changes",
    ),
    risk(&["gh"], &["repo", "delete"], &[], "deletes a repository"),
    risk(&["npm", "pnpm", "yarn", "bun", "cargo", "poetry", "uv"], &["publish"], &[], PUBLISHES),
    risk(&["gem"], &["push"], &[], PUBLISHES),
    risk(&["twine"], &["upload"], &[], PUBLISHES),
    risk(&["npx", "bunx", "pnpx", "uvx"], &[], &[], FETCHES),
    risk(&["npm"], &["exec"], &[], FETCHES),
    risk(&["npm"], &["x"], &[], FETCHES),
    risk(&["pnpm", "yarn"], &["dlx"], &[], FETCHES),
    risk(&["bun"], &["x"], &[], FETCHES),
    risk(&["pipx"], &["run"], &[], FETCHES),
    risk(&["uv"], &["tool", "run"], &[], FETCHES),
    risk(&["uv"], &["run"], &["--with"], FETCHES),
    risk(&["npm", "yarn", "pnpm", "bun"], &["create"], &[], FETCHES),
    risk(&["deno"], &["run"], &["http://", "https://", "npm:", "jsr:"], "runs code from the network"),
    risk(&["npm", "pnpm", "yarn", "bun", "pip", "pipx", "cargo", "go", "gem"], &["install"], &[], INSTALLS),
    risk(&["npm", "pnpm", "bun"], &["i"], &[], INSTALLS),
    risk(&["npm"], &["ci"], &[], INSTALLS),
    risk(&["npm", "pnpm", "yarn", "bun", "uv", "poetry"], &["add"], &[], INSTALLS),
    risk(&["uv"], &["pip", "install"], &[], INSTALLS),
    risk(&["python"], &["pip", "install"], &[], INSTALLS),
];

/// Options that force something, whatever the program.
const FORCES: &[&str] = &["--force", "--no-preserve-root"];

/// Programs that start a script.
const STARTERS: &[&str] = &["env", "node", "nodejs", "python", "ruby", "perl", "sh", "bash", "dash"];

/// Returns a remark for each risk of a program at this path with these arguments, `argv[0]` among them: `push --force
/// replaces or deletes what others have at the remote`. A script or an applet goes by `argv[0]`.
pub fn risks(path: &[u8], argv: &[Vec<u8>]) -> Vec<String> {
    let called = argv.first().map_or_else(|| program_name(path), program_name);
    let words: Vec<_> = argv.iter().skip(1).map(|word| String::from_utf8_lossy(word)).collect();
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    let mut remarks = of_program(&[program_name(path), called.clone()], &words);
    // A script goes by its own name, too, behind its interpreter's: `env node /usr/bin/npm ci`.
    let (mut starter, mut rest) = (called, &words[..]);
    while remarks.is_empty()
        && is_of(&starter, STARTERS)
        && let Some(at) = rest.iter().position(|word| !word.starts_with('-') && !word.contains('='))
    {
        starter = program_name(rest[at]);
        rest = &rest[at + 1..];
        remarks = of_program(std::slice::from_ref(&starter), rest);
    }
    if remarks.is_empty() {
        let forced = FORCES.iter().find(|option| words.iter().any(|word| is_option(word, option)));
        remarks.extend(forced.map(|option| format!("{option} overrides what the program checks")));
    }
    remarks
}

/// The remarks about a program of these names with these arguments.
fn of_program(names: &[String], words: &[&str]) -> Vec<String> {
    RISKS.iter().filter_map(|risk| risk.remark(names, words)).collect()
}

impl Risk {
    fn remark(&self, programs: &[String], words: &[&str]) -> Option<String> {
        let program = programs.iter().find(|program| is_of(program, self.programs))?;
        if !self.is_command(words) {
            return None;
        }
        let options = words.split(|word| *word == "--").next().unwrap_or_default();
        let is_there = |wanted: &&&str| {
            let words = if wanted.starts_with('-') { options } else { words };
            words.iter().any(|word| is_option(word, wanted))
        };
        let word = match self.words {
            [] => None,
            wanted => Some(*wanted.iter().find(is_there)?),
        };
        let named: Vec<_> = self.command.iter().copied().chain(word).collect();
        let named = if named.is_empty() { program.clone() } else { named.join(" ") };
        Some(format!("{named} {}", self.meaning))
    }

    /// Whether the words of the command come one after another, before anything but options and their values.
    fn is_command(&self, words: &[&str]) -> bool {
        let Some(first) = self.command.first() else { return true };
        // A global option may have a value (`git -C ../x push`), and which ones do is not known here.
        let operands = words.iter().enumerate().filter(|(_, word)| !word.starts_with('-'));
        // A command of one letter could be the name of anything, so it counts only as the first operand.
        let most = if first.len() == 1 { 1 } else { 3 };
        let mut starts = operands.take(most).filter(|(_, word)| *word == first).map(|(at, _)| at);
        starts.any(|at| {
            words[at..].iter().zip(self.command).filter(|(word, part)| word == part).count()
                == self.command.len()
        })
    }
}

/// The shortest long option that is taken for the beginning of a longer one, as getopt_long(3) and git do: `--for`.
const MIN_ABBREVIATION: usize = 4;

/// Whether a word is the wanted option or an abbreviation of it or, if no option is wanted, begins with the wanted text.
fn is_option(word: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('-') {
        None => word.starts_with(wanted),
        Some(letter) if letter.len() == 1 => word
            .strip_prefix('-')
            .is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter)),
        Some(_) => {
            let name = word.split('=').next().unwrap_or_default();
            let is_abbreviated =
                wanted.starts_with("--") && name.len() >= MIN_ABBREVIATION && wanted.starts_with(name);
            name == wanted || is_abbreviated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_line(line: &str) -> Vec<String> {
        let argv: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        risks(&argv[0], &argv)
    }

    #[test]
    fn what_deletes_or_forces_is_named() {
        for (line, remark) in [
            ("/usr/bin/rm -rf build", "-r deletes whole directories"),
            (
                "git -C ../x push origin --force main",
                "push --force replaces or deletes what others have at the remote",
            ),
            ("git -c a.b=c reset --hard", "reset --hard discards changes that are not committed"),
            ("git reset --har", "reset --hard discards changes that are not committed"),
            ("git push origin +main", "push + replaces or deletes what others have at the remote"),
            ("git push origin :main", "push : replaces or deletes what others have at the remote"),
            ("git checkout .", "checkout . discards changes that are not committed"),
            ("git stash drop", "stash drop deletes stashed changes"),
            ("dd if=a of=/dev/sdb", "of= overwrites a file or a device"),
            ("mkfs.ext4 /dev/sdb", "mkfs.ext4 erases a file system or a device"),
            ("/usr/bin/deploy --force", "--force overrides what the program checks"),
            ("npx cowsay", "npx runs code from a package registry"),
            ("/usr/bin/env node /usr/bin/npx cowsay", "npx runs code from a package registry"),
            ("/usr/bin/node --no-warnings /usr/bin/npx cowsay", "npx runs code from a package registry"),
            ("npm install left-pad", "install installs packages from the network, whose scripts may run"),
            (
                "python3.12 -m pip install x",
                "pip install installs packages from the network, whose scripts may run",
            ),
            ("deno run https://example.org/x.ts", "run https:// runs code from the network"),
        ] {
            assert_eq!(of_line(line), [remark], "{line}");
        }
    }

    #[test]
    fn ordinary_commands_have_no_remark() {
        for line in [
            "rm x",
            "rm -- -r",
            "npm run x",
            "git push --follow-tags",
            "git checkout -- x",
            "git push origin main",
            "git commit -m push",
            "git log --format=%h",
            "dd if=a",
            "find . -name x",
            "npm test",
            "cargo build",
            "docker ps",
            "git stash",
            "grep -r x .",
            "ls",
        ] {
            assert_eq!(of_line(line), [""; 0], "{line}");
        }
    }
}
