//! The shell by which gateways start the commands of an agent's exec tool: `/bin/sh -lc CODE`.

/// Returns the code, which is read instead of the whole command, because the files that a login shell reads first are
/// the operator's (OpenClaw 2026.9.6, `isLegacyShLoginInlineForm`). `None` if the call does not also have the code as
/// text (`has_text`), or if `sh` might read the code in another way than bash's grammar.
pub fn of_gateway(argv: &[String], has_text: bool) -> Option<&str> {
    match argv {
        [shell, option, code] if has_text && shell == "/bin/sh" && option == "-lc" => {
            Some(code.as_str()).filter(|code| is_plain(code))
        }
        _ => None,
    }
}

/// Whether `sh` and bash's grammar surely read the code alike, and no command in it changes the variables of the next
/// command. If either is uncertain, the code is not plain.
fn is_plain(code: &str) -> bool {
    // The grammar takes some control characters for white space, which a shell does not.
    let is_odd = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
    // `dash` knows neither `$'` nor `$"`, and to the grammar `[ a > b ]` is a comparison.
    if code.contains(is_odd)
        || code.contains("$'")
        || code.contains("$\"")
        || code.contains('[') && code.contains(['<', '>'])
    {
        return false;
    }
    let mut commands = code.split([';', '&', '|', '\n', '(', '{', '!', '`']);
    commands.all(|command| {
        let first = command.split([' ', '\t']).find(|word| !word.is_empty()).unwrap_or_default();
        first != "unset" && !is_assignment(first)
    })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.split('[').next().unwrap_or_default().trim_end_matches('+');
        !name.is_empty() && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_gateway_writes_is_looked_into() {
        let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(of_gateway(&argv(&["/bin/sh", "-lc", "ls -l"]), true), Some("ls -l"));
        assert_eq!(of_gateway(&argv(&["/bin/sh", "-lc", "ls -l"]), false), None);
        for words in [
            &["/bin/sh", " -lc", "ls"][..],
            &["/bin/sh", "-lc ", "ls"],
            &["/bin/sh", "-c", "ls"],
            &["/bin/sh", "-lc", "ls", "x"],
            &["sh", "-lc", "ls"],
            &["./sh", "-lc", "ls"],
            &["/bin/SH.exe", "-lc", "ls"],
        ] {
            assert_eq!(of_gateway(&argv(words), true), None, "{words:?}");
        }
    }

    #[test]
    fn code_that_shells_read_otherwise_is_not_plain() {
        for code in
            ["ls", "cat a | wc -l", "cd x && make CC=gcc", "echo a > b", "[ -e x ] && ls", "git log\nls"]
        {
            assert!(is_plain(code), "{code}");
        }
        for code in [
            r"cat $'\'; . ./evil #'",
            "cat $\"x\"",
            "cat x\r#; . ./evil",
            "cat x\u{b}#; . ./evil",
            "cat x\u{c}#; . ./evil",
            "[ x > y ]",
            "A=1; ls",
            "A=1 ls",
            "ls; A+=1",
            "ls &&\tA[1]=2",
            "(A=1; ls)",
            "unset HOME; ls",
            "! A=1",
        ] {
            assert!(!is_plain(code), "{code}");
        }
    }
}
