//! Which addresses a webhook may reach: those of the public Internet, and those that the operator allows. A webhook must
//! not become a way into the server's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use url::{Host, Url};

/// Not of the public Internet: this network, private, shared, loopback, link-local, protocols, documentation, 6to4
/// relays, benchmarks, multicast, reserved and broadcast.
const REFUSED_V4: [Ipv4Net; 15] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];

/// The same, and the ranges in which an IPv4 address hides: compatible, NAT64, Teredo and 6to4.
const REFUSED_V6: [Ipv6Net; 11] = [
    v6([0, 0], 96),
    v6([0x64, 0xff9b], 32),
    v6([0x100, 0], 64),
    v6([0x2001, 0], 32),
    v6([0x2001, 0xdb8], 32),
    v6([0x2002, 0], 16),
    v6([0x3fff, 0], 20),
    v6([0xfc00, 0], 7),
    v6([0xfe80, 0], 10),
    v6([0xfec0, 0], 10),
    v6([0xff00, 0], 8),
];

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6([first, second]: [u16; 2], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), prefix)
}

/// Decides which addresses may be connected to.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    allowed: Vec<IpNet>,
}

impl Guard {
    /// A guard that also lets these networks through.
    #[must_use]
    pub const fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Whether an address may be connected to; without TLS only within the allowed networks.
    #[must_use]
    pub fn lets(&self, address: IpAddr, is_https: bool) -> bool {
        // An IPv4 address within IPv6 is the IPv4 address.
        let address = address.to_canonical();
        self.allowed.iter().any(|network| network.contains(&address)) || (is_https && is_public(address))
    }

    /// What is wrong with a webhook's address, as far as it can be told before the name is looked up: the end of the
    /// sentence "must be …".
    #[must_use]
    pub fn objection(&self, url: &Url) -> Option<&'static str> {
        let is_https = url.scheme() == "https";
        let address = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            _ => None,
        };
        match address {
            Some(address) if self.lets(address, is_https) => None,
            Some(_) if is_https => {
                Some("a public address; an operator may allow others by the setting webhookNetworks")
            }
            None if is_https || !self.allowed.is_empty() => None,
            _ => Some(
                "https; http is only for networks that an operator allows by the setting webhookNetworks",
            ),
        }
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !REFUSED_V4.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => !REFUSED_V6.iter().any(|network| network.contains(&address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lets(guard: &Guard, address: &str) -> bool {
        guard.lets(address.parse().unwrap(), true)
    }

    #[test]
    fn only_public_addresses_are_let_through() {
        let guard = Guard::default();
        for public in
            ["1.1.1.1", "93.184.216.34", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]
        {
            assert!(lets(&guard, public), "{public}");
        }
        for refused in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.255.1.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!lets(&guard, refused), "{refused}");
        }
    }

    #[test]
    fn allowed_networks_are_let_through_even_without_tls_and_nothing_beside_them() {
        let guard = Guard::new(vec!["10.1.0.0/16".parse().unwrap(), "fd12::/16".parse().unwrap()]);
        for allowed in ["10.1.2.3", "::ffff:10.1.2.3", "fd12::7"] {
            assert!(guard.lets(allowed.parse().unwrap(), false), "{allowed}");
        }
        assert!(!lets(&guard, "10.2.0.1") && !guard.lets("1.1.1.1".parse().unwrap(), false));
    }

    #[test]
    fn an_address_is_refused_before_anything_is_looked_up_where_that_can_be_told() {
        let objection = |guard: &Guard, url: &str| guard.objection(&url.parse().unwrap()).is_some();
        let (strict, lan) = (Guard::default(), Guard::new(vec!["10.1.0.0/16".parse().unwrap()]));
        for refused in
            ["http://example.org", "https://127.0.0.1", "https://[::1]", "http://1.1.1.1", "https://0x7f.1"]
        {
            assert!(objection(&strict, refused), "{refused}");
        }
        assert!(!objection(&strict, "https://example.org") && !objection(&strict, "https://1.1.1.1"));
        assert!(!objection(&lan, "http://10.1.2.3:80") && !objection(&lan, "http://box.example"));
        assert!(objection(&lan, "http://10.2.0.1"));
    }
}
