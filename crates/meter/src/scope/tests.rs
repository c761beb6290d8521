//! B19: what scopes permit and refuse.

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn no_scopes_permit_everything() {
    let scopes = Scopes::from_text("");
    assert!(scopes.permits(ip("1.2.3.4"), None));
    assert!(scopes.permits_method("getblock"));
    assert_eq!(scopes.to_text(), "");
}

#[test]
fn networks_and_origins_limit_who_may_present_the_key() {
    let scopes = Scopes {
        networks: vec!["10.1.0.0/16".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
        origins: vec!["HTTPS://App.example:8443".into()],
        ..Scopes::default()
    };
    let scopes = scopes.checked().unwrap();
    let page = Some("https://app.example:8443");
    assert!(scopes.permits(ip("10.1.255.1"), page));
    assert!(scopes.permits(ip("::ffff:10.1.0.1"), page));
    assert!(scopes.permits(ip("2001:db8:1::1"), Some("https://APP.example:8443")));
    assert!(!scopes.permits(ip("10.2.0.1"), page));
    assert!(!scopes.permits(ip("10.1.0.1"), None));
    assert!(!scopes.permits(ip("10.1.0.1"), Some("https://app.example")));
    assert_eq!(Scopes::from_text(&scopes.to_text()), scopes);
}

#[test]
fn unreadable_scopes_permit_nobody() {
    for text in ["?", "{", "[]", r#"{"planets":["mars"]}"#, r#"{"networks":["10.0.0.0/33"]}"#] {
        let scopes = Scopes::from_text(text);
        for origin in [None, Some(""), Some("null"), Some("https://a.example")] {
            assert!(!scopes.permits(ip("10.0.0.1"), origin), "{text}");
        }
    }
}

#[test]
fn what_no_key_can_have_is_refused() {
    let chain = Scopes { chains: vec!["BTC".into()], ..Scopes::default() };
    assert_eq!(chain.checked(), Err(ScopeError::Chain("BTC".into())));
    let method = Scopes { methods: vec!["get block".into()], ..Scopes::default() };
    assert!(method.checked().is_err());
    for odd in ["", "a.example", "https://", "https://a.example/", "https://a, https://b", "*"] {
        let origin = Scopes { origins: vec![odd.into()], ..Scopes::default() };
        assert_eq!(origin.checked(), Err(ScopeError::Origin(odd.into())));
    }
}
