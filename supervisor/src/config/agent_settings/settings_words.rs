//! The words of settings that may be paths.

/// Returns the words of a text that may be paths.
pub fn words_of(text: &str) -> Vec<String> {
    let is_between =
        |letter: char| letter.is_whitespace() || letter.is_control() || "\"'`=,:;|&()[]{}<>".contains(letter);
    let text = text.replace("${HOME}", "$HOME");
    text.split(is_between).filter(|word| word.contains('/')).map(str::to_owned).collect()
}
