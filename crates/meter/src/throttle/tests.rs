//! B10: the limit, its window, networks, and the bound of the table.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_twenty_first_invalid_key_waits_for_the_end_of_the_window() {
    let throttle = Throttle::default();
    for second in 0..20 {
        assert_eq!(throttle.blocked(ip("10.0.0.1"), SECOND * second), None);
        assert_eq!(throttle.count(ip("10.0.0.1"), SECOND * second), Ok(()));
    }
    assert_eq!(throttle.blocked(ip("10.0.0.1"), SECOND * 20), Some(40));
    assert_eq!(throttle.count(ip("10.0.0.1"), SECOND * 20), Err(40));
    assert_eq!(throttle.count(ip("10.0.0.1"), Duration::from_millis(59_900)), Err(1));
    assert_eq!(throttle.count(ip("10.0.0.2"), SECOND * 20), Ok(()));
    assert_eq!(throttle.blocked(ip("10.0.0.1"), SECOND * 60), None);
    assert_eq!(throttle.count(ip("10.0.0.1"), SECOND * 60), Ok(()));
}

#[test]
fn ipv6_counts_by_its_64_and_mapped_ipv4_as_ipv4() {
    let throttle = Throttle::default();
    for host in 0..20 {
        let client = Ipv6Addr::new(0x2001, 0xdb8, 0, 7, host, 1, 2, 3);
        assert_eq!(throttle.count(IpAddr::V6(client), SECOND), Ok(()));
    }
    assert!(throttle.count(ip("2001:db8:0:7:ffff::1"), SECOND).is_err());
    assert!(throttle.count(ip("2001:db8:0:8::1"), SECOND).is_ok());
    for _ in 0..20 {
        throttle.count(ip("::ffff:10.0.0.9"), SECOND).unwrap();
    }
    assert!(throttle.count(ip("10.0.0.9"), SECOND).is_err());
    assert!(throttle.count(ip("10.0.0.8"), SECOND).is_ok());
}

#[test]
fn the_table_is_bounded() {
    let throttle = Throttle::default();
    for number in 0..200_000_u32 {
        throttle.count(IpAddr::V4(Ipv4Addr::from(number)), SECOND).unwrap();
    }
    let held: usize = throttle.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
    assert!(held <= MOST_CLIENTS);
    throttle.count(ip("10.0.0.1"), SECOND * 100).unwrap();
}
