//! B1, B16, B19 from the command line's side.

use super::*;

fn admin(dir: &tempfile::TempDir) -> Admin {
    Admin::open(dir.path(), Plans::default(), Clock::test(1_000_000).0).unwrap()
}

#[test]
fn accounts_are_added_changed_and_found_by_id_and_name() {
    let dir = tempfile::tempdir().unwrap();
    let admin = admin(&dir);
    let acme = admin.add_account("Acme Ltd", Some("PRO"), Some("None")).unwrap();
    assert_eq!((acme.gateway_plan.as_str(), acme.explorer_plan.as_str()), ("Pro", "none"));
    assert_eq!(acme.id, "acc_1");
    let other = admin.add_account("other", None, None).unwrap();
    assert_eq!((other.gateway_plan.as_str(), other.explorer_plan.as_str()), ("Free", "Free"));
    assert!(admin.suspend("Acme Ltd").unwrap().suspended);
    assert!(!admin.resume("acc_1").unwrap().suspended);
    assert_eq!(admin.set_plans("acc_2", None, Some("starter")).unwrap().explorer_plan, "Starter");
    assert_eq!(admin.list_accounts().unwrap().len(), 2);
    let json = serde_json::to_value(&acme).unwrap();
    assert_eq!(json["created_at"], "1970-01-12T13:46:40Z");
}

#[test]
fn odd_names_and_plans_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let admin = admin(&dir);
    for odd in ["", " a", "acc_7", "acc_x", "a\nb", &"x".repeat(65)] {
        assert!(matches!(admin.add_account(odd, None, None), Err(AdminError::Name(_))), "{odd:?}");
    }
    admin.add_account(&"ü".repeat(64), None, None).unwrap();
    let taken = admin.add_account(&"ü".repeat(64), None, None).unwrap_err();
    assert!(taken.to_string().contains("is there already"));
    let plan = admin.add_account("a", Some("gold"), None).unwrap_err();
    assert!(plan.to_string().contains("Free, Starter, Pro"), "{plan}");
    for unknown in ["acc_99", "nobody", "acc_0", "acc_01", "acc_18446744073709551616"] {
        assert!(matches!(admin.suspend(unknown), Err(AdminError::NoAccount(_))), "{unknown}");
    }
}

#[test]
fn keys_show_their_characters_once() {
    let dir = tempfile::tempdir().unwrap();
    let admin = admin(&dir);
    admin.add_account("a", None, None).unwrap();
    let label =
        KeyOptions { label: Some("ci".into()), daily_cap: Some(7), ..KeyOptions::default() };
    let made = admin.add_key("a", label).unwrap();
    assert_eq!(made.id, "key_1");
    let characters = made.key.reveal();
    assert!(serde_json::to_string(&made).unwrap().contains(characters));
    let listed = admin.list_keys("a").unwrap();
    assert_eq!((listed[0].label.as_deref(), listed[0].daily_cap), (Some("ci"), Some(7)));
    assert_eq!(listed[0].prefix, characters[..12]);
    for shown in [format!("{made:?}"), format!("{admin:?}"), format!("{listed:?}")] {
        assert!(!shown.contains(characters), "{shown}");
    }
    assert!(!serde_json::to_string(&listed).unwrap().contains(characters));
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(characters.len()).any(|part| part == characters.as_bytes()));
    }
    // A key given where its id belongs is not repeated.
    let error = admin.revoke(characters).unwrap_err().to_string();
    assert!(!error.contains(&characters[4..]), "{error}");
}

#[test]
fn caps_ends_labels_and_scopes_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let admin = admin(&dir);
    admin.add_account("a", None, None).unwrap();
    let chains = Scopes { chains: vec!["moon".into()], ..Scopes::default() };
    let default = KeyOptions::default;
    for odd in [
        KeyOptions { daily_cap: Some(0), ..default() },
        KeyOptions { daily_cap: Some(u64::MAX), ..default() },
        KeyOptions { expires_at: Some(Utc::from_secs(1_000_000)), ..default() },
        KeyOptions { label: Some("x".repeat(65)), ..default() },
        KeyOptions { scopes: chains, ..default() },
    ] {
        assert!(admin.add_key("a", odd).is_err());
    }
    assert!(admin.list_keys("a").unwrap().is_empty());
    admin.add_key("a", default()).unwrap();
    assert_eq!(admin.set_cap("key_1", Some(3)).unwrap().daily_cap, Some(3));
    assert_eq!(admin.set_cap("key_1", None).unwrap().daily_cap, None);
    assert!(admin.set_cap("key_1", Some(0)).is_err());
    assert!(matches!(admin.set_cap("key_2", None), Err(AdminError::NoKey(_))));
}

#[test]
fn rotation_keeps_what_the_key_was_and_ends_it_after_the_overlap() {
    let dir = tempfile::tempdir().unwrap();
    let admin = admin(&dir);
    admin.add_account("a", None, None).unwrap();
    let scopes = Scopes { chains: vec!["btc".into()], ..Scopes::default() };
    let options =
        KeyOptions { daily_cap: Some(9), label: Some("x".into()), scopes, expires_at: None };
    admin.add_key("a", options).unwrap();
    let new = admin.rotate("key_1", Duration::from_secs(3600)).unwrap();
    assert_eq!(new.id, "key_2");
    let keys = admin.list_keys("a").unwrap();
    assert_eq!(keys[0].expires_at, Some(Utc::from_secs(1_003_600)));
    assert_eq!(keys[1].expires_at, None);
    assert_eq!((&keys[1].label, keys[1].daily_cap), (&keys[0].label, keys[0].daily_cap));
    assert_eq!(keys[1].scopes, keys[0].scopes);
    admin.revoke("key_2").unwrap();
    assert!(matches!(admin.rotate("key_2", Duration::ZERO), Err(AdminError::Dead(_))));
}
