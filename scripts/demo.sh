#!/bin/sh
# Shows what keisei does at this stage: it lints, composes, judges tool calls and runs tasks. Run by `make demo`, after the
# set-up.
#
# Needs .venv, and nothing else: no network, no agent, no settings of the user. Everything is written into a temporary
# folder that is removed at the end, also after an interruption. Ends with 1 where something differs from what it says.
set -eu

cd "$(dirname "$0")/.."
root=$(pwd -P)
examples=$root/src/keisei/kit/examples/tasks

work=$(mktemp -d "${TMPDIR:-/tmp}/keisei-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

# The kit as it ships: a user's own layer, a kit root and a project around us take no part.
mkdir -p "$work/project/.keisei" "$work/home"
export HOME="$work/home" XDG_CONFIG_HOME="$work/home/.config" KEI_KIT_ROOT=
export KEISEI_HOME="$work/state" KEISEI_DATABASE_URL= XDG_RUNTIME_DIR=

# -I: neither PYTHONPATH nor a file called keisei.py in the way. -X utf8: in the C locale, -I would mean ASCII.
keisei() { "$root/.venv/bin/python" -I -X utf8 -m keisei "$@"; }
step() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
say() { printf '  %s\n' "$*"; }
quote() { sed 's/^/    | /' "$1"; }
differs() {
    printf '\nThis is not what the demo promises: %s\n' "$1" >&2
    [ ! -s "$work/said" ] || sed 's/^/  /' "$work/said" >&2
    exit 1
}

# Runs a command that must end with the exit code that is named first, and keeps what it said.
ends_with() {
    wanted=$1 code=0
    shift
    "$@" >"$work/said" 2>&1 || code=$?
    [ "$code" = "$wanted" ] || differs "\`$*\` ends with $code instead of $wanted"
}

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m')
fi

[ -x "$root/.venv/bin/python" ] || { echo "keisei: cannot run .venv/bin/python; run: make setup" >&2; exit 1; }
cd "$work/project"

printf '%s: it lints, composes, gates and runs.\n' "$(keisei --version)"

step "1. Lint the kit that ships"
keisei lint --strict --kit-root "$root/src/keisei/kit" >"$work/said" 2>&1 || differs "the kit has problems"
grep -q 'no errors, no warnings$' "$work/said" || differs "the kit has problems"
say "\$ keisei lint --strict --kit-root src/keisei/kit"
quote "$work/said"

step "2. Compose the shipped example tasks into prompts"
count=0
for file in "$examples"/*.toml; do
    name=$(basename "$file" .toml)
    mkdir -p "$name"
    cp "$file" "$name/task.toml"
    keisei agent compose "$name/task.toml" >"$work/prompt" 2>"$work/said" || differs "$name does not compose"
    cmp -s "$work/prompt" "$name/prompt.md" || differs "prompt.md of $name is not what was printed"
    role=$(sed -n 's/^role = "\(.*\)"$/\1/p' "$file")
    rules=$(($(grep -c '^---$' "$name/prompt.md") - 1))
    words=$(wc -w <"$name/prompt.md" | tr -d ' ')
    say "$(printf '%-17s role %-11s %s rules, then scope and task: %4s words' "$name" "$role" "$rules" "$words")"
    count=$((count + 1))
done
[ "$count" = 5 ] || differs "there are $count example tasks instead of 5"
sed -n '/^## Your task/,$p' critic/prompt.md >"$work/tail"
[ -s "$work/tail" ] || differs "the critic's prompt has no scope block"

step "3. A role that nobody may have is refused"
mkdir -p push
printf '[task]\nrole = "git-ops"\n\n[body]\ntext = "Push the branch."\n' >push/task.toml
ends_with 1 keisei agent compose push/task.toml
grep -q 'RULE 0\.13' "$work/said" || differs "the refusal does not name RULE 0.13"
[ ! -e push/prompt.md ] || differs "a refused task has a prompt"
say "\$ keisei agent compose push/task.toml"
quote "$work/said"

step "4. A misspelt key is an error, with its place and a hint"
mkdir -p typo
printf '[task]\nrole = "edit-local"\n\n[scope]\nfile-whitelist = ["src/**"]\n' >typo/task.toml
ends_with 1 keisei lint tasks typo/task.toml
grep -q 'typo/task\.toml:5:1: error\[unknown-key\]' "$work/said" || differs "the place of the mistake is not named"
grep -q 'did you mean .files-whitelist.?' "$work/said" || differs "there is no hint"
say "\$ keisei lint tasks typo/task.toml"
quote "$work/said"

step "5. A tool call is judged by what it would do, before it happens"
judge() { keisei gate explain --task code-implementer/task.toml --command "$1"; }
call="sh -c 'g\"\"it push'"
ends_with 2 judge "$call"
grep -q '^deny: policy::no-git-ops: .git push. (inside sh)' "$work/said" || differs "the push is not what is refused"
say "\$ keisei gate explain --task code-implementer/task.toml --command \"$(printf '%s' "$call" | sed 's/"/\\"/g')\""
head -n 1 "$work/said" >"$work/first"
quote "$work/first"
call='python -m pytest -q 2>&1 | tail -5'
ends_with 0 judge "$call"
[ "$(grep -c '^  runs ' "$work/said")" = 2 ] || differs "two commands are not seen"
say "\$ keisei gate explain --task code-implementer/task.toml --command '$call'"
head -n 1 "$work/said" >"$work/first"
quote "$work/first"

step "6. Work is queued and run, or begins by itself; words complete nothing, evidence does; what is stuck asks"
printf '[project]\nname = "demo"\n\n[runner]\nretry-first-s = 0.0\n' >keisei.toml
queue() { ends_with 0 keisei task add --type script --subject "$1" --payload "{\"args\": [\"-c\", \"$2\"]}"; }
queue "says so" 'echo all tests pass; exit 1'
queue "does it" 'echo 42'
ends_with 0 keisei runner --until-idle
ends_with 0 keisei task list
grep -q 'blocked  *3/3 .*says so' "$work/said" || differs "the task that only talks is not blocked"
grep -q 'completed  *1/3 .*does it' "$work/said" || differs "the task that works is not completed"
say "\$ keisei runner --until-idle; keisei task list"
sed 's/^[^ ]*  *//; s/  *20[0-9-]* [0-9:]*Z//; s/created  *//' "$work/said" >"$work/table"
quote "$work/table"
ends_with 0 keisei ledger verify
say "\$ keisei ledger verify"
quote "$work/said"

ends_with 0 keisei approval list
grep -q ' task  *open .*attempts used up' "$work/said" || differs "nobody is asked about the task that is blocked"
say "\$ keisei approval list"
sed 's/^[^ ]*  *//; s/  *20[0-9-]* [0-9:]*Z//; s/  *[0-9a-f]*-[0-9a-f-]*  */  /' "$work/said" | tail -n 1 >"$work/table"
quote "$work/table"
ends_with 0 keisei schedule add hourly --every 1h --type script --payload '{"args": ["-c", "true"]}'
ends_with 0 keisei runner --until-idle
ends_with 0 keisei schedule slots hourly
grep -q 'hourly .* enqueued  *1 ' "$work/said" || differs "the slot has left no row"
say "\$ keisei schedule add hourly --every 1h ...; keisei runner --until-idle; keisei schedule slots hourly"
sed 's/  *20[0-9-]* [0-9:]*Z//' "$work/said" | tail -n 1 >"$work/table"
quote "$work/table"

printf '\nAll of it was as promised. No coding agent was run, and none of the judged calls.\n'
printf 'Next: docs/tutorial/first-role.md. What is not there yet: docs/explanation/what-comes-next.md.\n'
