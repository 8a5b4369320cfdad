//! Finds, by an interpreter's arguments, what it may run: an approval is bound to that, too.

use super::code_on_input::{
    CodeOnInput, has_input_file, is_nodes_debugger, on_input, others_on_input, reads_lines,
};
use super::data_only::is_data_only;
use super::inline_eval::{inline_eval_of, is_interpreter};
use super::interpreters::{Element, Interpreter, OperandRule, OptionKind, applet, interpreter, is_of};
use super::mentioned_files::{MentionedFiles, mentioned};
use super::name::program_name;
use super::named_files::{argument_files, directory, entries, joined, loaded, values};
use super::python_modules::modules;
use super::reads_programs::reads_programs;
use super::starters::{MULTICALL, is_shell, starts_others};

/// What a program may run by its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// The index in `argv` of the script, where it is certain.
    pub script: Option<usize>,
    /// The directory in which the program looks for its script (`ruby -C DIR`): an absolute path, or one relative to
    /// the current directory. Empty for the current directory.
    pub directory: Vec<u8>,
    /// The files that run where the script is a directory, below it (`python3 DIR`).
    pub entries: &'static [&'static str],
    /// Whether the program resolves the names of its files itself, as text, before it opens them (node's `fs.realpathSync`).
    pub resolves_names: bool,
    /// Whether the program does not open a script that is named by a descriptor: it reads the descriptor (perl.c,
    /// open_script), or opens the name that the descriptor has (node).
    pub follows_descriptors: bool,
    /// What else may be a file that is run: other arguments, values of options, and the files that a module's name
    /// stands for. If the script is certain and no option loads code, these are only the files of modules.
    pub others: Vec<Vec<u8>>,
    /// The module that runs (`python3 -m MODULE`): where it is found is not certain.
    pub module: Option<String>,
    /// Names of modules for which there are too many files.
    more_modules: Vec<Vec<u8>>,
    /// The files whose words are arguments, too (`java @FILE`).
    pub argument_files: Vec<Vec<u8>>,
    /// Whether the program may run what it reads from standard input.
    pub input: CodeOnInput,
}

impl Operands {
    /// Returns the script's path as the program opens it.
    #[must_use]
    pub fn script_path(&self, argv: &[Vec<u8>]) -> Option<Vec<u8>> {
        Some(joined(&self.directory, argv.get(self.script?)?))
    }

    /// Returns the script's path, and the paths in `others`.
    pub(crate) fn into_files(self, argv: &[Vec<u8>]) -> impl Iterator<Item = Vec<u8>> {
        self.script_path(argv).into_iter().chain(self.others)
    }
}

/// The kind of an input from which a program runs code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputKind {
    /// A terminal: an interactive session, where a human or a program types.
    Terminal,
    /// A pipe, with a name or without one.
    Pipe,
    /// A regular file.
    File,
    /// A socket or a device.
    Other,
    /// A directory, of which the program runs a file.
    Directory,
    /// A terminal that an argument names. Whoever holds its other end types there, which need not be a human.
    NamedTerminal,
    /// More files among the arguments than are held one by one.
    MoreFiles,
    /// A module that is looked for in several directories.
    Module,
}

/// Returns what the program at `path` may run. That never allows anything.
pub fn script_operands(path: &[u8], argv: &[Vec<u8>]) -> Operands {
    let (program, arguments) = called(path, argv);
    let words: Vec<_> = arguments.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let known = interpreter(&program);
    let is_one = runs_files(&program, known, arguments);
    let input = match known {
        _ if reads_lines(&program, &words) => CodeOnInput::Runs,
        _ if !is_one && is_unknown(&program, path, arguments) => CodeOnInput::Unknown,
        _ if !is_one => CodeOnInput::No,
        Some(known) if known.operands != OperandRule::Data => on_input(known, &words),
        Some(known) if has_input_file(known, &words) => CodeOnInput::Runs,
        _ if inline_eval_of(program.as_bytes(), arguments).is_some() => CodeOnInput::No,
        _ => others_on_input(&program, &words),
    };
    if !is_one {
        return Operands { input, ..Operands::default() };
    }
    let script = known.and_then(|known| script(known, &words));
    let before = script.unwrap_or(arguments.len());
    let directory = directory(&program, known, &words);
    let named = arguments[..before].iter().flat_map(|word| values(word));
    let modules = modules(known, &words);
    let loaded = loaded(&program, known, &words[..before]);
    let mut others: Vec<_> = named.chain(loaded).chain(modules.files).collect();
    // Where it is not certain what is an option, the name of a file may begin with a dash.
    let dashed = arguments.iter().filter(|word| script.is_none() && word.len() > 1 && word.starts_with(b"-"));
    others.extend(dashed.cloned());
    others = joined_to(&directory, others);
    let mut seen = std::collections::HashSet::new();
    others.retain(|file| seen.insert(file.clone()));
    Operands {
        module: modules.module,
        more_modules: modules.more,
        argument_files: argument_files(&program, arguments),
        script: script.map(|at| argv.len() - arguments.len() + at),
        entries: entries(known),
        resolves_names: known.is_some_and(|known| known.family() == "node"),
        follows_descriptors: known.is_some_and(|known| matches!(known.family(), "node" | "perl")),
        directory,
        others,
        input,
    }
}

/// Returns the words of commands and code among the arguments of a program with these operands. The words may name files
/// that are run. There may be many, so only code that asks about a program looks for them.
pub fn mentioned_files(path: &[u8], argv: &[Vec<u8>], operands: &Operands) -> MentionedFiles {
    let (program, arguments) = called(path, argv);
    let known = interpreter(&program);
    if !runs_files(&program, known, arguments) {
        return MentionedFiles::default();
    }
    let before = operands.script.map_or(argv, |at| &argv[..at]);
    let before = before.get(argv.len() - arguments.len()..).unwrap_or_default();
    let words: Vec<_> = before.iter().map(|word| String::from_utf8_lossy(word)).collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let mut mentioned = mentioned(&program, known, &words);
    mentioned.words = joined_to(&operands.directory, mentioned.words);
    mentioned.more.extend(operands.more_modules.iter().cloned());
    mentioned
}

/// Whether a program may run files that its arguments name.
fn runs_files(program: &str, known: Option<&'static Interpreter>, arguments: &[Vec<u8>]) -> bool {
    is_shell(program)
        || is_interpreter(program)
        || known.is_some_and(|known| known.operands != OperandRule::Data)
        || reads_programs(program, arguments)
}

/// The files in another directory, and as they are written: a program may look for some before it enters the directory.
fn joined_to(directory: &[u8], files: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    match directory {
        b"" => files,
        _ => files.iter().flat_map(|file| [joined(directory, file), file.clone()]).collect(),
    }
}

/// Whether nothing is known of a program: it may run any file that it is given.
fn is_unknown(program: &str, path: &[u8], arguments: &[Vec<u8>]) -> bool {
    !(is_data_only(path, arguments) || starts_others(program) || interpreter(program).is_some())
}

/// The name and the arguments of the program that runs. A multicall binary goes by the name that it was called by, or by
/// its first argument.
fn called<'a>(path: &[u8], argv: &'a [Vec<u8>]) -> (String, &'a [Vec<u8>]) {
    let own = program_name(path);
    let (name, arguments) = argv.split_first().map_or((&[][..], argv), |(name, rest)| (&name[..], rest));
    let name = program_name(name.strip_prefix(b"-").unwrap_or(name));
    let is_applet = is_of(&own, &MULTICALL) && !name.is_empty() && name != own;
    applet(if is_applet { name } else { own }, arguments)
}

/// Returns the position of the script among the arguments, if that is certain.
fn script(interpreter: &'static Interpreter, arguments: &[&str]) -> Option<usize> {
    use OptionKind::{Attached, Character, Colon, Directory, Next, Number, Plain, Prompt, Valued};
    if matches!(interpreter.operands, OperandRule::Partial | OperandRule::Data) {
        return None;
    }
    let mut elements = interpreter.elements(arguments);
    elements.find_map(|element| match element {
        Element::Operand(at) if is_nodes_debugger(interpreter, arguments[at]) => Some(None),
        Element::Operand(at) => Some(Some(at)),
        Element::Option(
            _,
            Plain | Number | Colon | Character | Attached | Valued | Directory | Next | Prompt,
            _,
        ) => None,
        Element::Option(..) | Element::Unknown | Element::Dash => Some(None),
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Operands {
        let argv: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        script_operands(&argv[0].clone(), &argv)
    }

    fn operands(line: &str) -> (Option<&str>, Vec<String>) {
        let words: Vec<&str> = line.split(' ').collect();
        let Operands { script, others, .. } = found(line);
        let text = |other: Vec<u8>| String::from_utf8(other).unwrap();
        // What is no option may begin with a dash: see below.
        let is_dashed = |other: &String| {
            let name = other.rsplit('/').next().unwrap_or_default();
            name.starts_with('-') && words.contains(&name)
        };
        let others = others.into_iter().map(text).filter(|other| !is_dashed(other));
        (script.map(|at| words[at]), others.collect())
    }

    #[test]
    fn a_file_may_have_the_name_of_an_option() {
        for (line, name) in [
            ("/usr/bin/gdb -x -e.gdb", "-e.gdb"),
            ("/usr/bin/sqlite3 -init -e.sql", "-e.sql"),
            ("/usr/bin/perl -Z -x a.pl", "-x"),
            ("/usr/bin/make -C d -f -x.mk", "d/-x.mk"),
        ] {
            assert!(found(line).others.contains(&name.as_bytes().to_vec()), "{line}");
        }
        assert!(found("/usr/bin/python3 -I x.py").others.is_empty());
    }

    #[test]
    fn the_script_is_what_the_interpreter_takes_for_it() {
        for (line, expected) in [
            ("/usr/bin/python3 tool.py a b", "tool.py"),
            ("/usr/bin/python3.12 -u -W ignore tool.py", "tool.py"),
            ("/usr/bin/python3 -O evil.py good.py", "evil.py"),
            ("/usr/bin/python3 -OO -Xdev evil.py good.py", "evil.py"),
            ("/usr/bin/perl -X evil.pl good.pl", "evil.pl"),
            ("/usr/bin/perl -I good.pl evil.pl", "evil.pl"),
            ("/usr/bin/perl -W -l012 evil.pl good.pl", "evil.pl"),
            ("/usr/bin/node --title good.js evil.js", "evil.js"),
            ("/usr/bin/node --title=good.js evil.js", "evil.js"),
            ("/usr/bin/node --require ./pre.js main.js", "main.js"),
            ("/usr/bin/ruby -r good.rb evil.rb", "evil.rb"),
            ("/usr/bin/php -c good.php evil.php", "evil.php"),
            ("/bin/bash -x -o pipefail build.sh", "build.sh"),
            ("/bin/bash +x -eo pipefail build.sh", "build.sh"),
            ("/usr/bin/perl -- -odd", "-odd"),
            ("/usr/bin/perl -D- -x good.pl", "-x"),
            ("/usr/bin/perl -w- -x good.pl", "-x"),
            ("/usr/bin/perl -D31x evil.pl good.pl", "evil.pl"),
            // perl.c, moreswitches: "Grandfather -0xFOO as -0 -xFOO".
            ("/usr/bin/perl -0x41I evil.pl good.pl", "evil.pl"),
            ("/usr/bin/perl -0x41 evil.pl good.pl", "evil.pl"),
            ("/usr/bin/lua5.4 -l mod main.lua", "main.lua"),
            // After -l of perl, other letters may follow (perlrun(1)).
            ("/usr/bin/perl -lI good.pl evil.pl", "evil.pl"),
            ("/usr/bin/perl -0777I good.pl evil.pl", "evil.pl"),
            ("/usr/bin/ruby -W0I good.rb evil.rb", "evil.rb"),
            // -o of bash and dash takes the next argument, even if more letters follow it in this one (shell.c,
            // options.c).
            ("/bin/bash -oe errexit evil.sh", "evil.sh"),
            ("/bin/dash -oo errexit noglob evil.sh", "evil.sh"),
            ("/bin/bash - evil.sh", "evil.sh"),
            ("/bin/busybox sh evil.sh", "evil.sh"),
        ] {
            assert_eq!(operands(line).0, Some(expected), "{line}");
        }
    }

    #[test]
    fn an_uncertain_operand_is_no_script() {
        for line in [
            "/usr/bin/python3",
            "/usr/bin/python3 -m http.server",
            "/usr/bin/python3 -c x tool.py",
            "/usr/bin/python3 - tool.py",
            "/usr/bin/python3 --new-option a.py b.py",
            "/usr/bin/node --new-option a.js b.js",
            "/bin/bash -ec x",
            "/bin/bash -s x",
            "/bin/bash + x",
            "/usr/bin/perl -w-x good.pl",
            "/usr/bin/perl -- -",
            "/usr/bin/python3 -- -",
            "/usr/bin/curl file",
            "/usr/bin/make all",
            "/usr/bin/perl --",
            "/usr/bin/deno run a.ts",
            // php(1): what follows "--" are arguments of a program on standard input.
            "/usr/bin/php -- good.php",
            // bash(1) reads its long options also after one dash.
            "/bin/bash -noprofile evil.sh a good.sh",
            // perlrun(1): -S looks in PATH.
            "/usr/bin/perl -S good.pl",
            "/usr/bin/julia -O evil.jl good.jl",
            "/usr/bin/expect -f evil.exp good.exp",
            // `inspect` without a path before it starts node's debugger.
            "/usr/bin/node inspect evil.js",
        ] {
            assert_eq!(operands(line).0, None, "{line}");
        }
    }

    #[test]
    fn every_other_file_that_may_run_is_named() {
        for (line, expected) in [
            ("/usr/bin/python3 tool.py data", &[][..]),
            ("/usr/bin/node --require ./pre.js main.js data", &["./pre.js"]),
            ("/usr/bin/node -r./pre.js main.js", &["./pre.js"]),
            ("/usr/bin/node --new=a.js b.js", &["a.js", "b.js"]),
            ("/usr/bin/make -f evil all", &["evil", "all"]),
            // gawk(1), AWKPATH: ".awk" is added to a name that is not found.
            ("/usr/bin/awk -fevil data", &["evil", "data", "evil.awk"]),
            ("/usr/bin/gawk -W file=evil.awk", &["file=evil.awk", "evil.awk"]),
            ("/usr/bin/gdb -x=evil.gdb", &["=evil.gdb", "evil.gdb"]),
            ("/usr/bin/gdb -ix=evil.gdb", &["x=evil.gdb", "evil.gdb"]),
            ("/usr/bin/gdb -cd=d -x x", &["d/d=d", "d=d", "d/d", "d", "d/x", "x"]),
            ("/usr/bin/php -d auto_prepend_file=p.php x.php", &["auto_prepend_file=p.php", "p.php"]),
            ("/usr/bin/java @a", &["@a", "a"]),
            ("/usr/bin/jq -nf x.jq", &["f", "x.jq"]),
            ("/usr/bin/sqlite3 db .read\tx.sql", &["db", ".read\tx.sql", "x.sql"]),
            ("/usr/bin/ruby -r./good x.rb", &["./good", "./good.rb", "./good.so"]),
            (
                "/usr/bin/ruby -Ilib -rgood x.rb",
                &["lib", "good", "good.rb", "good.so", "lib/good.rb", "lib/good.so"],
            ),
            ("/usr/bin/perl -I. -MA::B x.pl", &[".", "A::B", "A/B.pm", "./A/B.pm"]),
            ("/usr/bin/lua5.4 -l mod x.lua", &["mod", "mod.lua", "mod/init.lua", "mod.so"]),
            ("/usr/bin/node inspect x.js", &["inspect", "x.js"]),
            ("/usr/bin/latex -halt x", &["alt", "x", "x.tex"]),
            ("/usr/bin/java a.B", &["a.B", "a/B.class"]),
            ("/usr/bin/make -C d -f x.mk", &["d/d", "d", "d/x.mk", "x.mk"]),
            ("/usr/bin/tclsh evil.tcl", &["evil.tcl"]),
            ("/usr/bin/java -jar evil.jar", &["ar", "evil.jar"]),
            ("/usr/bin/curl file", &[]),
        ] {
            assert_eq!(operands(line).1, expected, "{line}");
        }
    }

    /// The script is opened in that directory, so a file of the same name elsewhere is not shown in its place.
    #[test]
    fn an_option_that_changes_the_directory_counts() {
        for (line, expected) in [
            ("/usr/bin/ruby -C d x.rb", "d/x.rb"),
            ("/usr/bin/ruby3.1 -Cd -Xe -xf x.rb", "d/e/f/x.rb"),
            ("/usr/bin/ruby -C d -C /e x.rb", "/e/x.rb"),
            ("/usr/bin/ruby -C d /x.rb", "/x.rb"),
            ("/usr/bin/ruby -x x.rb", "x.rb"),
            ("/usr/bin/perl -xd x.pl", "x.pl"),
        ] {
            let argv: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
            let found = script_operands(&argv[0].clone(), &argv).script_path(&argv);
            assert_eq!(found.as_deref(), Some(expected.as_bytes()), "{line}");
        }
    }

    /// Perl_moreswitches of perl.c: the value of -F ends at white space, and a dash there begins more options.
    #[test]
    fn options_go_on_behind_a_blank() {
        let of = |words: &[&str]| {
            let argv: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            script_operands(b"/usr/bin/perl", &argv).script
        };
        assert_eq!(of(&["perl", "-F: -I", "good.pl", "evil.pl"]), Some(3));
        assert_eq!(of(&["perl", "-F: -e", "1", "good.pl"]), None);
        assert_eq!(of(&["perl", "-F:-I", "evil.pl", "x"]), Some(2));
        assert_eq!(of(&["perl", "-Ix -I", "evil.pl", "good.pl"]), Some(2));
    }

    #[test]
    fn of_other_programs_nothing_is_known() {
        for (line, expected) in [
            ("/opt/tool x", CodeOnInput::Unknown),
            ("/usr/bin/cat x", CodeOnInput::No),
            ("/usr/bin/env x", CodeOnInput::No),
            ("/usr/bin/jq .x", CodeOnInput::No),
        ] {
            assert_eq!((found(line).input, found(line).others), (expected, vec![]), "{line}");
        }
    }

    #[test]
    fn code_on_standard_input_is_known() {
        for line in [
            "/usr/bin/python3 -",
            "/usr/bin/python3",
            "/usr/bin/python3 -u - x",
            "/usr/bin/python3 -i tool.py",
            "/usr/bin/node -",
            "/usr/bin/node inspect x.js",
            "/usr/bin/node --new-option good.js",
            "/usr/bin/perl",
            "/usr/bin/perl -w - x",
            "/usr/bin/ruby -",
            "/usr/bin/php -- good.php",
            "/usr/bin/lua5.4 -",
            "/bin/bash",
            "/bin/bash -s x",
            "/bin/dash -es -- x",
            "/bin/bash -o pipefail",
            "/bin/bash --rcfile x",
            "/bin/busybox sh",
            "/usr/bin/fish",
            "/usr/bin/tclsh8.6",
            "/usr/bin/julia -q",
            "/usr/bin/m4 -DA=1",
            "/usr/bin/m4 a -",
            "/usr/bin/awk -f - x",
            "/usr/bin/make -f -",
            "/usr/bin/deno run -",
            "/usr/bin/ed -s",
            "/usr/bin/vim.basic -es",
            "/usr/bin/sqlite3 :memory:",
            "/usr/bin/sqlite3 -separator , db",
            "/usr/bin/psql db",
            "/usr/bin/gdb prog",
            "/usr/bin/mujs",
        ] {
            assert_eq!(found(line).input, CodeOnInput::Runs, "{line}");
        }
        for line in [
            "/usr/bin/python3 tool.py",
            "/usr/bin/python3 tool.py -",
            "/usr/bin/python3 -m http.server -",
            "/usr/bin/python3 -c 1 -",
            "/usr/bin/python3 --version",
            "/usr/bin/node x.js -",
            "/usr/bin/node -e 1",
            "/usr/bin/perl -e 1 -",
            "/usr/bin/perl -v",
            "/bin/bash -c x",
            "/bin/bash x.sh -s",
            "/usr/bin/awk 1 -",
            "/usr/bin/sed p -",
            "/usr/bin/make all",
            "/usr/bin/java -version",
            "/usr/bin/vim -",
            "/usr/bin/cat -",
            "/usr/bin/psql -c x",
        ] {
            assert_eq!(found(line).input, CodeOnInput::No, "{line}");
        }
    }
}
