//! The template that a document extends, filled in for a host.

use super::builtin::templates::{hierarchy, programs};
use crate::config::layers::ExtendedTemplate;
use crate::{Document, Host, Problem, Template, TemplateValues};

pub(super) fn extended(doc: &Document, host: &Host<'_>) -> Result<Option<ExtendedTemplate>, Vec<Problem>> {
    let filled = |template| document(template, host).map(|document| ExtendedTemplate { template, document });
    doc.extends.map(filled).transpose()
}

/// Returns the document of a template, for every project on a host.
fn document(template: Template, host: &Host<'_>) -> Result<Document, Vec<Problem>> {
    let temporary = host.temp_dirs.iter().filter(|dir| *dir != host.home);
    let values = TemplateValues {
        workspace: "${workspace}".to_owned(),
        programs: programs(host),
        temporary: temporary.filter_map(|dir| hierarchy(dir, host.home)).collect(),
        above: vec!["${above}".to_owned(), "~".to_owned()],
    };
    Document::parse(&format!("template {}", template.as_str()), &template.filled(&values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_can_be_extended_and_sets_nothing_that_would_be_lost() {
        let host = Host { temp_dirs: vec![b"/tmp".to_vec()], ..Host::bare(b"/home/u", b"/w") };
        for template in Template::ALL {
            let document = document(template, &host).unwrap();
            // What `layers` and `Policy::compile` take from a template.
            let extended = Document::parse("", &template.extended()).unwrap();
            assert_eq!(extended, Document { version: 1, extends: Some(template), ..Document::default() });
            let mut rest = document.clone();
            rest.exec.mode = Default::default();
            rest.permissions = Default::default();
            rest.approvals.routes = None;
            rest.examples.clear();
            assert_eq!(rest, Document { version: 1, ..Document::default() }, "{template:?}");
            assert!(
                document.extends.is_none() && document.names_workspace() == template.is_for_a_workspace()
            );
        }
    }
}
