//! Records a session's uses, each path and each host once. The supervisor writes them as they happen; the front reads them
//! when the session is over.
//!
//! The record is in unnamed memory: nothing of it remains however the session ends, and there is no file that the tree
//! could reach.
//!
//! Why: docs/decisions.md, "The record of a session has no name."

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use guard_policy::learn::{ReachedHosts, Used};
use guard_policy::{Transport, WebEndpoint};
use parking_lot::Mutex;
use rustix::fs::MemfdFlags;

use super::local_address::is_own;

/// The maximum number of recorded paths, and of their bytes. A build of a large project has some tens of thousands.
const MAX_RECORDS: usize = 500_000;
const MAX_BYTES: usize = 64 << 20;
/// The maximum number of recorded hosts, and of their addresses.
const MAX_HOSTS: usize = 2_000;

/// A record of an origin, such as `https://example.com:443`, and where its name led if that is known: `ORIGIN ADDRESS`.
/// No set of uses has this number.
const BY_NAME: u8 = 128;
/// A record of an address that was reached without the proxy.
const DIRECTLY: u8 = 129;

/// The supervisor's end: writes.
#[derive(Debug)]
pub struct Recorder(Mutex<Recorded>);

#[derive(Debug)]
struct Recorded {
    file: File,
    seen: HashMap<Box<[u8]>, Used>,
    hosts: HashSet<(u8, String)>,
    bytes: usize,
    is_full: bool,
}

/// The front's end: reads.
#[derive(Debug)]
pub struct Recording(File);

/// The recorded uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Each path with all its uses.
    pub paths: BTreeMap<Vec<u8>, Used>,
    /// The other hosts.
    pub hosts: ReachedHosts,
    /// Whether the record is incomplete because a limit was reached.
    pub is_cut: bool,
}

/// Creates both ends.
///
/// # Errors
/// The kernel's, if it cannot provide the memory.
pub fn pair() -> io::Result<(Recorder, Recording)> {
    let file = File::from(rustix::fs::memfd_create("learn", MemfdFlags::CLOEXEC)?);
    let recorded = Recorded {
        file: file.try_clone()?,
        seen: HashMap::new(),
        hosts: HashSet::new(),
        bytes: 0,
        is_full: false,
    };
    Ok((Recorder(Mutex::new(recorded)), Recording(file)))
}

impl Recorder {
    /// Records a use, if it is new.
    pub fn saw(&self, path: &[u8], used: Used) {
        let mut recorded = self.0.lock();
        let known = recorded.seen.get(path).copied();
        if known.is_some_and(|known| known.contains(used)) {
            return;
        }
        if known.is_none() {
            if recorded.is_full {
                return;
            }
            if recorded.seen.len() >= MAX_RECORDS || recorded.bytes + path.len() > MAX_BYTES {
                recorded.is_full = true;
                recorded.cut();
                return;
            }
            recorded.bytes += path.len();
        }
        let all = known.unwrap_or_default() | used;
        recorded.seen.insert(path.into(), all);
        recorded.write(used.to_byte(), path);
    }

    /// Records a host that was reached by the guard's proxy, and where its name has led.
    pub fn reached(&self, endpoint: &WebEndpoint, addresses: &[IpAddr]) {
        let origin = format!("{}://{}", endpoint.scheme().as_str(), endpoint.authority());
        let mut recorded = self.0.lock();
        for ip in addresses {
            let is_own = ip.is_unspecified() || is_own(SocketAddr::new(*ip, 0));
            // Any address of this host is the same to the policy.
            let ip = if is_own { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { *ip };
            recorded.host(BY_NAME, format!("{origin} {ip}"));
        }
        recorded.host(BY_NAME, origin);
    }

    /// Records a connection of the tree's own to another host. UDP is left out: the resolver of the C library connects such
    /// sockets only to see which route an address has.
    pub fn connected(&self, address: SocketAddr, transport: Transport) {
        let is_loopback = address.ip().to_canonical().is_loopback();
        if transport == Transport::Tcp && !is_loopback && !is_own(address) {
            self.0.lock().host(DIRECTLY, address.to_string());
        }
    }
}

impl Recorded {
    fn host(&mut self, kind: u8, text: String) {
        let new = (kind, text);
        if self.hosts.len() > MAX_HOSTS || self.hosts.contains(&new) {
            return;
        }
        if self.hosts.len() == MAX_HOSTS {
            self.cut();
        } else {
            self.write(kind, new.1.as_bytes());
        }
        // The first host beyond the limit is added, too, so that the record is cut only once.
        self.hosts.insert(new);
    }

    /// Records that there was more.
    fn cut(&mut self) {
        self.write(0, b"");
    }

    /// Writes one record: the uses or another kind, the length of the path or text, and the path or text itself. A
    /// record without uses means that more followed.
    fn write(&mut self, used: u8, path: &[u8]) {
        let Ok(length) = u32::try_from(path.len()) else { return };
        let record = [&[used][..], &length.to_le_bytes(), path].concat();
        if self.file.write_all(&record).is_err() {
            self.is_full = true;
        }
    }
}

impl Recording {
    /// Reads all records. If the supervisor was lost in the middle of one, returns those before it.
    ///
    /// # Errors
    /// An I/O error.
    pub fn read(mut self) -> io::Result<Seen> {
        let mut bytes = Vec::new();
        self.0.seek(SeekFrom::Start(0))?;
        self.0.read_to_end(&mut bytes)?;
        Ok(records(&bytes))
    }
}

fn records(mut rest: &[u8]) -> Seen {
    let mut seen = Seen::default();
    while let Some(((used, length), after)) = rest.split_first().and_then(|(used, rest)| {
        let (length, after) = rest.split_first_chunk::<4>()?;
        Some(((*used, u32::from_le_bytes(*length) as usize), after))
    }) {
        let Some((path, after)) = after.split_at_checked(length) else { break };
        match (used, Used::from_byte(used)) {
            (_, Some(used)) => {
                let all = seen.paths.entry(path.to_vec()).or_default();
                *all = *all | used;
            }
            (BY_NAME, None) => {
                let text = String::from_utf8_lossy(path);
                let (origin, address) = text.split_once(' ').unwrap_or((&text, ""));
                let addresses = seen.hosts.by_name.entry(origin.to_owned()).or_default();
                addresses.extend(address.parse::<IpAddr>().ok());
            }
            (DIRECTLY, None) => {
                let address = String::from_utf8_lossy(path).parse::<SocketAddr>();
                seen.hosts.directly.extend(address.ok());
            }
            _ => seen.is_cut = true,
        }
        rest = after;
    }
    seen
}

#[cfg(test)]
mod tests {
    use guard_policy::WebTarget;

    use super::*;

    #[test]
    fn each_path_is_recorded_once_with_all_that_was_done() {
        let (recorder, recording) = pair().unwrap();
        for _ in 0..1000 {
            recorder.saw(b"/a\xff\n", Used::READ);
            recorder.saw(b"/b", Used::STARTED);
            recorder.saw(b"/a\xff\n", Used::WRITTEN);
        }
        let length = recorder.0.lock().file.metadata().unwrap().len();
        assert_eq!(length, 2 * (5 + 4) + 5 + 2);
        let seen = recording.read().unwrap();
        let expected = [(b"/a\xff\n".to_vec(), Used::READ | Used::WRITTEN), (b"/b".to_vec(), Used::STARTED)];
        assert_eq!(seen, Seen { paths: expected.into(), ..Seen::default() });
    }

    #[test]
    fn a_full_recording_is_reported() {
        let (recorder, recording) = pair().unwrap();
        let long = vec![b'x'; MAX_BYTES / 2];
        recorder.saw(&[&long[..], b"1"].concat(), Used::READ);
        recorder.saw(&[&long[..], b"2"].concat(), Used::READ);
        recorder.saw(b"/late", Used::READ);
        let seen = recording.read().unwrap();
        assert_eq!((seen.paths.len(), seen.is_cut), (1, true));
    }

    #[test]
    fn hosts_are_recorded_with_their_addresses() {
        let (recorder, recording) = pair().unwrap();
        let endpoint = WebTarget::Url("https://Example.com/x").endpoint().unwrap();
        let ips: [IpAddr; 2] = ["93.184.216.34", "2001:db8::1"].map(|ip| ip.parse().unwrap());
        for ips in [&ips[..0], &ips[..1], &ips[..], &ips[..0]] {
            recorder.reached(&endpoint, ips);
            recorder.connected("192.0.2.1:22".parse().unwrap(), Transport::Tcp);
            recorder.connected("127.0.0.1:22".parse().unwrap(), Transport::Tcp);
            recorder.connected("192.0.2.1:53".parse().unwrap(), Transport::Udp);
        }
        let seen = recording.read().unwrap();
        let by_name = [("https://example.com:443".to_owned(), ips.into())].into();
        let directly = ["192.0.2.1:22".parse().unwrap()].into();
        assert_eq!(seen, Seen { hosts: ReachedHosts { by_name, directly }, ..Seen::default() });
    }

    #[test]
    fn too_many_hosts_are_reported() {
        let (recorder, recording) = pair().unwrap();
        for port in 0..MAX_HOSTS + 5 {
            let address = SocketAddr::new([192, 0, 2, 1].into(), u16::try_from(port).unwrap());
            recorder.connected(address, Transport::Tcp);
        }
        let seen = recording.read().unwrap();
        assert_eq!((seen.hosts.directly.len(), seen.is_cut), (MAX_HOSTS, true));
    }

    #[test]
    fn half_a_record_is_ignored() {
        let whole = [&[1_u8, 2, 0, 0, 0][..], b"/a"].concat();
        for cut in 0..whole.len() {
            let seen = records(&[&whole[..], &whole[..cut]].concat());
            assert_eq!(seen.paths.len(), 1);
        }
    }
}
