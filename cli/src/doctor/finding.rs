//! Findings, in sections.

use serde::Serialize;

/// The topic of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// What the kernel offers to this process.
    Kernel,
    /// What is enforced as a result.
    Enforcement,
    /// guard.json, and who may change it.
    Policy,
    /// The machine, and the operator's environment.
    Host,
    /// OpenClaw, if it is installed.
    Openclaw,
    /// `doctor gateway`.
    Gateway,
    /// `doctor tools`.
    Tools,
}

impl Section {
    /// The section's title.
    pub fn title(self) -> &'static str {
        match self {
            Section::Kernel => "Kernel",
            Section::Enforcement => "Enforcement",
            Section::Policy => "Policy",
            Section::Host => "Host",
            Section::Openclaw => "OpenClaw",
            Section::Gateway => "Gateway",
            Section::Tools => "Tools",
        }
    }
}

/// The state of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// Neutral, or it could not be checked.
    Note,
    /// It works, but may not be intended.
    Warning,
    /// It does not work, or can be circumvented.
    Problem,
}

/// One finding.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub section: Section,
    pub state: State,
    /// A stable identifier.
    pub name: &'static str,
    pub text: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// All findings, in order.
#[derive(Debug)]
pub struct Findings {
    section: Section,
    all: Vec<Finding>,
}

impl Findings {
    /// An empty list; findings go to this section first.
    pub fn about(section: Section) -> Findings {
        Findings { section, all: Vec::new() }
    }

    /// Adds the next findings to this section.
    pub fn turn_to(&mut self, section: Section) {
        self.section = section;
    }

    /// Adds a finding of something that is as it should be.
    pub fn ok(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(State::Ok, name, text.into(), String::new());
    }

    /// Adds a note.
    pub fn note(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(State::Note, name, text.into(), String::new());
    }

    /// Adds a warning.
    pub fn warning(&mut self, name: &'static str, text: impl Into<String>, fix: impl Into<String>) {
        self.add(State::Warning, name, text.into(), fix.into());
    }

    /// Adds a problem.
    pub fn problem(&mut self, name: &'static str, text: impl Into<String>, fix: impl Into<String>) {
        self.add(State::Problem, name, text.into(), fix.into());
    }

    /// Adds a finding; an empty `fix` means none.
    pub fn add(&mut self, state: State, name: &'static str, text: String, fix: String) {
        let fix = Some(fix).filter(|fix| !fix.is_empty());
        self.all.push(Finding { section: self.section, state, name, text, fix });
    }

    /// Appends the other findings, which keep their sections.
    pub fn append(&mut self, other: Findings) {
        self.all.extend(other.all);
    }

    /// All findings.
    pub fn all(&self) -> &[Finding] {
        &self.all
    }

    /// How many findings have this state.
    pub fn count(&self, state: State) -> usize {
        self.all.iter().filter(|finding| finding.state == state).count()
    }

    /// Whether there is a problem.
    pub fn has_problem(&self) -> bool {
        self.count(State::Problem) > 0
    }
}

/// The only finding of a check: its state, text and fix.
#[cfg(test)]
pub fn found(look: impl FnOnce(&mut Findings)) -> (State, String, String) {
    let mut findings = Findings::about(Section::Host);
    look(&mut findings);
    let [Finding { state, text, fix, .. }] = findings.all() else { panic!("one finding: {findings:?}") };
    (*state, text.clone(), fix.clone().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_work_is_a_problem() {
        let mut findings = Findings::about(Section::Kernel);
        findings.ok("a", "b");
        findings.note("n", "m");
        findings.warning("c", "d", "e");
        assert!(!findings.has_problem());
        findings.turn_to(Section::Openclaw);
        findings.problem("f", "g", "");
        assert!(findings.has_problem());
        assert_eq!(findings.count(State::Ok), 1);
        let json = serde_json::to_value(findings.all()).unwrap();
        let warning = serde_json::json!({"section": "kernel", "state": "warning", "name": "c", "text": "d", "fix": "e"});
        assert_eq!(json[2], warning);
        assert_eq!(json[1]["state"], "note");
        assert_eq!((&json[3]["section"], &json[3]["fix"]), (&"openclaw".into(), &serde_json::Value::Null));
    }
}
