//! Paths as sequences write them. None leaves the directory of its sequence: what is outside is the
//! machine's.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// Stands for the sequence's directory at the start of a path; that directory differs from run to run.
pub const HERE: u8 = b'@';

/// A path with `@` at its start for the directory of the sequence.
pub type Written = Vec<u8>;

/// Returns the path for the sequence in `directory`.
pub fn placed(path: &[u8], directory: &[u8]) -> Vec<u8> {
    match path.split_first() {
        Some((&HERE, rest)) => [directory, rest].concat(),
        _ => path.to_vec(),
    }
}

/// Chooses from a few names, so that calls meet: most exist at the start (`prepare` in player.rs), some never
/// do.
pub fn name() -> impl Strategy<Value = Written> {
    let usual: Vec<&[u8]> = vec![
        b"f", b"f", b"d", b"d", b"g", b"g", b"new", b"new", b"e", b"l", b"dl", b"ll", b"dang", b"loop",
        b"abs", b"self",
    ];
    let odd: Vec<&[u8]> = vec![
        b"ro",
        b"none",
        b"shut",
        b"fixed",
        b"z",
        b"x",
        b"x (deleted)",
        b"\xff\xfe",
        b"new\nline",
        b"p",
        b"s",
        b"hard",
        b"out",
        b"w",
    ];
    prop_oneof![
        12 => select(usual).prop_map(<[u8]>::to_vec),
        7 => select(odd).prop_map(<[u8]>::to_vec),
        1 => select(vec![255_usize, 256]).prop_map(|length| vec![b'n'; length]),
    ]
}

fn join(parts: &[&[u8]]) -> Written {
    parts.concat()
}

/// Chooses any path.
pub fn path() -> impl Strategy<Value = Written> {
    let of = |weight: u32, shape: fn(Written, Written, u8) -> Written| {
        (weight, (name(), name(), 0..8_u8).prop_map(move |(a, b, n)| shape(a, b, n)).boxed())
    };
    Union::new_weighted(vec![
        of(40, |a, _, _| a),
        of(16, |a, b, _| join(&[&a, b"/", &b])),
        of(6, |a, _, _| join(&[&a, b"/"])),
        of(2, |a, _, _| join(&[&a, b"//"])),
        of(2, |a, _, _| join(&[&a, b"/."])),
        of(2, |a, _, _| join(&[&a, b"/.."])),
        of(2, |a, b, _| join(&[&a, b"/../", &b])),
        of(2, |a, b, _| join(&[&a, b"//", &b, b"/"])),
        of(2, |a, _, _| join(&[b"./", &a])),
        of(2, |a, _, _| join(&[b"../w/", &a])),
        of(1, |a, _, _| join(&[b"../", &a])),
        of(2, |_, _, _| b".".to_vec()),
        of(1, |_, _, _| b"..".to_vec()),
        of(1, |_, _, _| Vec::new()),
        of(5, |a, _, _| join(&[b"@/", &a])),
        of(2, |a, b, _| join(&[b"@/", &a, b"/./", &b])),
        of(3, |a, _, _| join(&[b"/proc/self/cwd/", &a])),
        of(1, |_, _, _| b"/proc/self/cwd".to_vec()),
        of(1, |a, _, _| join(&[b"/proc/thread-self/cwd/", &a])),
        of(5, |_, _, n| join(&[b"/proc/self/fd/", n.to_string().as_bytes()])),
        of(1, |_, _, n| join(&[b"/proc/thread-self/fd/", n.to_string().as_bytes()])),
        of(2, |_, _, n| join(&[b"/dev/fd/", n.to_string().as_bytes()])),
        of(2, |a, _, n| join(&[b"/proc/self/fd/", n.to_string().as_bytes(), b"/", &a])),
        of(1, |_, _, n| join(&[b"/proc/self/fd/", n.to_string().as_bytes(), b"/"])),
    ])
}

/// Chooses the target of a symbolic link: at most one name and one `..`, so that links to links do not climb
/// far.
pub fn text() -> impl Strategy<Value = Written> {
    prop_oneof![
        6 => name(),
        2 => name().prop_map(|name| join(&[b"@/", &name])),
        1 => name().prop_map(|name| join(&[&name, b"/"])),
        1 => name().prop_map(|name| join(&[b"../w/", &name])),
        1 => name().prop_map(|name| join(&[b"/proc/self/cwd/", &name])),
        1 => (0..8_u8).prop_map(|n| join(&[b"/proc/self/fd/", n.to_string().as_bytes()])),
        1 => Just(b".".to_vec()),
        1 => Just(Vec::new()),
    ]
}
