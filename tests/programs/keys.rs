//! Keys and their agents: daemons that listen on sockets in private directories.

use guard_tests::{World, has};

#[test]
fn ssh_keys_and_an_agent() {
    if !has(&["ssh-keygen", "ssh-agent", "ssh-add"]) {
        return;
    }
    let script = r#"
        mkdir -m 700 keys && cd keys && for t in ed25519 rsa ecdsa; do ssh-keygen -q -t $t -b 2048 -N '' -C c -f $t 2>/dev/null || ssh-keygen -q -t $t -N '' -C c -f $t; ssh-keygen -l -f $t | cut -d' ' -f1,3-; done
        stat -c '%n %a' *; ssh-keygen -y -f ed25519 | cmp - <(cut -d' ' -f1,2,3 ed25519.pub) && ssh-keygen -p -P '' -N secret -f rsa | tail -1; echo text > text
        ssh-keygen -q -Y sign -f ed25519 -n file text && printf 'me %s\n' "$(cat ed25519.pub)" > allowed && ssh-keygen -Y verify -f allowed -I me -n file -s text.sig < text | sed 's/SHA.*//'; ssh-keygen -q -s ecdsa -I id -n me ed25519.pub && ssh-keygen -L -f ed25519-cert.pub | grep -c Principals
        eval "$(ssh-agent -a $PWD/agent)" > /dev/null; stat -c '%F %a' agent; ssh-add -q ed25519; ssh-add -l | cut -d' ' -f1,3-; ssh-add -T ed25519.pub && echo usable; ssh-keygen -q -Y sign -f ed25519.pub -n file -U text < text > agents.sig 2>&1; ssh-add -D 2>&1; ssh-add -l
        ssh-agent -k > /dev/null; for i in $(seq 200); do test -e agent || break; sleep 0.05; done; ls agent 2>/dev/null; ssh-agent sh -c 'ssh-add -q ed25519; ssh-add -l | wc -l; ls $SSH_AUTH_SOCK | sed "s#[^/]*/agent.*#X#"' | sed "s#$HOME#HOME#"; ssh-add -l 2>&1; cd ..; rm -r keys; true"#;
    let same = World::open().same(|_| {}, &["bash", "-c", script], &[]);
    assert!(same.native.stdout.contains("usable\n"), "{} {}", same.native.stdout, same.native.stderr);
}

#[test]
fn gpg_and_its_agent() {
    if !has(&["gpg", "gpg-agent", "gpgconf"]) {
        return;
    }
    // The home needs a short name: a socket's path has at most 107 characters.
    let script = r#"
        export GNUPGHOME=$HOME/g; mkdir -m 700 $GNUPGHOME; printf '%%no-protection\nKey-Type: EDDSA\nKey-Curve: ed25519\nSubkey-Type: ECDH\nSubkey-Curve: cv25519\nName-Real: A\nName-Email: a@b\nExpire-Date: 0\n%%commit\n' > params
        quiet() { "$@" 2>&1 | sed -E 's/[0-9A-F]{8,}/KEY/g; s/[0-9]{4}-[0-9]{2}-[0-9]{2}/DATE/g; s/using EDDSA key.*/using/; /made .* [0-9:]{8}/d; s#/[^ ]*/work#WORK#; s#/[^ ]*/home#HOME#'; }
        quiet gpg --batch --gen-key params; quiet gpg -K --with-colons | cut -d: -f1,2,3,4 | sort; stat -c '%n %a' $GNUPGHOME/*.kbx $GNUPGHOME/private-keys-v1.d | sed 's#.*/g/##'
        echo text > text; quiet gpg --batch --yes -s -a -o s.asc text; quiet gpg --verify s.asc; quiet gpg --batch -d s.asc; gpg -q --batch --trust-model always -r a@b -o e.gpg -e text && quiet gpg -q --batch -d e.gpg
        quiet gpg --batch --passphrase p --pinentry-mode loopback -c -o c.gpg text; quiet gpg --batch --passphrase p --pinentry-mode loopback -d c.gpg; gpg --export a@b > k.gpg; gpg --list-packets k.gpg | grep -c key; gpg-connect-agent 'getinfo version' /bye | tail -1; find $GNUPGHOME -type s | sed 's#.*/##' | sort
        gpgconf --kill all; for i in $(seq 200); do test -z "$(find $GNUPGHOME -type s)" && break; sleep 0.05; done; find $GNUPGHOME -type s | wc -l; quiet gpg --verify text; rm -f params *.asc *.gpg"#;
    let same = World::open().same(|_| {}, &["bash", "-c", script], &[]);
    assert!(same.native.stdout.contains("Good signature"), "{} {}", same.native.stdout, same.native.stderr);
}
