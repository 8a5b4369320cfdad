//! Programs that only look at the files that they are given, or check, format or write them. A checker may also load
//! code with its sources, but that code is the work itself.

use super::shell_commands::HOLE;
use super::shell_words::{BEFORE, is_assignment};

/// What a command does with the files that its words name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// It may run them.
    Runs,
    /// It gives their content, or a copy, to whatever is around it.
    Passes,
    /// It looks at them.
    Looks,
}

const LOOKING: &str = "tee touch rm rmdir mkdir chmod chown stat wc grep egrep fgrep rg ag diff cmp \
    prettier eslint biome tsc ruff black isort mypy pyright basedpyright flake8 rustfmt shellcheck shfmt pytest \
    py.test jest vitest pylint bandit oxlint stylelint dprint djlint gofmt goimports gofumpt golangci-lint \
    clang-format clang-tidy cpplint cppcheck rubocop standardrb php-cs-fixer phpstan psalm phpcs phpcbf sqlfluff \
    markdownlint markdownlint-cli2 yamllint hadolint actionlint codespell cspell typos semgrep autopep8 yapf \
    pyflakes pycodestyle pydocstyle vulture radon ktlint swiftlint swiftformat standard xo svelte-check vue-tsc \
    stylua luacheck selene nixfmt alejandra statix taplo buf ktfmt google-java-format scalafmt mix-format pre-commit \
    lint-staged tsd knip ty pyrefly mocha playwright cypress oxfmt madge gotestsum tox nox rspec sha1sum sha256sum sha512sum md5sum b2sum cksum file du test [ [[ case basename \
    dirname true false : cd pushd popd unset set read exit return sleep date pwd which type hash \
    wait kill id whoami uname hostname fi done esac }";
const PASSING: &str = "ls echo printf realpath readlink cat tac head tail sed awk gawk mawk nl sort uniq cut tr jq yq rev paste join column fold fmt \
    expand tr bat less more cp mv ln install rsync export for select base64 od xxd hexdump strings";
/// Git's commands that use the files of a work tree, but run none of the files that the words of a command name.
const OF_GIT: &str = "add diff status log show blame annotate stash checkout commit rm mv restore reset ls-files \
    check-ignore rev-parse hash-object diff-files diff-index diff-tree grep switch branch fetch pull push tag \
    cat-file ls-tree describe clean update-index";
/// Git's options that name a program.
const STARTING_OF_GIT: [&str; 6] =
    ["--ext-diff", "--upload-pack", "--receive-pack", "--exec", "-O", "--open-files-in-pager"];
/// Modules of python that only look at files, or check, format or write them.
const MODULES: &str = "pytest black py_compile compileall mypy ruff isort flake8 pylint bandit unittest pyflakes \
    pycodestyle pydocstyle autopep8 yapf json.tool tabnanny ast tokenize doctest pyright basedpyright vulture radon \
    codespell djlint sqlfluff pre_commit";
/// Names of a package's scripts that check or format.
const TASKS: &str =
    "lint format fmt check typecheck type-check types test tests tsc prettier eslint stylelint spellcheck";
/// Words that may stand before one of these programs, besides the words that may stand before every command.
const STARTING: &str =
    "npx bunx uvx pipx pnpm yarn npm bun uv poetry pdm hatch rye pixi bundle run dlx exec x tool";
/// Options of these words that have a value.
const WITH_VALUE: [&str; 8] =
    ["--group", "--extra", "--package", "-p", "--filter", "--with", "--environment", "--from"];

/// Options whose value is the directory that a program starts in, or looks for its files in.
pub const DIRECTORIES: [&str; 12] = [
    "-C",
    "--directory",
    "--project",
    "--prefix",
    "--cwd",
    "--chdir",
    "--dir",
    "--cd",
    "-D",
    "--app-dir",
    "--rootdir",
    "--workdir",
];

/// Returns the words after the options of a program that starts another program. A number counts as the value of an
/// option.
pub fn after_options(words: &[String]) -> &[String] {
    after_options_with(words, is_directory)
}

fn is_directory(option: &str) -> bool {
    DIRECTORIES.contains(&option)
}

fn after_options_with(words: &[String], has_value: impl Fn(&str) -> bool) -> &[String] {
    let mut words = words;
    while let Some((first, rest)) =
        words.split_first().filter(|(first, _)| is_option(first) || is_number(first))
    {
        words = &rest[usize::from(has_value(first)).min(rest.len())..];
    }
    words
}

/// Whether a word may stand before a program. Aider writes the language of the files there (`python: ruff check`).
pub fn is_before(name: &str, word: &str) -> bool {
    let is_language =
        || word.strip_suffix(':').is_some_and(|name| name.bytes().all(|c| c.is_ascii_alphanumeric()));
    BEFORE.contains(&name) || is_assignment(word) || word.len() > 1 && is_language()
}

/// Whether a program starts another program of a project, or a script.
pub fn is_starting(name: &str) -> bool {
    is_one(STARTING, name)
}

/// Returns what a command does with the files that its words name.
pub fn use_of(words: &[String]) -> FileUse {
    let mut words = words;
    loop {
        let Some((first, rest)) = words.split_first() else { return FileUse::Looks };
        let name = name_of(first);
        let is_package = matches!(name, "npm" | "pnpm" | "yarn" | "bun");
        if is_package && let Some(task) = rest.iter().find(|word| !is_option(word) && *word != "run") {
            let task = task.split(':').next().unwrap_or_default();
            let is_run = rest.first().is_some_and(|word| word == "run" || word == task) || name == "yarn";
            if is_run && is_one(TASKS, task) {
                return FileUse::Looks;
            }
        }
        if is_before(name, first) {
            words = after_options(rest);
        } else if is_starting(name) {
            // An option that is not listed may have a value. Then the value is taken for a program, and the command
            // counts as one that runs files.
            words = after_options_with(rest, |option| is_directory(option) || WITH_VALUE.contains(&option));
        } else {
            return with_program(name, first, rest);
        }
    }
}

fn with_program(name: &str, first: &str, rest: &[String]) -> FileUse {
    let options = || rest.iter().filter(|word| is_option(word));
    let first_is = |option: &[&str]| {
        rest.first().is_some_and(|word| option.contains(&word.as_str())) && options().count() == 1
    };
    let is_python = name.starts_with("python") || name.starts_with("pypy");
    let looks = match name {
        _ if first.contains(HOLE) => false,
        "git" => {
            let mut words = rest.iter().skip_while(|word| *word == "--no-pager").peekable();
            if words.next_if(|word| *word == "-C").is_some() {
                words.next();
            }
            let command = words.next().map(String::as_str).unwrap_or_default();
            is_one(OF_GIT, command)
                && !rest.iter().any(|word| STARTING_OF_GIT.iter().any(|option| word.starts_with(option)))
        }
        "node" | "nodejs" => first_is(&["--check", "-c", "--test"]),
        "bash" | "sh" | "dash" | "zsh" | "ksh" => first_is(&["-n"]),
        "ruby" => first_is(&["-c", "-wc"]),
        "php" => first_is(&["-l"]),
        "deno" => rest.first().is_some_and(|word| is_one("fmt lint check test", word)),
        "terraform" | "tofu" | "zig" | "dart" | "mix" => {
            rest.first().is_some_and(|word| is_one("fmt format test validate", word))
        }
        "go" => rest.first().is_some_and(|word| is_one("fmt vet test build list", word)),
        "cargo" => rest.first().is_some_and(|word| is_one("fmt check clippy test build", word)),
        "dotnet" => rest.first().is_some_and(|word| is_one("format build test", word)),
        _ if is_python => python_module(rest).is_some_and(|module| is_one(MODULES, module)),
        _ => is_one(LOOKING, name),
    };
    match looks {
        true => FileUse::Looks,
        false if is_one(PASSING, name) => FileUse::Passes,
        false => FileUse::Runs,
    }
}

/// The module that python runs, if only options without a value stand before it.
fn python_module(rest: &[String]) -> Option<&str> {
    let at = rest.iter().position(|word| !is_option(word) || word.starts_with("-m"))?;
    if rest[..at].iter().any(|word| word.starts_with("-c")) {
        return None;
    }
    let module = rest[at].strip_prefix("-m")?;
    if module.is_empty() { rest.get(at + 1).map(String::as_str) } else { Some(module) }
}

/// The name of a program, without the directory that it is in.
pub fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether a word is an option.
pub fn is_option(word: &str) -> bool {
    word.starts_with(['-', '+'])
}

fn is_number(word: &str) -> bool {
    word.starts_with(|letter: char| letter.is_ascii_digit())
}

fn is_one(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &str) -> FileUse {
        use_of(&text.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn checkers_are_known_in_each_spelling() {
        for text in [
            "npx prettier --check a.ts",
            "npm run lint -- a.ts",
            "npm run lint:fix a.ts",
            "npm test a.ts",
            "yarn lint a.ts",
            "uv run --frozen ruff check a.py",
            "poetry run pytest a.py",
            "python -m pytest a.py",
            "python3.12 -W -m black a.py",
            "node --check a.js",
            "bash -n a.sh",
            "git diff --stat -- a.py",
            "git --no-pager diff a.py",
            "deno fmt a.ts",
            "[ ? = a.py ]",
            "sudo sha256sum a",
            "X=1 oxlint a.ts",
            "python: ruff check a.py",
        ] {
            assert_eq!(of_text(text), FileUse::Looks, "{text}");
        }
        assert_eq!(of_text("cat a.py"), FileUse::Passes);
    }

    #[test]
    fn what_may_run_a_file_is_none() {
        for text in [
            "npx tsx a.ts",
            "npm run start a.ts",
            "npm exec a.js",
            "python -m runpy a.py",
            "python a.py -m pytest",
            "python -cX -m pytest a.py",
            "node --check -r ./x.js a.js",
            "node a.js --check",
            "bash a.sh -n",
            "git -c core.pager=./x.sh diff",
            "git bisect run ./a.sh",
            "deno run a.ts",
            "make a.sh",
            "uv run a.py",
        ] {
            assert_eq!(of_text(text), FileUse::Runs, "{text}");
        }
    }
}
