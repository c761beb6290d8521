# Sourced by ./demo and ./test, which define say and as_root: finds Rust, or installs it where the
# distribution has a package for that (Debian 13, Ubuntu 24.04 and newer).

wanted_rust="$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)"

# A shell that is no login shell may not know where rustup put it.
export PATH="$PATH:$HOME/.cargo/bin"

# No cargo, one without a toolchain, or one that is too old.
rust_missing() {
    local there
    there="$(cargo --version 2>/dev/null | cut -d ' ' -f 2)" || true
    [ -z "$there" ] || [ "$(printf '%s\n' "$wanted_rust" "$there" | sort -V | head -n 1)" != "$wanted_rust" ]
}

# A package rustup that can be installed.
rustup_is_packaged() {
    command -v apt-get >/dev/null || return
    rustup_is_listed && return
    # The lists may never have been fetched.
    as_root apt-get update -q </dev/null >&2 || return
    rustup_is_listed
}

# No pipe into `grep -q`: it hangs up on what it has not read, which counts as a failure here.
rustup_is_listed() {
    local policy
    policy="$(apt-cache policy rustup 2>/dev/null)" && [[ "$policy" == *"Candidate: "[0-9]* ]]
}

install_rust() {
    if ! command -v rustup >/dev/null; then
        if ! rustup_is_packaged; then
            say "needs Rust $wanted_rust or newer, and this system has no package for it. Run this line, and"
            say "start this again:"
            say "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y"
            exit 1
        fi
        say "installs the Debian package rustup, in the place of the packages cargo and rustc if those"
        say "are there"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy rustup </dev/null >&2
        hash -r
    fi
    say "installs the stable toolchain of Rust by rustup, for this user"
    rustup toolchain install stable --profile minimal --component clippy,rustfmt </dev/null >&2
    export RUSTUP_TOOLCHAIN=stable
    # A cargo that rustup did not install may stand before its own.
    export PATH="$HOME/.cargo/bin:$PATH"
    if rust_missing; then
        say "needs Rust $wanted_rust or newer, and rustup's stable toolchain is older"
        exit 1
    fi
}
