"""Forms of package managers, version managers and keepers of secrets that run a program."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import RUN, Form, make_form, make_subs

_NPX = (
    "-c=:sh --call=:sh -p= --package= -yq -w= --yes --no --no-install --quiet --prefix= -C=:dir --cache= --userconfig="
    " --workspace= --shell= --ignore-existing --workspaces --include-workspace-root -n= --node-arg= --prefer-offline"
    " --offline"
    " --registry= --loglevel= --shell-auto-fallback? --script-shell=:prog --silent -s"
)
_UV = (
    "-qvnU -p= -m=:module --module=:module -s:script --script:script --gui-script:script --no-project --isolated"
    " --frozen"
    " --locked --no-sync --exact --active --all-extras --no-dev --only-dev --dev --all-groups --no-default-groups"
    " --offline"
    " --quiet --verbose --no-cache --refresh --upgrade --reinstall --no-config --native-tls --no-progress"
    " --all-packages"
    " --no-env-file --no-editable --inexact --no-build --no-binary --no-index --managed-python --no-managed-python"
    " --no-python-downloads --with= -w= --with-editable= --with-requirements= --extra= --no-extra= --group= --no-group="
    " --only-group= --env-file= --package= --python= --index= --default-index= --index-url= -i= --extra-index-url="
    " --find-links= -f= -P= --upgrade-package= --reinstall-package= --index-strategy= --keyring-provider= --resolution="
    " --prerelease= --fork-strategy= --exclude-newer= --link-mode= -C= --config-setting= --no-build-package="
    " --no-binary-package= --cache-dir= --refresh-package= --python-preference= --color= --allow-insecure-host="
    " --project= --directory=:dir --config-file= --from= --constraints= -c= -b= --build-constraints= --overrides="
    " --python-platform="
)
_UVX = make_form(_UV, "visible")
FORMS: Mapping[str, Form] = {
    # package managers that run things
    "npx": make_form(_NPX, "visible"),
    "pnpx": make_form(_NPX, "visible"),
    "bunx": make_form("-p= --package= --bun --silent --verbose --no-install", "visible"),
    "uvx": _UVX,
    "pipx": make_subs(
        "",
        run=make_form(
            "--spec= --python= --pip-args= --index-url= -i= --with= --no-cache --verbose --pypackages", "visible"
        ),
    ),
    "poetry": make_subs(
        "-nqv -C=:dir -P= --directory=:dir --project= --no-interaction --quiet --ansi --no-ansi --no-plugins"
        " --no-cache",
        run=RUN,
    ),
    "pipenv": make_subs("--python= --pypi-mirror= --verbose --quiet --clear", run=RUN),
    "pdm": make_subs(
        "-cvq -p= --project=",
        run=make_form("-svl -p= --env-file= --site-packages --recreate --json --list --venv=", "visible"),
    ),
    "rye": make_subs("", run=make_form("-l --pyproject=", "visible")),
    "hatch": make_subs("-epqv= --env= --project= --verbose --quiet", run=make_form("", "visible", rest="text")),
    "conda": make_subs(
        "",
        run=make_form(
            "-np= -vq --name= --prefix= --cwd=:dir --no-capture-output --live-stream --dev --debug-wrapper-scripts",
            "visible",
        ),
    ),
    **dict.fromkeys(
        ("mamba", "micromamba"),
        make_subs(
            "-y -rp=",
            run=make_form(
                "-npra= -vqd --name= --prefix= --root-prefix= --cwd=:dir --attach= --label= -e= --env=", "visible"
            ),
        ),
    ),
    "nix-shell": make_form(
        "-QkKv -IAoEj= -p:none --run=:sh --command=:sh -i=:prog --pure --packages:none --arg== --argstr== --keep="
        " --option== --attr= --expr="
        " --exclude= --max-jobs=",
        "visible permute lenient",
        rest="none",
    ),
    "nix": make_subs(
        "-Lv --extra-experimental-features= --experimental-features= --option== --show-trace --verbose",
        "visible",
        develop=make_form(
            "-c:words --command:words -p= --profile= --override-input== --phase= -k= -u= --impure",
            "visible lenient permute",
            rest="none",
        ),
        shell=make_form(
            "-c:words --command:words --override-input== -k= -u= --impure", "visible lenient permute", rest="none"
        ),
    ),
    "direnv": make_subs("", exec=make_form("", "visible", 1)),
    "mise": make_subs(
        "-CEj= -qvy --cd= --env=",
        exec=make_form("-c=:sh --command=:sh -j= --raw", "visible permute dashes"),
        x=make_form("-c=:sh --command=:sh -j= --raw", "visible permute dashes"),
    ),
    "rtx": make_subs(
        "",
        exec=make_form("-c=:sh --command=:sh", "visible permute dashes"),
        x=make_form("-c=:sh --command=:sh", "visible permute dashes"),
    ),
    "asdf": make_subs("", exec=RUN),
    **{name: make_subs("", exec=RUN) for name in ("pyenv", "rbenv", "nodenv", "jenv", "goenv", "plenv")},
    "fnm": make_subs("", exec=make_form("--using= --log-level=", "visible")),
    "volta": make_subs("", run=make_form("--node= --npm= --pnpm= --yarn= --bundled-npm --no-yarn --env=", "visible")),
    "nvm": make_subs("", exec=make_form("--silent", "visible", 1)),
    "rustup": make_subs("-vq", run=make_form("--install", "visible", 1)),
    "bundle": make_subs(
        "--verbose --no-color --gemfile= -r=", exec=make_form("--keep-file-descriptors --gemfile=", "visible")
    ),
    "bundler": make_subs("", exec=make_form("--keep-file-descriptors --gemfile=", "visible")),
    "opam": make_subs("", exec=make_form("--switch= --set-root --set-switch --root= --color=", "visible")),
    "stack": make_subs("", exec=make_form("--package= --cwd=:dir --plain", "visible")),
    "cabal": make_subs("", exec=make_form("", "visible lenient")),
    "dune": make_subs("", exec=make_form("--root= --profile= --display=", "visible lenient")),
    "composer": make_subs("-qvnd=", exec=make_form("-l", "visible")),
    "dotenv": make_form("-fqepcv= -o -i --file= --quote= --export= --override --no-override", "visible dotenv"),
    "dotenvx": make_subs(
        "", run=make_form("-f= -e= --env-file= --env= --overload --quiet", "visible permute dashes lenient")
    ),
    "op": make_subs(
        "--account= --config= --session= --cache", run=make_form("--env-file= --no-masking --environment=", "visible")
    ),
    "doppler": make_subs(
        "-t= --token= --scope= --config-dir=",
        run=make_form(
            "-cp= -t= --command=:sh --config= --project= --token= --fallback= --mount= --mount-format= --preserve-env"
            " --name-transformer=",
            "visible",
        ),
    ),
    "infisical": make_subs("", run=make_form("-c=:sh --command=:sh --env= --path= --projectId= --token=", "visible")),
    "chamber": make_subs("", exec=make_form("--pristine --strict", "visible permute dashes", 0)),
    "aws-vault": make_subs(
        "",
        exec=make_form(
            "-djns -t= --duration= --no-session --region= --mfa-token= --json --server --ecs-server", "visible", 1
        ),
    ),
    "teller": make_subs("", run=RUN),
    "sops": make_subs(
        "",
        exec_env=make_form("--background --user= --same-process --pristine", "visible", 1, "text"),
        exec_file=make_form("--background --no-fifo --user= --filename=", "visible", 1, "text"),
    ),
    "foreman": make_subs("", run=make_form("-e= --env= -f= -d=", "visible")),
    "honcho": make_subs("-ef= --env= --procfile=", run=RUN),
    "cross-env": make_form("", "assigns visible"),
    "cross-env-shell": make_form("", "assigns visible", rest="text"),
    "env-cmd": make_form("-fr? -e= --file= --environments= --rc-file= --no-override --silent --fallback -x", "visible"),
    "nodemon": make_form(
        "-x=:sh --exec=:sh -wei= --watch= --ext= --ignore= --delay= --cwd=:dir", "visible permute lenient", rest="none"
    ),
    "concurrently": make_form(
        "-nclmpst= -kgrh --names= --prefix= --prefix-colors= --kill-others --success= --restart-tries="
        " --max-processes=",
        "visible permute lenient",
        rest="each",
    ),
    "ansible": make_form(
        "-imluefMcTtP= -a=:sh --args=:sh -b -K -k -v --module-name= --inventory=",
        "visible permute lenient",
        rest="none",
    ),
    "coverage": make_subs("", run=make_form("", "visible", rest="python")),
}
