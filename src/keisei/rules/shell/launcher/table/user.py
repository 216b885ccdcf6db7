"""Forms of what starts a program as another user, below another root, or as a service."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Form, make_form, make_subs

_SU = (
    "-flmpPT -c=:sh --command=:sh --session-command=:sh -gGw= -s=:prog --shell=:prog --preserve-environment --login"
    " --fast"
    " --pty --no-pty --whitelist-environment= --group= --supp-group="
)
_SUDO = (
    "-ABbEHknNPS -D=:dir -CghpRrTtUu= -i:shell -s:shell -l:stop -v:stop -V:stop -e:stop -K:stop --askpass"
    " --background --bell"
    " --set-home --non-interactive --preserve-groups --stdin --no-update --reset-timestamp --preserve-env?"
    " --login:shell"
    " --shell:shell --list:stop --validate:stop --edit:stop --remove-timestamp:stop --chdir=:dir --close-from= --group="
    " --host= --prompt= --chroot= --role= --type= --user= --command-timeout= --other-user="
)
_NAMESPACE = (
    "-m? -u? -i? -n? -p? -C? -U? -T? -f -c -F -Z -a -e --mount? --uts? --ipc? --net? --pid? --user? --cgroup?"
    " --time?"
    " --fork --map-root-user --map-current-user --map-auto --kill-child? --mount-proc? --mount-binfmt? --keep-caps"
    " --all"
    " --no-fork --follow-context --preserve-credentials --env --join-cgroup --map-user= --map-group= --map-users="
    " --map-groups= --propagation= --setgroups= --root= --monotonic= --boottime= --load-interp= --owner= --setuid="
    " --setgid="
)
FORMS: Mapping[str, Form] = {
    # other users, other roots
    "sudo": make_form(_SUDO, "visible assigns"),
    "doas": make_form("-Ln -au= -C=:stop -s:shell", "visible"),
    "pkexec": make_form("--user= -u= --disable-internal-agent --keep-cwd", "visible shell"),
    "run0": make_form(
        "-ug= -D=:dir --user= --group= --chdir=:dir --nice= --unit= --property= --description= --slice= --slice-inherit"
        " --setenv= --background= --machine= --pty --pipe --no-ask-password --shell-prompt-prefix= --via-shell -M= -i"
        " --empower"
        " --lightweight= --area= -a=",
        "visible shell",
    ),
    "su": make_form(_SU, "visible permute", 1, "shell"),
    "runuser": make_form(_SU + " -u=:words --user=:words", "visible permute", 1, "shell"),
    "sg": make_form("", "visible", 1, "text"),
    "newgrp": make_form("-l", "visible shell", rest="none"),
    "gosu": make_form("", "visible", 1),
    "su-exec": make_form("", "visible", 1),
    "setuidgid": make_form("-s", "visible", 1),
    "s6-setuidgid": make_form("", "visible", 1),
    "s6-applyuidgid": make_form("-zUn -ugG=", "visible"),
    "envuidgid": make_form("", "visible", 1),
    "s6-envuidgid": make_form("-inD -B=", "visible", 1),
    "setpriv": make_form(
        "-d:stop --dump:stop --nnp --no-new-privs --ambient-caps= --inh-caps= --bounding-set= --ruid= --euid= --rgid="
        " --egid="
        " --reuid= --regid= --clear-groups --keep-groups --init-groups --groups= --securebits= --pdeathsig= --ptracer="
        " --selinux-label= --apparmor-profile= --landlock-access= --landlock-rule= --seccomp-filter= --reset-env"
        " --list-caps:stop",
        "visible",
    ),
    "capsh": make_form("", "visible lenient dashes", rest="shell"),
    "chroot": make_form("--groups= --userspec= --skip-chdir -ugGn=", "visible shell", 1),
    "unshare": make_form(_NAMESPACE + " -r -R= -w=:dir -S= -G= -l= --wd=:dir", "visible shell"),
    "nsenter": make_form(
        _NAMESPACE + " -t= --target= -S= -G= -w?:dir -W=:dir -r? --wd?:dir --wdns=:dir", "visible shell"
    ),
    "runcon": make_form("-curtl= --compute --user= --role= --type= --range=", "visible", 1),
    "aa-exec": make_form("-div -pn= --debug --immediate --verbose --profile= --namespace=", "visible"),
    "sandbox-exec": make_form("-fnpD=", "visible"),
    "fakeroot": make_form(
        "-lsbfi= -uhv --lib= --faked= --save-file= --load-file= --unknown-is-real --fd-base=", "visible shell"
    ),
    "fakechroot": make_form(
        "-sldebc= -hv --use-system-libs --lib= --elfloader= --environment= --base-dir= --config-dir=", "visible"
    ),
    "pseudo": make_form("-dfnvqxi -lPprRtm=", "visible shell"),
    "proot": make_form(
        "-rbmRSqvipk= -0hVl -w=:dir --rootfs= --bind= --mount= --qemu= --cwd=:dir --pwd=:dir --verbose="
        " --kernel-release="
        " --change-id= --root-id --kill-on-exit --link2symlink",
        "visible shell",
    ),
    "firejail": make_form("-c", "visible lenient shell"),
    "bwrap": make_form(
        "--args= --argv0= --level-prefix --unshare-all --share-net --unshare-user --unshare-user-try --unshare-ipc"
        " --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --unshare-cgroup-try --userns= --userns2="
        " --disable-userns --assert-userns-disabled --pidns= --uid= --gid= --hostname= --chdir=:dir --clearenv"
        " --setenv=="
        " --unsetenv= --lock-file= --sync-fd= --bind== --bind-try== --dev-bind== --dev-bind-try== --ro-bind=="
        " --ro-bind-try=="
        " --bind-fd== --ro-bind-fd== --remount-ro= --overlay-src= --overlay=== --tmp-overlay= --ro-overlay="
        " --exec-label="
        " --file-label= --proc= --dev= --tmpfs= --mqueue= --dir= --file== --bind-data== --ro-bind-data== --symlink=="
        " --seccomp= --add-seccomp-fd= --block-fd= --userns-block-fd= --info-fd= --json-status-fd= --new-session"
        " --die-with-parent --as-pid-1 --cap-add= --cap-drop= --perms= --size= --chmod==",
        "visible",
    ),
    "nsjail": make_form("", "visible dashes lenient permute"),
    "schroot": make_form(
        "-ucdons= -prbefqv --user= --chroot= --directory=:dir --session-name= --shell=:prog", "visible shell"
    ),
    "systemd-nspawn": make_form(
        "-DiMuSLXZ= -bxaqnU --directory= --image= --machine= --user= --chdir= --bind= --bind-ro= --boot --as-pid2"
        " --quiet"
        " --private-network --ephemeral --setenv= -E= --pipe -P",
        "visible remote",
    ),
    "machinectl": make_subs(
        "-Hq -M= --uid= -E= --setenv=", shell=make_form("--uid= -E= --setenv=", "visible remote", 1)
    ),
    "systemd-run": make_form(
        "-drtPqGTC -HMupE= -S:shell --no-ask-password --user --system --scope --slice-inherit --no-block"
        " --remain-after-exit"
        " --wait --send-sighup --same-dir --pty --pipe --quiet --collect --shell:shell --expand-environment= --host="
        " --machine= --unit= --property= --description= --slice= --service-type= --uid= --gid= --nice="
        " --working-directory=:dir --setenv= --path-property= --socket-property= --on-active= --on-boot= --on-startup="
        " --on-unit-active= --on-unit-inactive= --on-calendar= --on-timezone-change --on-clock-change --timer-property="
        " --background= --job-mode= --ignore-failure",
        "visible",
    ),
    "busybox": make_form("--list:stop --list-full:stop --install:stop --show=:stop -s:stop", "visible"),
    "toybox": make_form("--list:stop --long:stop", "visible"),
    "start-stop-daemon": make_form(
        "-bCmoqvi -pnugcsrNPIkOR= -d=:dir -x=:entry --exec=:entry -a=:entry --startas=:entry -K:stop --stop:stop"
        " -T:stop"
        " --status:stop -S --start -t:stop --test:stop --pid= --ppid= --pidfile= --name= --user= --group= --chuid="
        " --signal="
        " --chroot= --chdir=:dir --nicelevel= --procsched= --iosched= --umask= --background --notify-await"
        " --notify-timeout="
        " --no-close --output= --make-pidfile --remove-pidfile --retry= --oknodo --quiet --verbose --interpreter=",
        "visible permute",
    ),
    "daemonize": make_form("-av -ceopluE=", "visible"),
    "daemon": make_form("-cfrSpPmtuDolTx=", "visible lenient"),
    "tcpserver": make_form("-qQvdDHhpPrRoO1 -cxugbltB=", "visible", 2),
    "websocketd": make_form("", "visible lenient"),
    # services inside containers
    "envdir": make_form("-fnvLc", "", 1),
    "s6-envdir": make_form("-iIfnvLc", "", 1),
    "setlock": make_form("-nNxX", "", 1),
    "s6-setlock": make_form("-nNrwd -t=", "", 1),
    "chpst": make_form("-vVP012 -uUbe/nlLmdofpcrtC=", "visible"),
    "pgrphack": make_form(),
    "s6-setsid": make_form("-sbfgiIqd"),
    "s6-notifyoncheck": make_form("-d -3swTtnc=", "visible"),
    "s6-sudo": make_form("-tTe=", "visible", 1),
    "s6-background": make_form(),
    "dumb-init": make_form("-cvV -r= --single-child --verbose --rewrite="),
    "tini": make_form("-svwg -pe="),
    "catatonit": make_form("-gPL"),
    "cronexec": make_form("", "visible"),
    "cronic": make_form(),
}
