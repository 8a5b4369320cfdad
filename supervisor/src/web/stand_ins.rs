//! Addresses that stand for names. A program that looks a name up itself gets such an address, and its connection there
//! leads to the guard's proxy, which looks the name up.
//!
//! Why: docs/decisions.md, "A look-up is answered with an address that stands for the name."

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// The address before the first one. 198.18.0.0/15 is for benchmarks (RFC 2544): nothing on the Internet has such an
/// address.
const NETWORK: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
/// The maximum number of names. The next name takes over the oldest address: what connects there then is judged by the
/// new name.
const MAX_NAMES: u32 = 65_534;

/// The names that were looked up, each with its address.
#[derive(Debug, Default)]
pub struct StandIns(Mutex<NameTable>);

#[derive(Debug, Default)]
struct NameTable {
    by_name: HashMap<Arc<str>, u32>,
    /// The names, by the number of their address less one.
    by_number: Vec<Arc<str>>,
    /// How many addresses were given out, also to names that are gone.
    given: u32,
}

impl StandIns {
    /// The address of a name. The name keeps it until many other names were looked up.
    pub fn address(&self, name: &str) -> Ipv4Addr {
        let mut names = self.0.lock();
        let number = match names.by_name.get(name) {
            Some(number) => *number,
            None => names.add(name),
        };
        Ipv4Addr::from_bits(NETWORK.to_bits() + number)
    }

    /// The name for which an address stands.
    pub fn name(&self, ip: IpAddr) -> Option<Arc<str>> {
        let IpAddr::V4(v4) = ip.to_canonical() else { return None };
        let number = v4.to_bits().checked_sub(NETWORK.to_bits())?.checked_sub(1)?;
        self.0.lock().by_number.get(number as usize).cloned()
    }
}

impl NameTable {
    fn add(&mut self, name: &str) -> u32 {
        let at = self.given % MAX_NAMES;
        self.given = self.given.wrapping_add(1);
        let name: Arc<str> = name.into();
        match self.by_number.get_mut(at as usize) {
            Some(oldest) => {
                let gone = std::mem::replace(oldest, Arc::clone(&name));
                self.by_name.remove(&gone);
            }
            None => self.by_number.push(Arc::clone(&name)),
        }
        self.by_name.insert(name, at + 1);
        at + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stands_for_one_name() {
        let names = StandIns::default();
        let first = names.address("a.test");
        assert_eq!((first, names.address("a.test")), (Ipv4Addr::new(198, 18, 0, 1), first));
        assert_eq!(names.address("b.test"), Ipv4Addr::new(198, 18, 0, 2));
        let name = |ip: &str| names.name(ip.parse().unwrap()).map(|name| name.to_string());
        assert_eq!(name("198.18.0.1").as_deref(), Some("a.test"));
        assert_eq!(name("::ffff:198.18.0.2").as_deref(), Some("b.test"));
        for none in ["198.18.0.0", "198.18.0.3", "198.17.255.255", "255.255.255.255", "::", "0.0.0.0"] {
            assert_eq!(name(none), None, "{none}");
        }
    }

    #[test]
    fn the_oldest_name_gives_its_address_away() {
        let names = StandIns::default();
        for i in 0..MAX_NAMES {
            names.address(&i.to_string());
        }
        assert_eq!(names.address("0"), Ipv4Addr::new(198, 18, 0, 1));
        assert_eq!(names.address("new"), Ipv4Addr::new(198, 18, 0, 1));
        let last = Ipv4Addr::new(198, 18, 255, 254);
        assert_eq!(
            (names.address(&(MAX_NAMES - 1).to_string()), names.name(last.into()).is_some()),
            (last, true)
        );
        // The name whose address was given away gets the next address.
        assert_eq!(names.address("0"), Ipv4Addr::new(198, 18, 0, 2));
        let inner = names.0.lock();
        assert_eq!((inner.by_name.len(), inner.by_number.len()), (MAX_NAMES as usize, MAX_NAMES as usize));
    }
}
