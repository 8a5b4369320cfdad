//! Masks secrets in text for a log.
//!
//! Nobody approves a command by its log line. So this module masks too much rather than too little, unlike `display`,
//! which may mask no more than a token.

pub(crate) mod display;
mod marked_pattern;
mod secrets;

use std::ops::Range;

use crate::programs::name::basename;
use marked_pattern::{MarkedPattern, find_all};

/// Replaces a secret.
const MASK: &str = "***";
/// Characters that end a value in a shell command line. Any other may be part of a password.
const ENDS: [char; 7] = [';', '&', '|', '<', '>', '(', ')'];
/// Endings of the names of variables and options that hold a secret.
const NAMES: [&str; 9] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "COOKIE"];

/// Patterns used for logs but not for display: the value may contain any character that a shell accepts, and may reach
/// too far.
static PATTERNS: [MarkedPattern; 4] = [
    MarkedPattern::new(&["authorization"], r#"(?i)authorization\s*[:=]\s*(?:[a-z]+\s+)?(?<s>[^\s"']+)"#),
    MarkedPattern::new(&["cookie"], r#"(?i)cookie\s*:\s*(?<s>[^"'\n]+)"#),
    MarkedPattern::new(
        &["password", "passwd", "secret", "token", "apikey", "api_key"],
        r#"(?i)(?:password|passwd|secret|token|api_?key)["']?\s*[:=]\s*["']?(?<s>[^\s"'&,;})]+)"#,
    ),
    // A token in place of a user name. User names are shorter.
    MarkedPattern::new(&["://"], r#"://(?<s>[^\s"'/:@]{12,})@"#),
];

/// Programs or subcommands, with their short option that takes a secret and the form of its value.
const SHORT: [(&str, &str, ValueForm); 12] = [
    ("mysql", "-p", ValueForm::Joined),
    ("mysqldump", "-p", ValueForm::Joined),
    ("mysqladmin", "-p", ValueForm::Joined),
    ("mariadb", "-p", ValueForm::Joined),
    ("mariadb-dump", "-p", ValueForm::Joined),
    ("sshpass", "-p", ValueForm::Either),
    ("login", "-p", ValueForm::Either),
    ("redis-cli", "-a", ValueForm::Either),
    ("http", "-a", ValueForm::Either),
    ("https", "-a", ValueForm::Either),
    ("curl", "-u", ValueForm::Joined),
    ("smbclient", "-U", ValueForm::Either),
];

/// How an option's value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueForm {
    /// `-pVALUE`
    Joined,
    /// `-pVALUE` or `-p VALUE`
    Either,
}

/// Whether a variable or an option of this name holds a secret: `GITHUB_TOKEN`, `--api-key`.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_uppercase();
    let word = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    NAMES.iter().any(|secret| word.ends_with(secret))
        || matches!(word, "PASS" | "PAT" | "PWD") && word != name
}

/// Masks the secrets in a text.
pub fn redacted_text(text: &str) -> String {
    let mut ranges = found(text);
    ranges.extend(of_words(text));
    masked(text, &secrets::apart(ranges))
}

/// Masks the secrets in the arguments of a program.
pub fn redacted(argv: &[String]) -> Vec<String> {
    // An option and its value may be two arguments. Join with a line break, which no value extends over.
    let joined = argv.join("\n");
    let mut ranges = found(&joined);
    let mut at = 0;
    let mut before: Option<&str> = None;
    for argument in argv {
        let range = at..at + argument.len();
        at = range.end + 1;
        ranges.extend(
            of_argument(before, argument).map(|part| range.start + part.start..range.start + part.end),
        );
        before = Some(argument);
    }
    ranges.extend(of_words(&joined));
    let ranges = secrets::apart(ranges);
    let mut at = 0;
    let parts = argv.iter().map(|argument| {
        let (start, end) = (at, at + argument.len());
        at = end + 1;
        let inside = ranges.iter().filter(|range| range.start < end && range.end > start);
        let inside = inside.map(|range| range.start.max(start) - start..range.end.min(end) - start);
        masked(argument, &inside.collect::<Vec<_>>())
    });
    parts.collect()
}

/// The range of a secret that is an argument, or the end of one.
fn of_argument(before: Option<&str>, argument: &str) -> Option<Range<usize>> {
    if let Some(before) = before.filter(|before| before.starts_with('-') && !argument.starts_with('-')) {
        if before.starts_with("--") && is_secret_name(before) {
            return Some(0..argument.len());
        }
        if matches!(before, "-u" | "--user" | "--proxy-user") {
            // curl(1): NAME:PASSWORD
            return argument.find(':').map(|colon| colon + 1..argument.len());
        }
    }
    // The argument of `sh -c 'TOKEN=x command'` is a command line.
    if before.is_some_and(|before| {
        before.starts_with('-') && !before.starts_with("--") && before.ends_with(['c', 'e'])
    }) {
        return None;
    }
    let (name, _) = argument.split_once('=')?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    (is_name && is_secret_name(name)).then(|| name.len() + 1..argument.len())
}

/// Finds secrets in a command line or in joined arguments by the words before them.
fn of_words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut before = "";
    let mut short = None;
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c| "\"'".contains(c) || ENDS.contains(&c));
        // `word` is a slice of `text`.
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let range = start..start + word.len();
        let name = str::from_utf8(basename(word.as_bytes())).unwrap_or_default();
        if let Some(program) = SHORT.iter().find(|(program, ..)| *program == name) {
            short = Some(program);
        }
        let is_value = !word.starts_with('-');
        let value = match short {
            Some((_, option, ValueForm::Either)) if before == *option && is_value => Some(range.start),
            Some((_, option, _)) if word.len() > option.len() && word.starts_with(option) => {
                Some(range.start + option.len())
            }
            _ if word.starts_with("pass:") => Some(range.start + "pass:".len()),
            _ if before.starts_with("--") && is_value && is_secret_option(before) => Some(range.start),
            _ if matches!(before, "-u" | "--user" | "--proxy-user") => {
                word.find(':').map(|colon| range.start + colon + 1)
            }
            _ if before.ends_with("_authToken") => Some(range.start),
            _ => None,
        };
        if before == short.map_or("", |(_, option, _)| *option) {
            // The option has had its value.
            short = None;
        }
        found.extend(value.map(|start| start..range.end));
        before = word;
    }
    found
}

/// Whether the word after this option is a secret.
fn is_secret_option(option: &str) -> bool {
    is_secret_name(option) || matches!(option, "--pass" | "--oauth2-bearer")
}

/// Finds all secrets, each extended to the end of its value.
fn found(text: &str) -> Vec<Range<usize>> {
    let mut found = secrets::find(text);
    let more = find_all(&PATTERNS, text);
    for secret in &mut found {
        let quote =
            text[..secret.start].chars().next_back().filter(|character| ['"', '\''].contains(character));
        let more = match quote {
            Some(quote) => text[secret.end..].find([quote, '\n']),
            None => {
                text[secret.end..].find(|c: char| c.is_whitespace() || "\"'".contains(c) || ENDS.contains(&c))
            }
        };
        // In the middle of a URL, the pattern has found the end already.
        if !text[secret.end..].starts_with(['@', '&']) {
            secret.end = more.map_or(text.len(), |more| secret.end + more);
        }
    }
    found.extend(more);
    secrets::apart(found)
}

fn masked(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut shown = 0;
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        out.push_str(&text[shown..range.start]);
        out.push_str(MASK);
        shown = range.end;
    }
    out.push_str(&text[shown..]);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redacted_argv(argv: &[&str]) -> Vec<String> {
        redacted(&argv.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn values_of_secret_names_are_masked_as_a_whole() {
        for (argv, expected) in [
            (&["env", "GITHUB_TOKEN=abc", "cmd"][..], &["env", "GITHUB_TOKEN=***", "cmd"][..]),
            (&["env", "DB_PASSWORD=a b$c;d", "cmd"], &["env", "DB_PASSWORD=***", "cmd"]),
            (&["x", "--password=hunter two"], &["x", "--password=***"]),
            (&["x", "--password", "h u n"], &["x", "--password", "***"]),
            (&["x", "--api-key", "k", "--verbose"], &["x", "--api-key", "***", "--verbose"]),
            (&["x", "--client-secret=$s"], &["x", "--client-secret=***"]),
            (&["x", "aws_secret_access_key=ab/c"], &["x", "aws_secret_access_key=***"]),
            (&["curl", "-u", "me:hunter2", "https://h/"], &["curl", "-u", "me:***", "https://h/"]),
            (&["curl", "https://me:hunter2@h/?token=abc&x=1"], &["curl", "https://me:***@h/?token=***&x=1"]),
            (&["curl", "-H", "Authorization: Bearer a.b$c"], &["curl", "-H", "Authorization: Bearer ***"]),
            (
                &["sh", "-c", "GITHUB_TOKEN=ab$cd cmd; API_KEY='x y' z"],
                &["sh", "-c", "GITHUB_TOKEN=*** cmd; API_KEY='***' z"],
            ),
            (&["x", "ghp_abcdefghijklmnopqrst"], &["x", "***"]),
            (&["mysql", "-phunter2", "-u", "root"], &["mysql", "-p***", "-u", "root"]),
            (&["sshpass", "-p", "hunter2", "ssh", "-p", "22"], &["sshpass", "-p", "***", "ssh", "-p", "22"]),
            (&["docker", "login", "-u", "me", "-p", "x y"], &["docker", "login", "-u", "me", "-p", "*** y"]),
            (&["redis-cli", "-a", "hunter2"], &["redis-cli", "-a", "***"]),
            (&["curl", "-ume:hunter2"], &["curl", "-u***"]),
            (&["curl", "-HAuthorization: Basic a$b", "h"], &["curl", "-HAuthorization: Basic ***", "h"]),
            (&["curl", "-H", "Cookie: sid=a; b=c", "h"], &["curl", "-H", "Cookie: ***", "h"]),
            (&["curl", "--oauth2-bearer", "abc"], &["curl", "--oauth2-bearer", "***"]),
            (&["curl", "-d", "u=me&password=a&x=1"], &["curl", "-d", "u=me&password=***&x=1"]),
            (&["curl", "-d", "{'password': 'a b'}"], &["curl", "-d", "{'password': '*** b'}"]),
            (&["git", "clone", "https://abcdefghijklmno@h/x"], &["git", "clone", "https://***@h/x"]),
            (&["openssl", "-passin", "pass:abc"], &["openssl", "-passin", "pass:***"]),
            (
                &["npm", "config", "set", "//r/:_authToken", "a"],
                &["npm", "config", "set", "//r/:_authToken", "***"],
            ),
            (&["npm", "set", "//r/:_authToken=a"], &["npm", "set", "//r/:_authToken=***"]),
            (
                &["sh", "-c", "curl -u me:abc h; x --api-key 'k'; mysql -pabc"],
                &["sh", "-c", "curl -u me:*** h; x --api-key '***'; mysql -p***"],
            ),
        ] {
            assert_eq!(redacted_argv(argv), expected, "{argv:?}");
        }
    }

    #[test]
    fn ordinary_arguments_are_not_redacted() {
        for argv in [
            &["env", "PATH=/usr/bin", "LANG=C", "cmd"][..],
            &["git", "log", "--password", "--oneline"],
            &["ls", "-la", "tokens", "KEY="],
            &["cc", "-o", "monkey", "-DKEYS=3"],
            &["env", "PWD=/home/u", "id", "-u", "me"],
            &["", "", ""],
        ] {
            assert_eq!(redacted_argv(argv), argv, "{argv:?}");
        }
    }

    proptest! {
        #[test]
        fn masking_keeps_the_number_of_arguments_and_hides_secrets(argv in prop::collection::vec("[ -~äé\n]{0,12}", 0..5), secret in "[!-~]{4,20}") {
            // After `-c` it would be a command line, in which a quote may end the value.
            prop_assume!(argv.last().is_none_or(|before: &String| !before.starts_with('-')));
            let mut argv = argv;
            argv.push(format!("MY_TOKEN={secret}"));
            let out = redacted(&argv);
            prop_assert_eq!(out.len(), argv.len());
            prop_assert_eq!(out.last().map(String::as_str).unwrap_or_default().trim_start_matches("MY_TOKEN="), "***");
        }
    }
}
