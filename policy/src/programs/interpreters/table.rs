//! The table of interpreters: their options, from their manual pages, `--help` or source.
//!
//! Why: docs/decisions.md, "Which argument is the script is looked up, not guessed."

/// An interpreter and its options.
#[derive(Debug)]
pub struct Interpreter {
    pub names: &'static [&'static str],
    /// Short options, which may be combined in one argument. An option that is not here may take a value or not.
    pub letters: &'static [(&'static str, OptionKind)],
    /// Long options, without their dashes. An option that is not here may take a value or not.
    pub words: &'static [(&'static str, OptionKind)],
    pub operands: OperandRule,
}

/// What an option takes, and what it means for the program that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// No value.
    Plain,
    /// No value; the program only prints something.
    Prints,
    /// Digits may follow at once.
    Number,
    /// A value follows at once after `:` or `=`, or digits do, or there is none.
    Colon,
    /// One character follows at once.
    Character,
    /// The value is the rest of the argument, which may be empty.
    Attached,
    /// The value is the rest of the argument, or the next argument.
    Valued,
    /// The value is the next argument, also where other letters follow.
    Next,
    /// Like [`OptionKind::Valued`]; the value is code.
    Code,
    /// The first operand is a command line.
    Command,
    /// Like [`OptionKind::Valued`]; the value is the module that runs, and no more options follow.
    Module,
    /// Like [`OptionKind::Valued`]; the value is a file that runs, and the operands are its arguments.
    File,
    /// Like [`OptionKind::Valued`]; the value is the directory in which the program then looks for its files.
    Directory,
    /// Like [`OptionKind::Valued`]; the value is a long option without its dashes.
    Long,
    /// The program comes from standard input, and the operands are its arguments.
    Input,
    /// Code is read from standard input, too.
    Prompt,
}

/// How the programs of a family read operands and long options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandRule {
    /// The first operand is a script, and the rest are its arguments. `-` is standard input.
    Script,
    /// Like [`OperandRule::Script`], but `-` ends the options, as `--` does, and `+` begins some options, too.
    Shell,
    /// Like [`OperandRule::Script`], but what follows `--` are arguments of a program on standard input.
    Php,
    /// Like [`OperandRule::Script`], but some options that take a value are missing from the table. So it is not certain
    /// which operand is the script.
    Partial,
    /// Options may follow operands, and long options may be abbreviated (GNU). The operands are data.
    Data,
}

/// Vim's names, also Debian's for its builds.
pub const EDITORS: &[&str] = &[
    "vim",
    "vi",
    "view",
    "ex",
    "vimdiff",
    "rvim",
    "rview",
    "evim",
    "gvim",
    "gview",
    "vim.basic",
    "vim.tiny",
    "vim.nox",
    "vim.gtk3",
    "vim.motif",
];

/// GNU Emacs's names, also Debian's for its builds.
pub const EMACS: &[&str] = &["emacs", "emacs-nox", "emacs-gtk", "emacs-lucid", "emacs-pgtk"];

use OptionKind::{
    Attached, Character, Code, Colon, Command, Directory, File, Input, Long, Module, Next, Number, Plain,
    Prints, Prompt, Valued,
};

pub const INTERPRETERS: &[Interpreter] = &[
    // python(1) 3.13; -Q and -t are Python 2's.
    Interpreter {
        names: &["python", "python2", "python3", "pypy", "pypy3"],
        letters: &[
            ("bBdEIOPqRsStuvx", Plain),
            ("hV?", Prints),
            ("QWX", Valued),
            ("c", Code),
            ("m", Module),
            ("i", Prompt),
        ],
        words: &[("help", Prints), ("version", Prints), ("check-hash-based-pycs", Valued)],
        operands: OperandRule::Script,
    },
    // perlrun(1) 5.40, and Perl_moreswitches of perl.c. -S is left out: it looks for the script in PATH.
    Interpreter {
        names: &["perl"],
        letters: &[
            ("acfgnpstTuUwWX", Plain),
            ("vh?", Prints),
            ("0l", Number),
            ("dV", Colon),
            ("I", Valued),
            ("CDFimMx", Attached),
            ("eE", Code),
        ],
        words: &[],
        operands: OperandRule::Script,
    },
    // ruby(1) 3.3, and proc_options of ruby.c, where -x may have a directory attached. -S is left out: it looks for the
    // script in PATH.
    Interpreter {
        names: &["ruby"],
        letters: &[
            ("acdlnpsUvwy", Plain),
            ("h", Prints),
            ("0T", Number),
            ("W", Colon),
            ("K", Character),
            ("EIr", Valued),
            ("CX", Directory),
            ("Fix", Attached),
            ("e", Code),
        ],
        words: &[
            ("verbose", Plain),
            ("yjit", Plain),
            ("jit", Plain),
            ("version", Prints),
            ("help", Prints),
            ("encoding", Valued),
            ("external-encoding", Valued),
            ("internal-encoding", Valued),
            ("enable", Valued),
            ("disable", Valued),
        ],
        operands: OperandRule::Script,
    },
    // node(1) 20
    Interpreter {
        names: &["node", "nodejs"],
        letters: &[("c", Plain), ("hv", Prints), ("rC", Valued), ("ep", Code), ("i", Prompt)],
        words: &[
            ("check", Plain),
            ("no-warnings", Plain),
            ("enable-source-maps", Plain),
            ("trace-warnings", Plain),
            ("inspect", Plain),
            ("help", Prints),
            ("version", Prints),
            ("require", Valued),
            ("import", Valued),
            ("loader", Valued),
            ("experimental-loader", Valued),
            ("conditions", Valued),
            ("input-type", Valued),
            ("title", Valued),
            ("eval", Code),
            ("print", Code),
            ("interactive", Prompt),
        ],
        operands: OperandRule::Script,
    },
    // bash(1) 5.2, parse_shell_options of shell.c; dash(1), options of options.c; ash is BusyBox's dash.
    Interpreter {
        names: &["bash", "sh", "dash", "ash"],
        letters: &[("abefhiklmnprtuvxBCDEHPTL", Plain), ("oO", Next), ("c", Command), ("s", Input)],
        words: &[
            ("debug", Plain),
            ("debugger", Plain),
            ("dump-po-strings", Plain),
            ("dump-strings", Plain),
            ("login", Plain),
            ("noediting", Plain),
            ("noprofile", Plain),
            ("norc", Plain),
            ("posix", Plain),
            ("pretty-print", Plain),
            ("protected", Plain),
            ("restricted", Plain),
            ("verbose", Plain),
            ("wordexp", Plain),
            ("help", Prints),
            ("version", Prints),
            ("init-file", Valued),
            ("rcfile", Valued),
        ],
        operands: OperandRule::Shell,
    },
    // zsh(1) 5.9, ksh(1) 93u+, mksh(1) R59: what they have in common.
    Interpreter {
        names: &["zsh", "ksh", "mksh"],
        letters: &[("aefhiklmnprtuvx", Plain), ("o", Valued), ("c", Command), ("s", Input)],
        words: &[],
        operands: OperandRule::Shell,
    },
    // php(1) 8.2, and do_cli of php_cli.c
    Interpreter {
        names: &["php"],
        letters: &[
            ("CeHlnqsw", Plain),
            ("him", Prints),
            ("cdtTz", Valued),
            ("rBRE", Code),
            ("fFS", File),
            ("a", Prompt),
        ],
        words: &[
            ("define", Valued),
            ("php-ini", Valued),
            ("docroot", Valued),
            ("zend-extension", Valued),
            ("run", Code),
            ("process-begin", Code),
            ("process-code", Code),
            ("process-end", Code),
            ("file", File),
            ("process-file", File),
            ("server", File),
        ],
        operands: OperandRule::Php,
    },
    // lua(1) 5.4
    Interpreter {
        names: &["lua", "luajit"],
        letters: &[("vEW", Plain), ("l", Valued), ("e", Code), ("i", Prompt)],
        words: &[],
        operands: OperandRule::Script,
    },
    // `julia --help`
    Interpreter {
        names: &["julia"],
        letters: &[("HLJCtpOg", Valued), ("eE", Code), ("i", Prompt)],
        words: &[("eval", Code), ("print", Code), ("load", Valued)],
        operands: OperandRule::Partial,
    },
    // expect(1)
    Interpreter {
        names: &["expect"],
        letters: &[("c", Code), ("bf", File)],
        words: &[],
        operands: OperandRule::Partial,
    },
    // gawk(1), mawk(1): "-W source=CODE" is "--source=CODE"
    Interpreter {
        names: &["awk", "gawk", "mawk", "nawk"],
        letters: &[
            ("bcCghIkMnNOPrsStV", Plain),
            ("dDLop", Attached),
            ("Fvil", Valued),
            ("W", Long),
            ("e", Code),
            ("fE", File),
        ],
        words: &[
            ("field-separator", Valued),
            ("assign", Valued),
            ("include", Valued),
            ("load", Valued),
            ("source", Code),
            ("file", File),
            ("exec", File),
        ],
        operands: OperandRule::Data,
    },
    // sed(1)
    Interpreter {
        names: &["sed", "gsed"],
        letters: &[("l", Valued), ("i", Attached), ("e", Code), ("f", File)],
        words: &[("line-length", Valued), ("expression", Code), ("file", File)],
        operands: OperandRule::Data,
    },
    // make(1)
    Interpreter {
        names: &["make", "gmake"],
        letters: &[
            ("bBdehikLmnpqrRsStvw", Plain),
            ("C", Directory),
            ("IoW", Valued),
            ("jlO", Attached),
            ("E", Code),
            ("f", File),
        ],
        words: &[
            ("directory", Directory),
            ("include-dir", Valued),
            ("assume-old", Valued),
            ("assume-new", Valued),
            ("what-if", Valued),
            ("new-file", Valued),
            ("old-file", Valued),
            ("eval", Code),
            ("file", File),
            ("makefile", File),
        ],
        operands: OperandRule::Data,
    },
    // vim(1), and command_line_scan of main.c. -s takes a value only outside of Ex mode, so it stays out.
    Interpreter {
        names: EDITORS,
        letters: &[("SuUiTtq", Valued), ("c", Code)],
        words: &[],
        operands: OperandRule::Data,
    },
    // nvim(1): -l runs a Lua file with all that the editor can do.
    Interpreter {
        names: &["nvim"],
        letters: &[("SuUiTtq", Valued), ("cl", Code)],
        words: &[],
        operands: OperandRule::Data,
    },
    // dc(1) 1.5
    Interpreter {
        names: &["dc"],
        letters: &[("hV", Prints), ("e", Code), ("f", File)],
        words: &[("help", Prints), ("version", Prints), ("expression", Code), ("file", File)],
        operands: OperandRule::Partial,
    },
    // m4(1) 1.4
    Interpreter {
        names: &["m4"],
        letters: &[("BDFHILNRSTUlot", Valued), ("d", Attached)],
        words: &[("define", Valued), ("include", Valued), ("undefine", Valued)],
        operands: OperandRule::Data,
    },
];
