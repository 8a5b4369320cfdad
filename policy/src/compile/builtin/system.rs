//! What the policy without a file knows about a usual system and common tools.

/// The system's programs, which the tree cannot write.
pub(crate) const PROGRAMS: [&str; 9] = [
    "/usr/**",
    "/bin/**",
    "/sbin/**",
    "/lib/**",
    "/lib64/**",
    "/opt/**",
    "/snap/**",
    "/nix/store/**",
    "/gnu/store/**",
];

/// Programs that an operator installs below the home directory.
pub(crate) const TOOLCHAINS: [&str; 23] = [
    "~/.cargo/bin/**",
    "~/.rustup/toolchains/**",
    "~/.nvm/**",
    "~/.fnm/**",
    "~/.volta/**",
    "~/.bun/bin/**",
    "~/.deno/bin/**",
    "~/.pyenv/**",
    "~/.rbenv/**",
    "~/.asdf/**",
    "~/.sdkman/**",
    "~/.ghcup/**",
    "~/.local/bin/**",
    "~/.local/lib/**",
    "~/.local/share/fnm/**",
    "~/.local/share/mise/**",
    "~/.local/share/uv/python/**",
    "~/.local/share/uv/tools/**",
    "~/.local/share/pnpm/**",
    "~/.local/share/pipx/**",
    "~/.local/pipx/**",
    "~/.local/share/virtualenv/**",
    "~/go/bin/**",
];

/// The directories below the home in which an operator keeps scripts, whether or not `PATH` names them.
pub(crate) const SCRIPTS: [&str; 2] = ["/bin", "/.bin"];

/// Secrets among the temporary files of everybody: tickets of Kerberos (krb5.conf(5), `default_ccache_name`) and proxies of
/// grids (voms-proxy-init(1)). Only the built-in policy denies them. A denied pattern in a directory from which programs
/// start keeps the floor from granting reads there, and written policies leave reads to the floor.
pub(crate) const TICKETS: [&str; 6] = [
    "/tmp/krb5cc_*",
    "/tmp/krb5cc_*/**",
    "/var/tmp/krb5cc_*",
    "/var/tmp/krb5cc_*/**",
    "/tmp/x509up_u*",
    "/tmp/x509up_u*/**",
];

/// Secrets: denied to everything, without asking.
pub(crate) const DENIED: [&str; 9] = [
    "~/.ssh ~/.gnupg ~/.aws ~/.azure ~/.config/gcloud ~/.kube ~/.docker/config.json \
     ~/.docker/contexts ~/.config/doctl ~/.oci ~/.terraform.d/credentials.tfrc.json ~/.terraformrc \
     ~/.vault-token ~/.config/sops ~/.age",
    "~/.netrc ~/.npmrc ~/.yarnrc.yml ~/.pypirc ~/.git-credentials ~/.config/git/credentials \
     ~/.cargo/credentials ~/.cargo/credentials.toml ~/.local/share/uv/credentials ~/.cache/snowflake \
     ~/.config/configstore/firebase-tools.json ~/.config/configstore/snyk.json ~/.gem/credentials ~/.m2/settings.xml \
     ~/.m2/settings-security.xml ~/.gradle/gradle.properties ~/.config/pip ~/.pip ~/.pgpass \
     ~/.my.cnf ~/.mylogin.cnf ~/.s3cfg ~/.boto ~/.config/rclone ~/.composer/auth.json",
    "~/.config/gh ~/.config/glab-cli ~/.config/hub ~/.config/hcloud ~/.config/op ~/.config/op-ssh \
     ~/.config/heroku ~/.config/netlify ~/.config/vercel ~/.local/share/com.vercel.cli ~/.wrangler ~/.config/.wrangler \
     ~/.config/containers/auth.json",
    "~/.password-store ~/.local/share/keyrings ~/.local/share/kwalletd ~/.config/keepassxc \
     ~/.config/Bitwarden ~/.config/1Password ~/.pki ~/.electrum ~/.bitcoin ~/.ethereum",
    "~/.mozilla ~/.config/mozilla ~/.librewolf ~/.thunderbird ~/.config/google-chrome ~/.config/chromium ~/.config/BraveSoftware \
     ~/.config/microsoft-edge ~/.config/vivaldi ~/.config/opera ~/snap/firefox ~/snap/chromium \
     ~/.cache/mozilla ~/.cache/google-chrome ~/.cache/chromium ~/.cache/BraveSoftware",
    "~/.openclaw ~/.claude ~/.claude.json ~/.claude.json.backup ~/.codex ~/.gemini ~/.config/openai ~/.config/anthropic \
     ~/.config/github-copilot ~/.cursor ~/.aider.conf.yml ~/.huggingface ~/.cache/huggingface/token \
     ~/.cache/huggingface/stored_tokens ~/.config/Signal ~/.config/Slack ~/.config/discord",
    // Secrets in places that are open for builds. Histories of clipboards, which hold what was copied from password managers:
    // cliphist, clipcat, greenclip, clipmenu, Xfce's clipman, by their manuals; those of CopyQ, GPaste, Klipper, Parcellite,
    // ClipIt and wl-clipboard-history where rules open them; keyrings and mail in caches (GNOME Keyring's older releases,
    // Evolution, Thunderbird, Geary); caches of other browsers.
    "~/.cache/krb5cc* ~/.cache/krb5cc*/** ~/.cache/cliphist ~/.cache/clipcat ~/.cache/clipman \
     ~/.cache/greenclip.history ~/.cache/clipmenu ~/.cache/clipmenud ~/.cache/xfce4/clipman ~/.cache/copyq ~/.cache/gpaste \
     ~/.local/share/copyq ~/.config/copyq ~/.local/share/gpaste ~/.local/share/klipper ~/.local/share/parcellite \
     ~/.local/share/clipit ~/.local/share/clipman.json ~/.local/share/clipcat ~/.cache/keyring ~/.cache/keyrings ~/.cache/gnome-keyring \
     ~/.cache/keyring-* ~/.cache/keyring-*/** ~/.cache/evolution ~/.cache/thunderbird ~/.cache/geary ~/.local/share/evolution \
     ~/.local/share/geary ~/.cache/microsoft-edge ~/.cache/vivaldi ~/.cache/opera ~/.cache/librewolf ~/.cache/zen ~/.cache/epiphany \
     ~/.cache/keepassxc ~/.cache/Bitwarden ~/.cache/1Password",
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d \
     /etc/security/opasswd /etc/ssl/private /etc/pki/tls/private /etc/letsencrypt \
     /etc/ssh/ssh_host_*_key /etc/krb5.keytab /etc/NetworkManager/system-connections \
     /etc/wireguard /etc/openvpn /etc/ppp /etc/docker/key.json /etc/rancher /etc/kubernetes \
     /etc/openclaw",
    // Secrets of containers and of the display, sockets that act for any client, and the kernel's own controls.
    "/run/secrets /run/user/*/containers/auth.json ~/.Xauthority /run/docker.sock /run/containerd/containerd.sock /run/podman /run/crio /run/dbus/system_bus_socket \
     /run/systemd/private /proc/sysrq-trigger /proc/kcore",
];

/// What each list of patterns grants. A longer pattern wins, so the short ones can be wide.
pub(crate) const RULES: &[(&str, &str)] = &[
    (
        "r-x",
        "/usr/** /bin/** /sbin/** /lib/** /lib32/** /lib64/** /libx32/** /opt/** /snap/** /nix/store/** \
         /gnu/store/**",
    ),
    (
        "r-x",
        "~/.cargo/bin/** ~/.rustup/** ~/.nvm/** ~/.fnm/** ~/.volta/** ~/.bun/** ~/.deno/** ~/.pyenv/** \
         ~/.rbenv/** ~/.asdf/** ~/.sdkman/** ~/.ghcup/** ~/.local/bin/** ~/.local/lib/** \
         ~/.local/share/fnm/** ~/.local/share/mise/** ~/.local/share/uv/python/** ~/.local/share/uv/tools/** ~/.local/share/pnpm/** \
         ~/.local/share/pipx/** ~/.local/pipx/** ~/.local/share/virtualenv/** ~/go/bin/**",
    ),
    (
        "r--",
        "/etc/** /sys/** /boot/config-* /run/systemd/resolve/*.conf /var/lib/dbus/machine-id /dev /dev/shm",
    ),
    // What tools read to show the state of a machine: its packages, manual pages, fonts, sessions and journal. The
    // kernel lets most users read little of the journal.
    (
        "r--",
        "/var/lib/dpkg/** /var/lib/apt/** /var/cache/apt/** /var/cache/man/** /var/cache/fontconfig/** \
         /var/log /var/log/apt/** /var/log/dpkg.log /var/log/wtmp /var/log/lastlog /run/utmp \
         /var/log/journal/** /run/log/journal/** /dev/kmsg",
    ),
    // The directories of other processes are closed: their memory and environment hold secrets.
    ("r--", "/proc/**"),
    ("---", "/proc/*/?**"),
    (
        "r--",
        "/proc/sys/** /proc/net/** /proc/bus/** /proc/irq/** /proc/tty/** /proc/driver/** \
             /proc/pressure/** /proc/sysvipc/** \
             /proc/*/stat /proc/*/status /proc/*/cmdline /proc/*/comm /proc/*/statm \
             /proc/*/cgroup /proc/*/oom_score /proc/*/oom_score_adj /proc/*/wchan /proc/*/task /proc/*/task/* \
             /proc/*/task/*/stat /proc/*/task/*/status /proc/*/task/*/cmdline /proc/*/task/*/comm \
             /proc/*/task/*/statm /proc/*/task/*/cgroup /proc/*/task/*/oom_score \
             /proc/*/task/*/oom_score_adj /proc/*/task/*/wchan",
    ),
    (
        "rw-",
        "/proc/self/** /proc/self/oom_score_adj /proc/self/task/*/comm /proc/self/task/*/oom_score_adj \
         /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx \
         /dev/pts/** /dev/shm/**",
    ),
    (
        "r--",
        "~/.gitconfig ~/.config/git/** ~/.gitignore ~/.gitignore_global ~/.gitattributes ~/.git-templates/** \
         ~/.profile ~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases ~/.bash_completion \
         ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin ~/.oh-my-zsh/** ~/.inputrc ~/.dircolors ~/.terminfo/** \
         ~/.vimrc ~/.vim/** ~/.config/nvim/** ~/.nanorc ~/.tmux.conf ~/.screenrc ~/.lesskey ~/.editorconfig \
         ~/.gdbinit ~/.selected_editor ~/.config/locale.conf ~/.config/user-dirs.dirs ~/.fonts/** \
         ~/.local/share/fonts/** ~/.config/fontconfig/** ~/.local/share/bash-completion/** \
         ~/.cargo/** ~/.clang-format ~/.config/go/** ~/.condarc ~/.yarnrc ~/.config/yarn/** ~/.config/uv/** \
         ~/.config/mise/** ~/.tool-versions ~/.node-version ~/.python-version ~/.config/configstore/** ~/.gemrc \
         ~/.m2/** ~/.gradle/** ~/.config",
    ),
    (
        "rw-",
        "~/.cargo/registry/** ~/.cargo/git/** ~/.cargo/.package-cache* ~/.cargo/.global-cache* \
         ~/.rustup/tmp/** ~/.rustup/downloads/** ~/.rustup/update-hashes/** \
         ~/.npm/** ~/.yarn/** ~/.pnpm-store/** ~/.local/share/pnpm/store/** ~/.local/state/pnpm/** \
         ~/.bun/install/cache/** ~/.node-gyp/** ~/go/pkg/** ~/.config/go/telemetry/** ~/.ccache/** \
         ~/.m2/repository/** ~/.gradle/caches/** ~/.gradle/wrapper/** ~/.gradle/daemon/** \
         ~/.gradle/native/** ~/.cabal/packages/** ~/.stack/** ~/.gem/ruby/** ~/.nuget/packages/** \
         ~/.composer/cache/** ~/.matplotlib/** ~/.keras/**",
    ),
    // Caches hold built tools too; starting one is asked about.
    ("rw?", "~/.cache/**"),
    // Histories of shells, interpreters and other programs.
    (
        "---",
        "~/.bash_history ~/.zsh_history ~/.python_history ~/.node_repl_history ~/.lesshst ~/.viminfo \
         ~/.psql_history ~/.mysql_history ~/.sqlite_history ~/.local/share/nano/** ~/.wget-hsts",
    ),
];

/// Files that programs open at every start and can do without. If they are not allowed, the guard neither reports them
/// nor asks.
pub(crate) const QUIET: &[&str] = &[
    // Histories, and the files beside them that less and readline write first.
    "~/.bash_history ~/.zsh_history ~/.python_history ~/.node_repl_history ~/.lesshst ~/.viminfo \
     ~/.psql_history ~/.mysql_history ~/.sqlite_history ~/.local/share/nano ~/.wget-hsts \
     ~/.lesshsQ ~/.bash_history-*.tmp ~/.python_history-*.tmp ~/.psql_history-*.tmp ~/.mysql_history-*.tmp \
     ~/.sqlite_history-*.tmp",
    // Configuration with credentials: npm, yarn, pip and libcurl read it whatever they do.
    "~/.npmrc ~/.yarnrc.yml ~/.config/pip ~/.pip ~/.netrc",
    // Caches beside what is installed. If root runs the tree, the kernel does not refuse these writes.
    "/usr/**/__pycache__/** /var/cache/fontconfig",
];

/// Returns the patterns of secrets that the built-in policy denies.
pub fn secrets() -> impl Iterator<Item = &'static str> {
    DENIED.iter().flat_map(|list| list.split_whitespace())
}

/// Returns the patterns of files that programs open at every start and can do without.
pub fn quiet() -> impl Iterator<Item = &'static str> {
    QUIET.iter().flat_map(|list| list.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permission;
    use crate::paths::expansion;

    #[test]
    fn the_lists_are_well_formed() {
        for (permission, list) in RULES {
            assert!(Permission::parse(permission).is_some(), "{permission}");
            for p in list.split_whitespace() {
                assert_eq!(expansion::problem(p), None, "{p}");
            }
        }
        for p in DENIED
            .iter()
            .chain(QUIET)
            .flat_map(|l| l.split_whitespace())
            .chain(PROGRAMS)
            .chain(TOOLCHAINS)
            .chain(TICKETS)
        {
            assert_eq!(expansion::problem(p), None, "{p}");
        }
    }

    /// A denied name may be that of a directory, and then everything in the directory is denied, too: caches of
    /// Kerberos are files or directories (krb5_ccache, "DIR").
    #[test]
    fn a_star_at_the_end_covers_what_is_below() {
        let all: Vec<&str> = secrets().chain(TICKETS).collect();
        for pattern in all.iter().filter(|pattern| pattern.ends_with('*') && !pattern.ends_with("**")) {
            assert!(all.contains(&&*format!("{pattern}/**")), "{pattern}");
        }
    }
}
