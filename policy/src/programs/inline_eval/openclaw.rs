//! The table of [`super::inline_eval()`]: the options of each program that take code, as in OpenClaw 2026.9.6
//! (inline-eval).

/// Options that take code.
pub(super) struct Flags {
    pub(super) names: &'static [&'static str],
    /// Compared without case. A short option may have the code attached if `attached` is set; a long one may
    /// be followed by `=`.
    pub(super) any_case: &'static [&'static str],
    /// Compared as written.
    pub(super) exact: &'static [&'static str],
    pub(super) attached: bool,
    /// Letters that may precede the option's own in one argument, `-ne CODE`. Digits may follow if `0` is one of these letters.
    pub(super) cluster: Option<Cluster>,
}

pub(super) struct Cluster {
    pub(super) before: &'static str,
    pub(super) code: &'static str,
}

const fn flags(names: &'static [&'static str], any_case: &'static [&'static str]) -> Flags {
    Flags { names, any_case, exact: &[], attached: true, cluster: None }
}

/// Programs with options that take code.
pub(super) const FLAGS: &[Flags] = &[
    Flags {
        cluster: Some(Cluster { before: "BEIOPRSbdiqsuvx", code: "c" }),
        ..flags(&["python", "python2", "python3", "pypy", "pypy3"], &["-c"])
    },
    flags(&["node", "nodejs", "bun", "deno"], &["-e", "--eval", "-p", "--print"]),
    flags(&["awk", "gawk", "mawk", "nawk"], &["-e", "--source"]),
    Flags { cluster: Some(Cluster { before: "SUWacdlnpsvw0", code: "e" }), ..flags(&["ruby"], &["-e"]) },
    Flags {
        cluster: Some(Cluster { before: "STWXUVacdflnpstuw0", code: "eE" }),
        ..flags(&["perl"], &["-e"])
    },
    Flags { exact: &["-B", "-E", "-R"], ..flags(&["php"], &["-r"]) },
    flags(&["r", "rscript"], &["-e"]),
    Flags { exact: &["-E"], ..flags(&["julia"], &["-e", "--eval", "--print"]) },
    Flags { attached: false, ..flags(&["elixir"], &["-e", "--eval", "--rpc-eval"]) },
    Flags { attached: false, ..flags(&["guile"], &["-c"]) },
    flags(&["groovy"], &["-e", "-ne", "-pe"]),
    Flags {
        attached: false,
        ..flags(
            &["scala"],
            &[
                "-e",
                "--script-snippet",
                "--execute-script",
                "--execute-sc",
                "--execute-scala-script",
                "--scala-snippet",
                "--execute-scala",
                "--java-snippet",
                "--execute-java",
                "--markdown-snippet",
                "--md-snippet",
                "--execute-markdown",
                "--execute-md",
            ],
        )
    },
    Flags { attached: false, ..flags(&["clojure", "clj"], &["-e", "--eval"]) },
    Flags {
        attached: false,
        cluster: Some(Cluster { before: "np", code: "e" }),
        ..flags(&["raku", "perl6"], &["-e"])
    },
    Flags { attached: false, ..flags(&["ghc", "ghci"], &["-e"]) },
    flags(&["erl", "werl"], &["-eval"]),
    flags(
        &["gdb"],
        &["-ex", "-iex", "-eval-command", "--eval-command", "-init-eval-command", "--init-eval-command"],
    ),
    flags(&["expect"], &["-c"]),
    flags(&["lua", "luajit"], &["-e"]),
    flags(&["osascript"], &["-e"]),
    Flags { exact: &["-E"], ..flags(&["make", "gmake"], &["-f", "--file", "--makefile", "--eval"]) },
    Flags { exact: &["-e", "--expression"], ..flags(&["sed", "gsed"], &[]) },
];

/// Programs whose first operand is code, or a command.
pub(super) struct Operand {
    pub(super) names: &'static [&'static str],
    /// Options with which the code comes from a file, and operands are data.
    pub(super) from_file: &'static [&'static str],
    /// Options that take the next argument.
    pub(super) valued: &'static [&'static str],
}

/// Programs whose first operand is code.
pub(super) const OPERANDS: &[Operand] = &[
    Operand {
        names: &["awk", "gawk", "mawk", "nawk"],
        from_file: &["-f", "--file"],
        valued: &["-F", "--field-separator", "-v", "--assign", "-i", "--include", "-l", "--load", "-W"],
    },
    Operand { names: &["sed", "gsed"], from_file: &["-f", "--file"], valued: &["-l", "--line-length"] },
];

/// Programs whose first operand is a command.
pub(super) const COMMANDS: &[Operand] = &[Operand {
    names: &["xargs"],
    from_file: &[],
    valued: &[
        "-a",
        "--arg-file",
        "-d",
        "--delimiter",
        "-E",
        "-I",
        "-L",
        "--max-lines",
        "-n",
        "--max-args",
        "-P",
        "--max-procs",
        "-s",
        "--max-chars",
    ],
}];

/// The options of find(1) that start a command.
pub const FIND: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
