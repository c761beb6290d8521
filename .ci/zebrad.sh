#!/usr/bin/env bash
# For developers: installs zebrad, which the tests of zec then run against live where it is on PATH.
# Its build takes half an hour and more, too long for every change; nothing calls this by itself.
set -euo pipefail

if command -v zebrad >/dev/null; then
    echo "zebrad is there: $(command -v zebrad), $(zebrad --version)"
    exit 0
fi
missing=()
for program in cargo clang protoc; do
    command -v "$program" >/dev/null || missing+=("$program")
done
if [ "${#missing[@]}" -gt 0 ]; then
    echo "needs ${missing[*]}: apt-get install clang libclang-dev protobuf-compiler" >&2
    exit 1
fi
# Its default features are metrics, telemetry and a progress bar, which no test looks at.
cargo install zebrad --locked --no-default-features
