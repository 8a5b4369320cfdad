//! The modules that python's arguments name: `-m MODULE`, and the names behind it, because many modules take other
//! modules as arguments (`-m unittest MODULE`, `-m runpy MODULE`).

use super::interpreters::{Element, Interpreter, OptionKind};

/// What stands behind a module's name below a directory of sys.path, and behind a package's (the Python Language Reference, "The
/// import system"; `importlib.machinery`).
const ENDINGS: [&str; 10] = [
    ".py",
    ".pyc",
    ".so",
    ".abi3.so",
    "/__main__.py",
    "/__main__.pyc",
    "/__init__.py",
    "/__init__.pyc",
    "/__init__.so",
    "/__init__.abi3.so",
];
/// The maximum number of file names that are made.
const MAX_FILES: usize = 4096;
/// The maximum length of a module's name for which file names are made.
const MAX_NAME: usize = 1024;

/// The files from which modules run.
#[derive(Debug, Default)]
pub(super) struct ModuleFiles {
    /// The module of `-m`.
    pub(super) module: Option<String>,
    /// The files, as paths below a directory of sys.path.
    pub(super) files: Vec<Vec<u8>>,
    /// Names beyond the bounds.
    pub(super) more: Vec<Vec<u8>>,
}

/// Returns the files of the modules that python's arguments name.
pub(super) fn modules(known: Option<&'static Interpreter>, arguments: &[&str]) -> ModuleFiles {
    let mut found = ModuleFiles::default();
    let Some(known) = known.filter(|known| known.family() == "python") else { return found };
    let module = known.elements(arguments).find_map(|element| match element {
        Element::Option(_, OptionKind::Module, value) => Some(value),
        _ => None,
    });
    let Some(module) = module else { return found };
    // The module's name is the end of an argument: `-m MODULE`, `-mMODULE`, `-Bm MODULE`.
    let at = arguments.iter().position(|argument| argument.ends_with(module)).unwrap_or(0);
    found.module = Some(module.to_owned());
    for name in [module].iter().chain(&arguments[(at + 1).min(arguments.len())..]) {
        // `MODULE.py::TEST` of pytest and the like are paths, which count as they are.
        if !is_module(name) {
            continue;
        }
        match files(name) {
            Some(files) if found.files.len() + files.len() <= MAX_FILES => {
                found.files.extend(files.into_iter().map(String::into_bytes));
            }
            _ => found.more.push(name.as_bytes().to_vec()),
        }
    }
    found
}

/// Returns the files of a module below a directory of sys.path. The packages around it run, too, and a name may go on with a
/// class: `-m unittest MODULE.CLASS.METHOD`. `None` for what is no module's name, or too long.
pub(super) fn files(name: &str) -> Option<Vec<String>> {
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    let stems = ends.map(|end| name[..end].replace('.', "/"));
    let is_one = name.len() <= MAX_NAME && is_module(name);
    is_one.then(|| stems.flat_map(|stem| ENDINGS.map(|ending| format!("{stem}{ending}"))).collect())
}

fn is_module(name: &str) -> bool {
    name.split('.').all(is_identifier)
}

fn is_identifier(part: &str) -> bool {
    !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::super::interpreters::interpreter;
    use super::*;

    fn found(line: &str) -> ModuleFiles {
        modules(interpreter("python3"), &line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn each_module_that_may_run_is_found() {
        for (line, expected) in [
            ("-m a.b", &["a.py", "a/__init__.py", "a/b.py", "a/b.pyc", "a/b/__main__.py"][..]),
            ("-Bma", &["a.py", "a/__main__.py"]),
            ("-m runpy m", &["runpy.py", "m.py", "m/__main__.py", "m/__init__.so"]),
            ("-W error -m unittest -v t.Case.test", &["unittest.py", "t.py", "t/Case/test.py"]),
        ] {
            let found = found(line);
            let has = |name: &&str| found.files.contains(&name.as_bytes().to_vec());
            assert!(found.module.is_some() && expected.iter().all(has), "{line}: {found:?}");
        }
        assert!(found("x.py -m a").files.is_empty());
    }

    #[test]
    fn names_beyond_the_bounds_are_told() {
        let deep = format!("-m {}", vec!["a"; 500].join("."));
        assert_eq!(found(&deep).more.len(), 1);
        let many = format!("-m a {}", vec!["b"; 1000].join(" "));
        let found = found(&many);
        assert!(found.files.len() <= MAX_FILES && found.more.len() > 500);
    }
}
