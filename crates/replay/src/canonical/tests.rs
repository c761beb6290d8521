use super::*;

fn canonical(raw: &str) -> Option<String> {
    let mut out = Vec::new();
    append(raw, &mut out)?;
    Some(String::from_utf8(out).unwrap())
}

#[test]
fn spellings_become_one() {
    let one = canonical(r#"[ 1.50 , "\u0061\/" , { "b" : [ ] , "a" : null } , true ]"#).unwrap();
    assert_eq!(one, r#"[1.50,"a/",{"a":null,"b":[]},true]"#);
    assert_eq!(canonical(&one).unwrap(), one);
}

#[test]
fn numbers_are_not_rounded() {
    assert_ne!(canonical("1.0"), canonical("1"));
    assert_eq!(canonical("12345678901234567890").unwrap(), "12345678901234567890");
}

#[test]
fn too_deep_has_none() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(canonical(&deep), None);
}

#[test]
fn broken_text_does_not_panic() {
    for raw in ["", "[", "{", "{\"a", "{\"a\"", "{\"a\":", "[1,", "\"\\", "{1", "[,", "]"] {
        let _ = canonical(raw);
    }
}
