//! Finds the tool that a package manager runs, or reports that it cannot be identified.
//!
//! The tables are from OpenClaw 2026.9.6's exec-approvals. An unknown option hides the tool.

use guard_policy::programs::name::program_name;

use super::wrappers;

/// How many nested commands are examined, the tool included.
const MAX_RUNNERS: usize = 6;

/// What a package manager runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Runner {
    /// The command is not a package manager, or runs no tool that it names.
    No,
    /// A tool that cannot be identified.
    Hidden,
    /// The tool with this argv.
    Runs(Vec<String>),
}

/// Skips package managers and the wrappers before them, and returns the tool that they run.
pub(super) fn tool(argv: &[String]) -> Runner {
    let mut current = argv.to_vec();
    for depth in 0..MAX_RUNNERS {
        // A blocked wrapper is not removed and is not a package manager, so nothing after it is examined.
        match runner(wrappers::unwrap(&current).argv) {
            Runner::No if depth == 0 => return Runner::No,
            Runner::No => return Runner::Runs(current),
            Runner::Hidden => return Runner::Hidden,
            Runner::Runs(inner) => current = inner,
        }
    }
    Runner::Hidden
}

/// Returns a program's name without a script's extension: `yarn.js` and `pnpm.cjs` are package managers too.
fn script_name(token: &str) -> String {
    let name = program_name(token);
    let stem = [".cjs", ".mjs", ".js"].iter().find_map(|extension| name.strip_suffix(extension));
    stem.unwrap_or(&name).to_owned()
}

fn runner(argv: &[String]) -> Runner {
    let Some(first) = argv.first() else { return Runner::No };
    let rest = &argv[1..];
    match script_name(first).as_str() {
        "npx" | "bunx" => named(NPX.tool(rest)),
        "npm" => npm(rest),
        "pnpm" => pnpm(rest),
        "yarn" => yarn(rest),
        "bun" => bun(rest),
        _ => Runner::No,
    }
}

fn named(tool: Option<&[String]>) -> Runner {
    tool.filter(|tool| !tool.is_empty()).map_or(Runner::Hidden, |tool| Runner::Runs(tool.to_vec()))
}

/// The known options before a tool or a subcommand.
struct Before {
    flags: &'static [&'static str],
    valued: &'static [&'static str],
}

const NPX: Before = Before {
    flags: &["--no", "--quiet", "--ws", "--workspaces", "--yes", "-q", "-y"],
    valued: &["--cache", "--loglevel", "--prefix", "--script-shell", "--userconfig", "--workspace", "-w"],
};
const PNPM: Before = Before {
    flags: &[
        "--aggregate-output",
        "--color",
        "--parallel",
        "--recursive",
        "--silent",
        "--workspace-root",
        "-r",
        "-s",
        "-w",
    ],
    valued: &[
        "--config",
        "--dir",
        "--filter",
        "--reporter",
        "--stream",
        "--test-pattern",
        "--workspace-concurrency",
        "-C",
    ],
};
const NPM: Before = Before {
    flags: NPX.flags,
    valued: &[
        "--cache",
        "--loglevel",
        "--prefix",
        "--script-shell",
        "--userconfig",
        "--workspace",
        "-w",
        "-C",
    ],
};
const YARN: Before = Before { flags: &["--immutable", "--silent", "-s"], valued: &["--cwd"] };
const YARN_DLX: Before = Before { flags: &["--quiet", "-q"], valued: &[] };

/// Subcommands of pnpm that run no tool by its name; the first five run scripts of package.json.
const PNPM_OWN: [&str; 31] = [
    "restart", "run", "start", "stop", "test", "add", "audit", "bin", "config", "dedupe", "deploy", "help",
    "import", "init", "install", "licenses", "link", "list", "outdated", "patch", "prune", "publish",
    "rebuild", "remove", "root", "server", "store", "unlink", "update", "view", "why",
];

/// Subcommands of yarn that run no tool by its name.
const YARN_OWN: [&str; 38] = [
    "add",
    "audit",
    "autoclean",
    "bin",
    "cache",
    "check",
    "config",
    "create",
    "dedupe",
    "generate-lock-entry",
    "global",
    "help",
    "import",
    "info",
    "init",
    "install",
    "licenses",
    "link",
    "list",
    "login",
    "logout",
    "outdated",
    "owner",
    "pack",
    "policies",
    "prune",
    "publish",
    "remove",
    "self-update",
    "tag",
    "team",
    "unlink",
    "upgrade",
    "upgrade-interactive",
    "version",
    "versions",
    "why",
    "workspace",
];

impl Before {
    /// Returns the arguments after the options; `None` if an option is unknown or nothing follows.
    fn tool<'a>(&self, mut rest: &'a [String]) -> Option<&'a [String]> {
        while let Some(token) = rest.first() {
            let option = token.split_once('=').map_or(token.as_str(), |(option, _)| option);
            if !token.starts_with('-') {
                return Some(rest);
            } else if self.valued.contains(&option) {
                rest = rest.get(if token.contains('=') { 1 } else { 2 }..)?;
            } else if self.flags.contains(&option) {
                rest = &rest[1..];
            } else {
                return None;
            }
        }
        None
    }
}

fn npm(rest: &[String]) -> Runner {
    const RUN: [&str; 2] = ["exec", "x"];
    let Some(found) = NPM.tool(rest) else { return hidden_if(rest, &RUN) };
    match (RUN.contains(&found[0].as_str()), found.get(1).map(String::as_str)) {
        (false, _) => Runner::No,
        (true, Some("--")) => named(found.get(2..)),
        (true, _) => named(NPX.tool(&found[1..])),
    }
}

fn pnpm(rest: &[String]) -> Runner {
    const RUN: [&str; 3] = ["exec", "dlx", "node"];
    let Some(found) = PNPM.tool(rest) else { return hidden_if(rest, &RUN) };
    let tail = &found[1..];
    let plain = || if tail.first().is_some_and(|first| first == "--") { &tail[1..] } else { tail };
    match found[0].as_str() {
        "exec" if plain().first().is_some_and(|first| first.starts_with('-')) => Runner::Hidden,
        "exec" => named(Some(plain())),
        "dlx" => named(after_dashes(&PNPM, tail)),
        "node" => Runner::Runs([&["node".to_owned()], plain()].concat()),
        // Any other word is a subcommand of pnpm, or runs the script or the tool of that name.
        name if PNPM_OWN.contains(&name) => Runner::No,
        _ => Runner::Hidden,
    }
}

fn yarn(rest: &[String]) -> Runner {
    let Some(found) = YARN.tool(rest) else { return hidden_if(rest, &["exec", "dlx"]) };
    let tail = &found[1..];
    match found[0].as_str() {
        "exec" if tail.first().is_some_and(|first| first == "--") => named(Some(&tail[1..])),
        "exec" => named(Some(tail)),
        "dlx" => named(after_dashes(&YARN_DLX, tail)),
        name if YARN_OWN.contains(&name) => Runner::No,
        _ => Runner::Hidden,
    }
}

/// Handles `bun x`. No option may precede `x`: bun's options are ambiguous there.
fn bun(rest: &[String]) -> Runner {
    match rest.first().map(String::as_str) {
        Some("x") if rest.get(1).is_some_and(|next| next == "--") => named(rest.get(2..)),
        Some("x") => named(NPX.tool(&rest[1..])),
        Some(option) if option.starts_with('-') => hidden_if(rest, &["x"]),
        _ => Runner::No,
    }
}

/// Returns the arguments after `--`, or else after the options.
fn after_dashes<'a>(options: &Before, rest: &'a [String]) -> Option<&'a [String]> {
    if rest.first().is_some_and(|first| first == "--") { rest.get(1..) } else { options.tool(rest) }
}

/// Returns `Hidden` if the arguments after an unknown option have one of `words`, the subcommands that run a
/// tool.
fn hidden_if(rest: &[String], words: &[&str]) -> Runner {
    if rest.iter().any(|token| words.contains(&token.to_ascii_lowercase().as_str())) {
        Runner::Hidden
    } else {
        Runner::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_line(line: &str) -> Result<String, Runner> {
        match tool(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()) {
            Runner::Runs(argv) => Ok(argv.join(" ")),
            other => Err(other),
        }
    }

    #[test]
    fn tools_are_found() {
        for line in [
            "npx tsc -p x",
            "npx -y tsc -p x",
            "npx --loglevel silent tsc -p x",
            "npm exec tsc -p x",
            "npm x -- tsc -p x",
            "npm --prefix=a exec -- tsc -p x",
            "pnpm exec tsc -p x",
            "pnpm dlx tsc -p x",
            "pnpm -C a exec -- tsc -p x",
            "yarn exec tsc -p x",
            "yarn dlx -q tsc -p x",
            "bunx tsc -p x",
            "bun x tsc -p x",
            "nice npx tsc -p x",
            "npx npx tsc -p x",
            "/usr/bin/npx tsc -p x",
        ] {
            assert_eq!(from_line(line), Ok("tsc -p x".to_owned()), "{line}");
        }
        assert_eq!(from_line("pnpm node app.js"), Ok("node app.js".to_owned()));
    }

    #[test]
    fn options_that_hide_the_tool_make_it_unknown() {
        for line in [
            "npx -c tsc",
            "npx --package a tsc",
            "npx -p a tsc",
            "npx --new tsc",
            "npx",
            "npm exec -c tsc",
            "npm --new exec tsc",
            "npm exec",
            "pnpm exec -c tsc",
            "pnpm build",
            "pnpm --new dlx tsc",
            "yarn build",
            "yarn run x",
            "yarn dlx -p a tsc",
            "bun --new x tsc",
            "npx npx npx npx npx npx npx tsc",
        ] {
            assert_eq!(from_line(line), Err(Runner::Hidden), "{line}");
        }
        for line in [
            "npm install",
            "npm run build",
            "pnpm install",
            "pnpm run x",
            "pnpm test",
            "yarn add a",
            "bun run x",
            "ls",
            "sudo npx tsc",
        ] {
            assert_eq!(from_line(line), Err(Runner::No), "{line}");
        }
    }
}
