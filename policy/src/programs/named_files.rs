//! The files that the arguments of an interpreter may name.

use super::interpreters::{EMACS, Element, Interpreter, OptionKind, OptionName, is_of};
use super::mentioned_files::read_by_commands;

/// What an argument names if it is a file: itself, the value that is attached to an option (`-fFILE`), what follows
/// the first `=` (`--file=FILE`, `-x=FILE`, `auto_prepend_file=FILE`), and each of these without an `@` before it (`@FILE`).
///
/// What follows several letters is found by [`loaded`].
pub(crate) fn values(argument: &[u8]) -> Vec<Vec<u8>> {
    let behind_equals = argument.iter().position(|byte| *byte == b'=').map(|at| &argument[at + 1..]);
    let own = match argument {
        // Standard input.
        b"-" | [b'-', b'-', ..] => None,
        [b'-', _, rest @ ..] => Some(rest),
        _ => Some(argument),
    };
    let without_at = |value: &&[u8]| value.strip_prefix(b"@").map(<[u8]>::to_vec);
    let named: Vec<&[u8]> = own.into_iter().chain(behind_equals).filter(|value| !value.is_empty()).collect();
    let plain = named.iter().map(|value| value.to_vec());
    let mut all: Vec<_> =
        plain.chain(named.iter().filter_map(without_at).filter(|value| !value.is_empty())).collect();
    all.dedup();
    all
}

/// Joins a path to the directory that it is relative to; an empty directory is the current one.
pub(super) fn joined(directory: &[u8], path: &[u8]) -> Vec<u8> {
    match directory {
        _ if path.starts_with(b"/") => path.to_vec(),
        b"" => path.to_vec(),
        _ => [directory, b"/", path].concat(),
    }
}

/// The files whose words are arguments, too: java(1), "java Command-Line Argument Files", `-XX:VMOptionsFile` and
/// `-XX:Flags`; ghc(1). The lines of node's `--env-file` set variables, `NODE_OPTIONS` among them.
pub(super) fn argument_files(program: &str, arguments: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let prefixes: &[&[u8]] = match program {
        _ if is_of(program, &["java"]) => &[b"@", b"-XX:VMOptionsFile=", b"-XX:Flags="],
        _ if is_of(program, &["ghc", "ghci"]) => &[b"@"],
        _ if is_of(program, &["node", "nodejs"]) => &[b"--env-file=", b"--env-file-if-exists="],
        _ => &[],
    };
    let is_apart = |word: &&[Vec<u8>]| {
        let name = &*word[0];
        prefixes.iter().any(|prefix| prefix.strip_suffix(b"=") == Some(name))
    };
    let apart = arguments.windows(2).filter(is_apart).map(|pair| pair[1].clone());
    let attached = arguments.iter().flat_map(|argument| {
        prefixes.iter().filter_map(|prefix| argument.strip_prefix(*prefix)).map(<[u8]>::to_vec)
    });
    attached.chain(apart).collect()
}

/// The files that an interpreter runs where its script is a directory: python(1), "Interface options"; node's modules API,
/// "Folders as modules".
pub(super) fn entries(interpreter: Option<&'static Interpreter>) -> &'static [&'static str] {
    match interpreter.map(Interpreter::family) {
        Some("python") => &["__main__.py", "__main__.pyc"],
        Some("node") => &["package.json", "index.js", "index.json", "index.node"],
        _ => &[],
    }
}

/// The directory in which the program looks for its files, if an option changes it. Later options are relative to earlier ones.
pub(super) fn directory(program: &str, known: Option<&'static Interpreter>, arguments: &[&str]) -> Vec<u8> {
    let mut directory = Vec::new();
    let mut enter = |value: &str| {
        if !value.is_empty() {
            directory = joined(&directory, value.as_bytes());
        }
    };
    for element in known.into_iter().flat_map(|known| known.elements(arguments)) {
        match element {
            Element::Option(_, OptionKind::Directory, value) => enter(value),
            // ruby.c, proc_options: "-xDIR" changes the directory, too.
            Element::Option(OptionName::Letter('x'), _, value) if is_of(program, &["ruby"]) => enter(value),
            _ => {}
        }
    }
    let options: &[&str] = match program {
        // gdb(1) -cd; ninja(1) -C; the GNU Emacs manual, "Initial Options": --chdir
        _ if is_of(program, &["gdb"]) => &["cd"],
        _ if is_of(program, &["ninja", "samu", "meson"]) => &["C"],
        _ if is_of(program, EMACS) => &["chdir"],
        _ if is_of(program, &["bun", "deno"]) => &["cwd"],
        _ => &[],
    };
    let mut rest = arguments.iter();
    while let Some(word) = rest.next().filter(|_| !options.is_empty()) {
        let dashes = word.len() - word.trim_start_matches('-').len();
        let (name, value) = word[dashes..]
            .split_once('=')
            .map_or((&word[dashes..], None), |(name, value)| (name, Some(value)));
        // Two dashes allow an abbreviation.
        let is_one =
            |option: &&str| name == *option || name.len() > 1 && dashes == 2 && option.starts_with(name);
        if dashes > 0 && options.iter().any(is_one) {
            enter(value.or_else(|| rest.next().copied()).unwrap_or_default());
        }
    }
    directory
}

/// The files that options load by a name that is not their path, and those that commands read.
pub(super) fn loaded(program: &str, known: Option<&'static Interpreter>, arguments: &[&str]) -> Vec<Vec<u8>> {
    let mut found: Vec<String> = Vec::new();
    let mut directories: Vec<&str> = Vec::new();
    let mut modules: Vec<(String, &[&str])> = Vec::new();
    let family = known.map_or("", Interpreter::family);
    for element in known.into_iter().flat_map(|known| known.elements(arguments)) {
        let Element::Option(name, kind, value) = element else { continue };
        match (family, name) {
            ("perl" | "ruby", OptionName::Letter('I')) => directories.push(value),
            ("perl", OptionName::Letter('M')) if value.starts_with("lib=") => {
                directories.extend(value["lib=".len()..].split(','));
            }
            _ => modules.extend(endings(family, name, value)),
        }
        if let ("node", OptionName::Word("import" | "loader" | "experimental-loader")) = (family, name) {
            found.push(path_of_url(value));
        }
        if matches!(kind, OptionKind::File | OptionKind::Valued) {
            found.push(value.to_owned());
        }
    }
    let operands = arguments.iter().filter(|word| !word.starts_with(['-', '@', '\\']));
    if is_of(program, TEX) {
        modules.extend(operands.map(|word| ((*word).to_owned(), &[".tex"][..])));
    } else if is_of(program, &["java"]) {
        let classes = operands.filter(|word| !word.ends_with(".jar") && !word.ends_with(".java"));
        modules.extend(classes.map(|word| (word.replace('.', "/"), &[".class"][..])));
    }
    if is_of(program, EMACS) {
        let names = arguments.iter().map(|word| word.split_once('=').map_or(*word, |(_, value)| value));
        modules.extend(names.map(|name| (name.to_owned(), &[".el", ".elc"][..])));
    }
    for (module, endings) in modules {
        if endings.iter().any(|ending| module.ends_with(ending)) {
            continue;
        }
        let inside = directories.iter().map(|directory| format!("{directory}/{module}"));
        let places: Vec<_> = std::iter::once(module.clone()).chain(inside).collect();
        found.extend(
            places.iter().flat_map(|place| endings.iter().map(move |ending| format!("{place}{ending}"))),
        );
    }
    found.extend(arguments.iter().flat_map(|word| read_by_commands(program, word)));
    found.retain(|file| !matches!(&**file, "" | "-"));
    found.into_iter().map(String::into_bytes).collect()
}

/// The path in a URL, which may be relative: node's modules API, "import specifiers".
fn path_of_url(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = path.strip_prefix("file://").unwrap_or(path);
    percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned()
}

/// tex(1): ".tex" is added to a name.
const TEX: &[&str] = &["tex", "latex", "pdftex", "pdflatex", "luatex", "lualatex", "xetex", "xelatex"];

/// What a module's name becomes, and what may follow: ruby's Kernel#require, node's modules API ("All together"), perl's
/// `require`, lua's package.path, gawk(1) AWKPATH.
fn endings<'a>(family: &str, name: OptionName, value: &str) -> Option<(String, &'a [&'a str])> {
    use OptionName::{Letter, Word};
    match (family, name) {
        ("ruby", Letter('r')) => Some((value.to_owned(), &[".rb", ".so"])),
        ("node", Letter('r') | Word("require" | "import" | "loader" | "experimental-loader")) => {
            Some((value.to_owned(), &[".js", ".json", ".node", "/package.json", "/index.js"]))
        }
        ("perl", Letter('M' | 'm')) => {
            let module = value.trim_start_matches('-');
            let end = module.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':')));
            Some((module[..end.unwrap_or(module.len())].replace("::", "/"), &[".pm"]))
        }
        ("lua", Letter('l')) => {
            let module = value.rsplit('=').next().unwrap_or(value);
            Some((module.replace('.', "/"), &[".lua", "/init.lua", ".so"]))
        }
        ("awk", Letter('f' | 'i' | 'E') | Word("file" | "include" | "exec")) => {
            Some((value.to_owned(), &[".awk"]))
        }
        _ => None,
    }
}
