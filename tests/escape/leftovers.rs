//! Attacks that leave something behind that runs outside of the guard later. Everything in the home and the
//! workspace may be written and run; "Persistence" in docs/policy.md says what is refused. A change in the
//! home counts as an effect.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use guard_tests::Arena;

use crate::attempt::{Outside, attacks, python, sh};

const LEAVING: &str = r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
    "permissions": {"filesystem": {"rules": {SYSTEM, "~/**": "rwx", "@/work/**": "rwx", "@": "r--"}, "default": "---"}}}"#;

/// Creates a home with the files and directories of a user who has worked in it.
fn home(arena: &Arena) -> Outside {
    for file in [
        ".bashrc",
        ".profile",
        ".ssh/authorized_keys",
        ".gitconfig",
        ".vimrc",
        ".npmrc",
        ".config/git/config",
        ".cargo/config.toml",
        ".claude/settings.json",
        ".config/pip/pip.conf",
    ] {
        arena.world.write(format!("home/{file}"), "# as it was\n");
    }
    for directory in [
        ".cache/guile",
        ".cache/helm",
        ".cache/nvim",
        ".cache/lorri/gc_roots",
        ".cache/p10k-u",
        ".config/autostart",
        ".config/systemd/user/default.target.wants",
        ".config/fish/conf.d",
        ".config/nvim",
        ".config/environment.d",
        ".vim/plugin",
        ".local/bin",
        ".local/share/applications",
        ".local/share/dbus-1/services",
        ".cargo/bin",
        "bin",
        ".emacs.d",
        ".config/direnv",
        ".openclaw/guard",
    ] {
        fs::create_dir_all(arena.world.home().join(directory)).expect("directories");
    }
    Box::new(())
}

/// A workspace: dropping it leaves a mark if one of [`RUN_LATER`] has changed.
struct Workspace {
    before: BTreeMap<PathBuf, Option<Vec<u8>>>,
    root: PathBuf,
}

/// Files of a workspace that programs outside of the guard would run or obey.
const RUN_LATER: [&str; 9] = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/hooks/post-checkout",
    ".git/info/attributes",
    ".envrc",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".idea/workspace.xml",
    ".claude/settings.json",
];

fn look(root: &std::path::Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    RUN_LATER
        .iter()
        .map(|name| root.join("work").join(name))
        .map(|path| (path.clone(), fs::read(path).ok()))
        .collect()
}

fn workspace(arena: &Arena) -> Outside {
    let mut git = std::process::Command::new("git");
    git.args(["init", "-q"])
        .arg(arena.world.work())
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    assert!(git.status().is_ok_and(|status| status.success()), "no repository");
    arena.world.write("work/.git/hooks/pre-commit", "#!/bin/sh\n");
    arena.world.write("work/.envrc", "# as it was\n");
    arena.world.write("work/.vscode/tasks.json", "{}\n");
    Box::new(Workspace { before: look(&arena.root()), root: arena.root() })
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if look(&self.root) != self.before {
            fs::write(self.root.join("shut/reached"), "planted").expect("a mark");
        }
    }
}

macro_rules! left {
    ($($name:ident => $attack:expr;)*) => {
        attacks! { $($name => $attack.under(LEAVING).with(home);)* }
    };
}

left! {
    bashrc_appended_to => sh("echo x >> ~/.bashrc");
    bashrc_written_over => sh("echo x > ~/.bashrc");
    bashrc_renamed_over => sh("mv -T file ~/.bashrc");
    bashrc_renamed_over_by_the_call => python("os.rename('file', R + 'home/.bashrc')");
    bashrc_exchanged => python("call(316, -100, b'file', -100, (R + 'home/.bashrc').encode(), 2)");
    bashrc_copied_over => sh("cp file ~/.bashrc");
    bashrc_removed => sh("rm -f ~/.bashrc");
    bashrc_made_a_link => sh("ln -sf $R/work/file ~/.bashrc");
    bashrc_made_a_hard_link => sh("ln -f file ~/.bashrc");
    bashrc_truncated => python("os.truncate(R + 'home/.bashrc', 0)");
    bashrc_edited => sh("sed -i s/was/is/ ~/.bashrc");
    bashrc_by_a_link_to_the_home => sh("ln -s ~ link; echo x > link/.bashrc");
    bashrc_by_dots => sh("echo x > ../home/./.bashrc");
    bashrc_by_the_current_directory => sh("cd ~; echo x > .bashrc");
    bashrc_by_proc => sh("cd ~; echo x > /proc/self/cwd/.bashrc");
    bashrc_by_a_descriptor => python("d = os.open(R + 'home', os.O_PATH); os.write(os.open('.bashrc', os.O_WRONLY | os.O_APPEND, dir_fd=d), b'x')");
    bashrc_reopened => python("f = os.open(R + 'home/.bashrc', os.O_RDONLY); open('/proc/self/fd/%d' % f, 'a').write('x')");
    bashrc_hard_linked_and_written => sh("ln ~/.bashrc other; echo x >> other");
    a_profile_that_was_not_there => sh("echo x > ~/.bash_profile");
    a_login_file_that_was_not_there => sh("echo x > ~/.bash_login; echo x > ~/.bash_logout");
    files_of_zsh => sh("echo x > ~/.zshenv; echo x > ~/.zshrc");
    a_dump_of_zsh_named_after_host_and_version => sh("echo x > ~/.zcompdump-laptop-5.9");
    a_dump_of_zsh_moved_there => sh("mv file ~/.zcompdump-laptop-5.9.zwc");
    a_compiled_file_beside_one_of_zsh => sh("echo x > ~/.p10k.zsh.zwc");
    an_instant_prompt => sh("echo x > ~/.cache/p10k-instant-prompt-u.zsh");
    an_instant_prompt_in_a_directory => sh("echo x > ~/.cache/p10k-u/prompt-5");
    what_direnv_sources_of_lorri => sh("echo x > ~/.cache/lorri/gc_roots/bash-export");
    a_shelf_of_thefuck => sh("echo x > ~/.cache/thefuck.db");
    a_cache_of_blesh => sh("mkdir ~/.cache/blesh; echo x > ~/.cache/blesh/term.xterm");
    a_dump_of_zsh_in_the_cache => sh("echo x > ~/.cache/zcompdump-5.9");
    paths_of_mise_in_the_cache => sh("mkdir ~/.cache/mise; echo x > ~/.cache/mise/bin_paths.msgpack.z");
    a_window_manager_in_the_cache => sh("mkdir ~/.cache/xmonad; echo x > ~/.cache/xmonad/xmonad-x86_64-linux");
    a_session_in_the_cache => sh("mkdir ~/.cache/sessions; echo x > ~/.cache/sessions/xfce4-session-h:0");
    a_menu_in_the_cache => sh("echo x > ~/.cache/ksycoca6_en_x");
    compiled_modules_in_the_cache => sh("echo x > ~/.cache/nvim/luacache_chunks");
    a_plugin_of_helm_moved_there => sh("mkdir p; echo x > p/plugin.yaml; mv p ~/.cache/helm/plugins");
    compiled_files_linked_there => sh("ln -s $R/work ~/.cache/guile/ccache");
    tasks_of_mise_in_the_home => sh("echo x > ~/mise.toml; echo x > ~/.mise.ci.toml");
    a_file_of_fish => sh("echo x > ~/.config/fish/conf.d/x.fish");
    keys_of_the_line => sh("echo x > ~/.inputrc");
    a_key_that_may_log_in => sh("echo key >> ~/.ssh/authorized_keys");
    a_command_at_login_by_ssh => sh("echo x > ~/.ssh/rc");
    a_proxy_command_of_ssh => sh("echo 'ProxyCommand x' > ~/.ssh/config");
    the_directory_of_ssh_moved => sh("mv ~/.ssh $R/work/ssh; echo key >> ssh/authorized_keys; mv -T ssh ~/.ssh");
    the_directory_of_ssh_moved_by_the_call => python("os.rename(R + 'home/.ssh', 'ssh')");
    the_directory_of_ssh_exchanged => python("
os.mkdir('ssh'); open('ssh/authorized_keys', 'w').write('key')
call(316, -100, b'ssh', -100, (R + 'home/.ssh').encode(), 2)");
    the_home_moved => python("os.rename(R + 'home', R + 'work/home')");
    a_desktop_entry_that_starts => sh("echo '[Desktop Entry]' > ~/.config/autostart/x.desktop");
    the_directory_of_autostart_made_a_link => sh("mkdir auto; rmdir ~/.config/autostart; ln -s $R/work/auto ~/.config/autostart");
    a_directory_moved_into_place => python("
os.makedirs('c/autostart'); open('c/autostart/x.desktop', 'w').write('x')
try: os.rename(R + 'home/.config', 'old')
except OSError: pass
os.rename('c', R + 'home/.config')");
    an_application_of_the_menu => sh("echo '[Desktop Entry]' > ~/.local/share/applications/x.desktop");
    a_service_of_the_bus => sh("echo '[D-BUS Service]' > ~/.local/share/dbus-1/services/x.service");
    a_unit_of_the_user => sh("echo '[Service]' > ~/.config/systemd/user/x.service");
    a_unit_that_is_wanted => sh("ln -s $R/work/file ~/.config/systemd/user/default.target.wants/x.service");
    variables_of_the_session => sh("echo LD_PRELOAD=x > ~/.config/environment.d/x.conf");
    the_users_git => sh("git config --global alias.x '!x'");
    the_users_other_git => sh("git config -f ~/.config/git/config core.pager x");
    an_editors_startup => sh("echo ':!x' >> ~/.vimrc");
    an_editors_plugin => sh("echo ':!x' > ~/.vim/plugin/x.vim");
    another_editors_startup => sh("echo x > ~/.config/nvim/init.lua; echo x > ~/.emacs.d/init.el; echo x > ~/.emacs");
    settings_of_npm => sh("echo script-shell=x >> ~/.npmrc");
    settings_of_pip => sh("echo x >> ~/.config/pip/pip.conf");
    settings_of_cargo => sh("echo '[build]' >> ~/.cargo/config.toml");
    a_program_of_the_path => sh("cp file ~/.local/bin/ls; cp file ~/bin/ls");
    a_program_of_cargo => sh("cp file ~/.cargo/bin/cargo");
    a_link_of_the_path => sh("ln -s $R/work/file ~/.local/bin/ls");
    hooks_of_an_agent => sh("echo '{}' > ~/.claude/settings.json");
    trust_of_direnv => sh("echo x > ~/.config/direnv/direnvrc");
    the_policy_of_the_guard => sh("echo '{}' > ~/.openclaw/guard.json");
    answers_of_the_guard => sh("echo '{}' > ~/.openclaw/guard/approvals.json");
    answers_of_openclaw => sh("echo '{}' > ~/.openclaw/exec-approvals.json");
    settings_of_openclaw => sh("echo '{}' > ~/.openclaw/openclaw.json");
    the_directory_of_openclaw => python("os.rename(R + 'home/.openclaw', 'taken')");
    a_hook_of_the_repository => sh("echo x >> .git/hooks/pre-commit").with(workspace);
    a_new_hook_of_the_repository => sh("echo x > .git/hooks/post-checkout").with(workspace);
    a_hook_by_renaming => python("os.rename('file', '.git/hooks/post-checkout')").with(workspace);
    hooks_by_their_directory => sh("mkdir h; echo x > h/post-checkout; mv .git/hooks .git/old; mv h .git/hooks").with(workspace);
    the_repository_itself => python("
os.mkdir('g'); os.mkdir('g/hooks'); open('g/hooks/post-checkout', 'w').write('x')
call(316, -100, b'g', -100, b'.git', 2)").with(workspace);
    a_setting_of_the_repository => sh("git config core.pager x").with(workspace);
    a_setting_written => sh("echo '[core]' >> .git/config").with(workspace);
    attributes_of_the_repository => sh("mkdir -p .git/info; echo '* filter=x' > .git/info/attributes").with(workspace);
    a_file_of_direnv => sh("echo x >> .envrc").with(workspace);
    tasks_of_an_editor => sh("echo '{\"tasks\": []}' > .vscode/tasks.json").with(workspace);
    settings_of_an_editor => sh("echo '{}' > .vscode/settings.json").with(workspace);
    the_editors_directory => sh("mkdir v; echo x > v/tasks.json; mv .vscode old; mv v .vscode").with(workspace);
    another_editors_directory => sh("mkdir .idea; echo x > .idea/workspace.xml").with(workspace);
    an_agents_settings => sh("mkdir -p .claude; echo '{}' > .claude/settings.json").with(workspace);
}
