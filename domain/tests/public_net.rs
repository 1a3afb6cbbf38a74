//! Which addresses and names are public: the edges of every block that is not.

use std::net::IpAddr;

use rookery_domain::public_net::{is_public, is_public_name};

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn special_blocks_end_where_the_registries_say() {
    for (last_before, first, last, first_behind) in [
        ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
        ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
        ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
        ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
        ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
        ("191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"),
        ("192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"),
        ("192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"),
        ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
        ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
        ("198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"),
        ("203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"),
        ("2001:0200::", "2001::", "2001:1ff:ffff::", "2001:0200::"),
        ("2001:db7:ffff::", "2001:db8::", "2001:db8:ffff:ffff::", "2001:db9::"),
        ("2001:ffff::", "2002::", "2002:ffff::", "2003::"),
    ] {
        assert!(is_public(address(last_before)), "{last_before}");
        assert!(!is_public(address(first)), "{first}");
        assert!(!is_public(address(last)), "{last}");
        assert!(is_public(address(first_behind)), "{first_behind}");
    }
    // Each number of such a block counts.
    for public in ["1.0.0.1", "1.88.99.1", "192.1.99.1", "1.18.0.1", "2600:db8::1", "3fff:1000::"] {
        assert!(is_public(address(public)), "{public}");
    }
    for special in [
        "0.0.0.0",
        "0.255.255.255",
        "224.0.0.0",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:8.8.8.8",
        "::8.8.8.8",
        "64:ff9b::808:808",
        "100::1",
        "1fff:ffff::",
        "3fff::",
        "3fff:fff::",
        "4000::",
        "fc00::",
        "fd12::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(address(special)), "{special}");
    }
}

#[test]
fn names_of_this_machine_and_of_private_networks_are_not_public() {
    for name in [
        "localhost",
        "a.localhost",
        "A.LOCALHOST.",
        "printer.local",
        "db.internal",
        "x.home.arpa",
        "intranet",
        "intranet.",
        "",
        ".",
        "x.onion",
        "x.invalid",
        "x.lan",
        "x.corp",
        "x.home",
        "x.test",
        "x.intranet",
        "x.example",
        "1.0.0.127.in-addr.arpa",
    ] {
        assert!(!is_public_name(name), "{name}");
    }
    for name in ["example.org", "example.org.", "localhost.example.org", "local.example.org"] {
        assert!(is_public_name(name), "{name}");
    }
}
