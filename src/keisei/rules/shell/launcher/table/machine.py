"""Forms of what starts a program in a container, on another machine, or later."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Form, make_form, make_subs, valued

_CONTAINER = (
    "-dit -e= -u= -w= -T --privileged --detach --interactive --tty --no-TTY --detach-keys= --env= --env-file= --user="
    " --workdir= --index="
)
_CONTAINER_RUN = (
    "-ditPqTV -aclmpuwhe= -v=:local --volume=:local --mount=:local --volumes-from=:local --entrypoint=:entry"
    " --health-cmd=:sh --detach --init --interactive --no-healthcheck --oom-kill-disable --privileged --publish-all"
    " --quiet --read-only --rm --sig-proxy --tty --disable-content-trust --use-api-socket --build --no-deps"
    " --service-ports --use-aliases --remove-orphans --no-TTY --quiet-pull --no-hosts --replace --rmi --tls-verify"
    " --env-host --http-proxy --passwd"
    + valued(
        "add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns"
        " cidfile"
        " cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus"
        " cpuset-mems detach-keys device device-cgroup-rule device-read-bps device-read-iops device-write-bps"
        " device-write-iops dns dns-option dns-search domainname env env-file expose gpus group-add health-interval"
        " health-retries health-start-interval health-start-period health-timeout hostname io-maxbandwidth"
        " io-maxiops"
        " ip ip6 ipc isolation kernel-memory label label-file link link-local-ip log-driver log-opt mac-address"
        " memory"
        " memory-reservation memory-swap memory-swappiness name network net network-alias oom-score-adj pid"
        " pids-limit platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout"
        " storage-opt"
        " sysctl tmpfs ulimit user userns uts volume-driver workdir arch os variant pod authfile secret timezone"
    )
)
_EXEC = make_form(_CONTAINER, "visible remote", 1)
_RUN_IMAGE = make_form(_CONTAINER_RUN, "visible remote", 1)
_COMPOSE = make_subs(
    "-fp= --file= --project-name= --profile= --env-file= --project-directory= --ansi= --progress= --parallel="
    " --compatibility"
    " --dry-run --all-resources --verbose",
    exec=_EXEC,
    run=_RUN_IMAGE,
)
_DOCKER = make_subs(
    "-Dv --debug --tls --tlsverify -cHl= --config= --context= --host= --log-level= --tlscacert= --tlscert= --tlskey="
    " --connection= --url= --root= --runroot= --namespace=",
    exec=_EXEC,
    run=_RUN_IMAGE,
    create=_RUN_IMAGE,
    container=make_subs("", exec=_EXEC, run=_RUN_IMAGE, create=_RUN_IMAGE),
    compose=_COMPOSE,
    unshare=make_form("--rootless-netns", "visible shell"),
)
_POD = make_form(
    "-itq -cfn= --container= --filename= --namespace= --pod-running-timeout= --stdin --tty --quiet --context="
    " --kubeconfig=",
    "visible remote permute dashes",
    1,
)
_KUBECTL = make_subs(
    "-ns= --namespace= --context= --cluster= --user= --kubeconfig= --server= --token= --as= --as-group="
    " --request-timeout="
    " -v= --v= --certificate-authority= --client-certificate= --client-key= --cache-dir= --profile= --profile-output="
    " --insecure-skip-tls-verify --warnings-as-errors --match-server-version",
    exec=_POD,
    run=make_form(
        "-itq --image= --rm --command --restart= --env= --labels= -l= -n=", "visible remote permute dashes lenient", 1
    ),
    debug=make_form(
        "-itq --image= -c= --target= --copy-to= --profile= -n=", "visible remote permute dashes lenient", 1
    ),
)
_MPI = make_form(
    "-cnpNHxhf= --np= --host= --hostfile= --machinefile= --wdir= --map-by= --bind-to= --oversubscribe", "visible single"
)
FORMS: Mapping[str, Form] = {
    # containers and other machines
    "docker": _DOCKER,
    "podman": _DOCKER,
    "nerdctl": _DOCKER,
    "docker-compose": _COMPOSE,
    "podman-compose": _COMPOSE,
    "kubectl": _KUBECTL,
    "oc": _KUBECTL,
    "microk8s": Form(subs={"kubectl": _KUBECTL}),
    "k3s": Form(subs={"kubectl": _KUBECTL}),
    "lxc": make_subs(
        "", exec=make_form("-n -tT --cwd= --env= --user= --group= --mode=", "visible remote permute dashes lenient", 1)
    ),
    "incus": make_subs(
        "", exec=make_form("-n -tT --cwd= --env= --user= --group= --mode=", "visible remote permute dashes lenient", 1)
    ),
    "multipass": make_subs("", exec=make_form("-d= -n", "visible remote permute dashes lenient", 1)),
    "distrobox": make_subs("", enter=make_form("-n= -e:words --name= --", "visible permute dashes lenient")),
    "toolbox": make_subs("", run=make_form("-cdr= --container= --distro= --release=", "visible")),
    "flatpak-spawn": make_form("", "visible lenient"),
    "vagrant": make_subs("", ssh=make_form("-c=:sh --command=:sh -p --plain", "visible remote permute", rest="none")),
    "ip": make_subs(
        "-46BbdsaorthcjpN --all -n=",
        netns=make_subs("", exec=make_form("", "visible", 1)),
        vrf=make_subs("", exec=make_form("", "visible", 1)),
    ),
    "sshpass": make_form("-v -fdp= -e? -P=", "visible"),
    "autossh": make_form("-M= -f", "visible lenient", rest="none"),
    "mpirun": _MPI,
    "mpiexec": _MPI,
    "srun": make_form("-nNcptJoeiAwDGqx= --mem= --time= --partition= --pty --gres=", "visible lenient"),
    "sbatch": make_form("--wrap=:sh", "visible lenient permute", rest="none"),
    "at": make_form("-mMvbVk -qt= -f=:file -c:stop -l:stop -d:stop -r:stop", "visible permute stdin", rest="none"),
    "batch": make_form("-mMvV -q= -f=:file", "visible permute stdin", rest="none"),
}
