//! Other roots, namespaces and mounts.

use crate::attempt::{attacks, python, sh};
use crate::machine::{has_namespaces, has_own_proc};

attacks! {
    mounted => python("
os.mkdir('m'); call(165, (R + '/shut').encode(), b'm', b'', 4096, b''); tell(open('m/file', 'rb').read())").natively_refused("it needs CAP_SYS_ADMIN");
    mounted_in_a_namespace => python("
call(272, 0x10020000); os.mkdir('m'); call(165, (R + '/shut').encode(), b'm', b'', 4096, b''); tell(open('m/file', 'rb').read())").natively_if(has_namespaces);
    mounted_in_a_cloned_namespace => python("
if call(56, 0x10020011, 0, 0, 0, 0): os.wait()
else:
    os.mkdir('m'); call(165, (R + '/shut').encode(), b'm', b'', 4096, b''); tell(open('m/file', 'rb').read())").natively_if(has_namespaces);
    mounted_in_a_namespace_of_clone3 => python("
if call(435, struct.pack('8Q', 0x10020000, 0, 0, 0, 17, 0, 0, 0), 64): os.wait()
else:
    os.mkdir('m'); call(165, (R + '/shut').encode(), b'm', b'', 4096, b''); tell(open('m/file', 'rb').read())").natively_if(has_namespaces);
    mounted_over_what_may_be_read => python("
call(272, 0x10020000); call(165, (R + '/shut').encode(), (R + '/only').encode(), b'', 4096, b''); tell(open(O, 'rb').read())").natively_if(has_namespaces);
    mounted_as_a_tree => python("
call(272, 0x10020000); t = call(428, -100, (R + '/shut').encode(), 1); os.mkdir('m'); call(429, t, b'', -100, b'm', 4); tell(open('m/file', 'rb').read())").natively_if(has_namespaces);
    read_from_a_detached_tree => python("
call(272, 0x10020000); t = call(428, -100, (R + '/shut').encode(), 1); tell(os.read(os.open('file', 0, dir_fd=t), 99))").natively_if(has_namespaces);
    read_from_an_attached_tree => python("
t = call(428, -100, (R + '/shut').encode(), 0); tell(os.read(os.open('file', 0, dir_fd=t), 99))");
    another_root => python("
call(272, 0x10020000); os.mkdir('c'); os.chroot(R + '/shut'); tell(open('/file', 'rb').read())").natively_if(has_namespaces);
    another_root_without_a_namespace => python("os.chroot(R + '/shut'); tell(open('/file', 'rb').read())").natively_refused("it needs CAP_SYS_CHROOT");
    a_pivoted_root => python("
call(272, 0x10020000); os.mkdir('m'); call(165, R.encode(), (R + '/work/m').encode(), b'', 0x5000, b'')
os.chdir('m'); call(155, b'.', b'work'); tell(open('/shut/file', 'rb').read())").natively_if(has_namespaces);
    an_overlay => python("
call(272, 0x10020000); [os.mkdir(d) for d in 'uwm']
call(165, b'o', b'm', b'overlay', 0, ('lowerdir=%s/shut,upperdir=u,workdir=w' % R).encode()); tell(open('m/file', 'rb').read())")
        .natively_refused("the copies have no owner in the namespace");
    a_read_only_overlay => python("
call(272, 0x10020000); os.mkdir('m')
call(165, b'o', b'm', b'overlay', 1, ('lowerdir=%s/shut:%s/only' % (R, R)).encode()); tell(open('m/file', 'rb').read())").natively_if(has_namespaces);
    another_proc => python("
call(272, 0x30020000)
if os.fork(): os.wait()
else:
    os.mkdir('p'); call(165, b'p', b'p', b'proc', 0, b''); tell(open('p/self/root' + S, 'rb').read())").natively_if(has_own_proc);
    a_users_namespace_alone => python("
call(272, 0x10000000); tell(open(S, 'rb').read())").natively_if(has_namespaces);
    by_unshare => sh("unshare -U cat $S").natively_if(has_namespaces);
    by_a_process_of_its_own => sh("setpriv --no-new-privs cat $S");
    through_the_first_process => sh("nsenter -t 1 -m cat $S").natively_refused("it needs CAP_SYS_ADMIN");
    through_its_own_namespace => python("
call(308, os.open('/proc/self/ns/mnt', 0), 0); tell(open(S, 'rb').read())").natively_refused("it needs CAP_SYS_ADMIN");
    unmounted => python("call(166, (R + '/only').encode(), 2); tell(open(S, 'rb').read())").natively_refused("it needs CAP_SYS_ADMIN");
    accounted => python("call(163, (R + '/shut/gone').encode()); os.system('true')").natively_refused("it needs CAP_SYS_PACCT");
    swapped_on => python("call(167, S.encode(), 0); tell(open(S, 'rb').read())").natively_refused("it needs CAP_SYS_ADMIN");
    as_a_library => python("call(134, S.encode()); tell(open(S, 'rb').read())").natively_refused("kernels have dropped the call");
}
