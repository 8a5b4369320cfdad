# Tries every known way to put `evil` at each place, by its name and by that of each directory above it up to $top. What is
# one call is made here: a program for each would take seconds.
use strict;
use File::Basename;
use File::Path;
use POSIX ();

my ($renameat2, $top, @places) = @ARGV;
chdir $ENV{SCRATCH} or die "no directory: $!";
open STDERR, '>', '/dev/null';
my $evil = "$ENV{SCRATCH}/evil";
my $times = 0;

sub put { my ($mode, $path) = @_; open my $file, $mode, $path or return; print $file "evil\n"; close $file }
sub make { File::Path::make_path(@_, { error => \my $ignored }) }
sub clear { unlink @_; File::Path::remove_tree(@_, { error => \my $ignored }) }
sub exchange { my ($one, $other) = @_; syscall 0 + $renameat2, -100, $one, -100, $other, 2 }
sub new { clear 'e'; put '>', 'e' }

sub plant {
    my ($rest) = @_;
    clear 'plant', 'link';
    make dirname("plant/$rest");
    put '>', "plant/$rest";
    symlink "$ENV{SCRATCH}/plant", 'link';
}

for my $place (@places) {
    my $above = dirname $place;
    put '>', $place;
    put '>>', $place;
    put '+<', $place;
    system 'dd', 'if=evil', "of=$place", 'conv=notrunc';
    make $above;
    put '>', $place;
    system 'cp', '--remove-destination', 'evil', $place;
    system 'install', '-D', 'evil', $place;
    system 'sed', '-i', 's/mine/evil/', $place;
    truncate $place, 0;
    chmod 0777, $place;
    new;
    rename 'e', $place;
    new;
    exchange 'e', $place;
    system 'ln', '-f', 'evil', $place;
    system 'ln', '-sfT', $evil, $place;
    symlink $evil, 'l';
    rename 'l', $place;
    exchange 'l', $place;
    unlink 'l', 'alias';
    link $place, 'alias' and put '>', 'alias';
    rename $place, 'gone';
    unlink $place;
    POSIX::mkfifo $place, 0666;
    clear $place;
    make $above;
    my ($directory, $rest) = ($above, basename $place);
    while ($directory ne $top) {
        $times++;
        plant $rest;
        exchange 'plant', $directory;
        exchange 'link', $directory;
        plant $rest;
        rename 'plant', $directory;
        rename $directory, "away$times";
        rename 'plant', $directory;
        make $above;
        put '>', $place;
        plant $rest;
        system 'mv', '-T', 'plant', $directory;
        system 'cp', '-rT', 'plant', $directory;
        system 'cp', '-aT', 'link', $directory;
        rmdir $directory;
        plant $rest;
        rename 'plant', $directory;
        rmdir $directory;
        plant $rest;
        rename 'link', $directory;
        rmdir $directory;
        plant $rest;
        symlink "$ENV{SCRATCH}/plant", $directory;
        link 'link', $directory;
        ($rest, $directory) = (basename($directory) . "/$rest", dirname $directory);
    }
}
