//! Scripts whose interpreter may not run, or which start a program that may not run.

use crate::attempt::{BUILDING, attacks, python, sh};

attacks! {
    interpreted => sh("printf '#!%s\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_with_blanks => sh("printf '#! \\t %s \\t x\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_without_a_newline => sh("printf '#!%s' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_by_a_relative_name => sh("printf '#!hide/prog\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_by_dots => sh("printf '#!work/../hide/./prog\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_by_a_link => sh("ln -s $P i; printf '#!work/i\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_with_a_carriage_return => sh("ln -s $P $'i\\r'; printf '#!work/i\\r\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_by_a_descriptor => sh("printf '#!/proc/self/fd/7\\n' > s; chmod +x s; cd $R; exec 7<$P; work/s").under(BUILDING);
    interpreted_through_proc => sh("printf '#!/proc/self/cwd/hide/prog\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_through_the_root => sh("printf '#!/proc/self/root%s\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_by_a_script => sh("printf '#!%s\\n' $P > a; printf '#!work/a\\n' > b; chmod +x a b; cd $R; work/b").under(BUILDING);
    interpreted_by_a_chain => sh("printf '#!%s\\n' $P > s0; for i in 1 2 3 4; do printf '#!work/s%d\\n' $((i-1)) > s$i; done; chmod +x s?; cd $R; work/s4").under(BUILDING);
    interpreted_by_too_long_a_chain => sh("printf '#!%s\\n' $P > s0; for i in 1 2 3 4 5 6; do printf '#!work/s%d\\n' $((i-1)) > s$i; done; chmod +x s?; cd $R; (exec work/s6)")
        .under(BUILDING).natively_refused("ELOOP after five");
    interpreted_by_env => sh("printf '#!/usr/bin/env %s\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_by_env_split => sh("printf '#!/usr/bin/env -S A=1 %s x\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_by_the_loader => sh("printf '#!/lib64/ld-linux-x86-64.so.2 %s\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    interpreted_as_the_last_name_of_the_line => python("
fill = 254 - len(P); open('s', 'w').write('#!' + '/' * fill + P[1:] + '\\n'); os.chmod('s', 0o755); os.chdir(R); os.execv('work/s', ['x'])")
        .under(BUILDING);
    interpreted_in_a_long_line => python("
open('s', 'w').write('#!' + ' ' * (200 - len(P)) + P + ' ' + 'x' * 300 + '\\n'); os.chmod('s', 0o755); os.chdir(R); os.execv('work/s', ['x'])").under(BUILDING);
    interpreted_from_a_descriptor => python("
open('s', 'w').write('#!' + P + '\\n'); os.chmod('s', 0o755); f = os.open('s', os.O_RDONLY); os.set_inheritable(f, True)
os.chdir(R); call(322, f, b'', array(b'x'), 0, 0x1000)").under(BUILDING);
    interpreted_from_memory => python("
m = call(319, b'x', 0); os.write(m, b'#!' + P.encode() + b'\\n'); os.chdir(R); call(322, m, b'', array(b'x'), 0, 0x1000)").under(BUILDING);
    interpreted_where_no_script_runs => sh("printf '#!%s\\n' $P > s; chmod +x s; cd $R; work/s");
    started_by_a_script => sh("printf '#!/bin/sh\\n%s\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    started_by_a_script_without_an_interpreter => sh("printf '%s\\n' $P > s; chmod +x s; cd $R; work/s").under(BUILDING);
    started_by_a_script_that_is_read => sh("echo $P > s; cd $R; sh work/s");
    started_by_a_script_on_standard_input => sh("cd $R; echo $P | sh");
    started_by_a_here_document => sh("cd $R; sh <<< $P");
    started_by_a_script_that_is_sourced => sh("echo $P > s; cd $R; . work/s");
    started_by_a_script_of_awk => sh("printf '#!/usr/bin/awk -f\\nBEGIN { system(ENVIRON[\"P\"]) }\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING);
    started_by_a_script_of_python => sh("printf '#!/usr/bin/env -S python3 -I\\nimport os; os.execv(os.environ[\"P\"], [\"x\"])\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING);
    started_by_a_script_of_make => sh("printf '#!/usr/bin/make -f\\nall:\\n\\t$(P)\\n' > s; chmod +x s; cd $R; work/s").under(BUILDING).needs(&["make"]);
    started_by_a_script_of_sed => sh("printf '#!/usr/bin/sed -f\\n1e %s\\n' $P > s; chmod +x s; cd $R; work/s work/file").under(BUILDING);
    written_while_it_runs => sh("cd $R; printf 'sleep 0.1\\n:\\n' > work/s; sh work/s & sleep 0.05; echo $P >> work/s; wait");
}
