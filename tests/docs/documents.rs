//! The texts of README.md and docs.

use std::fs;

use guard_tests::sources;

/// A Markdown page.
#[derive(Debug)]
pub struct Document {
    /// Its path from the top of the repository.
    pub name: String,
    pub text: String,
}

/// A fenced code block.
#[derive(Debug)]
pub struct Block {
    /// The line of its opening fence.
    pub line: usize,
    /// The language after its opening fence.
    pub language: String,
    pub text: String,
}

/// Returns all documents.
pub fn documents() -> Vec<Document> {
    let root = sources().join("..");
    let docs = fs::read_dir(root.join("docs")).expect("docs").map(|entry| entry.expect("an entry").path());
    let mut names: Vec<String> = docs
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .map(|path| format!("docs/{}", path.file_name().and_then(|name| name.to_str()).expect("a name")))
        .collect();
    names.sort();
    names.insert(0, "README.md".to_owned());
    let read = |name: String| {
        let text = fs::read_to_string(root.join(&name)).expect("a document");
        Document { name, text }
    };
    names.into_iter().map(read).collect()
}

/// Returns the document of this name.
pub fn document(name: &str) -> Document {
    documents().into_iter().find(|document| document.name == name).expect(name)
}

impl Document {
    /// Returns its fenced blocks.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut is_open = false;
        for (number, line) in self.text.lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                is_open = !is_open;
                if is_open {
                    blocks.push(Block {
                        line: number + 1,
                        language: language.to_owned(),
                        text: String::new(),
                    });
                }
            } else if let Some(block) = blocks.last_mut().filter(|_| is_open) {
                block.text += &format!("{line}\n");
            }
        }
        assert!(!is_open, "{}: a fence is not closed", self.name);
        blocks
    }

    /// Returns its lines outside of fences, comments and indented blocks, numbered from 1.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let (mut fenced, mut comment) = (false, false);
        let mut prose = Vec::new();
        for (number, line) in self.text.lines().enumerate() {
            if line.starts_with("```") {
                fenced = !fenced;
                continue;
            }
            comment |= !fenced && line == "<!--";
            if !fenced && !comment && !line.starts_with("    ") {
                prose.push((number + 1, line));
            }
            comment &= line != "-->";
        }
        prose
    }

    /// Returns the lines of its indented blocks.
    pub fn indented(&self) -> Vec<(usize, &str)> {
        let mut fenced = false;
        let mut lines = Vec::new();
        for (number, line) in self.text.lines().enumerate() {
            fenced ^= line.starts_with("```");
            if let Some(line) = line.strip_prefix("    ").filter(|_| !fenced) {
                lines.push((number + 1, line));
            }
        }
        lines
    }

    /// Returns the texts between backticks in its prose, which may span line breaks.
    pub fn inline(&self) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let (mut open, mut text) = (None, String::new());
        let mut last = 0;
        for (number, line) in self.prose() {
            if line.trim().is_empty() || line.starts_with(['|', '#']) || number != last + 1 {
                (open, text) = (None, String::new());
            }
            last = number;
            for (index, part) in line.split('`').enumerate() {
                if index > 0 {
                    match open.take() {
                        None => open = Some(number),
                        Some(start) => found.push((start, std::mem::take(&mut text))),
                    }
                }
                if open.is_some() {
                    text += part;
                }
            }
            if open.is_some() {
                text.push(' ');
            }
        }
        found
    }
}
