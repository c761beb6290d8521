//! How `./demo` and `./test` come to Rust, on systems that have none, an old one, or a package.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Programs of the system that the scripts use.
const TOOLS: [&str; 8] = ["bash", "sed", "cut", "sort", "head", "grep", "env", "cp"];

/// A system of its own: a folder of programs, some of them made up, and what they were told.
struct System {
    dir: TempDir,
}

impl System {
    fn new() -> System {
        let system = System { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(system.bin()).unwrap();
        for tool in TOOLS {
            let found = ["/usr/bin", "/bin"].iter().map(|dir| Path::new(dir).join(tool));
            let found = found.into_iter().find(|path| path.exists()).unwrap();
            symlink(found, system.bin().join(tool)).unwrap();
        }
        system
    }

    fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    /// A program that notes how it was called, and does what is given besides.
    fn program(&self, name: &str, does: &str) {
        let path = self.bin().join(name);
        let told = self.dir.path().join("told");
        let text = format!("#!/bin/bash\necho {name} \"$@\" >>{}\n{does}\n", told.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn cargo(&self, version: &str) {
        self.program("cargo", &format!("echo 'cargo {version} (abc 2026-01-01)'"));
    }

    /// apt with a package rustup, whose toolchain has a new cargo.
    fn apt_with_rustup(&self) {
        let (bin, store) = (self.bin(), self.dir.path().join("packages"));
        fs::create_dir(&store).unwrap();
        // What will be installed stands ready elsewhere.
        let ready = |name: &str, does: &str| {
            self.program(name, does);
            fs::rename(bin.join(name), store.join(name)).unwrap();
        };
        let before = fs::read(bin.join("cargo")).ok();
        self.cargo("1.99.0");
        fs::rename(bin.join("cargo"), store.join("cargo")).unwrap();
        ready("rustup", &format!("cp {} {}", store.join("cargo").display(), bin.display()));
        if let Some(cargo) = before {
            fs::write(bin.join("cargo"), cargo).unwrap();
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(bin.join("cargo"), mode).unwrap();
        }
        // It has more to say behind that, and ends badly if nobody reads on.
        let policy =
            "echo '  Candidate: 1.27.1-3'; for n in {1..20000}; do echo '  500 main'; done";
        self.program("apt-cache", policy);
        let install = format!("cp {} {}", store.join("rustup").display(), bin.display());
        self.program("apt-get", &format!("[ \"$1\" = install ] && {install}"));
    }

    /// Runs what the scripts do about Rust. Gives the exit code, what was said, and which programs
    /// were told what.
    fn run(&self) -> (i32, String, String) {
        let script = "set -euo pipefail\nsay() { printf '%s\\n' \"$*\"; }\nas_root() { \"$@\"; }\n\
                      . .ci/rust.sh\nif rust_missing; then install_rust; fi\ncargo --version";
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let output = Command::new(self.bin().join("bash"))
            .args(["-c", script])
            .current_dir(root)
            .env_clear()
            .env("PATH", self.bin())
            .env("HOME", self.dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let said = said + &String::from_utf8(output.stderr).unwrap();
        let told = fs::read_to_string(self.dir.path().join("told")).unwrap_or_default();
        (output.status.code().unwrap(), said, told)
    }
}

#[test]
fn a_rust_that_is_new_enough_is_taken_as_it_is() {
    for version in ["1.95.0", "1.100.2", "2.0.0"] {
        let system = System::new();
        system.cargo(version);
        let (code, said, told) = system.run();
        assert_eq!((code, told.contains("apt")), (0, false), "{version}: {said}");
    }
}

#[test]
fn a_missing_or_old_rust_is_installed_where_there_is_a_package() {
    for version in [None, Some("1.63.0"), Some("1.94.9")] {
        let system = System::new();
        if let Some(version) = version {
            system.cargo(version);
        }
        system.apt_with_rustup();
        let (code, said, told) = system.run();
        assert_eq!(code, 0, "{version:?}: {said}\n{told}");
        assert!(told.contains("apt-get install -qy rustup"), "{told}");
        assert!(told.contains("rustup toolchain install stable --profile minimal"), "{told}");
        assert!(said.contains("cargo 1.99.0"), "{said}");
    }
}

#[test]
fn a_system_without_the_package_is_told_the_one_line() {
    let system = System::new();
    system.cargo("1.63.0");
    let (code, said, told) = system.run();
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("sh.rustup.rs | sh"), "{said}");
    assert!(!told.contains("apt-get"), "{told}");
    let system = System::new();
    system.program("apt-cache", "echo '  Candidate: (none)'");
    system.program("apt-get", "");
    let (code, said, told) = system.run();
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("needs Rust 1.95 or newer"), "{said}");
    assert!(!told.contains("install"), "{told}");
}

#[test]
fn a_program_is_released_stripped_with_its_line_tables_beside_it() {
    if Command::new("objcopy").arg("--version").output().is_err() {
        println!("skipped: there is no objcopy");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("odd.rs");
    fs::write(
        &source,
        "fn main() { println!(\"{}\", std::backtrace::Backtrace::force_capture()) }",
    )
    .unwrap();
    let built = Command::new("rustc")
        .args(["-C", "debuginfo=line-tables-only", "odd.rs"])
        .current_dir(dir.path())
        .status();
    assert!(built.unwrap().success());
    let program = dir.path().join("odd");
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let before = size(&program);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/release");
    let output = Command::new(script).arg(&program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(size(&program) < before / 2, "{} of {before} bytes are left", size(&program));
    let run =
        |program: &Path| String::from_utf8(Command::new(program).output().unwrap().stdout).unwrap();
    assert!(run(&program).contains("odd.rs:1"), "{}", run(&program));
    // Without the file beside it, it runs all the same.
    fs::remove_file(dir.path().join("odd.debug")).unwrap();
    assert!(!run(&program).contains("odd.rs:1"));
}
