//! Variables of the operator that name what programs run or read at their start, or where tools keep such files.
//!
//! The manual of each program says so: bash(1) (`BASH_ENV`, `ENV`), python(1) (`PYTHONSTARTUP`), readline(3) (`INPUTRC`),
//! less(1) (`LESSOPEN`, `LESSKEYIN`), vim's `:help startup` (`VIMINIT`), git(1), npm-config(7), "Environment Variables" of
//! The Cargo Book (`CARGO_HOME`, `RUSTC_WRAPPER`), rustup's and pip's pages of that name, hgrc(5) (`HGRCPATH`), node(1)
//! (`NODE_OPTIONS`), ruby(1) (`RUBYOPT`), environ(7) (`EDITOR`, `PAGER`), ssh(1) (`SSH_ASKPASS`), R's `?Startup`, psql(1),
//! ansible's "Configuration Settings", rg(1) (`RIPGREP_CONFIG_PATH` may name a preprocessor), corepack's `folderUtils.ts`,
//! Claude Code's and Codex's "Settings", aider's "Options reference", opencode's "Config", ld.so(8), make(1) (`MAKEFILES`),
//! openssl-env(7), perlrun(1), lua(1), java(1), rsync(1), sudo(8), gh's "Environment variables", fzf(1), .NET's "host
//! startup hook". Directories in which libraries are searched for (`PYTHONPATH`, `RUBYLIB`, `LD_LIBRARY_PATH`) are not among
//! them: they often are the work itself.

use super::lists::listed_of_agents;
use super::{PersistenceSites, Set};

/// What the values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// One path, or several with colons between them.
    Paths,
    /// Paths with blanks, colons or commas between them.
    List,
    /// A command, or another text in which paths stand.
    Text,
}
use Value::{List, Paths, Text};

/// Variables whose values name files.
const NAMING: &[(Set, Value, &str)] = &[
    (Set::Shell, Paths, "BASH_ENV ENV INPUTRC STARSHIP_CONFIG POSH_THEME SHELL"),
    (
        Set::Shell,
        Text,
        "LESSOPEN LESSCLOSE PROMPT_COMMAND FZF_DEFAULT_COMMAND FZF_CTRL_T_COMMAND FZF_ALT_C_COMMAND \
         FZF_DEFAULT_OPTS FZF_CTRL_T_OPTS FZF_CTRL_R_OPTS FZF_ALT_C_OPTS",
    ),
    (Set::Preload, List, "LD_PRELOAD LD_AUDIT"),
    (Set::Git, Text, "GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND HGEDITOR"),
    (Set::Git, Text, "GH_EDITOR GH_PAGER GH_BROWSER DELTA_PAGER HGMERGE JJ_EDITOR SVN_EDITOR"),
    (Set::Git, Paths, "GIT_TEMPLATE_DIR HGRCPATH JJ_CONFIG TIGRC_USER"),
    (
        Set::Ssh,
        Text,
        "GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS RSYNC_RSH SVN_SSH CVS_RSH",
    ),
    (
        Set::Editors,
        Paths,
        "PYTHONSTARTUP LESSKEYIN SCREENRC PSQLRC R_PROFILE_USER R_ENVIRON_USER MAILCAPS TASKRC WEZTERM_CONFIG_FILE \
         OPENSSL_CONF",
    ),
    (
        Set::Editors,
        Text,
        "EDITOR VISUAL FCEDIT SUDO_EDITOR ALTERNATE_EDITOR KUBE_EDITOR PSQL_EDITOR SYSTEMD_EDITOR TEXEDIT PAGER MANPAGER \
         SYSTEMD_PAGER BAT_PAGER PSQL_PAGER AWS_PAGER BROWSER TERMINAL VIMINIT GVIMINIT EXINIT LUA_INIT",
    ),
    (
        Set::Packages,
        Paths,
        "npm_config_userconfig NPM_CONFIG_USERCONFIG npm_config_globalconfig NPM_CONFIG_GLOBALCONFIG \
         npm_config_script_shell NPM_CONFIG_SCRIPT_SHELL PIP_CONFIG_FILE UV_CONFIG_FILE \
         GOENV WGETRC KUBECONFIG AWS_CONFIG_FILE ANSIBLE_CONFIG RIPGREP_CONFIG_PATH BUNDLE_USER_CONFIG GEMRC CONDARC \
         TF_CLI_CONFIG_FILE MISE_GLOBAL_CONFIG_FILE PYTHONPYCACHEPREFIX PRE_COMMIT_HOME PREK_HOME R_PROFILE R_ENVIRON \
         LESSKEY PHPRC ANSIBLE_VAULT_PASSWORD_FILE PNPM_HOME GOBIN PIPX_HOME UV_TOOL_DIR PYTHONUSERBASE",
    ),
    (Set::Packages, List, "MAKEFILES DOTNET_STARTUP_HOOKS"),
    (
        Set::Packages,
        Text,
        "RUSTC RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC RUSTFMT NODE_OPTIONS NODE_REPL_EXTERNAL_MODULE RUBYOPT \
         PERL5OPT PERL5DB MAVEN_OPTS GRADLE_OPTS GOFLAGS npm_config_node_options npm_config_git CARGO_BUILD_RUSTC_WRAPPER \
         JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS KUBECTL_EXTERNAL_DIFF",
    ),
    (Set::Agents, Paths, "CLAUDE_ENV_FILE OPENCODE_CONFIG"),
    (
        Set::Agents,
        Text,
        "CLAUDE_CODE_SHELL CLAUDE_CODE_SHELL_PREFIX AIDER_EDITOR AIDER_LINT_CMD AIDER_TEST_CMD AIDER_NOTIFICATIONS_COMMAND",
    ),
];

/// Variables that move a directory which a tool has in the home by default. The lists' entries for the directory in the
/// home hold for the variable's directory, too.
const MOVING: [(&str, &str); 39] = [
    ("CARGO_HOME", "/.cargo"),
    ("RUSTUP_HOME", "/.rustup"),
    ("GOPATH", "/go"),
    ("STACK_ROOT", "/.stack"),
    ("CABAL_DIR", "/.cabal"),
    ("OPAMROOT", "/.opam"),
    ("GRADLE_USER_HOME", "/.gradle"),
    ("LEIN_HOME", "/.lein"),
    ("COMPOSER_HOME", "/.composer"),
    ("BUNDLE_USER_HOME", "/.bundle"),
    ("CCACHE_DIR", "/.ccache"),
    ("DOCKER_CONFIG", "/.docker"),
    ("VAGRANT_HOME", "/.vagrant.d"),
    ("GNUPGHOME", "/.gnupg"),
    ("GH_CONFIG_DIR", "/.config/gh"),
    ("HELM_CONFIG_HOME", "/.config/helm"),
    ("IPYTHONDIR", "/.ipython"),
    ("JUPYTER_CONFIG_DIR", "/.jupyter"),
    ("DOOMDIR", "/.doom.d"),
    ("ZSH", "/.oh-my-zsh"),
    ("NVM_DIR", "/.nvm"),
    ("FNM_DIR", "/.local/share/fnm"),
    ("VOLTA_HOME", "/.volta"),
    ("BUN_INSTALL", "/.bun"),
    ("COREPACK_HOME", "/.cache/node/corepack"),
    ("DENO_INSTALL_ROOT", "/.deno"),
    ("PYENV_ROOT", "/.pyenv"),
    ("RBENV_ROOT", "/.rbenv"),
    ("NODENV_ROOT", "/.nodenv"),
    ("ASDF_DATA_DIR", "/.asdf"),
    ("SDKMAN_DIR", "/.sdkman"),
    ("MISE_DATA_DIR", "/.local/share/mise"),
    ("MISE_CONFIG_DIR", "/.config/mise"),
    ("DIRENV_CONFIG", "/.config/direnv"),
    ("KREW_ROOT", "/.krew"),
    ("CLAUDE_CONFIG_DIR", "/.claude"),
    ("CODEX_HOME", "/.codex"),
    ("OPENCODE_CONFIG_DIR", "/.config/opencode"),
    ("CURL_HOME", ""),
];

/// Where the values lead in any case: to devices, and to what the system's lists protect.
const OF_THE_SYSTEM: [&[u8]; 5] = [b"/dev/", b"/proc/", b"/usr/", b"/bin/", b"/sbin/"];

impl PersistenceSites {
    /// Returns the names of the variables that count ([`PersistenceSites::variables`]).
    pub fn names_of_variables() -> impl Iterator<Item = &'static str> {
        let naming = NAMING.iter().flat_map(|(.., names)| names.split_whitespace());
        naming.chain(MOVING.into_iter().map(|(name, _)| name))
    }

    /// Returns the places of the agents' set, as they are listed. The code that reads settings has a reader for each of them.
    pub fn places_of_agents() -> impl Iterator<Item = &'static str> {
        listed_of_agents()
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_slice())
    }

    /// Returns the files that variables of a set name.
    pub(super) fn named_by_variables(&self, set: Set, home: &[u8]) -> Vec<Vec<u8>> {
        let of_set = NAMING.iter().filter(|(other, ..)| *other == set);
        let values = of_set.flat_map(|(_, kind, names)| {
            names.split_whitespace().filter_map(|name| Some((*kind, self.value(name)?)))
        });
        let paths = values.flat_map(|(kind, value)| {
            let is_between = move |byte: &u8| match kind {
                Paths => *byte == b':',
                List => b": \t,".contains(byte),
                Text => b" \t\n'\"`|;&()<>=,".contains(byte),
            };
            value.split(is_between).filter_map(move |word| path(word, kind, home))
        });
        paths.filter(|path| OF_THE_SYSTEM.iter().all(|top| !path.starts_with(top))).collect()
    }

    /// Returns the directories that variables name in place of directories in a home. In each pair, the path of the
    /// replaced directory below the home comes first.
    pub(super) fn moved_homes(&self, home: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let moved = |(name, place)| {
            // GOPATH may have several.
            let mut values = self.value(name)?.split(|byte| *byte == b':');
            let directory = path(values.next()?, Paths, home)?;
            let directory = directory.strip_suffix(b"/").unwrap_or(&directory).to_vec();
            (!directory.is_empty() && directory != [home, str::as_bytes(place)].concat())
                .then_some((place, directory))
        };
        MOVING.into_iter().filter_map(moved).collect()
    }
}

/// Returns the absolute path that a word of a value is, or ends with (`-r/x`, `file:///x`).
fn path(word: &[u8], kind: Value, home: &[u8]) -> Option<Vec<u8>> {
    for start in [&b"~/"[..], b"$HOME/", b"${HOME}/"] {
        if let Some(rest) = word.strip_prefix(start) {
            return Some([home, b"/", rest].concat());
        }
    }
    let path = match kind {
        Text if word.starts_with(b"-") => &word[word.iter().position(|byte| *byte == b'/')?..],
        Text => word.strip_prefix(b"file://").or(word.strip_prefix(b"@")).unwrap_or(word),
        Paths | List => word,
    };
    (path.starts_with(b"/") && path.len() > 1).then(|| path.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(variables: &[(&str, &str)]) -> PersistenceSites {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        PersistenceSites { variables: variables.collect(), ..PersistenceSites::default() }
    }

    fn named(set: Set, name: &str, value: &str) -> Vec<String> {
        let found = sites(&[(name, value)]).named_by_variables(set, b"/home/u");
        found.into_iter().map(|path| String::from_utf8(path).unwrap()).collect()
    }

    #[test]
    fn a_variable_names_files() {
        for (set, name, value, files) in [
            (Set::Shell, "BASH_ENV", "/w/env.sh", &["/w/env.sh"][..]),
            (Set::Shell, "BASH_ENV", "$HOME/env.sh", &["/home/u/env.sh"]),
            (Set::Shell, "ENV", "production", &[]),
            (Set::Shell, "LESSOPEN", "||/w/lesspipe %s", &["/w/lesspipe"]),
            (Set::Editors, "EDITOR", "vim", &[]),
            (Set::Editors, "EDITOR", "/w/ed -c '~/x.vim'", &["/w/ed", "/home/u/x.vim"]),
            (Set::Editors, "VIMINIT", "source /w/vimrc|set nu", &["/w/vimrc"]),
            (Set::Editors, "PAGER", "/usr/bin/less", &[]),
            (Set::Git, "HGRCPATH", "/w/a:/w/b", &["/w/a", "/w/b"]),
            (Set::Ssh, "GIT_SSH_COMMAND", "ssh -F /w/config -i/w/key", &["/w/config", "/w/key"]),
            (
                Set::Packages,
                "NODE_OPTIONS",
                "--require=/w/a.js --import file:///w/b.mjs",
                &["/w/a.js", "/w/b.mjs"],
            ),
            (Set::Packages, "RUBYOPT", "-r/w/x", &["/w/x"]),
            (Set::Preload, "LD_PRELOAD", "/w/a.so:/w/b.so /w/c.so", &["/w/a.so", "/w/b.so", "/w/c.so"]),
            (Set::Editors, "LUA_INIT", "@/w/init.lua", &["/w/init.lua"]),
            (Set::Shell, "SHELL", "/w/fish", &["/w/fish"]),
            (Set::Packages, "npm_config_userconfig", "/dev/null", &[]),
        ] {
            assert_eq!(named(set, name, value), files, "{name}={value}");
        }
        assert!(named(Set::Git, "BASH_ENV", "/w/env.sh").is_empty());
    }

    #[test]
    fn a_variable_moves_a_directory_of_the_home() {
        let moved = |name, value| sites(&[(name, value)]).moved_homes(b"/home/u");
        assert_eq!(moved("CARGO_HOME", "/w/cargo/"), [("/.cargo", b"/w/cargo".to_vec())]);
        assert_eq!(moved("GOPATH", "/w/go:/other"), [("/go", b"/w/go".to_vec())]);
        for (name, value) in [("CARGO_HOME", "/home/u/.cargo"), ("CARGO_HOME", "cargo"), ("CARGO_HOME", "/")]
        {
            assert!(moved(name, value).is_empty(), "{value}");
        }
    }

    #[test]
    fn no_variable_is_listed_twice() {
        let mut seen = std::collections::HashSet::new();
        assert!(PersistenceSites::names_of_variables().all(|name| seen.insert(name)));
    }
}
