#!/bin/sh
# Compiles the pins in requirements/ anew, each to the newest release that fits. Needs .venv (`make setup`) and network.
#
# The pins hold for every platform and every Python from 3.11 on, carry hashes, and name no registry.
set -eu
cd "$(dirname "$0")/.."

python=.venv/bin/python
if ! .tools/uv/bin/python -I -m uv --version >/dev/null 2>&1; then
    rm -rf .tools/uv
    "$python" -I -m venv --without-pip .tools/uv
    "$python" -I -m pip --disable-pip-version-check -qq --python .tools/uv/bin/python install --no-user uv
fi

compile() {
    pins=$1
    shift
    printf 'keisei: compiling %s\n' "$pins" >&2
    .tools/uv/bin/python -I -m uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-header --custom-compile-command "make requirements" --output-file "$pins" "$@"
}

compile requirements/user.txt pyproject.toml requirements/user.in
# The pins of user.txt bind test.txt, so both levels run the same packages.
compile requirements/test.txt --constraints requirements/user.txt pyproject.toml requirements/user.in requirements/test.in
compile requirements/node.txt requirements/node.in
compile requirements/hermes.txt requirements/hermes.in
# The peers of the benches share drivers with keisei, in the same versions.
compile requirements/bench.txt --constraints requirements/user.txt requirements/bench.in

# The versions of TypeScript, Mermaid, the console's browser code and the harnesses stand in package.json; this writes
# their hashes.
lock() (
    printf 'keisei: compiling %s\n' "requirements/$1/package-lock.json" >&2
    cd "requirements/$1"
    npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund \
        --loglevel=error >/dev/null
)

if npm --version >/dev/null 2>&1; then
    lock typescript
    lock inspector
    lock mermaid
    lock web
    lock harness
else
    echo "keisei: npm is missing, so requirements/{typescript,inspector,mermaid,web,harness}/package-lock.json stay as they are" >&2
fi
