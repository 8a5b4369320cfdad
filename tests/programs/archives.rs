//! tar, rsync, cp, find, compressors; and perl, which examines files as they do.

use guard_tests::{World, has};

/// A directory with every kind of file that needs no capability.
const ZOO: &str = "
    mkdir -p zoo/deep/er 'zoo/a b' && cd zoo
    echo plain > plain && echo run > run && chmod 755 run && echo secret > secret && chmod 600 secret
    ln plain hard && ln -s plain soft && ln -s /nowhere dangling && mkfifo -m 640 pipe && : > empty && echo x > 'a b/new
line'
    truncate -s 1M sparse && seq 100000 > big && echo deep > deep/er/f && chmod 2775 deep
    touch -d @1000000000 plain run secret deep/er/f big sparse empty deep deep/er 'a b' .; cd ..
    look() { find \"$1\" ! -type d -printf '%P %y %m %s %n %l %Ts\\n' | grep -v -e ' l ' -e pipe -e line | sort; }
";

#[test]
fn rsync_copies_updates_and_deletes() {
    if !has(&["rsync"]) {
        return;
    }
    let script = format!(
        "{ZOO}
        rsync -aHS --out-format='%i %n%L' zoo/ copy/ | sort && look copy && rsync -aHi zoo/ copy/ && echo more >> zoo/big && rm zoo/secret && chmod 700 zoo/run && touch -d @1100000000 zoo/big zoo
        rsync -aHi --delete --backup --suffix=.old zoo/ copy/ | sort; rsync -rltW --inplace --checksum --itemize-changes zoo/ copy/ | sort; look copy
        rsync -a --link-dest=../copy zoo/ linked/ && stat -c %h linked/big && rsync -aR --files-from=<(printf 'plain\\ndeep/er/f\\n') zoo/ some/ && find some | sort
        printf '#!/bin/sh\\nshift; exec \"$@\"\\n' > rsh; chmod +x rsh; rsync -rlt --exclude='*e*' -e ./rsh zoo/ host:$PWD/piped && find piped | sort; rsync none nowhere 2>&1 | sed 's/ (.*//'"
    );
    let same = World::open().same_script(&script, &[]);
    assert!(same.tree.contains_key("linked/deep/er/f"));
}

#[test]
fn tar_keeps_and_updates() {
    let script = format!(
        "{ZOO}
        mkdir out && tar -cf - -C zoo . | tar -xpf - -C out && look out && tar --sort=name --owner=0 --group=0 --mtime=@0 -czf z.tgz zoo && tar -tzvf z.tgz && rm z.tgz
        tar -cf a.tar -g snap zoo/plain && echo new > zoo/fresh && tar -rf a.tar zoo/fresh && tar -uf a.tar zoo/run && tar -tf a.tar && tar --delete -f a.tar zoo/run && tar -tf a.tar | wc -l; rm snap a.tar
        tar -cSf s.tar zoo/sparse && tar -xOf s.tar | cksum && rm s.tar; tar -cf x.tar zoo && tar -xf x.tar --to-command='cksum' --wildcards '*/big' && tar -xf x.tar -C out --keep-old-files 2>&1 | wc -l
        tar -xf x.tar -C out --overwrite --recursive-unlink && tar -xf x.tar -C out --strip-components=1 --xform='s/plain/renamed/' && ls out && tar -df x.tar && rm x.tar
        cd zoo; find . -depth -type d -empty; find . -type f -links +1 -samefile plain | sort"
    );
    World::open().same_script(&script, &[]);
}

#[test]
fn compressors_confine_themselves() {
    if !has(&["xz", "zstd", "gzip", "bzip2"]) {
        return;
    }
    let script = format!(
        "{ZOO} cd zoo; for z in xz 'xz -T2' zstd 'zstd -T2' gzip bzip2; do
            $z -k big && ls big.* && $z -t big.* && $z -dc big.* | cmp - big && stat -c '%a %Y' big.* | head -1 | cut -d' ' -f1 && rm big.*; $z < big | $z -d | cksum; done
        xz big && xz -l big.xz | tail -1 | tr -s ' ' && xz -d big.xz && zstd -q --rm big && zstd -dq --rm big.zst && zstd -q -r deep && find deep | sort; xz none; zstd -q none; xz -k soft; gzip -k hard; ls"
    );
    World::open().same(|_| {}, &["bash", "-c", &script], &[]);
}

#[test]
fn perl_in_every_direction() {
    let script = r#"perl -we '
        use strict; use Cwd; use Fcntl qw(:flock :mode); use File::Temp qw(tempfile tempdir); use File::Find; use File::Copy; use File::Path qw(make_path remove_tree); use IPC::Open3; use IO::Socket::UNIX; use POSIX ();
        make_path("a/b/c"); open(my $f, ">", "a/f") or die; flock($f, LOCK_EX) or die; print $f "x" x 5000; close $f; chmod 0640, "a/f"; utime 1e9, 1e9, "a/f"; symlink "f", "a/s"; link "a/f", "a/h"; copy("a/f", "a/g"); move("a/g", "a/m"); rename "a/m", "a/n";
        find({ no_chdir => 1, wanted => sub { printf "%s %o %d\n", $_, (lstat)[2], (lstat)[3] if !-d } , preprocess => sub { sort @_ } }, "a");
        print join(",", map { -e $_ ? "e" : "-" } "a/f", "none", "a/s"), " ", (-s "a/f"), " ", (readlink "a/s"), "\n"; print "$!\n" unless open(my $g, "<", "none"); print "$!\n" unless mkdir "a"; print "$!\n" unless rmdir "a"; print "$!\n" unless unlink "a";
        my ($t, $n) = tempfile(DIR => "."); printf "%o\n", (stat $t)[2]; unlink $n; print `echo ticks; exit 3`, $? >> 8, "\n"; system("exit 4"); print $? >> 8, "\n"; print system("no-such-program 2>/dev/null") >> 8, "\n"; system { "sh" } "name", "-c", "echo \$0";
        my $pid = open3(my $in, my $out, undef, "tr", "a-z", "A-Z"); print $in "open3\n"; close $in; print <$out>; waitpid $pid, 0; open(my $p, "-|", "sort", "-r") ; open(my $k, "|-", "cat -n") or die; print $k "to cat\n"; close $k;
        my $l = IO::Socket::UNIX->new(Local => "sock", Listen => 1) or die; if (!fork) { my $c = IO::Socket::UNIX->new("sock"); print $c "by socket\n"; exit } print $l->accept->getline; wait; print "$?\n"; $SIG{ALRM} = sub { print "alarm\n" }; alarm 1; sleep 5;
        local $0 = "renamed"; print POSIX::ttyname(0) // "no tty", " ", POSIX::access("a", POSIX::W_OK()) ? "w" : "-", "\n"; opendir(my $d, "a"); print scalar(grep !/^\./, readdir $d), "\n"; chdir "a"; print getcwd =~ s,.*/,,r, "\n"; chdir ".."; remove_tree("a"); print -e "a" ? "there" : "gone", "\n"; exec "echo", "exec";
    '"#;
    let same = World::open().same_script(script, &[]);
    assert!(same.native.stdout.ends_with("gone\nexec\n"), "{}", same.native.stdout);
}
