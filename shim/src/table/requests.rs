//! The `ioctl` requests that are always allowed, and those that are always refused.
//!
//! All other requests go to the supervisor. The filter compares in this order, so frequent requests come first.

/// Requests that only query, or that change only what the caller could change anyway.
#[rustfmt::skip]
pub(super) const IOCTL_ALLOWED: &[u32] = &[
    // Any descriptor.
    0x5401, // TCGETS: how isatty asks
    0x541b, // FIONREAD, SIOCINQ, TIOCINQ
    0x5421, // FIONBIO
    0x5451, // FIOCLEX
    0x5450, // FIONCLEX
    0x5452, // FIOASYNC
    0x5460, // FIOQSIZE
    // Terminals.
    0x5413, // TIOCGWINSZ
    0x802c_542a, // TCGETS2
    0x5402, // TCSETS
    0x5403, // TCSETSW
    0x5404, // TCSETSF
    0x402c_542b, // TCSETS2
    0x402c_542c, // TCSETSW2
    0x402c_542d, // TCSETSF2
    0x5405, // TCGETA
    0x5406, // TCSETA
    0x5407, // TCSETAW
    0x5408, // TCSETAF
    0x5409, // TCSBRK
    0x5425, // TCSBRKP
    0x540a, // TCXONC
    0x540b, // TCFLSH
    0x540c, // TIOCEXCL
    0x540d, // TIOCNXCL
    0x8004_5440, // TIOCGEXCL
    0x540e, // TIOCSCTTY
    0x5422, // TIOCNOTTY
    0x540f, // TIOCGPGRP
    0x5410, // TIOCSPGRP
    0x5429, // TIOCGSID
    0x5411, // TIOCOUTQ, SIOCOUTQ
    0x5414, // TIOCSWINSZ
    0x5415, // TIOCMGET
    0x5416, // TIOCMBIS
    0x5417, // TIOCMBIC
    0x5418, // TIOCMSET
    0x5420, // TIOCPKT
    0x8004_5438, // TIOCGPKT
    0x8004_5430, // TIOCGPTN
    0x4004_5431, // TIOCSPTLCK
    0x8004_5439, // TIOCGPTLCK
    0x5427, // TIOCSBRK
    0x5428, // TIOCCBRK
    0x5424, // TIOCGETD
    0x8004_5432, // TIOCGDEV
    // Files. A clone writes to a descriptor opened for writing, from one opened for reading.
    0x4004_9409, // FICLONE
    0x4020_940d, // FICLONERANGE
    0xc018_9436, // FIDEDUPERANGE
    0x0002, // FIGETBSZ
    0x8008_6601, // FS_IOC_GETFLAGS
    0x8004_6601, // FS_IOC32_GETFLAGS
    0x801c_581f, // FS_IOC_FSGETXATTR
    0x8008_7601, // FS_IOC_GETVERSION
    0xc020_660b, // FS_IOC_FIEMAP
    0x8011_1500, // FS_IOC_GETFSUUID
    0x8081_1501, // FS_IOC_GETFSSYSFSPATH
    0x8008_1272, // BLKGETSIZE64
    0x1268, // BLKSSZGET
    // Sockets and network interfaces.
    0x8905, // SIOCATMARK
    0x8906, // SIOCGSTAMP
    0x8907, // SIOCGSTAMPNS
    0x8010_8906, // SIOCGSTAMP_NEW
    0x8010_8907, // SIOCGSTAMPNS_NEW
    0x8910, // SIOCGIFNAME
    0x8912, // SIOCGIFCONF
    0x8913, // SIOCGIFFLAGS
    0x8915, // SIOCGIFADDR
    0x8917, // SIOCGIFDSTADDR
    0x8919, // SIOCGIFBRDADDR
    0x891b, // SIOCGIFNETMASK
    0x8921, // SIOCGIFMTU
    0x8927, // SIOCGIFHWADDR
    0x8933, // SIOCGIFINDEX
    0x8942, // SIOCGIFTXQLEN
    0x891d, // SIOCGIFMETRIC
    0x8970, // SIOCGIFMAP
    0x894b, // SIOCOUTQNSD
    0x8946, // SIOCETHTOOL: without CAP_NET_ADMIN it only queries
    // The rest.
    0xc068_6611, // PROCMAP_QUERY
    // PIDFD_GET_INFO, in each size that its structure has had: what /proc/PID/status shows to every user.
    0xc040_ff0b,
    0xc048_ff0b,
    0xc050_ff0b,
    0xb701, // NS_GET_USERNS
    0xb702, // NS_GET_PARENT
    0xb703, // NS_GET_NSTYPE
    0xb704, // NS_GET_OWNER_UID
    0x8004_5200, // RNDGETENTCNT
    0x4008_8a01, // EPIOCSPARAMS
    0x8008_8a02, // EPIOCGPARAMS
];

/// Requests that fake the operator's input, take over the console, or make the kernel signal another process.
#[rustfmt::skip]
pub(super) const IOCTL_REFUSED: &[u32] = &[
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS
    0x5423, // TIOCSETD
    0x5437, // TIOCVHANGUP
    0x8901, // FIOSETOWN
    0x8902, // SIOCSPGRP
];
