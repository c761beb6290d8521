//! The body of `outputs/check`: whose outputs are looked for, and the key to see them with.
//!
//! Leaves points, scalars and checksums to `chain`. Invariants: what is malformed is told in words
//! of our own, in which nothing of the body stands (decision R2); copies of the key are cleared
//! when they are dropped, and neither it nor the address is ever shown.

use std::collections::HashSet;
use std::fmt;

use chain::MoneroAddresses;
use chain::ring::check::{BadKey, KeyKind, SecretKey};
use chain::ring::{Address, BadAddress};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::refusal::{Reason, Refusal};

/// A body that was read.
pub(super) struct Claim {
    pub(super) address: Address,
    pub(super) kind: KeyKind,
    /// On the heap, so that it is in one place however often the claim is moved.
    pub(super) key: Box<SecretKey>,
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a claim with a {}", self.kind.as_str())
    }
}

impl Claim {
    /// Reads a body. A member that is not known is passed over, one that is there twice is not.
    pub(super) fn of(body: &[u8], network: &MoneroAddresses) -> Result<Claim, Refusal> {
        // What the reader has to say of it may quote it.
        let members = serde_json::from_slice::<Members>(body);
        let members = members.map_err(|_| bad("the body is no JSON object that can be read"))?;
        if members.twice {
            return Err(bad("a member of the body is there twice"));
        }
        let address = members.address.ok_or_else(|| bad("address is missing, or no string"))?;
        let key = members.key.ok_or_else(|| bad("key is missing, or no string"))?;
        let kind = members.kind.ok_or_else(|| bad("kind is missing, or no string"))?;
        let kind = KeyKind::named(&kind).ok_or_else(|| bad("kind is neither viewkey nor txkey"))?;
        let address = Address::parse(&address, network).map_err(of_address)?;
        let key = SecretKey::parse(&key).map(Box::new).map_err(of_key)?;
        Ok(Claim { address, kind, key })
    }
}

fn of_address(bad_address: BadAddress) -> Refusal {
    bad(match bad_address {
        BadAddress::Form => "address is no address",
        BadAddress::Checksum => "the checksum of the address is wrong",
        BadAddress::Network => "the address is not one of this network",
        BadAddress::Key => "a key of the address is no point of the curve",
    })
}

fn of_key(bad_key: BadKey) -> Refusal {
    bad(match bad_key {
        BadKey::Form => "the key has not 64 hex digits",
        BadKey::Several => "the key is several keys: send 64 hex digits of it at a time",
        BadKey::Range => "the key is zero, or not below the order of the group",
    })
}

fn bad(text: &'static str) -> Refusal {
    Refusal::saying(Reason::BadRequest, text)
}

/// The members of the body that count; none where one is absent or no string.
#[derive(Default)]
struct Members {
    address: Option<Zeroizing<String>>,
    kind: Option<Zeroizing<String>>,
    key: Option<Zeroizing<String>>,
    twice: bool,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let (mut members, mut names) = (Members::default(), HashSet::new());
                while let Some(name) = map.next_key::<String>()? {
                    let value = map.next_value::<&'de RawValue>()?;
                    match name.as_str() {
                        "address" => members.address = text(value),
                        "kind" => members.kind = text(value),
                        "key" => members.key = text(value),
                        _ => {}
                    }
                    members.twice |= !names.insert(name);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// What a JSON string says; none if it is none. It is unescaped here and not by the reader of the
/// rest, in whose memory a copy would stay.
fn text(value: &RawValue) -> Option<Zeroizing<String>> {
    let inner = value.get().strip_prefix('"')?.strip_suffix('"')?;
    // What is unescaped is never longer.
    let mut out = Zeroizing::new(String::with_capacity(inner.len()));
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        let char = if char == '\\' { escaped(&mut chars)? } else { char };
        out.push(char);
    }
    Some(out)
}

/// The character that an escape stands for. Halves of a pair become one that no field takes.
fn escaped(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let code = chars.as_str().get(..4)?;
            *chars = chars.as_str().get(4..)?.chars();
            char::from_u32(u32::from_str_radix(code, 16).ok()?).unwrap_or('\u{fffd}')
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "90a72965bc1d317c164d63b3dcc6b2e05b5e60a99b015016e93ba8090ae16e08";
    const ADDRESS: &str = "42hRbwbMjoMLEds8GEKjsFa7iGrWGjKaAV7H24RhsQtaTYUo9EDKw9j4HzHqzwSrabSgwmtxy2nD3ed4MDTPvAnL5xLv1S3";
    const NETWORK: MoneroAddresses =
        MoneroAddresses { standard: 18, integrated: 19, subaddress: 42 };

    fn with(kind: &str, key: &str) -> String {
        format!(r#"{{"address":"{ADDRESS}","kind":"{kind}","key":"{key}"}}"#)
    }

    #[test]
    fn a_body_is_read_whatever_its_order_and_escapes() {
        let (upper, rest) = (KEY.to_uppercase(), &KEY[1..]);
        for body in [
            with("txkey", KEY),
            format!(
                r#" {{"key":"{upper}","x":[{{}},null],"kind":"txkey","address":"{ADDRESS}"}} "#
            ),
            with("tx\\u006Bey", &format!("\\u0039{rest}")).replace("key\"", "\\u006bey\""),
        ] {
            let claim = Claim::of(body.as_bytes(), &NETWORK).unwrap();
            assert_eq!(claim.kind, KeyKind::Transaction);
            assert_eq!(claim.address.encode(&NETWORK), ADDRESS);
            assert_eq!(format!("{claim:?}"), "a claim with a txkey");
        }
        let view = with("viewkey", KEY);
        assert_eq!(Claim::of(view.as_bytes(), &NETWORK).unwrap().kind, KeyKind::View);
    }

    #[test]
    fn what_is_malformed_is_told_without_a_word_of_it() {
        let good = with("txkey", KEY);
        let other = |from: &str, to: &str| good.replace(from, to);
        for (body, said) in [
            (String::new(), "object"),
            ("[]".into(), "object"),
            ("null".into(), "object"),
            (format!("\"{KEY}\""), "object"),
            (format!("{good}x"), "object"),
            (other("}", ""), "object"),
            ("{}".into(), "address is missing"),
            (other(&format!("\"{ADDRESS}\""), "4"), "address is missing, or no string"),
            (other(&format!("\"{ADDRESS}\""), "null"), "address is missing, or no string"),
            (other("kind", "Kind"), "kind is missing"),
            (other("\"key\"", "\"keys\""), "key is missing"),
            (with("spendkey", KEY), "neither"),
            (with("ViewKey", KEY), "neither"),
            (with("viewkey ", KEY), "neither"),
            (with("txkey", &KEY[1..]), "64"),
            (with("txkey", &format!("{KEY}0")), "64"),
            (with("txkey", &format!("0x{}", &KEY[2..])), "64"),
            (with("txkey", &format!(" {}", &KEY[1..])), "64"),
            (with("txkey", &format!("{}\\ud800", &KEY[1..])), "64"),
            (with("txkey", &KEY.repeat(5)), "at a time"),
            (with("viewkey", &"0".repeat(64)), "zero"),
            (with("viewkey", &"f".repeat(64)), "order"),
            (other("1S3", "1S1"), "checksum"),
            (other(ADDRESS, "bc1q"), "no address"),
            (other("}", r#","key":"1"}"#), "twice"),
            (other("}", r#","\u006bey":"1"}"#), "twice"),
            (other("}", r#","x":1,"x":2}"#), "twice"),
        ] {
            let refusal = Claim::of(body.as_bytes(), &NETWORK).unwrap_err();
            assert_eq!(refusal.reason, Reason::BadRequest, "{body}");
            let refusal = String::from_utf8(refusal.body().to_vec()).unwrap();
            assert!(refusal.contains(said), "{body}: {refusal}");
            assert!(!refusal.contains(&KEY[2..20]) && !refusal.contains("42h"), "{refusal}");
        }
    }

    #[test]
    fn any_bytes_at_all_are_read_or_refused() {
        let deep = "[".repeat(4096);
        let nested = format!(r#"{{"x":{}{}}}"#, "[".repeat(2000), "]".repeat(2000));
        for body in [
            deep.as_bytes(),
            nested.as_bytes(),
            b"\xff\xfe{}",
            b"{\"key\":\"\\u12\"}",
            b"{\"a\":\"\\",
            b"\xef\xbb\xbf{}",
        ] {
            assert!(Claim::of(body, &NETWORK).is_err());
        }
    }
}
