"""Launchers: what a simple command starts. U stands for text that is not known; lines are split as a shell would."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code import started
from keisei.rules.shell.launcher import Launch, launched
from keisei.rules.shell.launcher.connection import SSH
from keisei.rules.shell.launcher.git import GIT, GIT_COMMANDS
from keisei.rules.shell.launcher.language import LANGUAGE_NAMES, LANGUAGES
from keisei.rules.shell.launcher.make import JUST, MAKE
from keisei.rules.shell.launcher.npm import NPM
from keisei.rules.shell.launcher.option import parsed
from keisei.rules.shell.launcher.parallel import PARALLEL
from keisei.rules.shell.launcher.program import HANDS
from keisei.rules.shell.launcher.role import ROLES
from keisei.rules.shell.launcher.table import LAUNCHERS
from keisei.rules.shell.launcher.table.alias import ALIASES
from keisei.rules.shell.launcher.tar import TAR
from keisei.rules.shell.launcher.terminal import TMUX
from keisei.rules.shell.launcher.xargs import XARGS

QUICK = settings(max_examples=400, deadline=None, database=None)


def words_of(line):
    return tuple(word.replace("<U>", UNKNOWN) for word in shlex.split(line))


def look(line):
    return launched(words_of(line))


def cases(text):
    """One case a line: a command, an arrow, and the command lines it starts, separated by ` | `."""
    rows = [line.strip().partition(" => ") for line in text.strip().splitlines() if line.strip()]
    return [
        pytest.param(line, tuple(words_of(part) for part in after.split(" | ")), id=line) for line, _, after in rows
    ]


ARGVS = """
env git push => git push
env -i git push => git push
env - git push => git push
env -u A git push => git push
env -uA git push => git push
env --unset A git push => git push
env --unset=A git push => git push
env --uns A git push => git push
env -iu A git push => git push
env -C /x git push => git push
env --chdir=/x git push => git push
env A=b C=d git push => git push
env A=<U> git push => git push
env -i A=b git push => git push
env -- git push => git push
env -S 'git push' => git push
env -S'git push' origin => git push origin
env -vS 'git push' => git push
env --split-string='git push' -f => git push -f
env --split-string 'A=b git push' => git push
env -S '-i -u X git "a b" c' => git "a b" c
env -S 'git\\_push' => git push
env -S 'git ${X} push' => git <U> push
env -i -S '-S "git push"' => git push
env --block-signal git push => git push
env --block-signal=INT git push => git push
env -a name git push => git push
command git push => git push
command -p git push => git push
command -- git push => git push
builtin cd /x => cd /x
exec git push => git push
exec -a name git push => git push
exec -cl git push => git push
exec -la name git push => git push
coproc git push => git push
nohup git push => git push
nohup -- git push => git push
setsid -f git push => git push
setsid --fork --wait git push => git push
nice git push => git push
nice -n 10 git push => git push
nice -n10 git push => git push
nice -n<U> git push => git push
nice -n <U> git push => git push
nice --adjustment=<U> git push => git push
nice -10 git push => git push
nice --10 git push => git push
nice --adjustment=5 git push => git push
nice --adj 5 git push => git push
ionice -c 3 git push => git push
ionice -c3 -n7 git push => git push
ionice -t --class idle git push => git push
stdbuf -oL git push => git push
stdbuf -o L -e 0 git push => git push
stdbuf --output=L git push => git push
timeout 5 git push => git push
timeout -k 5 10 git push => git push
timeout -k5 -s KILL 10s git push => git push
timeout --signal KILL --foreground 10 git push => git push
timeout --kill=3 10 git push => git push
timeout -- 10 git push => git push
timeout -v 5<U> git push => git push
gtimeout 5 git push => git push
time git push => git push
time -p git push => git push
time -f %e -o out git push => git push
time --format=%e --append git push => git push
taskset 0x3 git push => git push
taskset -c 0-3 git push => git push
taskset --cpu-list 0 git push => git push
chrt 10 git push => git push
chrt -f 10 git push => git push
chrt -T 5 -D 6 -P 7 -d 0 git push => git push
numactl -N 0 -m 0 git push => git push
numactl --interleave=all git push => git push
numactl --localalloc git push => git push
prlimit --nofile=10 git push => git push
prlimit -n10 -u5 git push => git push
cpulimit -l 50 -- git push => git push
cpulimit -l 50 -i git push => git push
choom -n 100 git push => git push
choom -n 100 -- git push => git push
uclampset -m 5 -M 10 git push => git push
setarch x86_64 git push => git push
setarch x86_64 -R git push => git push
setarch -R git push => git push
linux64 -R git push => git push
flock /tmp/x git push => git push
flock -n -w 5 /tmp/x git push => git push
flock -xn -E 3 /tmp/x<U> git push => git push
flock --timeout 5 /tmp/x git push => git push
catchsegv git push => git push
chronic git push => git push
chronic -ev git push => git push
ifne git push => git push
ifne -n git push => git push
unbuffer -p git push => git push
ts git push => git push
caffeinate -dims -t 10 git push => git push
eatmydata git push => git push
softlimit -m 5 -t 6 git push => git push
envdir dir git push => git push
setlock -n file git push => git push
chpst -u me -e env -vP git push => git push
s6-setuidgid me git push => git push
s6-envdir dir git push => git push
setuidgid me git push => git push
dumb-init git push => git push
dumb-init -c -r 15:3 -- git push => git push
tini -- git push => git push
tini -gs -p SIGTERM git push => git push
gosu me git push => git push
su-exec me:grp git push => git push
sudo git push => git push
sudo -u me git push => git push
sudo -ume git push => git push
sudo -nu me -g grp git push => git push
sudo --user=me --preserve-env git push => git push
sudo --preserve-env=A git push => git push
sudo -E A=b git push => git push
sudo -s git push => git push
sudo -i => sh
sudo -s => sh
sudo -D /x -- git push => git push
doas git push => git push
doas -n -u me git push => git push
doas -s => sh
pkexec git push => git push
pkexec --user me git push => git push
run0 -u me git push => git push
run0 --chdir=/x git push => git push
su => sh
su me => sh
su - me => sh
su me -- -c 'git push' => sh -c 'git push'
su me script.sh a => sh script.sh a
runuser -u me git push => git push
runuser -u me -- git push -f => git push -f
runuser -u me git push -f => git push -f
chroot /x git push => git push
chroot --userspec=a:b /x git push => git push
chroot /x => sh
unshare -r git push => git push
unshare -rn --mount=/x -w /y git push => git push
unshare --map-user 5 git push => git push
unshare => sh
nsenter -t 1 -m -u git push => git push
nsenter -t1 -a -- git push => git push
nsenter --target 1 --mount=/x git push => git push
setpriv --reuid 5 --clear-groups git push => git push
setpriv --reuid=5 --nnp git push => git push
systemd-run git push => git push
systemd-run --user --scope -p A=b git push => git push
systemd-run --unit x --wait -E A=b git push => git push
systemd-run -S => sh
systemd-inhibit --what=idle git push => git push
aa-exec -p prof -- git push => git push
fakeroot git push => git push
fakeroot -s file -- git push => git push
proot -r /x -b /y -w / git push => git push
firejail --net=none --private git push => git push
bwrap --ro-bind / / --dev /dev --unshare-all git push => git push
bwrap --bind a b --setenv A b --chdir /x -- git push => git push
dbus-run-session -- git push => git push
dbus-run-session --config-file=x git push => git push
xvfb-run -a git push => git push
xvfb-run -a -s '-screen 0' git push => git push
xvfb-run --server-args='-x' --auto-servernum git push => git push
strace git push => git push
strace -f -e trace=open -o out git push => git push
strace -ff -tt -s 100 git push => git push
strace --trace=open --follow-forks git push => git push
ltrace -f -o out git push => git push
valgrind --leak-check=full git push => git push
valgrind -q --tool=massif git push => git push
perf stat git push => git push
perf stat -e cycles -r 5 git push => git push
perf record -g -o out -- git push => git push
gdb --args git push => git push
gdb -q -args git push => git push
xargs git push => git push
xargs -0 git push => git push
xargs -n 1 -P 4 git push => git push
xargs -n1 -P4 git push => git push
xargs -r0 -L 1 git push => git push
xargs --max-args=1 --null git push => git push
xargs --max-a 1 git push => git push
xargs -I {} git push {} => git push <U>
xargs -I{} git push {} => git push <U>
xargs -I % sh -c 'x %' => sh -c 'x <U>'
xargs -i git {} => git <U>
xargs --replace=R git R => git <U>
xargs -a file git push => git push <U>
xargs -d '\\n' -t git push => git push
find . -exec git push {} ; => git push ./<U>
find . -exec git push {} + => git push ./<U>
find src/ -type f -execdir git push {} ; => git push ./<U>
find a b -ok git {} ; => git a/<U> | git b/<U>
find . -exec git a ; -exec rm {} + => git a | rm ./<U>
find -name x -exec {} ; => ./<U>
find / -okdir git push ; => git push
find -L /x -exec sh -c 'echo {}' ; => sh -c 'echo /x/<U>'
find . ( -name a -o -name b ) -exec git push ; => git push
find . -exec echo a + b ; => echo a + b
fd -e py -x git add => git add ./<U>
fd x -X git add {} => git add ./<U>
entr -r git push => git push
watch -x git push => git push
watch -n 5 -x git push => git push
script -q /dev/null git push => git push
docker exec web git push => git push
docker exec -it web git push => git push
docker exec -u root -w /x -e A=b web git push => git push
docker exec --user=root web<U> git push => git push
docker -H host exec web git push => git push
docker container exec web git push => git push
docker run --rm -it image git push => git push
docker run -v /a:/b --name x image git push => git push
docker run --entrypoint git image push => git push
docker compose -f x.yml exec web git push => git push
docker-compose exec -T web git push => git push
podman exec web git push => git push
kubectl exec pod -- git push => git push
kubectl exec -it pod -c web -- git push => git push
kubectl -n ns exec pod -- git push => git push
kubectl exec pod git push => git push
oc exec pod -- git push => git push
ip netns exec ns git push => git push
busybox git push => git push
busybox sh -c 'git push' => sh -c 'git push'
toybox git push => git push
ld-linux-x86-64.so.2 /usr/bin/git push => /usr/bin/git push
ld-linux-x86-64.so.2 --library-path /x /usr/bin/git push => /usr/bin/git push
ld-musl-x86_64.so.1 --preload=x /usr/bin/git push => /usr/bin/git push
start-stop-daemon --start --exec /usr/bin/git -- push => /usr/bin/git push
start-stop-daemon -S -b -x /usr/bin/git -- push => /usr/bin/git push
npx git push => git push
npx -y -p pkg git push => git push
npx --package=pkg -- git push => git push
npm exec -- git push => git push
npm exec --package=x -- git push => git push
npm explore pkg -- git push => git push
pnpm exec git push => git push
pnpm dlx git push => git push
yarn exec git push => git push
yarn dlx git push => git push
bunx git push => git push
uv run git push => git push
uv run --with x --extra y git push => git push
uv run -p 3.12 -- git push => git push
uv run x.py a => python x.py a
uv run -m mod a => python -m mod a
uv run - => python -
uv --directory /x run git push => git push
uv tool run git push => git push
uvx git push => git push
uvx --from pkg git push => git push
poetry run git push => git push
poetry -C /x run git push => git push
pipenv run git push => git push
pdm run git push => git push
conda run -n base git push => git push
conda run --no-capture-output -p /x git push => git push
nix develop -c git push => git push
nix develop .#x --command git push => git push
nix shell nixpkgs#git -c git push => git push
direnv exec . git push => git push
mise exec node@20 -- git push => git push
mise x -- git push => git push
asdf exec git push => git push
rustup run nightly git push => git push
bundle exec git push => git push
dotenv git push => git push
dotenv -f .env run -- git push => git push
op run -- git push => git push
op run --env-file=.env -- git push => git push
doppler run -- git push => git push
doppler run -p x -c y -- git push => git push
git bisect run git push => git push
git -c alias.x=push x origin => git push origin
git -c alias.x='push --force' x => git push --force
git config alias.x push => git push
sort --compress-program=git f => git
sort --compress-prog git f => git
scp -S /usr/bin/git a b => /usr/bin/git
cmake -E env A=b git push => git push
cmake -E time git push => git push
cmake -E chdir /x git push => git push
tmux new-session -d -s x git push => git push
tmux neww git push => git push
screen -dm git push => git push
screen -S name -d -m git push => git push
screen -dmS name git push => git push
just -c git push => git push
jobs -x git push => git push
parallel git push => git push
python -m poetry run git push => poetry run git push
python3 -m coverage run x.py => coverage run x.py
coverage run x.py => python x.py
sshpass -p secret ssh host => ssh host
ccache gcc -c x.c => gcc -c x.c
yarn workspace web git => yarn git
mpirun -n 4 git push => git push
arch -x86_64 git push => git push
"""


@pytest.mark.parametrize(("line", "argvs"), cases(ARGVS))
def test_a_launcher_tells_the_command_line_it_starts(line, argvs):
    launch = look(line)
    assert launch is not None
    assert (launch.argvs, launch.opaque) == (argvs, None)


SCRIPTS = """
sh -c 'git push' => git push
bash -c 'git push' a b => git push
bash -lc 'git push' => git push
bash -ec 'git push' => git push
bash -xc 'git push' => git push
bash -c -e 'git push' => git push
bash -ce 'git push' => git push
bash -e -c 'git push' => git push
bash -o pipefail -c 'git push' => git push
bash -eo pipefail -c 'git push' => git push
bash -euo pipefail -c 'git push' => git push
bash -co pipefail 'git push' => git push
bash -O extglob -c 'git push' => git push
bash +O extglob +x -c 'git push' => git push
bash --norc -c 'git push' => git push
bash -norc -c 'git push' => git push
bash --noprofile --norc -c 'git push' => git push
bash -c -- 'git push' => git push
bash -n +n -c 'git push' => git push
bash5 -c 'git push' => git push
bash-5.2 -c 'git push' => git push
dash -c 'git push' => git push
zsh -fc 'git push' => git push
zsh -o extendedglob -c 'git push' => git push
ksh93 -c 'git push' => git push
mksh -c 'git push' => git push
fish -c 'git push' => git push
fish --command='git push' => git push
fish -C 'git push' -c ls => git push | ls
rbash -c 'git push' => git push
csh -fc 'git push' => git push
bash -c <U> => <U>
su -c 'git push' => git push
su -c 'git push' me => git push
su me -c 'git push' => git push
su - me -c 'git push' => git push
su --command='git push' me => git push
su -l me --session-command 'git push' => git push
runuser me -c 'git push' => git push
runuser -l me -c 'git push' => git push
sg grp -c 'git push' => git push
sg grp 'git push' => git push
flock /x -c 'git push' => git push
flock -n /x --command 'git push' => git push
watch git push => git push
watch -n 5 git push => git push
watch -n5 -d 'git push' => git push
watch --interval 5 --differences=permanent git push => git push
script -c 'git push' => git push
script -qc 'git push' /dev/null => git push
script -q --command='git push' out => git push
script -e -c 'git push' /dev/null => git push
eval git push => git push
eval 'git push' ; => git push ;
eval -- git push => git push
trap 'git push' EXIT => git push
trap -- 'git push' EXIT INT => git push
alias x='git push' => git push
alias a=ls b='git push' => ls | git push
bind -x '"\\C-g": git push' => git push
complete -C 'git push' x => git push
compgen -C 'git push' => git push
compgen -W '$(git push)' => : $(git push)
mapfile -C 'git push' -c 1 a => git push
readarray -t -C 'git push' a => git push
read 'a[$(git push)]' => : $(git push)
unset 'a[$(git push)]' => : $(git push)
printf -v 'a[$(git push)]' x => : $(git push)
test -v 'a[$(git push)]' => : $(git push)
ssh host git push => git push
ssh -p 22 -i key host git push => git push
ssh -p22 me@host 'git push' => git push
ssh host -v git push => git push
ssh -o ProxyCommand='git push' host ls => git push | ls
ssh -oProxyCommand='git push' -N host => git push
ssh -o 'ProxyCommand git push' -N host => git push
ssh -N host -o LocalCommand='git push' => git push
scp -o ProxyCommand='git push' a b => git push
rsync -e 'ssh -x' a b => ssh -x
rsync -ae 'git push' a b => git push
rsync --rsh='git push' a b => git push
rsync --rsync-path='git push' a b => git push
tar --to-command='git push' -xf x.tar => git push
tar -xf x.tar --to-comm 'git push' => git push
tar --checkpoint=1 --checkpoint-action=exec='git push' -cf x y => git push
tar -I 'git push' -cf x y => git push
tar -cI 'git push' -f x y => git push
tar cIf 'git push' x y => git push
tar cfI x 'git push' y => git push
tar --use-compress-program='git push' -cf x y => git push
tar -cf x -F 'git push' y => git push
split --filter='git push' x => git push
split -l 5 --filter 'git push' x => git push
man -P 'git push' ls => git push
man --pager='git push' ls => git push
zip -T -TT 'git push' a b => git push
zip --unzip-command 'git push' a b => git push
nc -e 'git push' host 80 => git push
nc -lp 80 -c 'git push' => git push
ncat --sh-exec 'git push' -l 80 => git push
socat - EXEC:'git push' => git push
socat TCP-LISTEN:80,fork SYSTEM:'git push' => git push
socat - exec:'git push',pty,stderr => git push
npx -c 'git push' => git push
npm exec -c 'git push' => git push
npm exec --call='git push' => git push
nix-shell --run 'git push' => git push
nix-shell -p git --run 'git push' => git push
nix-shell -p git --command 'git push' => git push
doppler run --command='git push' => git push
hatch run git push => git push
mise exec -c 'git push' => git push
hyperfine 'git push' => git push
hyperfine -w 3 'git push' ls => git push | ls
hyperfine --prepare 'git push' ls => git push | ls
hyperfine ls -r 5 => ls
entr -s 'git push' => git push
entr -rs 'git push' => git push
git -c alias.x='!git push' x => git push
git -c alias.x='!git push' x a => git push a
git -c core.pager='git push' log => git push
git -c core.sshCommand='git push' fetch => git push
git -c core.editor='git push' commit => git push
git -c core.fsmonitor='git push' status => git push
git -c diff.external='git push' diff => git push
git -c diff.x.textconv='git push' diff => git push
git -c filter.x.clean='git push' add . => git push
git -c credential.helper='!git push' fetch => git push
git -c pager.log='git push' log => git push
git config alias.x '!git push' => git push
git config --global core.pager 'git push' => git push
git config set alias.x '!git push' => git push
git rebase -x 'git push' main => git push
git rebase --exec 'git push' main => git push
git rebase -i --exec='git push' main => git push
git rebase main --exe 'git push' => git push
git-rebase -x 'git push' main => git push
git submodule foreach git push => git push
git submodule -q foreach --recursive 'git push' => git push
git filter-branch --tree-filter 'git push' HEAD => git push
git filter-branch --index-filter='git push' --msg-filter cat HEAD => git push | cat
git difftool -x 'git push' => git push
git difftool --extcmd='git push' => git push
git grep -O'git push' x => git push
git clone -u 'git push' a b => git push
git clone --upload-pack 'git push' a b => git push
git clone -c core.sshCommand='git push' a => git push
git clone 'ext::git push' => git push
git push --receive-pack='git push' => git push
git fetch --upload-pack 'git push' => git push
git ls-remote --upload-pack='git push' x => git push
tmux new-session -d 'git push' => git push
tmux new -d -s x 'git push' => git push
tmux send-keys -t x 'git push' Enter => git push
tmux run-shell 'git push' => git push
tmux new -d ; send-keys 'git push' C-m => git push
tmux -c 'git push' => git push
screen -S x -X stuff 'git push\\n' => git push
parallel git push ::: a => git push a
parallel git push {} ::: a b => git push a | git push b
parallel -j 4 'git push {}' ::: 'a b' => git push 'a b'
parallel ::: 'git push' ls => git push | ls
parallel git push {} => git push <U>
parallel git push :::: file => git push <U>
parallel -a file git push => git push <U>
parallel --pipe git push => git push
sem -j 2 git push => git push
make 'X!=git push' => git push
bpftrace -c 'git push' -e 'x' => git push
ed '!git push' => git push
apt-get -o 'DPkg::Pre-Invoke::=git push' update => git push
cross-env-shell A=b 'git push' => git push
concurrently 'git push' ls => git push | ls
nodemon --exec 'git push' => git push
sops exec-env f 'git push' => git push
"""


def text_cases(text):
    rows = [line.strip().partition(" => ") for line in text.strip().splitlines() if line.strip()]
    return [
        pytest.param(line, tuple(part.replace("<U>", UNKNOWN) for part in after.split(" | ")), id=line)
        for line, _, after in rows
    ]


@pytest.mark.parametrize(("line", "scripts"), text_cases(SCRIPTS))
def test_text_for_a_shell_is_told(line, scripts):
    launch = look(line)
    assert launch is not None
    assert (launch.scripts, launch.opaque) == (scripts, None)


CODE = """
python -c 'x' => python x
python3 -c 'x' a b => python x
python3.12 -Bc x => python x
python3 -I -W ignore -c x => python x
python3 -X utf8 -cx => python x
pypy3 -c x => python x
ipython -c x => python x
python -m timeit -n 5 x => python x
python3 -m timeit x => python x
perl -e x => perl x
perl -E x => perl x
perl -ne x f => perl x
perl -pe x => perl x
perl -lane x => perl x
perl -0777 -ne x => perl x
perl -0777ne x => perl x
perl -pi -e x f => perl x
perl -pi.bak -e x f => perl x
perl -i.bak -pe x f => perl x
perl -F: -ane x => perl x
perl -wle x => perl x
perl -I lib -e x => perl x
node -e x => javascript x
node -p x => javascript x
node -pe x => javascript x
node --eval x => javascript x
node --eval=x => javascript x
node --input-type=module -e x => javascript x
nodejs --print x => javascript x
bun -e x => javascript x
deno eval x => javascript x
ruby -e x => ruby x
ruby -ne x => ruby x
ruby -rjson -e x => ruby x
php -r x => php x
php -d a=b -r x => php x
lua -e x => lua x
lua5.4 -e x => lua x
luajit -e x => lua x
expect -c x => tcl x
Rscript -e x => r x
R -e x => r x
osascript -e x => applescript x
julia -e x => julia x
awk x f => awk x
gawk x => awk x
mawk x => awk x
awk -F: x f => awk x
gawk -e x f => awk x
gawk --source x f => awk x
gawk --field-separator=: x => awk x
sed x f => sed x
sed -n x f => sed x
sed -i x f => sed x
sed -i.bak x f => sed x
sed -n -e x f => sed x
sed -nEe x f => sed x
sed --expression=x f => sed x
sed --in-place x f => sed x
sed f1 -n => sed f1
vim -c x f => vim x
vim +x f => vim x
nvim --cmd x => vim x
vim -es -c x => vim x
ex -c x => vim x
emacs --batch --eval x => elisp x
emacs -batch -eval x => elisp x
sqlite3 db x => sqlite3 x
sqlite3 -json db x => sqlite3 x
sqlite3 db -cmd x => sqlite3 x
sqlite3 -separator , db x => sqlite3 x
psql -c x => psql x
psql -U me -d db --command=x => psql x
mysql -u me -e x => mysql x
gdb -batch -ex x => gdb x
gdb --eval-command=x => gdb x
gdb -nx -ex x prog => gdb x
make --eval=x => make x
make --eval x all => make x
make -E x => make x
pwsh -Command x => powershell x
pwsh -c x => powershell x
gnuplot -e x => gnuplot x
dc -e x => dc x
"""


@pytest.mark.parametrize(("line", "after"), text_cases(CODE))
def test_code_of_another_language_is_told_with_its_language(line, after):
    launch = look(line)
    language, _, text = after[0].partition(" ")
    assert launch is not None
    assert (launch.code, launch.transparent, launch.opaque) == (((language, text),), False, None)


FILES = """
python x.py => python x.py
python3 -u x.py a => python x.py
python3 -i x.py => python x.py
python -m pdb x.py => python x.py
python -m cProfile -o out x.py => python x.py
python -m trace --trace x.py => python x.py
perl x.pl -e => perl x.pl
perl -w x.pl => perl x.pl
node x.js => javascript x.js
node --inspect x.js => javascript x.js
node --max-old-space-size=5 x.js => javascript x.js
node -r ./a.js x.js => javascript ./a.js | javascript x.js
node inspect x.js => javascript x.js
bun x.ts => javascript x.ts
bun run x.ts => javascript x.ts
deno run -A x.ts => javascript x.ts
ruby x.rb => ruby x.rb
php x.php => php x.php
php -f x.php => php x.php
lua x.lua => lua x.lua
tclsh x.tcl => tcl x.tcl
expect -f x.exp => tcl x.exp
Rscript x.R => r x.R
awk -f x.awk f => awk x.awk
awk -fx.awk f => awk x.awk
gawk --file=x.awk => awk x.awk
gawk -E x.awk a => awk x.awk
sed -f x.sed f => sed x.sed
sed -nf x.sed => sed x.sed
vim -S x.vim => vim x.vim
vim -u x.vim => vim x.vim
emacs --script x.el => elisp x.el
gdb -x x.gdb => gdb x.gdb
psql -f x.sql => psql x.sql
sqlite3 -init x db => sqlite3 x
make => make Makefile
make all => make Makefile
make -f x.mk => make x.mk
make -fx.mk => make x.mk
make --file=x.mk => make x.mk
make --makefile x.mk => make x.mk
make -f a -f b => make a | make b
gmake -C sub => make Makefile
just => just justfile
just -f x => just x
npm run build => npm build
npm run-script build -- --x => npm build
npm test => npm test
npm t => npm test
npm start => npm start
npm --prefix x run build => npm build
npm run -w web build => npm build
npm -s run build => npm build
yarn build => npm build
yarn run build => npm build
yarn test => npm test
pnpm build => npm build
pnpm run build => npm build
pnpm -r run build => npm build
pnpm --filter web build => npm build
bun run build => npm build
node --run build => npm build
cmake -P x.cmake => cmake x.cmake
"""


@pytest.mark.parametrize(("line", "files"), text_cases(FILES))
def test_files_of_code_are_told_with_their_language(line, files):
    launch = look(line)
    assert launch is not None
    assert launch.code_files == tuple(tuple(each.split(" ")) for each in files)
    assert (launch.transparent, launch.opaque) == (False, None)


@pytest.mark.parametrize(
    ("line", "files"),
    [
        pytest.param("bash x.sh", ("x.sh",), id="a-file"),
        pytest.param("bash -x x.sh -c 'git push'", ("x.sh",), id="options-behind-a-file-are-its-own"),
        pytest.param("bash -- x.sh", ("x.sh",), id="after-the-end-of-options"),
        pytest.param("bash - x.sh", ("x.sh",), id="after-a-dash"),
        pytest.param("bash -eo pipefail x.sh", ("x.sh",), id="a-value-in-a-cluster"),
        pytest.param("sh +x x.sh", ("x.sh",), id="plus"),
        pytest.param("source x.sh a", ("x.sh",), id="source"),
        pytest.param(". x.sh", ("x.sh",), id="dot"),
        pytest.param("source -- x.sh", ("x.sh",), id="source-after-the-end-of-options"),
        pytest.param("bash --rcfile x.sh", ("x.sh",), id="rcfile"),
        pytest.param("bash --rcfile=x.sh -i", ("x.sh",), id="rcfile-with-a-sign"),
        pytest.param("bash -rcfile x.sh", ("x.sh",), id="rcfile-with-one-dash"),
        pytest.param("bash --init-file x.sh -i -c ls", ("x.sh",), id="init-file"),
        pytest.param("at -f x.sh now", ("x.sh",), id="at"),
    ],
)
def test_files_run_as_shell_scripts_are_told(line, files):
    assert look(line).files == files


@pytest.mark.parametrize(
    "line",
    [
        "sh", "bash", "bash -", "bash -s", "bash -s a b", "bash -es -- a", "bash -i", "zsh -f", "bash /dev/stdin",
        "bash /dev/fd/0", "source /dev/stdin", ". /dev/stdin", "at now", "batch", "at 10:00 tomorrow", "ssh host",
        "ssh -T host", "parallel", "parallel -j 4", "bash -o pipefail", "fish", "bash --norc",
    ],
)  # fmt: skip
def test_a_shell_program_from_standard_input_is_told(line):
    assert look(line).reads_script is True


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("python", "python"), ("python3 -", "python"), ("python3 -u", "python"), ("python3 - a b", "python"),
        ("python3 /dev/stdin", "python"), ("python3 -i x.py", "python"), ("perl", "perl"), ("perl -", "perl"),
        ("perl -w", "perl"), ("node", "javascript"), ("node -", "javascript"), ("ruby", "ruby"), ("php", "php"),
        ("php -- a", "php"), ("lua -", "lua"), ("tclsh", "tcl"), ("psql -U me db", "psql"), ("sqlite3 db", "sqlite3"),
        ("awk -f - x", "awk"), ("awk -f /dev/stdin x", "awk"), ("sed -f - x", "sed"), ("make -f -", "make"),
        ("ed x", "ed"), ("vim -es x", "vim"), ("ex -s x", "vim"), ("deno", "javascript"), ("deno run -", "javascript"),
        ("gdb prog", "gdb"), ("mysql -u me", "mysql"), ("R", "r"), ("bun -", "javascript"), ("dc", "dc"),
    ],
)  # fmt: skip
def test_the_language_of_a_program_from_standard_input_is_told(line, language):
    assert look(line).reads_code == language


@pytest.mark.parametrize(
    "line",
    [
        "ls -l", "git status", "git push", "git log -c", "git commit -m 'sh -c x'", "git diff --ext-diff",
        "git --version",
        "git config user.name x", "git config --get alias.x", "git -c user.name=x commit", "git -c core.pager=cat log",
        "git -c core.hooksPath=/dev/null commit", "git -c core.fsmonitor=false status", "git rebase main",
        "git rebase -i x",
        "git bisect start", "git submodule update --init", "git clone a b", "git grep -e x", "git rebase <U>",
        "env", "env -i", "env A=b", "env --help", "env -0", "time", "timeout --help", "timeout 5", "timeout", "nice",
        "nohup",
        "command", "exec", "xargs", "xargs -0", "find . -name x", "find <U> -name x", "find . -delete", "find",
        "sudo -l", "sudo -v", "sudo --list git", "sudo -e f", "sudo", "doas", "taskset -p 5", "taskset -pc 0 5",
        "chrt -p 5", "chrt -m", "ionice -p 5", "ionice -c3 -p 5", "prlimit --pid 5", "prlimit", "choom -p 5",
        "renice 5 6",
        "trap", "trap -p", "trap -l", "trap - EXIT", "trap '' INT", "trap EXIT", "source", "alias", "alias ll",
        "alias -p",
        "bind -p", "complete -F f x", "compgen -c", "compgen -W 'a b'", "mapfile -t a", "enable -n x", "hash -r",
        "hash git",
        "set -e", "shopt -s x", "read a", "unset a", "printf '%s' 'a[$(x)]'", "test -v a", "export A='[$(x)]'",
        "jobs -l",
        "python --version", "python3 -V", "python -m pytest -q", "python -m venv x", "python -m http.server", "perl -v",
        "node --version", "node -c x.js", "ruby --version", "php -v", "php -l x.php", "php -S 0:80", "awk",
        "awk --version",
        "node --test", "sed --version", "make --version", "make -v --help", "just --list", "npm install", "npm ci",
        "npm run", "npm ls", "yarn add x", "yarn", "pnpm install", "bun test", "bun install", "deno fmt",
        "deno --version",
        "bash --version", "bash --help", "bash -n x.sh", "sh -n x.sh", "bash -nc 'git push'", "bash -o noexec x.sh",
        "docker ps", "docker build .", "docker exec web", "docker run image", "docker compose up", "kubectl get pods",
        "kubectl exec pod", "perf report", "perf list", "busybox", "busybox --list", "ssh -V", "ssh -Q cipher",
        "ssh -G host",
        "ssh -N host", "scp a b", "rsync -a a b", "tar xf x.tar", "tar -xzf x.tar -C d", "tar czf a b", "tar",
        "tar --checkpoint-action=dot -cf a b", "sort -u x", "split -l 5 x", "zip -r a b", "man ls", "nc host 80",
        "socat - TCP:host:80", "crontab -l", "crontab -r", "tmux ls", "tmux kill-server", "tmux new-session -d -s x",
        "screen -ls", "uv sync", "uv pip install x", "uv", "poetry install", "conda list", "nix build",
        "nix-shell -p git",
        "bundle install", "rustup update", "direnv allow", "mise ls", "cargo run", "cargo test", "gcc -c x.c",
        "go test ./...",
        "ts", "ts %H:%M", "ts -s %.S", "start-stop-daemon --stop --exec /x", "run-parts --test d", "run-parts",
        "ld-x", "rg x .",
        "cmake --build b", "cmake -E echo x", "systemd-inhibit --list", "setpriv --dump", "numactl --show", "entr",
        "watch",
        "ip addr", "go build", "fd x", "fzf", "dotenv list", "dotenv", "ssh", "apt-get install x", "parallel --version",
        "emacs f", "ld-linux-x86-64.so.2 --list /bin/ls", "gcc-12 x.c", "newgrp-x", "at -l", "setsid",
        "echo git push", "vim --version",
    ],
)  # fmt: skip
def test_what_starts_nothing_is_none(line):
    assert look(line) is None


@pytest.mark.parametrize("line", ["command -v git", "command -V git push", "command -pv git"])
def test_asking_where_a_program_is_starts_nothing_and_is_looked_through(line):
    assert look(line) == Launch()


@pytest.mark.parametrize(
    "line",
    [
        "timeout <U> git push", "timeout -<U> 5 git push", "timeout --<U> 5 git push", "nice -<U> git push",
        "env -<U> git push", "env -S <U>", "env -S 'git <U>'", "chroot <U> git push", "flock <U> git push",
        "docker <U> web git push", "docker exec <U> git push", "kubectl exec <U> git push",
        "bash <U>", "bash -<U> x", "bash --<U> x", "bash /dev/fd/63", "sh x<U>", "source <U>", ". <U>", "python <U>",
        "python x/<U>", "python -m <U>", "perl <U>", "node <U>", "awk -f <U>", "git <U>", "git -c <U>=x log",
        "git --exec-path=/x log", "git -c core.hooksPath=/x commit", "git -c include.path=/x log",
        "git --config-env=core.pager=X log", "npm <U>", "npm run <U>", "uv <U>", "ssh <U> git push", "trap <U>",
        "enable -f x.so y", "hash -p /usr/bin/git ls", "crontab x", "crontab -", "crontab", "run-parts d",
        "tmux source x",
        "tmux <U>", "socat - <U>", "deno task x", "alias <U>", "make -f <U>", "su <U>", "taskset <U> git push",
        "gawk -W source=x", "tmux bind x run 'git push'", "parallel :::: file", "perf <U>", "rustup run <U> git push",
        "nice -a -b -c -d 1 -e 2 -f 3 -g 4 -h 5 -i 6 git",
    ],
)  # fmt: skip
def test_what_cannot_be_told_is_said_in_a_sentence(line):
    assert " " in look(line).opaque


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        pytest.param("timeout <U> git push", ("git", "push"), id="an-unknown-operand"),
        pytest.param("docker exec <U> git push", ("git", "push"), id="an-unknown-container"),
        pytest.param("env -<U> git push", ("git", "push"), id="an-unknown-option"),
    ],
)
def test_the_likely_reading_of_what_cannot_be_told_is_told_too(line, argv):
    assert argv in look(line).argvs


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        pytest.param("env <U> x", (UNKNOWN, "x"), id="env"),
        pytest.param("timeout 5 <U>", (UNKNOWN,), id="timeout"),
        pytest.param("xargs <U>", (UNKNOWN,), id="xargs"),
        pytest.param("sudo <U> x", (UNKNOWN, "x"), id="sudo"),
        pytest.param("nice x<U>", (f"x{UNKNOWN}",), id="a-part-of-it"),
    ],
)
def test_an_unknown_program_is_passed_on(line, argv):
    launch = look(line)
    assert (launch.argvs, launch.opaque) == ((argv,), None)


@pytest.mark.parametrize(
    "line",
    [
        "nice --unheard 5 git push",
        "timeout -Z x 5 git push",
        "sudo --unheard git git push",
        "strace --unheard x git push",
    ],
)
def test_an_option_that_is_not_known_is_read_both_ways(line):
    words = words_of(line)
    argvs = look(line).argvs
    assert ("git", "push") in argvs
    assert len(argvs) > 1
    assert all(words[-len(argv) :] == argv for argv in argvs)


@pytest.mark.parametrize(
    ("line", "chdir"),
    [
        ("env -C /x git push", "/x"), ("env --chdir /x git push", "/x"), ("make -C sub", "sub"),
        ("make --directory=sub", "sub"),
        ("make -C a -C b", "a/b"), ("make -C a -C /b", "/b"), ("git -C sub status", "sub"), ("git -C a -C b status",
        "a/b"),
        ("sudo -D /x git push", "/x"), ("uv --directory x run git", "x"), ("npm --prefix x run build", "x"),
        ("cmake -E chdir /x git", "/x"), ("unshare -w /x git", "/x"), ("ruby -C x -e y", "x"), ("just -d x", "x"),
        ("find src -execdir git ;", f"src/{UNKNOWN}"), ("poetry -C x run git", "x"), ("git -C <U> status", UNKNOWN),
    ],
)  # fmt: skip
def test_the_directory_it_goes_to_first_is_told(line, chdir):
    assert look(line).chdir == chdir


@pytest.mark.parametrize(
    ("line", "assigns"),
    [
        ("env A=b C= git", (("A", "b"), ("C", ""))),
        ("env -i A=<U> git", (("A", UNKNOWN),)),
        ("env -S 'A=b git'", (("A", "b"),)),
        ("sudo A=b git", (("A", "b"),)),
        ("make CC=x SHELL=y all", (("CC", "x"), ("SHELL", "y"))),
        ("make A:=b", (("A", "b"),)),
        ("cross-env A=b git", (("A", "b"),)),
    ],
)
def test_variables_it_sets_are_told(line, assigns):
    assert look(line).assigns == assigns


@pytest.mark.parametrize(
    ("line", "targets"),
    [
        ("make", ()), ("make all test", ("all", "test")), ("make -j4 all", ("all",)), ("make -j 4 all", ("all",)),
        ("make all -C x A=b", ("all",)), ("make -- -x", ("-x",)), ("make -kn all", ("all",)), ("just build x",
        ("build", "x")),
        ("npm run build -- a", ("build", "--", "a")), ("pnpm git push", ("git", "push")), ("npm test", ("test",)),
        ("make --jobs=4 -O -l 2 all", ("all",)), ("make -I inc -W f all", ("all",)),
    ],
)  # fmt: skip
def test_goals_are_told(line, targets):
    assert look(line).targets == targets


@pytest.mark.parametrize(
    ("line", "appends"),
    [
        ("xargs git", True), ("xargs -n1 git", True), ("parallel git", True), ("xargs -I{} git {}", False),
        ("xargs -a f git", False), ("parallel git ::: a", False), ("env git", False),
    ],
)  # fmt: skip
def test_words_from_standard_input_are_told(line, appends):
    assert look(line).appends_stdin is appends


@pytest.mark.parametrize(
    ("line", "transparent"),
    [
        ("env git", True), ("time git", True), ("timeout 5 git", True), ("nice git", True), ("nohup git", True),
        ("exec git", True), ("setsid git", True), ("stdbuf -oL git", True), ("xargs git", True), ("sh -c git", True),
        ("bash", True), ("eval git", True), ("trap git EXIT", True), ("command git", True), ("flock x git", True),
        ("sudo git", False), ("su -c git", False), ("doas git", False), ("ssh h git", False), ("docker exec c git",
        False),
        ("find -exec git ;", False), ("parallel git", False), ("watch git", False), ("script -c git", False),
        ("chroot / git", False), ("unshare git", False), ("python -c x", False), ("make", False), ("bash x.sh", False),
        ("source x.sh", False), ("busybox git", False), ("npx git", False), ("git rebase -x x", False),
    ],
)  # fmt: skip
def test_only_what_passes_on_is_looked_through(line, transparent):
    assert look(line).transparent is transparent


@pytest.mark.parametrize(
    ("line", "remote"),
    [
        ("ssh host git", True), ("docker exec c git", True), ("kubectl exec p -- git", True), ("docker run i git",
        True),
        ("docker run -v /a:/b i git", False), ("docker run --mount type=bind i git", False), ("podman exec c git",
        True),
        ("ssh -o ProxyCommand=x host git", False), ("sudo git", False), ("bash -c git", False), ("vagrant ssh -c git",
        True),
    ],
)  # fmt: skip
def test_what_runs_elsewhere_is_told(line, remote):
    assert look(line).remote is remote


def test_text_and_files_can_come_together():
    launch = look("bash --rcfile rc -ic 'git push'")
    assert (launch.files, launch.scripts) == (("rc",), ("git push",))


def test_perl_modules_are_code():
    assert look("perl '-MFoo;system(1)' -e x").code == (("perl", "use Foo;system(1);\nx"),)


def test_several_pieces_of_code_are_one_program():
    assert look("perl -e a -e b").code == (("perl", "a\nb"),)
    assert look("sed -e a -e b f").code == (("sed", "a\nb"),)


@pytest.mark.parametrize(
    ("line", "scripts"),
    [
        pytest.param("perl -ne x 'git push|'", ("git push",), id="a-pipe-behind"),
        pytest.param("perl -pe x ' git push | '", ("git push",), id="blanks-around-it"),
        pytest.param("perl -ne x '|git push'", ("git push",), id="a-pipe-before"),
        pytest.param("perl -lane x f 'git push |' '| git pull'", ("git push", "git pull"), id="among-files"),
        pytest.param("perl -n -e x -- 'git push|'", ("git push",), id="after-the-end-of-options"),
        pytest.param("perl -e x -p 'git push|'", ("git push",), id="the-option-after-the-program"),
        pytest.param("perl -F: -e x 'git push|'", ("git push",), id="splitting-fields-loops"),
        pytest.param("perl -ae x 'git push|'", ("git push",), id="splitting-loops"),
        pytest.param("perl5.36 -n x.pl 'git push|'", ("git push",), id="behind-a-file"),
        pytest.param("perl -n - 'git push|'", ("git push",), id="behind-standard-input"),
        pytest.param("perl -ne x '<U>|'", (UNKNOWN,), id="not-known"),
        pytest.param("perl -ne x f 'a|b' '|' -", (), id="files"),
        pytest.param("perl -ne 'x|' f", (), id="the-program-is-no-operand"),
        pytest.param("perl -n 'x|' f", (), id="the-file-of-the-program-is-no-operand"),
        pytest.param("perl -e x 'git push|'", (), id="without-a-loop"),
    ],
)
def test_operands_that_perl_opens_as_commands_are_told(line, scripts):
    assert look(line).scripts == scripts


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param("awk -F : -v a=b x f", 'BEGIN { a = "b" }\nx', id="a-word-of-its-own"),
        pytest.param("awk -va=b -- x", 'BEGIN { a = "b" }\nx', id="attached"),
        pytest.param("gawk --assign=a=b -e x f", 'BEGIN { a = "b" }\nx', id="a-long-option"),
        pytest.param("awk -v a=b -v c=d x", 'BEGIN { a = "b" }\nBEGIN { c = "d" }\nx', id="two-of-them"),
        pytest.param("awk -v a=b x f a=c f", 'BEGIN { a = "b" }\nBEGIN { a = "c" }\nx', id="an-operand-sets-it-again"),
        pytest.param("awk -v a=b=c x", 'BEGIN { a = "b=c" }\nx', id="a-sign-in-the-value"),
        pytest.param("""awk -v 'a=b"c' x""", 'BEGIN { a = "b\\"c" }\nx', id="a-quote"),
        pytest.param("""awk -v 'a=b\\"c' x""", 'BEGIN { a = "b\\"c" }\nx', id="a-quote-that-is-escaped"),
        pytest.param("awk -v 'a=b\\' x", 'BEGIN { a = "b\\\\" }\nx', id="a-backslash-at-the-end"),
        pytest.param("awk -v 'a=b\\tc' x", 'BEGIN { a = "b\\tc" }\nx', id="an-escape-stays"),
        pytest.param("awk -v 'a=b\nc' x", 'BEGIN { a = "b\\nc" }\nx', id="a-line-break"),
        pytest.param("awk -v a=<U> x", f'BEGIN {{ a = "{UNKNOWN}" }}\nx', id="a-value-that-is-not-known"),
        pytest.param("awk -v 'a b=c' x", "x", id="no-name"),
        pytest.param("awk -v <U>=b x", "x", id="a-name-that-is-not-known"),
        pytest.param("awk -v a=b x <U>", "x", id="an-operand-that-may-set-it-again"),
        pytest.param("awk -v a=b x '*'", "x", id="a-pattern-that-may-set-it-again"),
        pytest.param("awk -v a=b x ./<U>", 'BEGIN { a = "b" }\nx', id="a-path-sets-nothing"),
        pytest.param("gawk -v a=b -i lib.awk -e x", "x", id="a-file-that-may-set-it-again"),
        pytest.param("awk x a=b f", 'BEGIN { a = "b" }\nx', id="only-an-operand"),
    ],
)
def test_variables_of_awk_stand_before_its_program(line, text):
    assert look(line).code == (("awk", text),)


@pytest.mark.parametrize("line", ["awk -v a=b -f x.awk", "awk -v a=b -f x.awk f a=c"])
def test_variables_of_awk_are_no_program(line):
    launch = look(line)
    assert (launch.code, launch.code_files) == ((), (("awk", "x.awk"),))


@pytest.mark.parametrize("value", ["git push", 'echo "a b"', "echo a; git push", 'echo "}" | sh #'])
def test_a_command_in_a_variable_of_awk_is_read_where_the_program_runs_it(value):
    ((language, text),) = launched(("awk", "-v", f"c={value}", "BEGIN { system(c) }")).code
    assert started(language, text).scripts == (value,)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("awk -v c=ls '{ system(c) }' 'c=git push' f", id="an-operand"),
        pytest.param("awk -v c=ls -v 'c=git push' '{ system(c) }'", id="the-option-again"),
        pytest.param("awk -v c=ls '{ c = $0; system(c) }'", id="an-assignment"),
        pytest.param("awk -v c=ls '{ getline c; system(c) }'", id="getline"),
        pytest.param("awk -v c=ls '{ sub(/ls/, \"git push\", c); system(c) }'", id="sub"),
        pytest.param("awk -v c=ls '{ gsub(/ls/, \"git push\", c); system(c) }'", id="gsub"),
        pytest.param("awk -v c=ls '{ for (c in a) system(c) }'", id="a-loop"),
        pytest.param("awk -v c=ls 'function f(c) { system(c) } { f($0) }'", id="a-parameter"),
        pytest.param("awk -v c=ls 'BEGIN { ARGV[1] = \"c=git push\" } { system(c) }' f", id="an-operand-made-later"),
        pytest.param("gawk -v c=ls '{ SYMTAB[\"c\"] = $0; system(c) }'", id="the-table-of-variables"),
        pytest.param("gawk -v c=ls '@include \"x\"\n{ system(c) }'", id="an-include"),
        pytest.param("awk -v c=ls '{ <U>; system(c) }'", id="a-part-that-is-not-known"),
        pytest.param("awk -v FILENAME=ls '{ system(FILENAME) }' 'git push'", id="a-variable-of-awk-itself"),
    ],
)
def test_a_variable_of_awk_that_may_change_is_not_told_as_a_constant(line):
    ((language, text),) = look(line).code
    assert started(language, text).opaque is not None


def test_an_empty_suffix_of_sed_may_be_its_program():
    assert look("sed -i '' x f").code == (("sed", "\nx"),)


def test_an_empty_line_starts_nothing():
    assert launched(()) is None


def test_an_unknown_program_starts_what_nobody_knows_and_is_left_to_the_caller():
    assert launched((UNKNOWN, "-c", "x")) is None


def test_nested_splits_end():
    assert "nested" in launched(("env", "-S" * 40 + "git")).opaque


def test_a_flood_of_options_is_not_read_to_its_end():
    assert "too many" in launched(("env", *(f"--x{each}" for each in range(5000)), "git")).opaque


def test_a_long_line_is_read_in_one_go():
    launch = launched(("env", *["A=b"] * 20_000, "git"))
    assert launch.argvs == (("git",),)


SPECS = {
    **{name: form.spec for name, form in LAUNCHERS.items()},
    **{name: language.spec for name, language in LANGUAGES.items()},
    **{f"git {name}": form.spec for name, form in GIT_COMMANDS.items()},
    **{f"tmux {name}": form.spec for name, form in TMUX.items()},
    "xargs": XARGS, "parallel": PARALLEL, "ssh": SSH, "tar": TAR, "make": MAKE,
    "just": JUST, "npm": NPM, "git": GIT,
}  # fmt: skip
MEANINGS = {
    "stop", "code", "codefile", "load", "end", "shell", "words", "text", "entry", "none", "split", "quiet", "module",
    "script", "use", "wide", "list", "path", "config-env", "pipe", "sem", "makefile", "justfile", "assign",
    *ROLES,
}  # fmt: skip


@pytest.mark.parametrize("name", SPECS)
def test_every_option_of_the_tables_is_spelled_well(name):
    options = parsed(SPECS[name])
    assert {role for roles in options.role.values() for role in roles.split(",")} <= MEANINGS
    tokens = SPECS[name].split()
    assert [token for token in tokens if not token.startswith("-") or token.strip("-") == ""] == []
    letters = [
        letter for token in tokens if not token.startswith("--") for letter in token.partition(":")[0].rstrip("=#?")[1:]
    ]
    assert sorted(letter for letter in {*letters} if letters.count(letter) > 1) == []


NAMES = sorted({*HANDS, *LAUNCHERS, *LANGUAGES, *ALIASES, *LANGUAGE_NAMES})
PIECES = st.one_of(
    st.sampled_from(
        [
            "-",
            "--",
            "-c",
            "-e",
            "-S",
            "-I",
            "-x",
            "--exec",
            "-exec",
            ";",
            "+",
            "{}",
            ":::",
            "run",
            "exec",
            "-<",
            "=",
            "A=b",
            UNKNOWN,
        ]
    ),
    st.sampled_from(
        [f"-{UNKNOWN}", f"--{UNKNOWN}=x", f"x{UNKNOWN}", "-c" * 3, "foreach", "-m", "timeit", "", "!x", "+x", "\\", "'"]
    ),
    st.text(max_size=6),
    st.text(alphabet="-=abcxX0 '\"\\${}:\0", max_size=8),
)


@QUICK
@given(st.one_of(st.sampled_from(NAMES), st.text(max_size=8)), st.lists(PIECES, max_size=8))
def test_no_word_list_crashes_it(name, rest):
    launch = launched((name, *rest))
    assert launch is None or all(launch.argvs)


@QUICK
@given(
    st.sampled_from(
        ["env", "nice", "nohup", "timeout 5", "sudo -u me", "xargs -0", "flock /x", "setsid", "stdbuf -oL"]
    ),
    st.lists(PIECES, max_size=5),
)
def test_a_plain_program_is_never_lost(prefix, rest):
    words = (*prefix.split(), "git", *rest)
    assert ("git", *rest) in launched(words).argvs
