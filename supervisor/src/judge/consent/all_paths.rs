//! All paths of one call are judged before a human is asked about one of them.
//!
//! Why: docs/decisions.md, "A call is judged by all of its paths before anybody is asked"

use rustix::io::Errno;

use crate::caller::Caller;

/// The judgements of one call that names several paths. A question about one path waits until all are judged: if
/// another path is denied, the answer does not matter.
#[must_use]
pub struct AllPaths<'c, 'k>(&'c Caller<'k>);

impl<'c, 'k> AllPaths<'c, 'k> {
    /// Starts with no judgement.
    pub fn new(caller: &'c Caller<'k>) -> AllPaths<'c, 'k> {
        AllPaths(caller)
    }

    /// Adds a judgement.
    ///
    /// # Errors
    /// The judgement's, unless it only waits for a human.
    pub fn add(&self, judged: Result<(), Errno>) -> Result<(), Errno> {
        match judged {
            Err(Errno::ACCESS) if self.0.consent().is_asking() => Ok(()),
            judged => judged,
        }
    }

    /// Ends the judgement of the call.
    ///
    /// # Errors
    /// EACCES if a human has to be asked about one of the paths.
    pub fn end(self) -> Result<(), Errno> {
        if self.0.consent().is_asking() { Err(Errno::ACCESS) } else { Ok(()) }
    }
}
