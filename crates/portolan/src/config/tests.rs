//! What is accepted, what is refused, and in which words.

use std::fs;

use ::chain::account::RewardForks;
use index::account::AccountOptions;

use super::*;

const EXAMPLE: &str = include_str!("../../../../portolan.example.toml");

fn load_with(text: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.toml");
    fs::write(&file, text).unwrap();
    let variables = variables.iter().map(|(name, text)| (name.to_string(), text.to_string()));
    Config::load(Some(&file), variables)
        .map_err(|error| error.to_string().replace(&file.display().to_string(), "p.toml"))
}

fn load(text: &str) -> Result<Config, String> {
    load_with(text, &[])
}

fn refusal(text: &str) -> String {
    load(text).unwrap_err()
}

#[test]
fn empty_file_is_a_configuration() {
    let config = load("").unwrap();
    assert_eq!(config.gateway.listen.to_string(), "127.0.0.1:8480");
    assert_eq!(config.explorer.listen.to_string(), "127.0.0.1:8490");
    assert_eq!((config.console, config.metrics), (None, None));
    assert!(config.chain.is_empty());
}

#[test]
fn refused_calls_have_the_status_of_their_reason_or_200() {
    let refusals = |text: &str| load(text).map(|config| config.gateway.settings().refusals);
    assert_eq!(refusals(""), Ok(::gateway::Refusals::Http));
    assert_eq!(refusals("gateway.refusals = \"http\""), Ok(::gateway::Refusals::Http));
    assert_eq!(refusals("gateway.refusals = \"200\""), Ok(::gateway::Refusals::Ok));
    let told = load_with("", &[("PORTOLAN__GATEWAY__REFUSALS", "200")]).unwrap();
    assert_eq!(told.gateway.settings().refusals, ::gateway::Refusals::Ok);
    assert!(refusals("gateway.refusals = \"201\"").unwrap_err().contains("refusals"));
}

#[test]
fn example_of_the_architecture_is_accepted() {
    let config = load(
        r#"
        [store]
        dir = "data"
        [gateway]
        listen = "127.0.0.1:8480"
        [explorer]
        listen = "127.0.0.1:8490"
        [console]
        listen = "127.0.0.1:8500"
        [plan.lab]
        requests_per_second = 1000
        [chain.btc]
        network = "regtest"
        nodes = [{ url = "http://127.0.0.1:18443", user = "u", password = "p" }]
        [chain.eth]
        explorer = false
        network = "dev"
        history_from = 0
        reward_forks = { byzantium = 9, constantinople = 12, merge = 36 }
        methods = ["eth_blockNumber"]
        extra_methods = ["net_version"]
        nodes = [{ url = "https://127.0.0.1:8545", ca = "ca.pem", zmq = "tcp://127.0.0.1:1", auth = "digest" }]
        "#,
    )
    .unwrap();
    let served = config.served();
    let slugs: Vec<_> = served.iter().map(|served| served.chain.slug).collect();
    assert_eq!(slugs, ["btc", "eth"]);
    assert_eq!(served[0].network.name, "regtest");
    assert_eq!(served[1].offered.len(), 2);
    let forks = RewardForks { byzantium: 9, constantinople: 12, merge: Some(36) };
    let accounts = AccountOptions { history_from: Some(0), reward_forks: Some(forks) };
    assert_eq!((served[0].accounts, served[1].accounts), (AccountOptions::default(), accounts));
    assert_eq!(config.plans().find("LAB").unwrap().requests_per_second, 1000);
}

#[test]
fn example_file_is_accepted_and_shows_the_defaults() {
    let config = load(EXAMPLE).unwrap();
    let defaults = Config::default();
    assert_eq!(config.gateway, defaults.gateway);
    assert_eq!(config.explorer, defaults.explorer);
    assert_eq!(config.nodes, defaults.nodes);
    assert_eq!(config.log, defaults.log);
    assert_eq!(config.serve, defaults.serve);
    let defaults = ChainConfig { nodes: config.chain["btc"].nodes.clone(), ..Default::default() };
    assert_eq!(config.chain["btc"], defaults);
}

#[test]
fn example_file_with_every_comment_taken_off_is_accepted() {
    let bare = |line: &str| match line.strip_prefix('#') {
        Some(rest)
            if rest.starts_with(|first: char| first.is_ascii_lowercase() || first == '[') =>
        {
            rest.to_owned()
        }
        _ => line.to_owned(),
    };
    let text: Vec<String> = EXAMPLE.lines().map(bare).collect();
    load(&text.join("\n")).unwrap();
}

/// The fields of a section, as its own refusal of an unknown one lists them.
fn fields(section: &str) -> Vec<String> {
    let text = format!("{section}\nqqq = 1\n");
    let error = toml::from_str::<Config>(&text).unwrap_err();
    let (_, known) = error.message().split_once("expected").unwrap();
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn example_file_names_every_field() {
    let sections = [
        "",
        "[store]",
        "[log]",
        "[serve]",
        "[gateway]",
        "[explorer]",
        "[console]",
        "[metrics]",
        "[nodes]",
        "[plan.lab]",
        "[chain.btc]",
        "[[chain.btc.nodes]]",
    ];
    let mut seen = 0;
    for section in sections {
        for field in fields(section) {
            let named = EXAMPLE.lines().any(|line| {
                let line = line.trim_start_matches('#').trim_start_matches('[');
                line.strip_prefix(&field).is_some_and(|rest| rest.starts_with([' ', ']', '.', '=']))
            });
            assert!(named, "{section} {field}");
            seen += 1;
        }
    }
    assert!(seen > 70, "{seen} fields");
}

#[test]
fn unknown_field_names_the_nearest_one_and_the_line() {
    for (text, expected) in [
        (
            "[gateway]\n\nlisen = \"a\"",
            r#"p.toml:3: unknown field "lisen"; the nearest known one is "listen""#,
        ),
        ("[gatway]\n", r#"p.toml:1: unknown field "gatway"; the nearest known one is "gateway""#),
        (
            "[plan.lab]\nrequests_per_secnd = 3",
            r#"p.toml:2: unknown field "requests_per_secnd"; the nearest known one is "requests_per_second""#,
        ),
        (
            "[chain.btc]\nnodes = [\n  { url = \"http://a\", usr = \"u\" }\n]",
            r#"p.toml:3: unknown field "usr"; the nearest known one is "user""#,
        ),
        (
            "[[chain.btc.nodes]]\nurl = \"http://a\"\npasword = \"p\"",
            r#"p.toml:3: unknown field "pasword"; the nearest known one is "password""#,
        ),
    ] {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn value_of_the_wrong_type_names_the_line_but_not_the_value() {
    for (text, line, expected) in [
        ("[gateway]\nlog_range = \"hunter2\"", 2, "gateway.log_range: expected a whole number"),
        ("[gateway]\nlisten = \"hunter2\"", 2, "expected an address with a port"),
        ("[gateway]\nlisten = 8480", 2, "expected"),
        ("[log]\nformat = \"jsn\"", 2, "the nearest known one is \"json\""),
        ("[chain.btc]\nnodes = \"http://u:hunter2@h\"", 2, "expected a sequence"),
        ("[[chain.btc.nodes]]\nurl = \"http://h\"\npassword = 4242", 3, "text"),
        ("[[chain.btc.nodes]]\npassword = \"hunter2\"\n", 1, "missing field `url`"),
        ("[gateway]\nlisten = hunter2", 2, ""),
        ("[gateway]\nlog_range = -1", 2, "gateway.log_range: expected a whole number, 0 or more"),
        ("[plan.lab]\ndaily = 5", 1, "missing field `requests_per_second`"),
    ] {
        let problem = refusal(text);
        assert!(problem.starts_with(&format!("p.toml:{line}: ")), "{text}: {problem}");
        assert!(problem.contains(expected), "{text}: {problem}");
        assert!(!problem.contains("hunter2") && !problem.contains("4242"), "{problem}");
        assert!(!problem.contains('\n'), "{problem}");
    }
}

#[test]
fn value_that_makes_no_sense_names_its_field() {
    let node = "nodes = [{ url = \"http://a\" }]";
    let forks = "{ byzantium = 9, constantinople = 12 }";
    for (text, expected) in [
        (
            "[chain.bct]\n".to_owned(),
            r#"chain.bct: unknown chain "bct"; the nearest known one is "btc""#,
        ),
        (
            format!("[chain.btc]\nnetwork = \"mainet\"\n{node}"),
            r#"chain.btc.network: unknown network "mainet"; the nearest known one is "mainnet""#,
        ),
        (format!("[chain.btc]\nmethods = [\"getblockcout\"]\n{node}"), "getblockcount"),
        ("[chain.btc]\n".into(), "chain.btc.nodes: missing"),
        (format!("[chain.btc]\nhistory_from = 0\n{node}"), "chain.btc.history_from"),
        (format!("[chain.btc]\nreward_forks = {forks}\n{node}"), "chain.btc.reward_forks: only"),
        (
            format!("[chain.eth]\nreward_forks = {forks}\n{node}"),
            "chain.eth.reward_forks: those of mainnet are known",
        ),
        (
            format!("[chain.eth]\nnetwork = \"dev\"\nreward_forks = {{ byzantium = 4 }}\n{node}"),
            "missing field `constantinople`",
        ),
        (
            format!(
                "[chain.eth]\nnetwork = \"dev\"\nreward_forks = {{ byzantium = 4, \
                 constantinople = 3 }}\n{node}"
            ),
            "chain.eth.reward_forks: constantinople comes before byzantium",
        ),
        (
            "[chain.btc]\nnodes = [{url=\"http://a\"},{url=\"http://A/\"}]".into(),
            "chain.btc.nodes[1].url",
        ),
        (
            format!("[chain.btc]\n{node}\n[chain.ltc]\n{node}"),
            "chain.ltc.nodes[0].url: is the url of another node of chain.btc",
        ),
        (
            "[chain.btc]\nnodes = [{url=\"http://a\", slots=0}]".into(),
            "chain.btc.nodes[0].slots: must be at least 1",
        ),
        ("[store]\naccounts = \"db.example\"".into(), "store.accounts: must be like postgres://"),
        (
            "[store]\naccounts = \"postgres://u:hunter2@h/d\"".into(),
            "store.accounts: must have no password in it",
        ),
        (
            "[store]\naccounts_password_file = \"f\"".into(),
            "store.accounts_password_file: means nothing without store.accounts",
        ),
        ("[store]\nbuckets = \"cache.example\"".into(), "store.buckets: must be like redis://"),
        (
            "[store]\nbuckets = \"redis://u:hunter2@h\"".into(),
            "store.buckets: must have no password in it",
        ),
        (
            "[store]\nbuckets = \"redis://h\"".into(),
            "store.buckets: is for several processes on one store: give store.accounts too",
        ),
        (
            "[store]\nbuckets_ca = \"f\"".into(),
            "store.buckets_ca: means nothing without store.buckets",
        ),
        ("[gateway]\nlog_range = 0".into(), "gateway.log_range: must be at least 1"),
        ("[gateway]\nmax_head_bytes = 10".into(), "gateway.max_head_bytes: must be at least 8192"),
        ("[gateway]\ntls_cert = \"c\"".into(), "gateway.tls_key: missing"),
        (
            "[metrics]\nlisten = \"127.0.0.1:8480\"".into(),
            "metrics.listen: 127.0.0.1:8480 is the address of gateway already",
        ),
        ("[gateway]\ncors_origins = [\"wallet.example\"]".into(), "gateway.cors_origins"),
        ("[log]\nlevel = \"loud=very\"".into(), "log.level"),
        ("[plan.lab]\nrequests_per_second = 0".into(), "plan: plan \"lab\""),
        ("[plan.none]\nrequests_per_second = 1".into(), "plan: plan \"none\""),
        ("[serve]\ndrain_grace_secs = 601".into(), "serve.drain_grace_secs"),
        ("[serve]\nworkers = 0".into(), "serve.workers"),
        ("[serve]\nworkers = 1025".into(), "serve.workers"),
    ] {
        let problem = refusal(&text);
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}

#[test]
fn variable_overrides_the_file_in_the_type_of_its_field() {
    let text = "[gateway]\nlog_range = 7\n[[chain.btc.nodes]]\nurl = \"http://a\"";
    let config = load_with(
        text,
        &[
            ("PORTOLAN__GATEWAY__LISTEN", "0.0.0.0:1"),
            ("PORTOLAN__GATEWAY__LOG_RANGE", "9"),
            ("PORTOLAN__GATEWAY__CORS_ORIGINS", "https://a,https://b"),
            ("PORTOLAN__GATEWAY__TRUSTED_PROXIES", r#"["10.0.0.0/8"]"#),
            ("PORTOLAN__CHAIN__BTC__EXPLORER", "false"),
            ("PORTOLAN__CHAIN__BTC__NODES__0__USER", "u"),
            ("PORTOLAN__CHAIN__BTC__NODES__0__PASSWORD", "12345"),
            ("PORTOLAN__CHAIN__BTC__NODES__1__URL", "http://b"),
            ("PORTOLAN__CHAIN__LTC__NODES", r#"[{ url = "http://c" }]"#),
            ("PORTOLAN__CHAIN__LTC__METHODS", "getblockcount"),
            ("PORTOLAN__METRICS__LISTEN", "127.0.0.1:2"),
            ("PORTOLAN__PLAN__LAB__DAILY", "5"),
            ("PORTOLAN__PLAN__LAB__REQUESTS_PER_SECOND", "6"),
            ("PORTOLAN_OTHER", "x"),
            ("PATH", "x"),
        ],
    )
    .unwrap();
    assert_eq!(config.gateway.listen.to_string(), "0.0.0.0:1");
    assert_eq!(config.gateway.log_range, 9);
    assert_eq!(config.gateway.cors_origins, ["https://a", "https://b"]);
    assert_eq!(config.gateway.trusted_proxies.len(), 1);
    assert!(!config.chain["btc"].explorer);
    let node = &config.chain["btc"].nodes[0];
    assert_eq!(
        (node.user.as_deref(), &node.password),
        (Some("u"), &Some(node::Secret::new("12345")))
    );
    assert_eq!(config.chain["btc"].nodes[1].url, "http://b");
    assert_eq!(config.chain["ltc"].methods.as_deref(), Some(&["getblockcount".to_owned()][..]));
    assert_eq!(config.metrics.as_ref().unwrap().listen.port(), 2);
    assert_eq!(config.plans().find("lab").unwrap().daily, Some(5));
}

#[test]
fn empty_variable_is_an_empty_list_where_a_list_is_taken() {
    let text = "[gateway]\ntrusted_proxies = [\"10.0.0.0/8\"]\n[chain.btc]\nextra_methods = [\"x\"]\n\
                nodes = [{ url = \"http://a\" }]\n[plan.lab]\nrequests_per_second = 1\n";
    for empty in ["", " ", "[]", "[ ]"] {
        let lists = [
            ("PORTOLAN__GATEWAY__CORS_ORIGINS", empty),
            ("PORTOLAN__GATEWAY__TRUSTED_PROXIES", empty),
            ("PORTOLAN__EXPLORER__CORS_ORIGINS", empty),
            ("PORTOLAN__EXPLORER__TRUSTED_PROXIES", empty),
            ("PORTOLAN__CHAIN__BTC__EXTRA_METHODS", empty),
        ];
        let config = load_with(text, &lists).unwrap();
        let (gateway, explorer) = (&config.gateway, &config.explorer);
        assert!(gateway.cors_origins.is_empty() && explorer.cors_origins.is_empty(), "{empty:?}");
        assert!(gateway.trusted_proxies.is_empty() && explorer.trusted_proxies.is_empty());
        assert!(config.chain["btc"].extra_methods.is_empty(), "{empty:?}");
        // Where an empty list makes no sense, that is what is told.
        for (variable, told) in [
            ("PORTOLAN__EXPLORER__CHAINS", "explorer.chains: names no chain"),
            ("PORTOLAN__CHAIN__BTC__NODES", "chain.btc.nodes: missing"),
            ("PORTOLAN__CHAIN__BTC__METHODS", "chain.btc.methods: names no method"),
            ("PORTOLAN__PLAN__LAB__CHAINS", "plan: plan \"lab\": chains names none"),
        ] {
            let mut variables = vec![(variable, empty)];
            variables.push(("PORTOLAN__CHAIN__BTC__EXTRA_METHODS", ""));
            let problem = load_with(text, &variables).unwrap_err();
            assert!(problem.contains(told), "{variable}={empty:?}: {problem}");
        }
    }
    let items = |text: &str| {
        let config = load_with("", &[("PORTOLAN__GATEWAY__CORS_ORIGINS", text)]);
        config.map(|config| config.gateway.cors_origins)
    };
    assert_eq!(items("https://a, https://b,").unwrap(), ["https://a", "https://b"]);
    assert!(items("https://a,,https://b").unwrap_err().contains("gateway.cors_origins"));
    assert!(items(",").unwrap_err().contains("gateway.cors_origins"));
    assert!(
        refusal("chain.btc = { extra_methods = [\"\"], nodes = [{ url = \"http://a\" }] }")
            .contains("chain.btc.extra_methods: a method without a name")
    );
}

#[test]
fn section_is_no_list_in_a_variable() {
    for variable in [
        "PORTOLAN__GATEWAY",
        "PORTOLAN__LOG",
        "PORTOLAN__METRICS",
        "PORTOLAN__CHAIN",
        "PORTOLAN__CHAIN__BTC",
        "PORTOLAN__CHAIN__BTC__NODES__0",
        "PORTOLAN__PLAN__LAB",
    ] {
        for text in ["", "127.0.0.1:1", "[\"127.0.0.1:1\"]", "[]"] {
            let told = load_with("", &[(variable, text)]).map(|_| ());
            let problem = format!("{variable}: expected a section with fields");
            assert_eq!(told, Err(problem), "{text:?}");
        }
    }
    let told = load_with("", &[("PORTOLAN__GATEWAY", "{ log_range = 9 }")]).unwrap();
    assert_eq!(told.gateway.log_range, 9);
}

#[test]
fn bad_variable_is_named_and_its_text_is_not_shown() {
    for (name, text, expected) in [
        ("PORTOLAN__GATEWAY__LISEN", "hunter2", "the nearest known one is \"listen\""),
        ("PORTOLAN__GATEWAY__LOG_RANGE", "hunter2", "expected a whole number"),
        ("PORTOLAN__GATEWAY__LISTEN", "hunter2", "expected an address with a port"),
        ("PORTOLAN__GATEWAY__LISTEN__X", "hunter2", "expected"),
        ("PORTOLAN__GATEWAY", "hunter2", "expected"),
        ("PORTOLAN__", "hunter2", "the name of a field is missing"),
        ("PORTOLAN__CHAIN__BTC__NODES__5__URL", "hunter2", "names no field"),
    ] {
        let problem = load_with("", &[(name, text)]).unwrap_err();
        assert!(problem.starts_with(&format!("{name}: ")), "{problem}");
        assert!(problem.contains(expected), "{problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
}

#[test]
fn paths_are_relative_to_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("p.toml");
    let text =
        "[gateway]\ntls_cert='c'\ntls_key='/k'\n[[chain.btc.nodes]]\nurl='http://a'\ncookie='x'";
    fs::write(&file, text).unwrap();
    let config = Config::load(Some(&file), []).unwrap();
    assert_eq!(config.store.dir, dir.path().join("data"));
    assert_eq!(config.gateway.tls_cert, Some(dir.path().join("c")));
    assert_eq!(config.gateway.tls_key, Some(PathBuf::from("/k")));
    assert_eq!(config.chain["btc"].nodes[0].cookie, Some(dir.path().join("x")));
}

#[test]
fn named_file_must_be_there() {
    let error = Config::load(Some(Path::new("/absent/p.toml")), []).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /absent/p.toml: "), "{error}");
}

#[test]
fn debug_output_shows_no_password() {
    let config = load("[[chain.btc.nodes]]\nurl='http://a'\nuser='u'\npassword='hunter2'").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}
