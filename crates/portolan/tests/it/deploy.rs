//! What an operator installs: the unit, the image, the package, the dashboard, and what the program
//! says of itself. Other programs look at them where they are installed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use portolan::config::Config;
use serde_json::Value;

use crate::program::Folder;
use crate::program::stage::Stage;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a program says that may not be installed here.
fn said(program: &str, words: &[&str], dir: &Path) -> Option<Output> {
    let output = Command::new(program).args(words).current_dir(dir).output();
    if output.is_err() {
        println!("skipped: {program} is not installed here");
    }
    output.ok()
}

fn assert_done(output: &Output) {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn a_program_says_which_it_is_also_beside_a_broken_configuration() {
    let folder = Folder::with("this is no configuration");
    let version = folder.json(&["version"]);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["target"].as_str().unwrap().contains('-'), "{version}");
    for engine in ["rocksdb", "sqlite"] {
        let release = version["engines"][engine].as_str().unwrap();
        assert!(release.split('.').count() >= 3, "{version}");
    }
    for chain in chain::ALL {
        let format = &version["index_formats"][chain.slug];
        assert_eq!(format.is_u64(), index::ChainIndex::is_kept_of(chain), "{version}");
    }
    let commit = option_env!("PORTOLAN_COMMIT").filter(|commit| !commit.is_empty());
    assert_eq!(version.get("commit").and_then(Value::as_str), commit);
    let said = folder.run(&["version"]);
    assert!(said.code == 0 && said.out.starts_with("portolan "), "{said:?}");
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = Folder::with("this is no configuration");
    folder.json(&["manual", "--to", "man"]);
    let page = |name: &str| fs::read_to_string(folder.path().join("man").join(name)).unwrap();
    assert!(page("portolan.1").contains("portolan\\-serve(1)"));
    assert!(page("portolan-key-add.1").contains("\\-\\-daily\\-cap"));
    let version = env!("CARGO_PKG_VERSION");
    for file in fs::read_dir(folder.path().join("man")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let title = name.trim_end_matches(".1");
        let head = format!(".TH {title} 1  \"portolan {version}\" Portolan\n");
        assert!(page(&name).contains(&head), "{name}: {}", page(&name));
    }
    assert_eq!(folder.run(&["manual", "key", "add"]).out, page("portolan-key-add.1"));
    for words in [&["manual"][..], &["manual", "key", "add"]] {
        let said = folder.run(words);
        assert!(said.code == 0 && said.out.contains(".TH portolan"), "{said:?}");
        fs::write(folder.path().join("page"), &said.out).unwrap();
        let words = ["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "page"];
        if let Some(output) = self::said("man", &words, folder.path()) {
            assert_done(&output);
            let shown = ["-E", "UTF-8", "-l", "page"];
            let shown = self::said("man", &shown, folder.path()).unwrap();
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            let example = ["portolan -c portolan.toml serve", "--methods getblockcount,sendraw"];
            assert!(example.iter().any(|line| shown.contains(line)), "{shown}");
            assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let said = folder.run(&["manual", "kye"]);
    assert!(said.code == 2 && said.err.contains("nearest known one is \"key\""), "{said:?}");
}

#[test]
fn shells_learn_to_complete_our_words() {
    let folder = Folder::with("");
    for shell in ["bash", "zsh", "fish"] {
        let said = folder.run(&["completions", shell]);
        assert!(said.code == 0 && said.out.contains("daily-cap"), "{shell}: {}", said.err);
        fs::write(folder.path().join(shell), &said.out).unwrap();
        if let Some(output) = self::said(shell, &["-n", shell], folder.path()) {
            assert_done(&output);
        }
    }
    let completed = "_init_completion() { return 1; }; . ./bash; COMP_WORDS=(portolan index i); \
                     COMP_CWORD=2; _portolan portolan i index; echo \"${COMPREPLY[@]}\"";
    if let Some(output) = self::said("bash", &["-c", completed], folder.path()) {
        assert!(String::from_utf8_lossy(&output.stdout).contains("info"), "{output:?}");
    }
}

#[test]
fn the_unit_is_sound_and_keeps_the_process_in() {
    let unit = text("deploy/portolan.service");
    let dir = tempfile::tempdir().unwrap();
    // The program lies elsewhere here, and its user may not be there.
    let here = unit.replace("/usr/bin/portolan", env!("CARGO_BIN_EXE_portolan"));
    assert_ne!(here, unit);
    fs::write(dir.path().join("portolan.service"), here).unwrap();
    let verify = ["verify", "--man=no", "./portolan.service"];
    if let Some(output) = said("systemd-analyze", &verify, dir.path()) {
        let complaints = String::from_utf8_lossy(&output.stderr);
        let ours = complaints.lines().filter(|line| line.contains("portolan"));
        assert_eq!(ours.count(), 0, "{complaints}");
    }
    // Exposure of at most 2 of 10, in tenths.
    let security = ["security", "--offline=yes", "--threshold=20", "./portolan.service"];
    if let Some(output) = said("systemd-analyze", &security, dir.path()) {
        assert_done(&output);
    }
    let seconds = unit.split_once("TimeoutStopSec=").unwrap().1.lines().next().unwrap();
    let grace = Config::default().drain_grace().as_secs();
    assert!(seconds.parse::<u64>().unwrap() >= grace + 75, "it would be killed");
}

#[test]
fn what_is_installed_as_a_configuration_is_one() {
    let path = root().join("deploy/portolan.toml");
    let config = Config::load(Some(&path), []).unwrap();
    assert_eq!(config.store.dir, Path::new("/var/lib/portolan"));
    // The image and the unit rely on them.
    assert!(config.metrics.is_some());
    assert!(text("deploy/portolan.service").contains("StateDirectory=portolan\n"));
    assert!(config.chain.is_empty());
}

#[test]
fn image_and_composition_name_files_that_are_there() {
    let mut count = 0;
    let mut there = |base: &str, path: &str| {
        assert!(root().join(base).join(path).exists(), "{base}/{path}");
        count += 1;
    };
    let dockerfile = text("deploy/Dockerfile");
    let copies = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    for copy in copies.filter(|copy| !copy.starts_with("--from")) {
        there("", copy.split(' ').next().unwrap());
    }
    let compose = text("deploy/compose.yaml");
    for line in compose.lines().map(str::trim) {
        let mounted = line.strip_prefix("- .").map(|rest| format!(".{rest}"));
        if let Some((path, _)) = mounted.as_deref().and_then(|path| path.split_once(':')) {
            there("deploy", path);
        }
        if let Some(path) = line.strip_prefix("dockerfile: ") {
            there("", path);
        }
    }
    assert!(count >= 8, "{count}");
    // The base is the Rust that we are built by.
    let rust = text("Cargo.toml");
    let rust = rust.split_once("rust-version = \"").unwrap().1.split('"').next().unwrap();
    assert!(dockerfile.contains(&format!("FROM rust:{rust}-")), "{rust}");
    for strict in ["read_only: true", "cap_drop: [ALL]", "no-new-privileges:true"] {
        assert!(compose.contains(strict), "{strict}");
    }
    for line in ["\nUSER 10001:10001\n", "\nHEALTHCHECK "] {
        assert!(dockerfile.contains(line), "{line}");
    }
    let replicas = text("deploy/replicas/compose.yaml");
    for line in replicas.lines().map(str::trim) {
        let mounted = line.strip_prefix("- ").filter(|rest| rest.starts_with('.'));
        if let Some((path, _)) = mounted.and_then(|path| path.split_once(':'))
            && path != "./db.password"
        {
            assert!(root().join("deploy/replicas").join(path).exists(), "{path}");
        }
    }
    let words = ["Dockerfile"];
    if let Some(output) = said("hadolint", &words, &root().join("deploy")) {
        assert_done(&output);
    }
    if let Some(output) = said("docker", &["compose", "version"], &root()) {
        if output.status.success() {
            let words =
                ["compose", "-f", "deploy/compose.yaml", "--profile", "watch", "config", "-q"];
            assert_done(&said("docker", &words, &root()).unwrap());
            let words = ["compose", "-f", "deploy/replicas/compose.yaml", "config", "-q"];
            assert_done(&said("docker", &words, &root()).unwrap());
        } else {
            println!("skipped: docker has no compose here");
        }
    }
}

#[test]
fn prometheus_takes_its_configuration_and_the_alarms() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("prometheus.yml"), text("deploy/prometheus.yml")).unwrap();
    fs::write(dir.path().join("alerts.yaml"), text("docs/alerts.yaml")).unwrap();
    if let Some(output) = said("promtool", &["check", "config", "prometheus.yml"], dir.path()) {
        assert_done(&output);
    }
}

/// What the expressions of a dashboard name: metrics, and prefixes all of whose metrics are shown.
struct Shown {
    names: BTreeSet<String>,
    prefixes: BTreeSet<String>,
}

impl Shown {
    fn of(dashboard: &Value) -> Shown {
        let (mut names, mut prefixes) = (BTreeSet::new(), BTreeSet::new());
        let panels = dashboard["panels"].as_array().unwrap();
        let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
        for target in targets {
            let expression = target["expr"].as_str().unwrap();
            let whole = expression.split("__name__=~\"").skip(1);
            prefixes.extend(whole.map(|rest| rest.split('.').next().unwrap().to_owned()));
            let words = expression.split(|at: char| !at.is_ascii_alphanumeric() && at != '_');
            let metrics = words.filter(|word| is_metric(word) && !word.ends_with('_'));
            names.extend(metrics.map(|name| name.trim_end_matches("_bucket").to_owned()));
        }
        Shown { names, prefixes }
    }

    fn has(&self, metric: &str) -> bool {
        self.names.contains(metric) || self.prefixes.iter().any(|it| metric.starts_with(it))
    }
}

fn is_metric(word: &str) -> bool {
    word.starts_with("portolan_") || word.starts_with("process_")
}

#[test]
fn the_dashboard_shows_every_metric() {
    let dashboard: Value = serde_json::from_str(&text("deploy/grafana/portolan.json")).unwrap();
    let ids = dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["id"].as_u64());
    let distinct: BTreeSet<Option<u64>> = ids.clone().collect();
    assert_eq!(distinct.len(), ids.count(), "two panels have one id");
    let shown = Shown::of(&dashboard);
    // What a running program shows, and the table of all, which another test holds against it.
    let stage = Stage::new();
    let serving = stage.serve();
    let address = serving.address("metrics and health listen");
    let page = crate::program::http(address, "GET", "/metrics", "", "").unwrap().body;
    let running = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let told = text("docs/operate.md");
    let told = told.lines().filter_map(|line| line.strip_prefix("| `portolan_")?.split('`').next());
    let mut all: BTreeSet<String> = told.map(|name| format!("portolan_{name}")).collect();
    all.extend(running.map(str::to_owned));
    assert!(all.len() >= 28, "{all:?}");
    let missing: Vec<&String> = all.iter().filter(|metric| !shown.has(metric)).collect();
    assert!(
        missing.is_empty(),
        "deploy/grafana/portolan.json has no panel with {missing:?}; a table of \
         {{__name__=~\"portolan_PREFIX_.+\"}} shows all of a prefix"
    );
    let stale: Vec<&String> = shown.names.difference(&all).collect();
    assert!(stale.is_empty(), "there are no such metrics: {stale:?}");
    is_healthy_as_long_as_it_runs(serving, address);
}

/// The health check of the image.
fn is_healthy_as_long_as_it_runs(
    mut serving: crate::program::Running,
    address: std::net::SocketAddr,
) {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let script = root().join("deploy/healthy");
    let healthy = || Command::new(&script).args([&host, &port]).status().unwrap().success();
    assert!(healthy());
    serving.signal("TERM");
    serving.wait();
    assert!(!healthy());
}

#[test]
fn the_package_names_files_that_are_there() {
    let manifest: toml::Table = text("crates/portolan/Cargo.toml").parse().unwrap();
    let deb = &manifest["package"]["metadata"]["deb"];
    let base = root().join("crates/portolan");
    let assets = deb["assets"].as_array().unwrap();
    let mut installed = BTreeSet::new();
    for asset in assets.iter().map(|asset| asset.as_array().unwrap()) {
        let (source, target) = (asset[0].as_str().unwrap(), asset[1].as_str().unwrap());
        // What deploy/package makes there is named by it.
        let is_made = source.strip_prefix("../../target/package/");
        match is_made {
            Some("man/*.gz") => {}
            Some(made) => {
                let stem = made.split('.').next().unwrap();
                assert!(
                    text("deploy/package").contains(&format!("target/package/{stem}")),
                    "{made}"
                );
            }
            None => assert!(base.join(source).exists(), "{source}"),
        }
        installed.insert(target.to_owned());
    }
    for file in deb["conf-files"].as_array().unwrap() {
        let file = file.as_str().unwrap().trim_start_matches('/');
        assert!(installed.contains(file), "{file}");
    }
    let unit = deb["systemd-units"]["unit-scripts"].as_str().unwrap();
    assert!(base.join(unit).join("portolan.service").exists());
    let scripts = base.join(deb["maintainer-scripts"].as_str().unwrap());
    for script in ["postinst", "prerm", "postrm"] {
        let path = scripts.join(script);
        assert!(fs::read_to_string(&path).unwrap().contains("\n#DEBHELPER#\n"), "{script}");
        assert_done(&said("sh", &["-n", path.to_str().unwrap()], &base).unwrap());
    }
}

#[test]
fn every_script_is_one_that_a_shell_reads() {
    for script in ["deploy/package", "deploy/healthy"] {
        assert_done(&said("bash", &["-n", script], &root()).unwrap());
    }
}

/// The real script, on a program that is built, with a stand-in for cargo.
#[test]
fn the_package_is_stripped_and_its_line_tables_lie_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str, mode: u32| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    write("deploy/package", &text("deploy/package"), 0o755);
    write(".ci/release", &text(".ci/release"), 0o755);
    write("bin/cargo", "#!/bin/sh\nexit 0\n", 0o755);
    let program = env!("CARGO_BIN_EXE_portolan");
    let path = format!("{}:{}", dir.path().join("bin").display(), std::env::var("PATH").unwrap());
    let packed = Command::new(dir.path().join("deploy/package"))
        .arg(program)
        .env("PATH", path)
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_done(&packed);
    let bytes = |name: &str| fs::read(dir.path().join("target/package").join(name)).unwrap();
    let (packed, lines) = (bytes("portolan"), bytes("portolan.debug"));
    assert!(packed.len() < fs::metadata(program).unwrap().len() as usize);
    let has = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).any(|found| found == what);
    assert!(has(&packed, b".gnu_debuglink") && has(&packed, b"portolan.debug\0"));
    assert!(has(&lines, b".symtab") && !has(&packed, b".symtab"));
}

#[test]
fn the_image_is_stripped_and_its_line_tables_can_be_had() {
    let image = text("deploy/Dockerfile");
    let (built, last) = image.rsplit_once("\nFROM ").unwrap();
    assert!(built.contains(".ci/release /usr/bin/portolan\n"), "{built}");
    let lines = "FROM scratch AS lines\nCOPY --from=build /usr/bin/portolan.debug /\n";
    assert!(built.contains(lines) && !last.contains(".debug"), "{image}");
    let left_out = text("deploy/Dockerfile.dockerignore");
    assert!(!left_out.lines().any(|line| line.starts_with(".ci")), "{left_out}");
}
