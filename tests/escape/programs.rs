//! Programs that may be read and not run.

use crate::attempt::{BUILDING, attacks, python, sh};

attacks! {
    by_its_name => sh("cd $R; $P");
    by_a_hard_link => sh("ln $P ./prog; cd $R; work/prog").under(BUILDING);
    by_the_loader => sh("cd $R; /lib64/ld-linux-x86-64.so.2 $P");
    from_memory => python("
m = os.memfd_create('x'); os.write(m, open(P, 'rb').read())
os.chdir(R); call(322, m, b'', 0, 0, 0x1000)");
}
