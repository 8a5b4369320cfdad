//! What a safe bin may be given: OpenClaw 2026.9.6, exec-safe-bin-policy-profiles.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::config::schema_patterns::FLAG;

/// The arguments with which a program reads only standard input. The names are OpenClaw's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct Profile {
    /// The minimum number of arguments that are not options.
    #[serde(skip_serializing_if = "is_zero")]
    pub min_positional: usize,
    /// The maximum number of arguments that are not options. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_positional: Option<usize>,
    /// Options that take a value. The value must be a safe literal.
    #[serde(rename = "allowedValueFlags", skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(inner(regex(pattern = FLAG)))]
    pub value_flags: BTreeSet<String>,
    /// Options without a value.
    #[serde(rename = "allowedBooleanFlags", skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(inner(regex(pattern = FLAG)))]
    pub boolean_flags: BTreeSet<String>,
    /// Options that are not allowed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(inner(regex(pattern = FLAG)))]
    pub denied_flags: BTreeSet<String>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// name, fewest and most arguments, flags with a value, without one, and refused.
type ProfileRow = (&'static str, usize, usize, &'static str, &'static str, &'static str);

const ROWS: [ProfileRow; 9] = [
    (
        "jq",
        0,
        1,
        "--arg --argjson --argstr",
        "",
        "--argfile --rawfile --slurpfile --from-file --library-path -L -f",
    ),
    (
        "grep",
        0,
        0,
        "--regexp --max-count --after-context --before-context --context --devices --binary-files --exclude --include \
         --label -e -m -A -B -C -D",
        "",
        "--file --exclude-from --dereference-recursive --directories --recursive -f -d -r -R",
    ),
    (
        "cut",
        0,
        0,
        "--bytes --characters --fields --delimiter --output-delimiter -b -c -f -d",
        "--complement --only-delimited --zero-terminated -n -s -z",
        "",
    ),
    (
        "sort",
        0,
        0,
        "--key --field-separator --buffer-size --parallel --batch-size -k -t -S",
        "",
        "--compress-program --files0-from --output --random-source --temporary-directory -T -o",
    ),
    (
        "uniq",
        0,
        0,
        "--skip-fields --skip-chars --check-chars --group -f -s -w",
        "--count --repeated --unique --ignore-case --zero-terminated -c -d -u -i -z",
        "",
    ),
    ("head", 0, 0, "--lines --bytes -n -c", "--quiet --silent --verbose --zero-terminated -q -v -z", ""),
    (
        "tail",
        0,
        0,
        "--lines --bytes --sleep-interval --max-unchanged-stats --pid -n -c",
        "--quiet --silent --verbose --zero-terminated -q -v -z",
        "--follow --retry -F -f",
    ),
    ("tr", 1, 2, "", "--complement --delete --squeeze-repeats --truncate-set1 -C -c -d -s -t", ""),
    ("wc", 0, 0, "", "--bytes --chars --lines --max-line-length --words -L -c -l -m -w", "--files0-from"),
];

impl Profile {
    /// The profile that OpenClaw brings for a program.
    pub fn builtin(name: &[u8]) -> Option<Profile> {
        let row = ROWS.iter().find(|row| row.0.as_bytes() == name)?;
        let set = |flags: &str| flags.split_whitespace().map(str::to_owned).collect();
        Some(Profile {
            min_positional: row.1,
            max_positional: Some(row.2),
            value_flags: set(row.3),
            boolean_flags: set(row.4),
            denied_flags: set(row.5),
        })
    }

    pub(super) fn flags(&self) -> impl Iterator<Item = &str> {
        self.value_flags.iter().chain(&self.boolean_flags).chain(&self.denied_flags).map(String::as_str)
    }
}
