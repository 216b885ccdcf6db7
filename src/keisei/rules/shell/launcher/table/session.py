"""Forms of what traces or measures a program, or gives it a session, a display or a terminal."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Form, make_form, make_subs

_PERF = (
    "-aABdgijnSTvcRsNqKfwW -CDeGIMoprtxFmu= --delay= --event= --cgroup= --interval-print= --metrics= --output="
    " --pid=:stop"
    " --repeat= --tid=:stop --field-separator= --control= --cputype= --filter= --for-each-cgroup= --interval-count="
    " --iostat? --log-fd= --post=:sh --pre=:sh --timeout= --td-level= --cpu= --freq= --count= --mmap-pages="
    " --call-graph="
    " --clockid= --max-size= --switch-output? --uid= --user="
)
_VALGRIND_LIKE = make_form("", "visible single lenient")
_XTERM = make_form(
    "-e:words -x:words -T= --title= --geometry= -c=:sh --command=:sh --hold --wait", "visible lenient single"
)
FORMS: Mapping[str, Form] = {
    # tracing and measuring
    "strace": make_form(
        "-A -cdfhiknqrtvwxyzCDFTVYZ -abeEIoOpPsSuUX= --daemonize? --follow-forks --output-separately --successful-only"
        " --failed-only --instruction-pointer --stack-traces? --syscall-number --output-append-mode --quiet?"
        " --relative-timestamps? --absolute-timestamps? --syscall-times? --no-abbrev --strings-in-hex? --decode-fds?"
        " --decode-pids? --summary-only --summary --summary-wall-clock --debug --seccomp-bpf --tips? --env= --attach="
        " --user= --detach-on= --interruptible= --trace= --signal= --status= --trace-path= --columns= --abbrev="
        " --verbose="
        " --raw= --read= --write= --kvm= --output= --string-limit= --const-print-style= --summary-syscall-overhead="
        " --summary-sort-by= --summary-columns= --inject= --fault= --argv0= --trace-fds=",
        "visible",
    ),
    "ltrace": make_form(
        "-bcCfhiLrStTVv -aADeFlnopsuwx= --align= --output= --demangle --indent= --library= --where= --config=",
        "visible",
    ),
    "valgrind": _VALGRIND_LIKE,
    "heaptrack": make_form("-di -o= -r --raw --debug --record-only", "visible"),
    "kcov": make_form("", "visible lenient", 1),
    "rr": make_subs("", record=make_form("-nwhsSx -cpuMotv=", "visible lenient")),
    "uftrace": make_subs("", record=make_form("", "visible lenient"), live=make_form("", "visible lenient")),
    "perf": make_subs(
        "-h -v --debug= --no-pager --buildid-dir=",
        stat=make_form(_PERF, "visible"),
        record=make_form(_PERF, "visible"),
        trace=make_form(_PERF, "visible"),
        mem=make_form("-t= --type= -D", "visible"),
    ),
    "qemu": make_form("-LEUgRsBrdpDf=", "visible lenient"),
    # sessions, displays, terminals
    "dbus-run-session": make_form("--config-file= --dbus-daemon=", "visible"),
    "dbus-launch": make_form(
        "--auto-syntax --binary-syntax --close-stderr --exit-with-session --sh-syntax --config-file=", "visible"
    ),
    "xvfb-run": make_form(
        "-al -efnpsw= --auto-servernum --auto-display --error-file= --auth-file= --server-num= --listen-tcp"
        " --xauth-protocol= --server-args= --wait=",
        "visible",
    ),
    "ssh-agent": make_form("-csDdTkVuU -aEOPt=", "visible"),
    "script": make_form(
        "-aefqdkr -EIOBTmo= -t? -c=:sh --append --return --flush --force --quiet --command=:sh --log-in= --log-out="
        " --log-io="
        " --log-timing= --timing? --logging-format= --echo= --output-limit=",
        "visible shell",
        1,
    ),
    "watch": make_form(
        "-bcCegprtwvf -d? -nqs= -x:words --beep --color --no-color --differences? --errexit --chgexit --equexit="
        " --interval="
        " --precise --no-title --no-wrap --no-linewrap --no-rerun --follow --shotsdir= --exec:words",
        "visible",
        rest="text",
    ),
    "xterm": _XTERM,
    **dict.fromkeys(
        ("konsole", "urxvt", "rxvt", "st", "alacritty", "x-terminal-emulator", "gnome-terminal", "kitty"), _XTERM
    ),
    "dtach": make_form("-AcnNp= -Ez -r=", "visible"),
    "abduco": make_form("-rlfpq -Aacne=", "visible", 1),
    "screen": make_form(
        "-adDmlLOqrRUvwxinAM -cehpsStT= --list?:stop --wipe?:stop --ls?:stop --Logfile= -X:text -Q:text",
        "visible shell single",
    ),
}
