//! Reads `approvals`.

use jsonc_parser::ast::Value;

use super::syntax::Reader;
use crate::config::approvals::{Approvals, Route};

pub(super) const APPROVALS: [&str; 5] = ["routes", "maxPending", "notify", "gateway", "exec"];

impl Reader<'_> {
    pub(super) fn approvals(&mut self, value: &Value<'_>, key: &str) -> Approvals {
        let mut approvals = Approvals::default();
        for (name, key, property) in self.object(value, key, Some(&APPROVALS)) {
            let value = &property.value;
            match name.as_str() {
                "routes" => approvals.routes = self.routes(value, &key),
                "maxPending" => match value {
                    Value::NumberLit(n) if n.value.parse().is_ok_and(|most| in_bounds(&most)) => {
                        approvals.max_pending = n.value.parse().ok();
                    }
                    _ => {
                        let most = Approvals::MAX_PENDING;
                        self.wrong(value, &key, format!("must be a whole number from 1 to {most}"));
                    }
                },
                "gateway" => approvals.gateway = self.gateway_route(value, &key),
                "exec" => approvals.exec = self.forwarding(value, &key),
                _ => {
                    approvals.notify = self.strings(value, &key, |_| None);
                    if approvals.notify.as_ref().is_some_and(Vec::is_empty) {
                        self.wrong(value, &key, "needs a program: [\"notify-send\", \"the guard asks\"]");
                    }
                }
            }
        }
        approvals
    }

    fn routes(&mut self, value: &Value<'_>, key: &str) -> Option<Vec<Route>> {
        let Value::Array(array) = value else {
            self.wrong(value, key, format!("must be a list of {}", Route::NAMES.join(", ")));
            return None;
        };
        let routes = array.elements.iter().enumerate().filter_map(|(i, element)| {
            self.word(element, &format!("{key}[{i}]"), &Route::NAMES, Route::from_name)
        });
        Some(routes.collect())
    }
}

fn in_bounds(most: &u64) -> bool {
    (1..=Approvals::MAX_PENDING).contains(most)
}
