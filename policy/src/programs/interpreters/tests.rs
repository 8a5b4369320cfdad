//! Property: all users of the table agree on which argument is the operand, whatever options precede it.

use proptest::prelude::*;

use super::table::INTERPRETERS;
use super::{Interpreter, OperandRule, OptionKind};
use crate::programs::code_on_input::CodeOnInput;
use crate::programs::inline_eval::code_option;
use crate::programs::script::script_operands;

/// An option of the table as its manual has it, with the value that it takes. No value looks like an option.
fn written(
    interpreter: &Interpreter,
    (name, kind): (&str, OptionKind),
    is_apart: bool,
) -> Option<Vec<String>> {
    use OptionKind::{Attached, Character, Colon, Directory, Next, Number, Plain, Valued};
    let dashes = if name.len() > 1 { "--" } else { "-" };
    let own = format!("{dashes}{name}");
    Some(match kind {
        Plain => vec![own],
        Number => vec![format!("{own}12")],
        Colon => vec![format!("{own}:x")],
        Character => vec![format!("{own}u")],
        Attached => vec![format!("{own}x")],
        Next => vec![own, "x".to_owned()],
        Valued | Directory if name.len() > 1 && !is_apart => vec![format!("{own}=x")],
        // A dash may be a value, and ends no options then.
        Valued | Directory if is_apart => {
            vec![own, if interpreter.family() == "node" { "x" } else { "--" }.to_owned()]
        }
        Valued | Directory => vec![format!("{own}x")],
        _ => return None,
    })
}

/// An interpreter that runs its first operand, and options of its own.
fn line() -> impl Strategy<Value = (&'static Interpreter, Vec<String>)> {
    let scripts: Vec<&'static Interpreter> = INTERPRETERS
        .iter()
        .filter(|one| matches!(one.operands, OperandRule::Script | OperandRule::Shell | OperandRule::Php))
        .collect();
    prop::sample::select(scripts).prop_flat_map(|interpreter| {
        let letters = interpreter.letters.iter().flat_map(|(letters, kind)| {
            letters.split("").filter(|letter| !letter.is_empty()).map(|letter| (letter, *kind))
        });
        // bash's long options stand before its letters.
        let has_words = interpreter.operands != OperandRule::Shell;
        let words = interpreter.words.iter().copied().filter(|_| has_words);
        let all: Vec<_> =
            letters.chain(words).filter(|option| written(interpreter, *option, true).is_some()).collect();
        let one = (prop::sample::select(all), any::<bool>())
            .prop_map(move |(option, is_apart)| written(interpreter, option, is_apart).unwrap_or_default());
        prop::collection::vec(one, 0..6).prop_map(move |options| (interpreter, options.concat()))
    })
}

fn argv(interpreter: &Interpreter, options: &[String], rest: &[&str]) -> Vec<Vec<u8>> {
    let own = [interpreter.family()].into_iter().chain(options.iter().map(String::as_str));
    own.chain(rest.iter().copied()).map(|word| word.as_bytes().to_vec()).collect()
}

/// A letter of the interpreter with code as its value.
fn code(interpreter: &Interpreter) -> Option<String> {
    let found = interpreter.letters.iter().find(|(_, kind)| *kind == OptionKind::Code);
    found.and_then(|(letters, _)| letters.chars().next()).map(|letter| format!("-{letter}"))
}

/// The guard's own search for code in options; OpenClaw's table finds more, since it does not look for the operand.
fn own_code(argv: &[Vec<u8>]) -> Option<String> {
    let words: Vec<_> = argv.iter().map(|word| String::from_utf8_lossy(word)).collect();
    code_option(&words[0], &words[1..].iter().map(|word| &**word).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The operand is the script. Code before the operand is found, and code behind the operand is the script's own
    /// argument. Without an operand, standard input has the code.
    #[test]
    fn all_users_of_the_table_agree_on_the_operand((interpreter, options) in line(), is_behind_dashes in any::<bool>()) {
        let path = interpreter.family().as_bytes();
        let is_php = interpreter.operands == OperandRule::Php;
        let end: &[&str] = if is_behind_dashes && !is_php { &["--"] } else { &[] };
        let with_script = argv(interpreter, &options, &[end, &["script", "other"]].concat());
        let found = script_operands(path, &with_script);
        prop_assert_eq!(found.script, Some(with_script.len() - 2), "{:?}", options);
        prop_assert_eq!(found.input, CodeOnInput::No);
        prop_assert_eq!(own_code(&with_script), None, "{:?}", options);
        let without = argv(interpreter, &options, end);
        prop_assert_eq!(script_operands(path, &without).input, CodeOnInput::Runs, "{:?}", options);
        if let Some(code) = code(interpreter) {
            let behind = argv(interpreter, &options, &[end, &["script", &code, "1"]].concat());
            prop_assert_eq!(own_code(&behind), None, "{:?}", options);
            let before = argv(interpreter, &options, &[&code, "1", "script"]);
            prop_assert!(own_code(&before).is_some(), "{:?}", options);
            let found = script_operands(path, &before);
            prop_assert_eq!((found.script, found.input), (None, CodeOnInput::No), "{:?}", options);
        }
    }
}
