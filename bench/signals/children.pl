# A parent that waits for its children in a signal handler, as servers do, and opens files meanwhile.
# Perl installs handlers without SA_RESTART, and its open does not try again.
use strict;
use warnings;

my ($children, $opens, $failed) = (2000, 0, 0);
$SIG{CHLD} = sub { 1 while waitpid(-1, 1) > 0 };
for (1 .. $children) {
    my $child = fork // die "fork: $!";
    exit 0 if $child == 0;
    for (1 .. 3) {
        $opens++;
        if (open(my $file, '<', '/etc/hostname')) { close $file }
        elsif ($!{EINTR}) { $failed++ }
        else { die "open: $!" }
    }
}
print "perl open $failed $opens\n";
