//! What reads documents of interfaces takes all of ours: a linter, and makers of clients.
//!
//! They are installed where npm, PyPI and Maven Central are reached; one that cannot be had is
//! skipped, and says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const REDOCLY: &str = "@redocly/cli@2.77.0";
const GENERATOR: &str = "@openapitools/openapi-generator-cli@2.41.0";
const PYTHON_CLIENT: &str = "openapi-python-client==0.29.1";

const DOCUMENTS: [&str; 4] = ["explorer", "explorer-accounts", "explorer-rings", "gateway"];

fn document(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api");
    folder.join(format!("{name}.openapi.yaml")).canonicalize().unwrap()
}

/// Kept between runs, beside the other tools of the tests.
fn tools(kind: &str) -> PathBuf {
    let named = std::env::var_os("PORTOLAN_TEST_TOOLS").map(PathBuf::from);
    let home = || Path::new(&std::env::var_os("HOME").unwrap()).join(".cache/portolan-test-tools");
    named.unwrap_or_else(home).join("generators").join(kind)
}

/// Runs a command for its success; none if it is not there.
fn succeeds(command: &mut Command) -> bool {
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ran.is_ok_and(|status| status.success())
}

/// The folder of a tool, with a mark that is written when it is there whole.
fn installed(kind: &str, what: &str, install: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
    let folder = tools(kind);
    let mark = folder.join("complete");
    if fs::read_to_string(&mark).is_ok_and(|text| text == what) {
        return Some(folder);
    }
    fs::create_dir_all(&folder).unwrap();
    if install(&folder) && fs::write(&mark, what).is_ok() {
        return Some(folder);
    }
    println!("skipped: {what} cannot be installed here");
    None
}

fn by_npm(kind: &str, what: &str) -> Option<PathBuf> {
    installed(kind, what, |folder| {
        fs::write(folder.join("package.json"), r#"{"private":true}"#).unwrap();
        let flags = ["install", "--no-fund", "--no-audit", "--no-save", "--ignore-scripts", what];
        succeeds(Command::new("npm").args(flags).current_dir(folder))
    })
}

/// Runs a tool that has to succeed.
fn takes(command: &mut Command) {
    let ran = command.stdin(Stdio::null()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{command:?}\n{out}\n{err}");
}

#[test]
fn a_linter_finds_nothing() {
    let Some(folder) = by_npm("redocly", REDOCLY) else { return };
    let mut lint = Command::new(folder.join("node_modules/.bin/redocly"));
    lint.env("REDOCLY_TELEMETRY", "off").env("REDOCLY_SUPPRESS_UPDATE_NOTICE", "true");
    takes(lint.arg("lint").args(DOCUMENTS.map(document)));
}

#[test]
fn a_client_in_python_is_made_without_a_warning() {
    let folder = installed("python", PYTHON_CLIENT, |folder| {
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(folder))
            && succeeds(Command::new(folder.join("bin/pip")).args(["install", "-q", PYTHON_CLIENT]))
    });
    let Some(folder) = folder else { return };
    // It looks for a formatter that is installed with it.
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.join("bin").display());
    for name in DOCUMENTS {
        let made = tempfile::tempdir().unwrap();
        let mut make = Command::new(folder.join("bin/openapi-python-client"));
        make.env("PATH", &path).args(["generate", "--fail-on-warning", "--meta", "none"]);
        make.arg("--path").arg(document(name)).arg("--output-path").arg(made.path().join("made"));
        takes(&mut make);
        takes(Command::new("python3").args(["-m", "compileall", "-q"]).arg(made.path()));
    }
}

#[test]
fn openapi_generator_makes_a_client() {
    let Some(folder) = by_npm("generator", GENERATOR) else { return };
    let generator = || {
        let mut command = Command::new(folder.join("node_modules/.bin/openapi-generator-cli"));
        command.current_dir(&folder);
        command
    };
    // The program itself comes at its first use, and wants Java.
    if !succeeds(generator().arg("help")) {
        println!("skipped: OpenAPI Generator does not run here");
        return;
    }
    for name in DOCUMENTS {
        takes(generator().arg("validate").arg("-i").arg(document(name)));
        let made = tempfile::tempdir().unwrap();
        let mut make = generator();
        make.args(["generate", "-g", "python", "-i"]).arg(document(name));
        takes(make.arg("-o").arg(made.path()));
    }
}
