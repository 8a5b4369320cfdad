//! The persistence places themselves, and the sources that say what runs there. How a place is written: [`super::lists`].
//!
//! Where names have a variable end, or caches hold code:
//! - `.zcompdump*`: compinit sources it at the start (zshcompsys(1), "Use of compinit"); oh-my-zsh names it after
//!   host and version (its `oh-my-zsh.sh`, ZSH_COMPDUMP); `~/.cache/zsh/` and `~/.cache/prezto/` are other usual
//!   places for it.
//! - `dmenu_run`, `rofi*`, `wofi-*`, `tofi-*`: the caches of launchers, whose lines a menu runs (dmenu_run(1), rofi(1),
//!   wofi(1), tofi(1));
//! - `p10k-*`: the instant prompt and the dump that Powerlevel10k sources (its README, "Instant prompt"), for each
//!   user; in a directory `p10k-USER/`, the prompts that it evaluates (its `internal/p10k.zsh`); `gitstatus/` holds the program
//!   that it starts (gitstatus's README).
//! - `generated_completions/`: what fish runs at a completion (fish_update_completions(1)).
//! - `antidote/`: plugins, in a cache (antidote's manual, `antidote home`); `zinit/`, `zi/`: completions and a dump of
//!   zinit and its successor, which precede the functions of zsh (zinit.zsh, `ZINIT[COMPLETIONS_DIR]`; zi.zsh,
//!   `ZI[CACHE_DIR]`); `zsh-utils/`: what its `utility.plugin.zsh` sources.
//! - `qtile/`, `py3status_cache.data`: pickles, which qtile's prompt and py3status load at their start (`prompt.py`,
//!   `storage.py`).
//! - `starship/`, `carapace/`, `.zoxide.nu`: what their manuals have nushell source; `oh-my-posh/` and `wal/` the same
//!   for other shells.
//! - `~/.cache/nvim/`: compiled modules, which vim.loader runs instead of the sources (Neovim's `:help vim.loader`), and what
//!   plugins compile there and load again (`stdpath("cache")`; catppuccin's README, "Compile"); `dein/`: plugins (dein.vim's
//!   manual); `dpp/`: the scripts that dpp.vim sources at a start (its `dpp#min#load_state`).
//! - `~/.cache/git/credential/`: who listens there is given passwords (git-credential-cache(1)).
//! - `mise.*.toml`: `mise.ENV.toml` (mise's manual, "Config Environments"); files in a home count in every directory
//!   below it.
//! - `.envrc.local`, `.envrc.private`: what an `.envrc` that is allowed sources unasked (direnv-stdlib(1),
//!   `source_env_if_exists`); `.rbenv-vars`: variables such as `RUBYOPT` for each ruby (the plugin's README).
//! - `~/.codex/.env`, `~/.gemini/.env`, `~/.aider/oauth-keys.env`: variables that Codex, Gemini CLI and aider read at
//!   their start (Gemini CLI's "Configuration", aider's `main.py`), such as `BASH_ENV` or `AIDER_LINT_CMD`;
//!   `environments.toml` names programs that Codex starts.
//! - `node-compile-cache/`, in the directory for temporary files: compiled modules, which node runs instead of the sources
//!   where a program such as npm or OpenClaw turns that on (Node.js's manual, "Module compile cache").
//! - `.Renviron`, `.RData`: variables such as `R_PROFILE_USER`, and the function `.First`, for each R that starts in the
//!   directory (R's `?Startup`); `irb.rc`, `_irbrc`, `$irbrc`, `.config/irb/irbrc`: as `.irbrc` (irb's manual,
//!   "Configuration File"); `.byebugrc`: commands (byebug's guide); `jupyter_*config.py`: jupyter_core's `application.py`
//!   looks for its configuration in the current directory first.
//! - `.psqlrc-*`: for one version of psql (psql(1), "Files"); `.mongoshrc.js`, `.duckdbrc`: mongosh's and DuckDB's manuals;
//!   `octave/`, `ocaml/`, `utop/`, `erlang/`, `swi-prolog/`, `.groovy/`: what these run at their start, by their manuals.
//! - `.tool-versions`: `path:DIRECTORY` is a version whose programs run under a tool's name (asdf's manual,
//!   ".tool-versions"). `.nvmrc`, `.node-version`: fnm joins their text to a directory, so that an absolute path is the
//!   version (its `choose_version_for_user_input.rs`), and `.java-version`, `.sdkmanrc`: jenv and SDKMAN do so with `../`
//!   (jenv's `jenv-version-name`, SDKMAN's `sdkman-use.sh`), each at `cd`. `.prototools` (`[env]`), `.shadowenv.d/` (its
//!   trust is for the path, not for what is in it), `.ruby-env`, `.versions.conf` (RVM's "Project files"): any variable
//!   at `cd`. `.python-version` and `.ruby-version` choose among installed versions: pyenv and rbenv refuse a path there.
//!   `.perl-version`, `.php-version`, `.go-version`: plenv, phpenv and goenv look for a directory of that name below
//!   their versions, and take `../` (their `plenv-exec`, `phpenv-exec`, `goenv-exec`), as luaenv, tfenv and tofuenv do
//!   with `.lua-version`, `.terraform-version` and `.opentofu-version` (`tfenv-exec.sh`), and swiftenv with
//!   `.swift-version` (`swiftenv-prefix`); `.phpbrewrc`: phpbrew sources it at `cd` (its `shell/bashrc`).
//! - `.jupytext.py`, `jupytext.py`: Python that jupytext runs as its configuration (its "Configuration files"); `gtags.conf`:
//!   libraries that gtags(1) loads as parsers (gtags.conf(5), `gtags_parser`); `.tmux-sessionizer`: what tmux-sessionizer has a
//!   new session source (its `hydrate`).
//! - `openclaw/`, and `jiti/openclaw/` in the directory for temporary files: compiled plugins that OpenClaw 2026.9.6 and
//!   2026.7.35 run instead of the sources. `~/.yarn/lib/`: the program that `~/.yarn/bin/yarn` starts.
//! - `.ctags`, `.ctags.d/`, `ctags.d/`: options such as the file that ctags writes, and what it writes there (ctags(1),
//!   "Files"); `.valgrindrc`: the same of valgrind(1); `.jedi/`: the Python that jedi starts (its `Project.load`); `.gvimrc`:
//!   read like `.exrc` (Vim's `:help 'exrc'`); `.lsp/config.edn`: commands that find a class path (clojure-lsp's "Settings",
//!   `project-specs`); `.joyride/`: scripts that Joyride runs when Visual Studio Code opens the project (its README).
//! - `.lazygit.yml`, `.git/lazygit.yml`: pagers and commands of lazygit (its "User Config"); `.mrconfig`, `.arcconfig`:
//!   commands of mr(1), and PHP that Arcanist loads; `.west/config`: where west finds its extensions ("West workspaces");
//!   `.gclient`: Python.
//! - `CVS/Root`: a method may name a program (`:ext;CVS_RSH=…:`; cvs's manual, "The connection method"); `.bzr/branch/`:
//!   other branches, `bzr` in one of the tree's; `.repo/`: repo's own programs, and from where it fetches (its "repo
//!   Manifest Format"). In the rest of `.repo/`, the git of each project keeps its objects.
//! - `.obsidian/plugins/`: Obsidian's plugins of a vault; `.run/`: run configurations (IntelliJ IDEA, "Run/debug
//!   configurations"); `.lapce/`; `.mc.menu`: mc(1), "Menu File Edit"; `startup.m`: MATLAB's `startup`; `.swiplrc`,
//!   `.erlang`, `.csirc`: as those of a home, by older releases of SWI-Prolog, Erlang and CHICKEN.
//! - Caches: `blesh/` (ble.sh's `term.*`, `decode.*`), `zsh4humans/`, `antibody/`, `zsh-snap/`, `xonsh/`: what these
//!   source at a shell's start; `mise/`: PATH and variables at each prompt (its "Cache"); `xmonad/`, and `taffybar/`,
//!   `termonad/`, `xmobar/`, `yi/` of dyre: the compiled program itself (xmonad(1); dyre's manual); `sessions/`: what
//!   xfce4-session(1) starts again; `ksycoca*`: what KDE's menu starts (kbuildsycoca6(8)), `qmlcache/`: compiled QML
//!   (Qt's "Prebuilt QML cache"; Plasma's by their names, too, because a directory may be moved into the place of a
//!   star); `menus/`: what the menus of LXDE start (menu-cache's `menu-cache-daemon`); `ibus/bus/`: what ibus-daemon(1)
//!   starts for an engine; `luacache*`: impatient.nvim's; `lvim/luac/`: LunarVim's; `guile/ccache/`, `common-lisp/`:
//!   compiled files, which Guile ("Compiling Scheme Code") and ASDF ("Output translations") run instead of the sources;
//!   `helm/plugins/`: to where helm's links lead.
//! - `.direnv/flake-profile*`, `.direnv/nix-profile*`, `.direnv/bin/`: what nix-direnv sources and puts before `PATH` at
//!   `cd`, unasked once the `.envrc` is allowed (its `direnvrc`; direnv-stdlib(1), `direnv_layout_dir`). `lorri/`: the same
//!   of lorri (its `envrc.bash`), and `direnv/layouts/` where direnv's wiki has it ("Customizing cache location").
//!   Hermit's `bin/hermit.hcl` is not listed, though its shell hooks set variables of it: then no `bin` could be a link.
//! - `~/.yarn/switch/`: what Yarn Switch's installer has shells source. `Session.vim`: what tmux-resurrect and vim-startify
//!   open with `vim -S`. `rust-analyzer.toml`: `overrideCommand` (rust-analyzer's "Configuration"). `kls-classpath`: what
//!   kotlin-language-server executes (its `ScriptClassPathResolver`).
//! - `thefuck*`: a shelf of pickles (thefuck's `utils.py`, `Cache`). `extension-updates/`: what GNOME Shell moves to its
//!   extensions at its next start (its `extensionDownloader.js`).
//! - `~/.gem/ruby/`, `~/.local/share/gem/`: gems of the user, which each ruby loads before those of the system, and plugins,
//!   which each `gem` loads (RubyGems' "Plugins", `Gem.user_dir`); `~/go/pkg/mod/golang.org/toolchain@*/`: programs that `go`
//!   starts in place of itself, checked only when they are fetched ("Go Toolchains", go.dev/doc/toolchain), and
//!   `cache/download/golang.org/toolchain/`, the archives from which they are made;
//!   `~/.stack/hooks/`, `~/.stack/programs/`: a script that installs GHC, and each GHC (stack's "Customisation scripts",
//!   "Stack root location").
//! - `~/.claude/chrome/`: what browsers start (Claude Code's "Use Claude Code with Chrome"); `scripts/`, `bin/`,
//!   `statusline*`: what settings of agents usually name (Claude Code's "Status line configuration", `apiKeyHelper`; Codex's
//!   `notify`); `managed_config.toml`, `requirements.toml`: Codex's configuration; `mcp-server-enablement.json`,
//!   `mcp_config.json`: which servers Gemini CLI and Antigravity start; `~/.cache/opencode/`: plugins and servers that
//!   opencode has installed, and runs (its "Plugins"); `~/.gemini/tmp/bin/`: the `rg` that Gemini CLI fetches once and starts
//!   for each search (its `ripGrep.ts`, `storage.ts`).
//! - `v8-compile-cache-UID/`, in the directory for temporary files: compiled modules, which the package v8-compile-cache has
//!   node run instead of the sources (its `v8-compile-cache.js`; a number, since `v8-compile-cache-lib` is a package);
//!   corepack uses it where node has no cache of its own (its `corepackUtils.ts`, `enableCompileCache`). `node/corepack/`,
//!   formerly `~/.node/corepack/`, which it moves there: the yarn and pnpm that corepack runs, checked only when they are
//!   fetched (its `folderUtils.ts`, `corepackUtils.ts`).
//! - `rust-toolchain.toml`, `rust-toolchain`: `path` is a directory whose `cargo` and `rustc` rustup starts (rustup's "The
//!   toolchain file").
//! - `typescript/`: where tsserver has npm install types for each editor, by what `.npmrc` and `package.json` there say
//!   (TypeScript's `nodeTypingsInstaller.ts`); `JetBrains/`: the system directories of its programs, where
//!   `plugins/action.script` says what is unpacked to where at the next start (IntelliJ's `StartupActionScriptManager.java`,
//!   `PathManager.java`), and RemoteDev's programs; `zellij/`: plugins as machine code, what each is permitted, and the
//!   layouts that it starts again (zellij's `consts.rs`, `plugin_loader.rs`).
//! - `*/autocomplete/`: `bash_setup`, `zsh_setup` and `functions/` are what shells source for the completion of programs made
//!   with oclif (its plugin-autocomplete, `base.ts`, `create.ts`); `zsh-smartcache/`: what it sources for `eval` (its
//!   README); `fsh/`, `fast-syntax-highlighting/`: the theme that fast-syntax-highlighting sources (its README, "Themes").
//! - `trunk/`: the program that trunk's launcher starts; `pre-commit/repo*/`, `prek/`: hooks with their environments,
//!   which each commit in any repository starts (pre-commit's `store.py`, prek's `store.rs`). Beside them these tools
//!   write in each run: locks, patches, and pre-commit's `db.db`.
//! - `*-compile-cache/`: compiled modules that node runs instead of the sources, as `NODE_COMPILE_CACHE` of a program's
//!   launcher names it (cursor-agent's); `copilot/pkg/`, `github-copilot-sdk*/`, `codex-runtimes/`: programs that Copilot
//!   CLI, its SDK and Codex unpack there, and start.
//! - Settings of a project that start programs: `.cursor/worktrees.json` (Cursor's "Worktrees"), `.agents/` and `.agent/`
//!   with `hooks.json` and `mcp_config.json` (Antigravity's "Hooks", "MCP"), `.kiro/agents/` (Kiro's "Custom agents"),
//!   `.github/lsp.json` ("Adding LSP servers for GitHub Copilot CLI"), `.github/extensions/` (Copilot CLI loads each
//!   `extension.mjs`), `.gitlab/duo/mcp.json` (GitLab Duo's "MCP clients"), `.augment/` (Auggie's "Hooks"), `.vibe/` (Mistral
//!   Vibe's README; its `_harness_manager.py` for `hooks.toml`), `.grok/hooks/` (Grok's "Hooks"), `.tabnine/agent/` (Tabnine
//!   CLI's "Settings"), `kilo.jsonc`, `.kilo/` (Kilo's `config/paths.ts`; as opencode's), `.claude/launch.json` (Claude
//!   Code's "Desktop"), `gptme.toml` (gptme's "Configuration"), `.gemini/policies/` (which commands run unasked: Gemini CLI's
//!   "Policy engine"), `settings.local.json` of agents that read what Claude Code does (CodeBuddy's, Qoder's and iFlow's
//!   "Settings"), `conductor.json`, `.superset/config.json`, `.emdash.json`: scripts for each new work tree (Conductor's
//!   "conductor.json", Superset's "Setup scripts", Emdash's "Project config").
//! - Settings of editors that start programs: `buildServer.json` (SourceKit-LSP's "Using SourceKit-LSP with a build server"),
//!   `.neoconf.json`, `.nlsp-settings/` (neoconf.nvim's and nlsp-settings.nvim's READMEs), `.merlin`: `FLG -ppx` (Merlin's
//!   "Project configuration"), `.ropeproject/config.py` (rope's "Configuration"), `.scilab`, `scilab.ini` (Scilab's
//!   "startup"). `.bsp/*.json` is not listed: sbt writes it at each start.
//! - Scripts and modules of a project that agents and editors run: `.openhands/` (OpenHands' "Repository Customization"),
//!   `.mux/init` (mux's "Init hooks"), `.kilocode/setup-script` (Kilo's "Agent Manager"), `.roo/tools/` (Roo Code's "Custom
//!   Tools"), `.claude/workflows/` (Claude Code's "Workflows"), `.continuerc.json` (Continue's reference),
//!   `.lite_project.lua` (Lite XL's `core.load_project_module`).
//! - `*.code-workspace`: tasks and settings as in `.vscode/` (Visual Studio Code's "Multi-root workspaces");
//!   `*.sublime-project`, `.kateproject`: build commands and language servers (Sublime Text's "Projects", LSP's "Client
//!   Configuration"; Kate's "Project plugin", "LSP Client plugin").
//! - `.crushrc`, `crushrc`: Bash that Crush runs at its start (its `docs/config/README.md`, "Where config lives"); `.cline/`:
//!   hooks, plugins and tasks of a project (Cline's "CLI configuration"); `.devin/`: servers and hooks (Devin CLI's
//!   "Configuration"); `~/.copilot/settings.json`, `~/.copilot/hooks/`: those of Copilot CLI.
//! - `~/.claude/workflows/`: scripts that Claude Code runs ("Workflows"); `~/.codex/automations/`: what Codex starts at its
//!   time ("Automations"); `trusted_hooks.json`: which hooks of projects Gemini CLI runs without a warning (its
//!   `trustedHooks.ts`); `config/`, `antigravity-cli/`: hooks, servers and plugins of Antigravity and its CLI, which share
//!   Gemini CLI's directory (Antigravity's "Hooks", "MCP").
//! - `zr/`: the plugins that zsh sources (zr's `main.rs`); `zoxide/`: what Nushell sources where home-manager sets it up;
//!   `vendor/autoload/`: what Nushell sources at its start (its book, "Configuration"); `hermit/`: hermit itself, which
//!   the script `bin/hermit` of a project starts from there; `bazelisk/`, `dotslash/`, `elixir-tools/`, `devbox/bin/`,
//!   `sbt/boot/sbt-launch/`: programs that their launchers start from there (their READMEs); `Homebrew/bootsnap/`:
//!   compiled Ruby that brew loads instead of its sources (its `startup/bootsnap.rb`); `hie-bios/`: wrappers that
//!   Haskell's language server starts (hie-bios' `Process.hs`); `jdtls/config/`: the bundles that the Java language
//!   server loads, where nvim-lspconfig starts it (`lsp/jdtls.lua`); `org-persist/`: parsed Org files, in which the name
//!   of a function may be a function that Emacs calls (Org's `org-persist.el`); `Google/`: Android Studio's directories,
//!   as `JetBrains/`.
//! - `claude/staging/`, `~/.claude/downloads/`: Claude Code's next release, which it copies to where it starts from,
//!   after it has compared the digest of what it fetched (its `cli.js`); `kilo/`: as `opencode/`, of which Kilo is a
//!   fork; `yay/`: packages that yay has built, and installs (its `installer.go`).
//! - `.psysh.php` (PsySH's "Configuration"), `.iredisrc`: `pager` (iredis' `config.py`), `hie.yaml`: `cradle.bios.program`
//!   (hie-bios' README), `.mcphub/servers.json`: servers as in `.mcp.json` (mcphub.nvim's "Workspace").
//! - `dconf/`: commands of custom shortcuts (GNOME's `org.gnome.settings-daemon.plugins.media-keys`); `xfce4/xfconf/`,
//!   `xfce4/panel/`: commands of shortcuts and launchers (Xfce's "Xfconf"); `eww/`, `ags/`, `quickshell/`, `swaync/`,
//!   `kanshi/`: what these run when a session starts. `~/.aws/cli/alias`: with `!` any command (AWS CLI's "Aliases");
//!   `~/.kube/kuberc`: aliases of kubectl's; `~/.gnupg/*.conf`: programs that GnuPG starts; `~/.bazaar/plugins/`: bzr's.

use super::Set;

pub(super) const LISTS: &[(Set, &str)] = &[
    (
        Set::Shell,
        "~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases ~/.bash_functions ~/.bash_completion \
         ~/.bash_completion.d/ ~/.bashrc.d/ ~/.profile ~/.profile.d/ ~/.shrc ~/.kshrc ~/.mkshrc ~/.blerc ~/.aliases \
         ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin ~/.zlogout ~/.zcompdump* ~/.cache/zsh/ ~/.cache/prezto/ \
         ~/.cache/oh-my-zsh/ ~/.cache/zcompdump* ~/.cache/blesh/ ~/.cache/zsh4humans/ ~/.cache/antibody/ \
         ~/.cache/zsh-snap/ \
         ~/.cache/xonsh/ ~/.cache/zr/ ~/.cache/zoxide/ ~/.local/share/nushell/vendor/autoload/ ~/.cache/zinit/ \
         ~/.cache/zi/ ~/.cache/zsh-utils/ ~/.cache/fsh/ ~/.cache/fast-syntax-highlighting/ ~/.cache/zsh-smartcache/ \
         ~/.cache/*/autocomplete/bash_setup \
         ~/.cache/*/autocomplete/zsh_setup ~/.cache/*/autocomplete/zsh_setup.zwc ~/.cache/*/autocomplete/functions/ \
         ~/.cache/antidote/ ~/.cache/p10k-*/ ~/.cache/gitstatus/ ~/.cache/fish/generated_completions/ \
         ~/.cache/starship/ ~/.cache/carapace/ ~/.cache/oh-my-posh/ ~/.cache/wal/ ~/.zoxide.nu ~/.config/bash_completion \
         ~/.local/share/fish/generated_completions/ ~/.zshrc.d/ ~/.zpreztorc ~/.zimrc ~/.p10k.zsh ~/.cshrc \
         ~/.tcshrc ~/.login ~/.logout ~/.xonshrc ~/.inputrc ~/.config/bash/ ~/.config/zsh/ ~/.config/fish/ \
         ~/.config/nushell/ ~/.config/elvish/ ~/.config/xonsh/ ~/.config/powershell/ ~/.config/sh/ ~/.config/shell/ \
         ~/.config/readline/ ~/.config/starship.toml ~/.local/share/bash-completion/ ~/.local/share/blesh/ \
         ~/.local/share/fish/vendor_conf.d/ ~/.local/share/fish/vendor_functions.d/ \
         ~/.local/share/fish/vendor_completions.d/ ~/.local/share/zsh/site-functions/ ~/.local/share/zinit/ \
         ~/.local/share/sheldon/ ~/.oh-my-zsh/ ~/.oh-my-bash/ ~/.bash_it/ ~/.zsh/ ~/.zfunc/ ~/.zinit/ ~/.zplug/ \
         ~/.zprezto/ ~/.zim/ ~/.antigen/ ~/.antidote/ ~/.fzf/ ~/.fzf.bash ~/.fzf.zsh ~/.cargo/env ~/.cargo/env.fish \
         ~/.yarn/switch/ \
         ~/.ghcup/env ~/.iterm2_shell_integration.bash /etc/profile /etc/profile.d/ /etc/bash.bashrc /etc/bashrc \
         /etc/bash.bash_logout /etc/bash_completion /etc/bash_completion.d/ /usr/share/bash-completion/ /etc/zsh/ \
         /etc/zshrc /etc/zshenv /etc/zprofile /etc/zlogin /etc/fish/ /etc/csh.cshrc /etc/csh.login /etc/csh/ \
         /etc/ksh.kshrc /etc/inputrc /etc/environment /etc/skel/",
    ),
    (
        Set::Login,
        "~/.config/dconf/ ~/.config/xfce4/xfconf/ ~/.config/xfce4/panel/ ~/.config/eww/ ~/.config/ags/ \
         ~/.config/quickshell/ ~/.config/swaync/ ~/.config/kanshi/ \
         ~/.cache/qtile/ ~/.cache/py3status_cache.data ~/.pam_environment ~/.xprofile ~/.xinitrc ~/.xserverrc \
         ~/.xsession ~/.xsessionrc ~/.Xclients ~/.Xsession \
         ~/.Xresources ~/.Xdefaults ~/.xbindkeysrc ~/.gnomerc ~/.k5login ~/.k5users ~/.rhosts ~/.shosts \
         ~/.config/environment.d/ ~/.config/plasma-workspace/ ~/.config/lxsession/ ~/.config/openbox/ \
         ~/.config/awesome/ ~/.config/i3/ ~/.config/sway/ ~/.config/hypr/ ~/.config/bspwm/ ~/.config/sxhkd/ \
         ~/.config/herbstluftwm/ ~/.config/qtile/ ~/.config/xmonad/ ~/.config/river/ ~/.config/niri/ ~/.config/labwc/ \
         ~/.config/wayfire.ini ~/.config/waybar/ ~/.config/polybar/ ~/.config/picom/ ~/.config/uwsm/ ~/.config/X11/ \
         ~/.config/xinitrc ~/.i3/ ~/.sway/ ~/.xmonad/ ~/.fluxbox/ ~/.icewm/ ~/.dwm/ ~/.e/ /etc/X11/ /etc/security/ \
         /etc/pam.d/ /etc/pam.conf /etc/sudoers /etc/sudoers.d/ /etc/doas.conf /etc/polkit-1/ /etc/passwd /etc/shadow \
         /etc/group /etc/gshadow /etc/nsswitch.conf /etc/lightdm/ /etc/gdm3/ /etc/sddm.conf /etc/sddm.conf.d/ \
         /etc/update-motd.d/ \
         ~/.config/user-dirs.dirs ~/.vnc/ ~/.config/tigervnc/ ~/startwm.sh \
         ~/.xscreensaver ~/.fehbg ~/.conkyrc ~/.config/conky/ ~/.config/swayidle/ ~/.config/autorandr/ \
         ~/.config/redshift/hooks/ ~/.config/gammastep/hooks/ ~/.config/i3status/ ~/.config/i3blocks/ \
         ~/.config/espanso/ ~/.asoundrc ~/.config/alsa/ ~/.config/pulse/ ~/.pulse/ ~/.config/vulkan/ \
         ~/.local/share/vulkan/ ~/.config/openxr/ ~/.config/fcitx5/ ~/.local/share/fcitx5/ \
         ~/.cache/xmonad/ ~/.cache/taffybar/ ~/.cache/termonad/ ~/.cache/xmobar/ ~/.cache/yi/ ~/.cache/sessions/ \
         ~/.cache/ksycoca* ~/.cache/plasmashell/qmlcache/ ~/.cache/kwin/qmlcache/ ~/.cache/krunner/qmlcache/ \
         ~/.cache/*/qmlcache/ \
         ~/.cache/ibus/bus/",
    ),
    (
        Set::Ssh,
        "~/.ssh/authorized_keys ~/.ssh/authorized_keys2 ~/.ssh/rc ~/.ssh/environment ~/.ssh/config ~/.ssh/config.d/ \
         /etc/ssh/",
    ),
    (
        Set::Autostart,
        "~/.cache/dmenu_run ~/.cache/rofi*.runcache ~/.cache/rofi*.druncache ~/.cache/rofi-drun-desktop.cache \
         ~/.cache/wofi-run \
         ~/.cache/wofi-drun ~/.cache/tofi-compgen ~/.cache/tofi-drun ~/.cache/menus/ ~/.config/autostart/ \
         ~/.config/autostart-scripts/ ~/.config/mimeapps.list ~/.config/kglobalshortcutsrc \
         ~/.config/khotkeysrc ~/.local/share/applications/ ~/.local/share/dbus-1/ ~/.local/share/mime/packages/ \
         ~/.local/share/gnome-shell/extensions/ ~/.local/share/gnome-shell/extension-updates/ \
         ~/.local/share/cinnamon/ ~/.local/share/plasma/ ~/.local/share/kwin/ \
         ~/.local/share/kservices5/ ~/.local/share/kio/servicemenus/ ~/.local/share/nautilus/scripts/ \
         ~/.local/share/nautilus-python/ ~/.local/share/nemo/ ~/.local/share/thumbnailers/ ~/.local/share/polkit-1/ \
         ~/.local/share/flatpak/overrides/ ~/.local/share/flatpak/exports/ ~/.mailcap ~/.kde/Autostart/ \
         ~/.kde4/Autostart/ ~/.config/pipewire/ ~/.config/wireplumber/ ~/.local/share/wireplumber/ \
         ~/.mozilla/native-messaging-hosts/ ~/.config/google-chrome/NativeMessagingHosts/ \
         ~/.config/chromium/NativeMessagingHosts/ /etc/xdg/ /etc/dbus-1/ /usr/share/applications/ \
         /usr/local/share/applications/ \
         /usr/share/dbus-1/ /usr/local/share/dbus-1/ /usr/share/xsessions/ /usr/share/wayland-sessions/ /etc/mailcap",
    ),
    (
        Set::Systemd,
        "~/.config/systemd/ ~/.local/share/systemd/ ~/.config/containers/systemd/ ~/.config/user-tmpfiles.d/ \
         ~/.config/runit/ ~/.config/dinit.d/ ~/.config/s6/ ~/.config/rc/ ~/.config/supervisord.conf /etc/systemd/ \
         /etc/containers/systemd/ /usr/lib/systemd/ /lib/systemd/ /usr/local/lib/systemd/ /run/systemd/system/ \
         /run/systemd/user/ /run/systemd/transient/ /run/systemd/system.control/ /run/systemd/generator/ \
         /run/systemd/generator.early/ /run/systemd/generator.late/ /etc/init.d/ /etc/rc.local /etc/rc.d/ /etc/rc0.d/ \
         /etc/rc1.d/ /etc/rc2.d/ /etc/rc3.d/ /etc/rc4.d/ /etc/rc5.d/ /etc/rc6.d/ /etc/rcS.d/ /etc/rc.conf \
         /etc/default/ /etc/sysconfig/ /etc/inittab /etc/init/ /etc/local.d/ /etc/conf.d/ /etc/runit/ /etc/sv/ \
         /etc/service/ /etc/s6/ /etc/dinit.d/ /etc/supervisor/ /etc/supervisord.conf /etc/supervisord.d/ /etc/udev/ \
         /run/udev/rules.d/ /usr/lib/udev/ /lib/udev/ /etc/tmpfiles.d/ /etc/sysctl.conf /etc/sysctl.d/ /etc/binfmt.d/ \
         /etc/modprobe.d/ /etc/modules /etc/modules-load.d/ /lib/modules/ /usr/lib/modules/ /etc/NetworkManager/ \
         /etc/network/ /etc/networkd-dispatcher/ /etc/dhcp/ /etc/dhcpcd.conf /etc/dhcpcd.exit-hook /etc/ppp/ \
         /etc/acpi/ /etc/apm/ /etc/pm/ /etc/xinetd.conf /etc/xinetd.d/ /etc/inetd.conf /etc/initramfs-tools/ \
         /etc/dracut.conf /etc/dracut.conf.d/ /etc/mkinitcpio.conf /etc/mkinitcpio.d/ /etc/kernel/ /etc/grub.d/ \
         /boot/ /proc/sys/ /proc/sysrq-trigger /sys/ /etc/fstab /etc/docker/daemon.json",
    ),
    (
        Set::Cron,
        "~/.crontab ~/.config/cron/ ~/.config/crontab ~/.forward ~/.procmailrc ~/.mailfilter ~/.sieve /etc/crontab \
         /etc/anacrontab /etc/cron.d/ /etc/cron.hourly/ \
         /etc/cron.daily/ /etc/cron.weekly/ /etc/cron.monthly/ /etc/cron.yearly/ /etc/cron.allow /etc/cron.deny \
         /etc/at.allow /etc/at.deny /etc/periodic/ /etc/fcrontab /etc/incron.d/ /etc/logrotate.conf /etc/logrotate.d/ \
         /var/spool/cron/ /var/spool/at/ /var/spool/atjobs/ /var/spool/fcron/ /var/spool/incron/ /var/cron/ \
         ~/.mbsyncrc ~/.config/isyncrc ~/.offlineimaprc ~/.config/offlineimap/ ~/.msmtprc ~/.config/msmtp/ \
         ~/.fetchmailrc ~/.getmail/ ~/.config/getmail/ ~/.config/borgmatic/",
    ),
    (
        Set::Git,
        "~/.gitconfig ~/.gitconfig.lock ~/.gitk ~/.config/git/ ~/.git-templates/ ~/.git-template/ ~/.githooks/ \
         ~/.hgrc ~/.hg.rc \
         ~/.config/hg/ \
         ~/.jjconfig.toml ~/.config/jj/ ~/.tigrc ~/.config/tig/ ~/.config/lazygit/ ~/.config/gitui/ \
         ~/.config/pre-commit/ /etc/gitconfig /etc/gitattributes /etc/mercurial/ /usr/share/git-core/templates/ \
         ~/.cache/git/credential/ ~/.cache/trunk/ ~/.cache/hermit/ ~/.cache/bazelisk/ ~/.cache/dotslash/ \
         ~/.cache/elixir-tools/ ~/.cache/Homebrew/bootsnap/ ~/.cache/devbox/bin/ ~/.cache/sbt/boot/sbt-launch/ \
         ~/.cache/pre-commit/repo*/ ~/.cache/prek/repos/ ~/.cache/prek/hooks/ ~/.cache/prek/tools/ GIT/config \
         GIT/config.worktree GIT/hooks/ GIT/remotes/ GIT/branches/ GIT/info/attributes \
         GIT/commondir WORK/.hg/hgrc \
         WORK/.hg/hgrc-not-shared WORK/.jj/repo/config.toml WORK/.sl/config \
         WORK/.sl/requires WORK/.sl/sharedpath WORK/.pijul/config WORK/_darcs/prefs/defaults WORK/CVS/Root \
         WORK/.bzr/branch/location WORK/.bzr/branch/branch.conf WORK/.repo/repo/ WORK/.repo/manifest.xml \
         WORK/.repo/manifests/ WORK/.repo/local_manifests/ WORK/.gclient WORK/.west/config WORK/.mrconfig \
         WORK/.arcconfig WORK/.lazygit.yml WORK/.git/lazygit.yml GIT/lazygit.yml",
    ),
    (
        Set::Direnv,
        "WORK/.envrc WORK/.envrc.local WORK/.envrc.private WORK/.direnv/flake-profile* WORK/.direnv/nix-profile* \
         WORK/.direnv/bin/ WORK/.rvmrc WORK/.rbenv-vars WORK/.mise.toml WORK/.mise.*.toml WORK/mise.toml \
         WORK/mise.*.toml WORK/.config/mise/ \
         WORK/.config/mise.toml WORK/.config/mise.*.toml WORK/.mise/ WORK/mise/config.toml WORK/mise/config.*.toml \
         WORK/.rtx.toml WORK/.tool-versions WORK/.nvmrc WORK/.node-version WORK/.java-version WORK/.sdkmanrc \
         WORK/.perl-version WORK/.swift-version WORK/.php-version WORK/.go-version WORK/.lua-version \
         WORK/.terraform-version WORK/.opentofu-version WORK/.phpbrewrc \
         WORK/.prototools WORK/.shadowenv.d/ WORK/.ruby-env WORK/.versions.conf WORK/.autoenv.zsh \
         WORK/.autoenv.zsh.zwc WORK/.autoenv ~/.envrc ~/.direnvrc \
         ~/.config/direnv/ ~/.local/share/direnv/ ~/.mise.toml ~/.mise.*.toml ~/mise.toml ~/mise.*.toml ~/.mise/ \
         ~/mise/config.toml ~/mise/config.*.toml ~/.rtx.toml ~/.config/mise/ ~/.config/mise.toml ~/.config/mise.*.toml \
         ~/.config/rtx/ ~/.cache/lorri/ ~/.cache/direnv/layouts/ ~/.cache/mise/ ~/.local/state/mise/trusted-configs/ \
         ~/.autoenv_authorized ~/.tool-versions ~/.asdfrc \
         /etc/mise/",
    ),
    (
        Set::Editors,
        "WORK/.vscode/ WORK/.idea/ WORK/.fleet/ WORK/.zed/ WORK/.devcontainer/ WORK/.devcontainer.json WORK/.exrc \
         WORK/.vimrc WORK/.nvimrc WORK/.nvim.lua WORK/.lvimrc WORK/.lnvim.lua WORK/.vim/ WORK/.nvim/ \
         WORK/.dir-locals.el WORK/.dir-locals-2.el WORK/.gdbinit WORK/.lldbinit WORK/.helix/ WORK/.kakrc \
         WORK/node-compile-cache/ ~/node-compile-cache/ ~/.cache/*-compile-cache/ WORK/v8-compile-cache-#/ \
         WORK/.pdbrc WORK/.perldb WORK/.Rprofile WORK/.Renviron WORK/.RData WORK/.irbrc WORK/irb.rc WORK/_irbrc \
         WORK/$irbrc WORK/.config/irb/irbrc WORK/.byebugrc WORK/jupyter_*config.py WORK/jupyter_*config.json \
         WORK/.pryrc WORK/.ghci WORK/.ocamlinit WORK/.octaverc \
         WORK/.iex.exs WORK/latexmkrc WORK/.latexmkrc \
         WORK/.gvimrc WORK/.ctags WORK/.ctags.d/ WORK/ctags.d/ WORK/.jedi/ WORK/.valgrindrc WORK/.lsp/config.edn \
         WORK/.joyride/ WORK/.psysh.php ~/.config/psysh/ ~/.psysh/ WORK/.iredisrc ~/.iredisrc WORK/hie.yaml \
         ~/.cache/hie-bios/ ~/.cache/jdtls/config/ ~/.cache/org-persist/ ~/.cache/Google/ ~/.config/Google/ \
         ~/.local/share/Google/ ~/.local/share/zed/ \
         ~/.config/Code/User/ ~/.config/Antigravity/User/ ~/.config/Kiro/User/ ~/.config/Trae/User/ \
         ~/.config/Positron/User/ \
         ~/.antigravity/extensions/ ~/.kiro/extensions/ ~/.trae/extensions/ ~/.positron/extensions/ \
         ~/.local/share/code-server/ \
         ~/.radare2rc ~/.config/radare2/ ~/.gef.rc ~/.visidatarc ~/.config/visidata/ ~/.config/qutebrowser/ ~/.vimrc \
         ~/.gvimrc ~/.exrc ~/.vim/ ~/.config/vim/ ~/.config/nvim/ ~/.nvimrc ~/.local/share/nvim/site/ \
         ~/.local/share/nvim/lazy/ ~/.cache/nvim/ ~/.cache/dein/ ~/.cache/dpp/ ~/.local/share/nvim/mason/ ~/.emacs \
         ~/.emacs.el ~/.emacs.d/ ~/.config/emacs/ \
         ~/.config/doom/ ~/.doom.d/ ~/.spacemacs ~/.spacemacs.d/ ~/.config/helix/ ~/.config/kak/ ~/.config/micro/ \
         ~/.config/zed/ ~/.config/sublime-text/ ~/.config/sublime-text-3/ \
         ~/.config/VSCodium/User/ ~/.config/Cursor/User/ ~/.config/Windsurf/User/ ~/.vscode/ ~/.vscode-insiders/ \
         ~/.vscode-oss/ ~/.vscode-server/extensions/ ~/.vscode-server/data/Machine/ ~/.vscode-server/data/User/ \
         ~/.vscode-server/bin/ ~/.vscode-server/cli/ ~/.cursor-server/extensions/ ~/.cursor-server/bin/ \
         ~/.cursor/extensions/ ~/.config/JetBrains/ ~/.local/share/JetBrains/ ~/.ideavimrc ~/.config/ideavim/ \
         ~/.nanorc ~/.config/nano/ ~/.tmux.conf ~/.tmux/ ~/.config/tmux/ ~/.screenrc ~/.byobu/ ~/.config/byobu/ \
         ~/.config/zellij/ ~/.config/kitty/ ~/.config/alacritty/ ~/.alacritty.toml ~/.alacritty.yml \
         ~/.config/wezterm/ ~/.wezterm.lua ~/.config/foot/ ~/.config/ghostty/ ~/.config/terminator/ ~/.config/tilix/ \
         ~/.config/xfce4/terminal/ ~/.gdbinit ~/.gdbearlyinit ~/.config/gdb/ ~/.lldbinit ~/.lldb/ ~/.perldb ~/.pdbrc \
         ~/.pdbrc.py ~/.pythonrc ~/.pythonrc.py ~/.pythonstartup ~/.ipython/profile_default/startup/ \
         ~/.ipython/profile_default/ipython_*config.py ~/.ipython/profile_default/ipython_*config.json \
         ~/.ipython/extensions/ ~/.jupyter/jupyter_config.py \
         ~/.jupyter/jupyter_config.json ~/.jupyter/jupyter_server_config.py ~/.jupyter/jupyter_server_config.json \
         ~/.jupyter/jupyter_notebook_config.py ~/.jupyter/jupyter_notebook_config.json \
         ~/.local/share/jupyter/kernels/ ~/.irbrc ~/.config/irb/irbrc ~/.pryrc ~/.Rprofile ~/.Renviron ~/.RData \
         ~/.R/ ~/.byebugrc ~/.rdbgrc \
         ~/.rdbgrc.rb \
         ~/.julia/config/ ~/.ghci ~/.psqlrc ~/.psqlrc-* ~/.mongorc.js ~/.mongoshrc.js ~/.duckdbrc ~/.sqliterc \
         ~/.config/sqlite3/sqliterc ~/.mylogin.cnf ~/.my.cnf \
         ~/.lesskey ~/.config/lesskey ~/.lessfilter ~/.selected_editor ~/.muttrc ~/.mutt/ ~/.ocamlinit ~/.iex.exs \
         ~/.octaverc ~/.config/octave/ ~/.config/ocaml/ ~/.config/utop/ ~/.config/erlang/ ~/.config/swi-prolog/ ~/.swiplrc \
         ~/.groovy/ ~/.sbclrc ~/.guile ~/.racketrc ~/.erlang ~/.tclshrc ~/.latexmkrc \
         ~/.config/latexmk/ ~/.config/mutt/ \
         ~/.config/neomutt/ ~/.config/mc/ ~/.config/ranger/ ~/.config/lf/ ~/.config/nnn/ ~/.config/yazi/ \
         ~/.config/vifm/ ~/.config/mpv/ ~/.mpv/ ~/.config/rofi/ ~/.config/wofi/ ~/.config/dunst/ /etc/vim/ /etc/vimrc \
         /etc/emacs/ /etc/nanorc /etc/tmux.conf /etc/screenrc /etc/gdb/ /etc/R/ \
         WORK/.ycm_extra_conf.py WORK/.externalToolBuilders/ WORK/.theia/ WORK/.lapce/ WORK/.run/ WORK/.mc.menu \
         WORK/.obsidian/plugins/ WORK/.obsidian/community-plugins.json WORK/startup.m WORK/.swiplrc WORK/.erlang \
         WORK/.csirc WORK/.scilab WORK/scilab.ini WORK/.merlin WORK/.ropeproject/config.py WORK/buildServer.json \
         WORK/rust-analyzer.toml WORK/kls-classpath WORK/Session.vim WORK/.neoconf.json WORK/.nlsp-settings/ \
         WORK/.jupytext.py WORK/jupytext.py WORK/gtags.conf ~/.globalrc /etc/gtags.conf WORK/.tmux-sessionizer \
         ~/.tmux-sessionizer WORK/.lite_project.lua WORK/*.code-workspace WORK/*.sublime-project WORK/.kateproject \
         ~/.config/chicken/ ~/.cache/guile/ccache/ ~/.cache/common-lisp/ \
         ~/.cache/lvim/luac/ ~/.cache/JetBrains/ ~/.cache/typescript/ ~/.cache/zellij/ ~/.dir-locals.el ~/.dir-locals-2.el \
         ~/.lvimrc ~/.lnvim.lua ~/.manpath ~/.wishrc ~/.expect.rc ~/.expectrc ~/.gnuplot ~/.config/gnuplot/ \
         ~/.config/bpython/ ~/.config/ptpython/ ~/.ptpython/ ~/.maxima/ ~/.sage/ ~/.w3m/ ~/.elinks/ \
         ~/.config/elinks/ ~/.ncmpcpp/ ~/.config/ncmpcpp/ ~/.config/xplr/ ~/.config/broot/ ~/.config/k9s/ \
         ~/.config/GIMP/ ~/.config/blender/ ~/.config/inkscape/extensions/ ~/.local/share/vlc/ ~/.hyper.js \
         ~/.hyper_plugins/ \
         ~/.config/thefuck/ ~/.cache/thefuck* ~/.taskrc ~/.task/hooks/ ~/.config/task/ ~/.config/yt-dlp/ \
         ~/.config/youtube-dl/ \
         ~/.config/aria2/ ~/.aria2/",
    ),
    (
        Set::Packages,
        "WORK/rust-toolchain.toml WORK/rust-toolchain ~/.cache/node/corepack/ ~/.node/corepack/ \
         ~/.npmrc ~/.config/npm/ ~/.yarnrc ~/.yarnrc.yml ~/.config/yarn/ ~/.config/pnpm/ ~/.bunfig.toml \
         ~/.config/.bunfig.toml ~/.node_modules/ ~/.node_libraries/ ~/.noderc ~/.config/pip/ ~/.pip/ ~/.pypirc \
         ~/.pydistutils.cfg ~/.config/pypoetry/ ~/.config/uv/ ~/.config/pdm/ ~/.config/hatch/ ~/.condarc ~/.mambarc \
         ~/.config/conda/ ~/.local/lib/ ~/.local/share/pipx/ ~/.local/pipx/ ~/.local/share/uv/tools/ \
         ~/.local/share/uv/python/ ~/.cargo/config ~/.cargo/config.toml ~/.rustup/settings.toml ~/.rustup/toolchains/ \
         ~/.config/go/env ~/go/pkg/mod/golang.org/toolchain@*/ ~/go/pkg/mod/cache/download/golang.org/toolchain/ \
         ~/.bundle/ ~/.gemrc ~/.config/gem/ ~/.gem/credentials ~/.gem/ruby/ ~/.local/share/gem/ ~/.config/rubygems/ \
         ~/.gradle/init.d/ \
         ~/.gradle/init.gradle ~/.gradle/init.gradle.kts ~/.gradle/gradle.properties ~/.m2/settings.xml \
         ~/.m2/settings-security.xml ~/.m2/extensions.xml ~/.mavenrc ~/.sbt/repositories ~/.sbt/1.0/plugins/ \
         ~/.sbt/1.0/global.sbt ~/.ammonite/ ~/.lein/profiles.clj ~/.lein/init.clj ~/.config/clojure/deps.edn \
         ~/.clojure/deps.edn ~/.ivy2/ivysettings.xml ~/.cabal/config ~/.config/cabal/ ~/.stack/config.yaml \
         ~/.stack/hooks/ ~/.stack/programs/ \
         ~/.ghc/ghci.conf ~/.opam/config ~/.opam/opam-init/ ~/.luarocks/ ~/.config/luarocks/ ~/.cpan/CPAN/MyConfig.pm \
         ~/perl5/ ~/.config/composer/config.json ~/.config/composer/auth.json ~/.config/composer/composer.json \
         ~/.config/composer/vendor/ ~/.composer/config.json ~/.composer/auth.json ~/.composer/vendor/ \
         ~/.nuget/NuGet/NuGet.Config ~/.dotnet/tools/ ~/.config/nix/ ~/.config/nixpkgs/ ~/.config/home-manager/ \
         ~/.nix-defexpr/ ~/.nix-channels ~/.config/guix/ ~/.docker/config.json ~/.docker/cli-plugins/ \
         ~/.config/containers/ ~/.kube/config ~/.kube/kuberc ~/.config/helm/ ~/.cache/helm/plugins/ ~/.terraformrc \
         ~/.terraform.d/plugins/ \
         ~/.config/ccache/ ~/.ccache/ccache.conf ~/.curlrc ~/.gnupg/gpg.conf ~/.gnupg/gpg-agent.conf \
         ~/.gnupg/scdaemon.conf ~/.gnupg/dirmngr.conf ~/.gnupg/common.conf ~/.gnupg/gpgsm.conf ~/.aws/config \
         ~/.aws/cli/alias \
         ~/.subversion/config ~/.bazaar/plugins/ ~/.cache/yay/ ~/.config/gh/config.yml \
         ~/.local/share/gh/extensions/ ~/.rpmmacros ~/.devscripts ~/.quiltrc ~/.config/curlrc ~/.wgetrc ~/.netrc \
         ~/.makerc ~/.bazelrc \
         ~/.config/meson/ ~/.config/makepkg.conf ~/.makepkg.conf ~/.config/pacman/ ~/.ansible.cfg ~/.ansible/plugins/ \
         ~/.ansible/collections/ ~/.ansible/roles/ ~/.vagrant.d/Vagrantfile /etc/pip.conf /etc/npmrc /etc/apt/ \
         /etc/dpkg/ /etc/yum.conf /etc/yum.repos.d/ /etc/dnf/ /etc/pacman.conf /etc/pacman.d/ /etc/apk/ /etc/zypp/ \
         /etc/portage/ /etc/nix/ /etc/nixos/ /etc/python3/ /etc/perl/ /usr/local/lib/ /usr/lib/python3/ \
         /usr/lib/node_modules/",
    ),
    (
        Set::Path,
        "~/bin/ ~/.bin/ ~/.local/bin/ ~/.cargo/bin/ ~/go/bin/ ~/.go/bin/ ~/.bun/bin/ ~/.deno/bin/ ~/.volta/ ~/.nvm/ \
         ~/.fnm/ ~/.local/share/fnm/ ~/.pyenv/ ~/.rbenv/ ~/.nodenv/ ~/.rvm/ ~/.asdf/ ~/.sdkman/ ~/.ghcup/bin/ \
         ~/.cabal/bin/ ~/.local/share/mise/ ~/.local/share/rtx/ ~/.npm-global/ ~/.yarn/bin/ ~/.yarn/lib/ ~/.krew/bin/ \
         ~/.poetry/bin/ ~/.nix-profile/ ~/.local/share/flatpak/exports/bin/ /bin/ /sbin/ /usr/bin/ /usr/sbin/ \
         /usr/games/ /usr/local/bin/ /usr/local/sbin/ /usr/local/games/ /opt/bin/ /snap/bin/ \
         /home/linuxbrew/.linuxbrew/ /etc/alternatives/ /usr/libexec/ /usr/lib/git-core/",
    ),
    (
        Set::Preload,
        "/etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/ /etc/ld.so.cache /etc/ld-musl-x86_64.path \
         /etc/ld-musl-aarch64.path /lib64/ /usr/lib64/ /lib/x86_64-linux-gnu/ /usr/lib/x86_64-linux-gnu/ \
         /lib/aarch64-linux-gnu/ \
         /usr/lib/aarch64-linux-gnu/ /lib/ld-linux-aarch64.so.1 /usr/lib/ld-linux-aarch64.so.1 /lib/ld-musl-x86_64.so.1 \
         /usr/lib/ld-musl-x86_64.so.1 /lib/ld-musl-aarch64.so.1 /usr/lib/ld-musl-aarch64.so.1",
    ),
    (
        Set::Agents,
        "~/.claude/settings.json ~/.claude/settings.local.json ~/.claude/managed-settings.json ~/.claude/CLAUDE.md \
         ~/.claude/keybindings.json ~/.claude/scheduled_tasks.json ~/.claude/routines/ ~/.claude/.mcp.json \
         ~/.claude/hooks/ ~/.claude/commands/ ~/.claude/agents/ \
         ~/.claude/skills/ ~/.claude/plugins/ ~/.claude/rules/ ~/.claude/output-styles/ ~/.claude/local/ \
         ~/.claude/statusline* ~/.claude/workflows/ ~/.claude/chrome/ ~/.claude/scripts/ ~/.claude/bin/ \
         ~/.claude/remote-settings.json ~/.codex/config.toml \
         ~/.codex/*.config.toml ~/.codex/environments.toml ~/.codex/.env ~/.codex/AGENTS.md ~/.codex/AGENTS.override.md \
         ~/.codex/agents/ ~/.codex/plugins/ ~/.codex/scripts/ ~/.codex/bin/ ~/.codex/managed_config.toml \
         ~/.codex/requirements.toml \
         ~/.codex/hooks.json ~/.codex/automations/ ~/.codex/hooks/ ~/.codex/prompts/ ~/.codex/rules/ \
         ~/.codex/skills/ ~/.cursor/mcp.json \
         ~/.cursor/hooks.json ~/.cursor/hooks/ ~/.cursor/rules/ ~/.cursor/commands/ ~/.cursor/cli-config.json \
         ~/.cursor/permissions.json ~/.gemini/settings.json ~/.gemini/GEMINI.md ~/.gemini/commands/ \
         ~/.gemini/extensions/ ~/.gemini/trustedFolders.json ~/.gemini/policies/ ~/.gemini/.env ~/.gemini/skills/ \
         ~/.gemini/agents/ ~/.gemini/hooks/ ~/.gemini/scripts/ ~/.gemini/bin/ ~/.gemini/tmp/bin/ \
         ~/.gemini/mcp-server-enablement.json \
         ~/.gemini/antigravity/mcp_config.json ~/.gemini/antigravity/skills/ ~/.gemini/trusted_hooks.json \
         ~/.gemini/config/hooks.json \
         ~/.gemini/config/mcp_config.json ~/.gemini/config/plugins/ ~/.gemini/config/skills/ \
         ~/.gemini/antigravity-cli/settings.json \
         ~/.gemini/antigravity-cli/hooks.json ~/.gemini/antigravity-cli/mcp_config.json ~/.gemini/antigravity-cli/plugins/ \
         ~/.gemini/antigravity-cli/skills/ ~/.gemini/antigravity-cli/bin/ ~/.aider/oauth-keys.env ~/.qwen/settings.json \
         ~/.qwen/QWEN.md ~/.qwen/commands/ ~/.qwen/extensions/ ~/.config/opencode/ ~/.opencode/ \
         ~/.local/share/opencode/bin/ ~/.cache/opencode/ ~/.cache/kilo/ ~/.cache/claude/staging/ \
         ~/.claude/downloads/ ~/.cache/copilot/pkg/ ~/.cache/github-copilot-sdk*/ ~/.cache/codex-runtimes/ \
         ~/.cache/openclaw/ WORK/jiti/openclaw/ ~/.config/goose/ \
         ~/.config/amp/ ~/.config/crush/ ~/.config/mcp/ ~/.config/Claude/claude_desktop_config.json ~/.continue/ \
         ~/.aider.conf.yml ~/.codeium/windsurf/mcp_config.json ~/.copilot/config.json ~/.copilot/settings.json \
         ~/.copilot/hooks/ ~/.config/devin/config.json ~/.copilot/mcp-config.json \
         ~/.copilot/agents/ ~/.config/github-copilot/ ~/.kiro/settings/ ~/.kiro/agents/ ~/.roo/ ~/.factory/ \
         ~/.agents/ ~/.mcp.json /etc/claude-code/ /etc/codex/ /etc/gemini-cli/ /etc/openclaw/ WORK/.mcp.json \
         WORK/.claude/settings.json WORK/.claude/settings.local.json WORK/.claude/hooks/ WORK/.claude/commands/ \
         WORK/.claude/agents/ WORK/.claude/skills/ WORK/.claude/plugins/ WORK/.codex/ WORK/.cursor/mcp.json \
         WORK/.cursor/hooks.json WORK/.cursor/hooks/ WORK/.cursor/cli.json WORK/.cursor/environment.json \
         WORK/.gemini/settings.json WORK/.gemini/commands/ WORK/.gemini/extensions/ WORK/.gemini/hooks/ \
         WORK/.gemini/agents/ WORK/.gemini/skills/ WORK/.gemini/.env WORK/.qwen/ \
         WORK/.opencode/ WORK/opencode.json WORK/opencode.jsonc WORK/.opencode.json WORK/.agents/skills/ \
         WORK/.crush.json WORK/crush.json WORK/.crushrc WORK/crushrc WORK/.cline/ WORK/.devin/config.json \
         WORK/.devin/config.local.json WORK/.devin/hooks.v1.json WORK/.amp/ \
         WORK/.aider.conf.yml WORK/.roo/mcp.json WORK/.kiro/settings/ WORK/.kiro/hooks/ WORK/.factory/ \
         WORK/.claude/scheduled_tasks.json WORK/.claude/routines/ WORK/.claude/mailbox/ WORK/.claude/agent-registry.json \
         WORK/tui.json WORK/tui.jsonc WORK/.github/copilot/settings.json WORK/.github/copilot/settings.local.json \
         WORK/.omp/ \
         WORK/.tabnine/mcp_servers.json WORK/.neovate/config.json WORK/.letta/settings.json \
         WORK/.letta/settings.local.json WORK/.grok/settings.json \
         WORK/.github/hooks/ WORK/.continue/ \
         WORK/.windsurf/hooks.json WORK/.clinerules/hooks/ WORK/.kilocode/mcp.json WORK/.junie/mcp/ \
         WORK/.trae/mcp.json WORK/.github/mcp.json WORK/.iflow/settings.json WORK/.qoder/settings.json \
         WORK/.codebuddy/settings.json WORK/.copilot/ WORK/.vibe/config.toml WORK/.rovodev/config.yml WORK/.amazonq/ \
         WORK/.pi/ WORK/.openclaw/ ~/.windsurf/ ~/.pi/ ~/.aws/amazonq/ \
         WORK/.cursor/worktrees.json WORK/.agents/hooks.json WORK/.agents/mcp_config.json WORK/.agent/hooks.json \
         WORK/.agent/mcp_config.json WORK/.kiro/agents/ WORK/.github/lsp.json WORK/.github/extensions/ WORK/.roo/tools/ \
         WORK/.vibe/tools/ WORK/.vibe/agents/ WORK/.vibe/hooks.toml WORK/.openhands/setup.sh WORK/.openhands/hooks.json \
         WORK/.openhands/pre-commit.sh WORK/.gitlab/duo/mcp.json WORK/.mux/init WORK/.claude/launch.json \
         WORK/.claude/workflows/ WORK/.grok/hooks/ WORK/.augment/settings.json WORK/.augment/settings.local.json \
         WORK/.kilo/ WORK/kilo.jsonc WORK/kilo.json WORK/.kilocode/setup-script WORK/.tabnine/agent/settings.json \
         WORK/.continuerc.json WORK/gptme.toml WORK/.mcphub/servers.json WORK/.iflow/settings.local.json \
         WORK/.qoder/settings.local.json \
         WORK/.codebuddy/settings.local.json WORK/.gemini/policies/ WORK/conductor.json WORK/.superset/config.json \
         WORK/.emdash.json",
    ),
];
