//! The administration commands, as a person or a script runs them.

use serde_json::{Value, json};

use crate::program::Folder;

const LAB: &str = "[plan.lab]\nrequests_per_second = 1000\n";

#[test]
fn accounts_are_added_changed_and_listed() {
    let folder = Folder::with(LAB);
    let added = folder.json(&["account", "add", "shop"]);
    assert_eq!(added["name"], "shop");
    assert_eq!((&added["gateway_plan"], &added["explorer_plan"]), (&json!("Free"), &json!("Free")));
    let id = added["id"].as_str().unwrap();
    let changed = folder.json(&["account", "plan", id, "--gateway-plan", "LAB"]);
    assert_eq!(changed["gateway_plan"], "lab");
    assert_eq!(changed["explorer_plan"], "Free");
    assert_eq!(folder.json(&["account", "suspend", "shop"])["suspended"], true);
    assert_eq!(folder.json(&["account", "resume", "shop"])["suspended"], false);
    let all = folder.json(&["account", "list"]);
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert_eq!(all[0]["name"], "shop");
    let table = folder.run(&["account", "list"]);
    assert!(table.out.starts_with("id") && table.out.contains("shop"), "{}", table.out);
    assert_eq!(table.err, "");
}

#[test]
fn keys_are_made_capped_rotated_revoked_and_listed() {
    let folder = Folder::with("");
    folder.json(&["account", "add", "shop"]);
    let words = [
        "key",
        "add",
        "shop",
        "--label",
        "ci",
        "--daily-cap",
        "5",
        "--expires",
        "90d",
        "--chains",
        "btc,ltc",
        "--methods",
        "getblockcount",
        "--networks",
        "10.0.0.0/8",
        "--origins",
        "https://shop.example",
    ];
    let made = folder.json(&words);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    assert_eq!((key.len(), &key[..4]), (42, "ptl_"));
    assert_eq!(made.as_object().unwrap().len(), 3);
    assert!(made["store"].as_str().unwrap().ends_with("data"), "{made}");
    assert_eq!(folder.json(&["key", "cap", id, "7"])["daily_cap"], 7);
    assert_eq!(folder.json(&["key", "cap", id, "none"])["daily_cap"], json!(null));
    let next = folder.json(&["key", "rotate", id, "--overlap", "1h"]);
    assert_ne!(next["key"], made["key"]);
    let listed = folder.json(&["key", "list", "shop"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[0]["scopes"]["chains"], json!(["btc", "ltc"]));
    assert_eq!(listed[1]["label"], "ci");
    assert_eq!(folder.json(&["key", "revoke", id])["revoked"], true);
    let table = folder.run(&["key", "list", "shop"]);
    assert!(table.out.contains("revoked") && table.out.contains(&key[..12]), "{}", table.out);
    let all = format!("{listed}{}", table.out);
    assert!(!all.contains(&key[12..]), "the key is shown again: {all}");
    let shown = folder.run(&["key", "add", "shop"]);
    assert!(shown.out.contains("ptl_") && shown.err.is_empty());
}

#[test]
fn plans_and_usage_are_shown() {
    let folder = Folder::with(LAB);
    let plans = folder.json(&["plan", "list"]);
    let names: Vec<&str> =
        plans.as_array().unwrap().iter().map(|plan| plan["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Free", "Starter", "Pro", "lab"]);
    assert_eq!(plans[0]["daily"], 10_000);
    let table = folder.run(&["plan", "list"]);
    assert!(table.out.contains("25,000,000"), "{}", table.out);
    folder.json(&["account", "add", "shop"]);
    let usage = folder.json(&["usage", "shop"]);
    assert_eq!(usage["gateway"], json!({ "today": 0, "month": 0 }));
    assert_eq!(usage["explorer"], json!({ "today": 0, "month": 0 }));
    assert_eq!(usage["hours"], json!([]));
    folder.json(&["usage", "shop", "--since", "24h"]);
    assert!(folder.run(&["usage", "shop"]).out.contains("this month"));
}

#[test]
fn configuration_and_json_stand_anywhere() {
    let folder = Folder::with("");
    std::fs::write(folder.path().join("other.toml"), LAB).unwrap();
    for words in [
        ["-c", "other.toml", "--json", "plan", "list"],
        ["plan", "-c", "other.toml", "list", "--json"],
        ["--json", "plan", "list", "-c", "other.toml"],
    ] {
        let said = folder.run(&words);
        assert!(said.json().to_string().contains("\"lab\""), "{words:?}: {said:?}");
    }
}

#[test]
fn failure_is_one_line_and_one_json_value() {
    let folder = Folder::with("");
    for words in [
        &["account", "suspend", "nobody"][..],
        &["account", "add", ""],
        &["account", "add", "x", "--gateway-plan", "gold"],
        &["key", "add", "nobody"],
        &["key", "revoke", "key_9"],
        &["usage", "nobody"],
        &["plan", "list", "-c", "absent.toml"],
        &["serve"],
        &["serve", "--only", "explorer"],
        &["check"],
    ] {
        let said = folder.run(words);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{words:?}: {said:?}");
        assert_eq!(said.err.lines().count(), 1, "{words:?}: {said:?}");
        let said = folder.run(&[words, &["--json"]].concat());
        assert_eq!(said.code, 1);
        assert!(!said.json()["error"].as_str().unwrap().is_empty());
    }
}

#[test]
fn misunderstood_words_are_code_2() {
    let folder = Folder::with("");
    for words in [
        &["frobnicate"][..],
        &[],
        &["account"],
        &["account", "plan", "x"],
        &["key", "cap", "key_1", "many"],
        &["serve", "--only", "lighthouse"],
        &["demo", "--gateway", "nowhere"],
        &["manual", "nope"],
        &["manual", "key", "nope"],
        &["methods", "nope"],
        &["methods", ""],
        &["completions", "nope"],
        &["index", "info", "nope"],
        &["index", "verify", "BTC"],
        &["index", "rebuild", ""],
        &["index", "backup", "nope", "--to", "x"],
        &["index", "export", "nope"],
        &["index", "import", "nope"],
        &["key", "add", "shop", "--chains", "nope"],
        &["key", "add", "shop", "--chains", ""],
        &["key", "add", "shop", "--methods", "nope"],
        &["key", "add", "shop", "--methods", ""],
        &["key", "add", "shop", "--networks", ""],
        &["key", "add", "shop", "--expires", "soon"],
        &["key", "add", "shop", "--expires", "1969-01-01"],
        &["key", "rotate", "key_1", "--overlap", "soon"],
        &["usage", "shop", "--since", "soon"],
        &["store", "copy", "--from", "postgres://u:p@h/d", "--to", "x"],
    ] {
        let said = folder.run(words);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{words:?}: {said:?}");
        assert!(!said.err.contains("\"\""), "a name that is missing is quoted: {said:?}");
        let said = folder.run(&[words, &["--json"]].concat());
        assert_eq!(said.code, 2);
        assert!(said.json()["error"].is_string());
    }
    assert!(!folder.path().join("data").exists(), "a store was made for words without sense");
}

#[test]
fn every_command_has_help() {
    let folder = Folder::with("unknown = 1");
    for words in [
        "",
        "demo",
        "serve",
        "check",
        "account",
        "account add",
        "account plan",
        "account suspend",
        "account resume",
        "account list",
        "key",
        "key add",
        "key cap",
        "key revoke",
        "key rotate",
        "key list",
        "plan",
        "plan list",
        "usage",
    ] {
        let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
        let said = folder.run(&[&words[..], &["--help"]].concat());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{words:?}");
        assert!(said.out.contains("Usage: portolan"), "{words:?}: {}", said.out);
    }
    assert_eq!(folder.run(&["--version"]).code, 0);
}

#[test]
fn bad_configuration_is_named_by_file_line_or_variable() {
    let folder = Folder::with("[gateway]\nlisen = \"127.0.0.1:1\"\n");
    let said = folder.run(&["plan", "list"]);
    assert_eq!(said.code, 1);
    assert_eq!(
        said.err,
        "portolan: portolan.toml:2: unknown field \"lisen\"; the nearest known one is \"listen\"\n"
    );
    folder.configure("");
    let mut command = folder.command(&["plan", "list"]);
    let output = command.env("PORTOLAN__GATEWAY__LOG_RANGE", "many").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("PORTOLAN__GATEWAY__LOG_RANGE") && !err.contains("many"), "{err}");
    let mut command = folder.command(&["plan", "list", "--json"]);
    command.env("PORTOLAN__PLAN__EXTRA__REQUESTS_PER_SECOND", "3");
    let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(out.contains("\"extra\""), "{out}");
}

#[test]
fn methods_are_listed_as_the_configuration_offers_them() {
    let narrowed = "[chain.btc]\nmethods = [\"getblockcount\"]\nextra_methods = [\"uptime\"]\n\
                    nodes = [{ url = \"http://127.0.0.1:1\" }]\n";
    let folder = Folder::with(narrowed);
    let listed = folder.json(&["methods", "btc"]);
    let names: Vec<&str> = listed[0]["methods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["getblockcount", "uptime"]);
    // Of a method that the operator adds nothing is known, not what it does either.
    let added = &listed[0]["methods"][1];
    assert_eq!(
        (&added["added"], &added["send"], &added["once"]),
        (&json!(true), &json!(false), &json!(true))
    );
    assert_eq!(added["heavy"], "yes");
    let text = folder.run(&["methods", "btc"]).out;
    assert!(
        text.contains("uptime         added by the operator, never sent twice, heavy"),
        "{text}"
    );
    assert!(!text.contains("hands in a transaction"), "{text}");
    let own = folder.json(&["methods", "ltc"]);
    let own = own[0]["methods"].as_array().unwrap();
    let send = own.iter().find(|row| row["name"] == "sendrawtransaction").unwrap();
    assert_eq!(
        (&send["added"], &send["send"], &send["once"]),
        (&json!(false), &json!(true), &json!(true))
    );
    let read = own.iter().find(|row| row["name"] == "getblock").unwrap();
    assert_eq!(
        (&read["added"], &read["send"], &read["once"]),
        (&json!(false), &json!(false), &json!(false))
    );
    let all = folder.json(&["methods"]);
    assert_eq!(all.as_array().unwrap().len(), 9);
    let path = folder.run(&["methods", "xmr"]);
    assert!(path.out.contains("get_height") && path.out.contains("plain path"), "{}", path.out);
    // The same examples as in docs/methods.md.
    assert!(
        path.out.contains("$URL/v1/rpc/xmr") && path.out.contains("get_height\"}'"),
        "{}",
        path.out
    );
    assert!(!folder.run(&["methods", "btc"]).out.contains("$URL"));
    let page = std::fs::read_to_string("../../docs/methods.md").unwrap();
    for line in path.out.lines().filter_map(|line| line.strip_prefix("  curl ")) {
        assert!(page.contains(line), "{line}");
    }
    let wrong = folder.run(&["methods", "BTC"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("the nearest known one is \"btc\""), "{}", wrong.err);
}

#[test]
fn stores_are_named_and_never_made_by_chance() {
    let folder = Folder::with("");
    std::fs::remove_file(folder.path().join("portolan.toml")).unwrap();
    for words in [
        &["account", "add", "shop"][..],
        &["account", "list"],
        &["key", "add", "shop"],
        &["usage", "shop"],
    ] {
        let refused = folder.run(words);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.err.contains("neither portolan.toml nor a store (data)"), "{refused:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{words:?}");
    }
    let made = folder.json(&["account", "add", "shop", "--create-store"]);
    assert_eq!((&made["store"], &made["store_made"]), (&json!("data"), &json!(true)));
    let key = folder.json(&["key", "add", "shop"]);
    assert_eq!((&key["store"], &key["store_made"]), (&json!("data"), &json!(null)));
    let shown = folder.run(&["account", "suspend", "shop"]);
    assert!(shown.out.contains("Store: data\n"), "{}", shown.out);

    let configured = Folder::with("[store]\ndir = \"elsewhere\"\n");
    let made = configured.run(&["account", "add", "shop"]);
    assert!(made.out.contains("elsewhere (new)"), "{}", made.out);
}

#[test]
fn plans_that_are_gone_are_marked() {
    let folder = Folder::with(LAB);
    folder.json(&["account", "add", "shop", "--gateway-plan", "lab"]);
    folder.configure("");
    let listed = folder.json(&["account", "list"]);
    assert_eq!(listed[0]["plans_not_configured"], json!(["lab"]));
    let table = folder.run(&["account", "list"]);
    assert!(table.out.contains("lab (not configured)"), "{}", table.out);
    folder.json(&["account", "plan", "shop", "--gateway-plan", "none"]);
    assert_eq!(folder.json(&["account", "list"])[0]["plans_not_configured"], json!(null));
}

#[test]
fn scopes_of_a_key_are_held_against_what_is_known() {
    let folder = Folder::with(
        "[chain.btc]\nextra_methods = [\"uptime\"]\nnodes = [{ url = \"http://127.0.0.1:1\" }]\n",
    );
    folder.json(&["account", "add", "shop"]);
    let add = |words: &[&str]| folder.run(&[&["key", "add", "shop"], words].concat());
    for (words, told) in [
        (&["--methods", "getblockcout"][..], "the nearest known one is \"getblockcount\""),
        (&["--chains", "btx"], "the nearest known one is \"b"),
        (&["--chains", "ltc", "--methods", "uptime"], "unknown method \"uptime\""),
        (&["--chains", "btc", "--methods", "eth_call"], "unknown method \"eth_call\""),
    ] {
        let refused = add(words);
        assert_eq!(refused.code, 2, "{words:?}: {refused:?}");
        assert!(refused.err.contains(told), "{words:?}: {}", refused.err);
    }
    assert_eq!(add(&["--methods", "uptime,eth_call"]).code, 0);
    assert_eq!(add(&["--chains", "btc", "--methods", "uptime,getblockcount"]).code, 0);
}

#[test]
fn check_says_that_shared_buckets_cannot_be_had() {
    let port = testkit::free_port().unwrap();
    let folder = Folder::with(&format!(
        "[store]\naccounts = \"postgres://u@127.0.0.1/d\"\n\
         buckets = \"redis://127.0.0.1:{port}\"\nbuckets_password_file = \"secret\"\n\
         [chain.btc]\nnodes = [{{ url = \"http://127.0.0.1:1\" }}]\n"
    ));
    std::fs::write(folder.path().join("secret"), "hunter2\n").unwrap();
    let said = folder.run(&["check"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains(&format!("store.buckets redis://127.0.0.1:{port}: ")), "{said:?}");
    let redis = testkit::Redis::start(&["--requirepass", "hunter2"]).unwrap();
    let text = std::fs::read_to_string(folder.path().join("portolan.toml")).unwrap();
    folder.configure(&text.replace(&format!("redis://127.0.0.1:{port}"), &redis.url()));
    let said = folder.run(&["check"]);
    assert!(!said.err.contains("store.buckets"), "{said:?}");
    std::fs::write(folder.path().join("secret"), "hunter3\n").unwrap();
    let said = folder.run(&["check"]);
    assert!(said.code == 1 && said.err.contains("authentication"), "{said:?}");
    assert!(!format!("{said:?}").contains("hunter"), "{said:?}");
}

#[test]
fn what_reads_makes_no_store_and_says_which_it_read() {
    let folder = Folder::with("");
    let reading = [
        &["account", "list"][..],
        &["key", "list", "shop"],
        &["usage", "shop"],
        &["account", "suspend", "shop"],
        &["key", "add", "shop"],
    ];
    for words in reading {
        for more in [&[][..], &["--json"]] {
            let said = folder.run(&[words, more].concat());
            assert!(said.code == 1 && said.err.contains("no store in data yet"), "{said:?}");
            assert!(!folder.path().join("data").exists(), "{words:?}");
        }
    }
    folder.json(&["account", "add", "shop"]);
    for words in [&["account", "list"][..], &["key", "list", "shop"], &["usage", "shop"]] {
        let people = folder.run(words);
        assert!(people.out.ends_with("\nStore: data\n") && people.err.is_empty(), "{people:?}");
        let said = folder.run(&[words, &["--json"]].concat());
        match said.json() {
            // The shape of a list has no place for it.
            Value::Array(_) => assert_eq!(said.err, "Store: data\n", "{words:?}"),
            value => assert_eq!((&value["store"], said.err.as_str()), (&json!("data"), "")),
        }
    }
}

#[test]
fn json_tells_a_misunderstanding_whole() {
    let folder = Folder::with("");
    for (words, told) in [
        (&["account", "add"][..], "the following required arguments were not provided: <NAME>"),
        (
            &["serve", "--only", "nope"],
            "invalid value 'nope' for '--only <SERVICE>' [possible values: gateway, explorer, console]",
        ),
        (&["account"], "portolan account: which command? add, plan, suspend, resume, list"),
        (&["-c", "x", "index"], "portolan index: which command?"),
        (
            &["accoutn"],
            "unrecognized subcommand 'accoutn' tip: a similar subcommand exists: 'account'",
        ),
        (&["plan", "list", "--jsn"], "unexpected argument '--jsn' found"),
    ] {
        let said = folder.run(&[&["--json"], words].concat());
        let error = said.json()["error"].as_str().unwrap().to_owned();
        assert!(said.code == 2 && error.starts_with(told), "{words:?}: {error}");
        assert!(!error.contains('\n') && !error.contains("Usage:"), "{words:?}: {error}");
    }
}
