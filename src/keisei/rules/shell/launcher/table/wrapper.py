"""Forms of what wraps a program on this machine: the environment, time, limits, locks and watchers."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Form, make_form

_ARCH = (
    "-BFILRSTXZ3v --32bit --fdpic-funcptrs --short-inode --addr-compat-layout --addr-no-randomize --whole-seconds"
    " --sticky-timeouts --read-implies-exec --mmap-page-zero --3gb --4gb --uname-2.6 --verbose --list:stop --show?"
    " -p:stop"
)
_NUMBERS = make_form("-acdflmoprst=", "")
FORMS: Mapping[str, Form] = {
    # the environment, the shell's own words, and time
    "env": make_form(
        "-i0v -u= -a= -P= -C=:dir -S=:split,end --ignore-environment --null --debug --unset= --argv0= --chdir=:dir"
        " --split-string=:split,end --block-signal? --default-signal? --ignore-signal? --list-signal-handling",
        "assigns",
    ),
    "command": make_form("-p -v:quiet -V:quiet"),
    "builtin": make_form(),
    "exec": make_form("-cl -a="),
    "coproc": make_form(),
    "noglob": make_form(),
    "nocorrect": make_form(),
    "time": make_form("-pavqV -fo= --format= --output= --append --portability --quiet --verbose"),
    "jobs": make_form("-lnprs -x:words", rest="none"),
    # what limits, detaches or orders a program
    "nohup": make_form(),
    "setsid": make_form("-cfw --ctty --fork --wait"),
    "nice": make_form("-n= --adjustment=", "digits"),
    "ionice": make_form(
        "-cn= -t -p=:stop -P=:stop -u=:stop --class= --classdata= --ignore --pid=:stop --pgid=:stop --uid=:stop"
    ),
    "stdbuf": make_form("-ioe= --input= --output= --error="),
    "unbuffer": make_form("-p"),
    "timeout": make_form("-fpv -ks= --foreground --preserve-status --verbose --kill-after= --signal=", before=1),
    "taskset": make_form("-ac -p:stop --all-tasks --cpu-list --pid:stop", before=1),
    "chrt": make_form(
        "-bdfiorRav -TPD= -m:stop -p:stop --batch --deadline --fifo --idle --other --rr --ext -e --reset-on-fork"
        " --all-tasks --verbose --max:stop --pid:stop --sched-runtime= --sched-period= --sched-deadline=",
        before=1,
    ),
    "numactl": make_form(
        "-ipPmNCwLMoFI= -lab -s:stop -H:stop --interleave= --preferred= --preferred-many= --membind= --cpunodebind="
        " --physcpubind= --localalloc --all --balancing --show:stop --hardware:stop --weighted-interleave= -c="
        " --cpubind="
    ),
    "prlimit": make_form(
        "-p=:stop -o= -c? -d? -e? -f? -i? -l? -m? -n? -q? -r? -s? -t? -u? -v? -x? -y? --pid=:stop --output="
        " --noheadings"
        " --raw --verbose --core? --data? --nice? --fsize? --sigpending? --memlock? --rss? --nofile? --msgqueue?"
        " --rtprio?"
        " --stack? --cpu? --nproc? --as? --locks? --rttime?"
    ),
    "cpulimit": make_form(
        "-p=:stop -P= -e=:stop -lcm= -fizbvqrs --pid=:stop --exe=:stop --limit= --foreground --include-children"
    ),
    "choom": make_form("-n= -p=:stop --adjust= --pid=:stop"),
    "uclampset": make_form("-mM= -a -R -v -p=:stop -s --all-tasks --pid=:stop --system --reset-on-fork --verbose"),
    "cgexec": make_form("-g= --sticky"),
    "softlimit": _NUMBERS,
    "s6-softlimit": make_form("-Hh -acdflmoprstR="),
    "trickle": make_form("-sv -duwtlLnp="),
    "caffeinate": make_form("-dimsu -tw="),
    "systemd-inhibit": make_form("--list:stop --what= --who= --why= --mode= --no-legend --no-ask-password --no-pager"),
    "systemd-cat": make_form("-pt= --priority= --identifier= --stderr-priority= --level-prefix="),
    "eatmydata": make_form(),
    "faketime": make_form("-m -f -p= --exclude-monotonic", before=1),
    "setarch": make_form(_ARCH, "shell"),
    **dict.fromkeys(
        ("linux32", "linux64", "i386", "i486", "i586", "i686", "x86_64", "uname26", "sparc64", "ppc64"),
        make_form(_ARCH, "shell"),
    ),
    "arch": make_form("-3264ch -de= --arch= --arm64 --arm64e --x86_64 --i386", "single lenient"),
    "catchsegv": make_form(),
    "torsocks": make_form("-adipuqP= --shell:shell", "lenient"),
    "torify": make_form("-v -q"),
    "proxychains": make_form("-q -f="),
    "ccache": make_form("-cCszpVhx:stop -FMokdX=:stop", "lenient"),
    "sccache": make_form("", "lenient"),
    "distcc": make_form("", "lenient"),
    "bear": make_form("-av -lo= --output= --append --verbose --config= --force-preload --force-wrapper", "visible"),
    "rlwrap": make_form("-abcdefghilmnopqrstvwzACDEHIMNOPRSWXZ", "lenient"),
    # moreutils and friends
    "chronic": make_form("-ev"),
    "ifne": make_form("-n"),
    "lckdo": make_form("-weEsS -W=", before=1),
    "nq": make_form("-cqtw", "visible"),
    "entr": make_form("-acdnprxz -s:text", "visible"),
    "watchexec": make_form(
        "-wefiosNdEWx= -cnrpqv --shell= --watch= --exts= --filter= --ignore= --signal= --debounce= --delay-run="
        " --poll? --env="
        " --workdir=:dir --on-busy-update= --emit-events-to= --project-origin= --stop-signal= --stop-timeout="
        " --no-shell"
        " --clear? --restart --postpone --quiet --verbose --notify",
        "visible",
        rest="text",
    ),
    "hyperfine": make_form(
        "-wmMr= -p=:sh --prepare=:sh -s=:sh --setup=:sh -c=:sh --cleanup=:sh -C=:sh --conclude=:sh --reference=:sh"
        " -P==="
        " --parameter-scan=== -D= --parameter-step-size= -L== --parameter-list== -S=:prog --shell=:prog -N -i?"
        " --warmup="
        " --min-runs= --max-runs= --runs= --style= --sort= -u= --time-unit= --export-asciidoc= --export-csv="
        " --export-json="
        " --export-markdown= --export-orgmode= --show-output --output= --input= -n= --command-name= --ignore-failure?"
        " --min-benchmarking-time= --reference-name=",
        "visible permute",
        rest="each",
    ),
}
