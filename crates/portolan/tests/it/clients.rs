//! Common client libraries against the demo: the programs of `docs/clients`, as they stand there.
//!
//! Those in Python and JavaScript run where npm and PyPI are reached; a library that cannot be
//! installed is skipped, and says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::Folder;

/// What npm installs, by the names that the programs import.
const NPM: [&str; 5] = [
    "bitcoin-core@5.0.0",
    "ethers@6.17.0",
    "ethers5@npm:ethers@5.8.0",
    "viem@2.57.20",
    "web3@4.16.0",
];
const PYPI: [&str; 3] = ["python-bitcoinrpc==1.0", "web3==8.0.0", "monero==1.1.1"];

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/clients")
}

/// Kept between runs, beside the other tools of the tests.
fn tools() -> PathBuf {
    let named = std::env::var_os("PORTOLAN_TEST_TOOLS").map(PathBuf::from);
    let home = || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache/portolan-test-tools");
    named.unwrap_or_else(home).join("clients")
}

/// Runs a command for its success; none if it is not there.
fn succeeds(command: &mut Command) -> bool {
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ran.is_ok_and(|status| status.success())
}

/// A mark that is written when an installation is complete, with what it has.
fn installed(folder: &Path, what: &[&str], install: impl FnOnce() -> bool) -> bool {
    let (mark, list) = (folder.join("complete"), what.join(" "));
    if fs::read_to_string(&mark).is_ok_and(|text| text == list) {
        return true;
    }
    fs::create_dir_all(folder).unwrap();
    install() && fs::write(&mark, list).is_ok()
}

fn javascript() -> Option<PathBuf> {
    let folder = tools().join("js");
    let install = || {
        fs::write(folder.join("package.json"), r#"{"private":true}"#).unwrap();
        let flags = ["install", "--no-fund", "--no-audit", "--no-save", "--ignore-scripts"];
        succeeds(Command::new("npm").args(flags).args(NPM).current_dir(&folder))
    };
    installed(&folder, &NPM, install).then_some(folder)
}

fn python() -> Option<PathBuf> {
    let folder = tools().join("py");
    let install = || {
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))
            && succeeds(Command::new(folder.join("bin/pip")).args(["install", "-q"]).args(PYPI))
    };
    installed(&folder, &PYPI, install).then_some(folder)
}

/// What a program printed, last line.
fn printed(command: &mut Command, ready: &Value) -> String {
    let key = ready["key"].as_str().unwrap();
    let ran =
        command.env("URL", ready["gateway"].as_str().unwrap()).env("KEY", key).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{command:?}: {out}{}", err.replace(key, "KEY"));
    out.trim().lines().last().unwrap_or_default().to_owned()
}

/// The tip of the chain that a program asks for.
fn tip(text: &str) -> &'static str {
    match text {
        _ if text.contains("/rpc/btc") => "140",
        _ if text.contains("/rpc/eth") => "20",
        _ if text.contains("/rpc/xmr") => "171",
        _ => panic!("a chain that is not known here: {text}"),
    }
}

#[test]
fn common_libraries_work_as_the_documents_show() {
    let folder = Folder::with("");
    let mut demo = folder.start(&["demo", "--json"]);
    let ready: Value = serde_json::from_str(&demo.line()).unwrap();
    let (javascript, python) = (javascript(), python());
    let mut files: Vec<PathBuf> =
        fs::read_dir(programs()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let document = fs::read_to_string(programs().join("../clients.md")).unwrap();
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(document.contains(&format!("(clients/{name})")), "{name} is not in the table");
        let mut command = match (name.rsplit('.').next().unwrap(), &javascript, &python) {
            ("mjs", Some(folder), _) => {
                // A module is looked for beside the program that imports it.
                let copy = folder.join(name);
                fs::copy(&file, &copy).unwrap();
                let mut command = Command::new("node");
                command.arg(copy);
                command
            }
            ("py", _, Some(folder)) => {
                let mut command = Command::new(folder.join("bin/python"));
                command.arg(&file);
                command
            }
            _ => {
                println!("skipped: {name}, whose library is not installed here");
                continue;
            }
        };
        assert_eq!(
            printed(&mut command, &ready),
            tip(&fs::read_to_string(&file).unwrap()),
            "{name}"
        );
    }
    demo.signal("INT");
    assert!(demo.wait().success());
}
