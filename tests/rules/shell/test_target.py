"""Targets: what a command writes, deletes and reads is told from its words, and agrees with what it really does."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target import Spot, Touch, touched
from keisei.rules.shell.target.shape import SHAPES
from keisei.rules.shell.target.table import GRAMMARS

QUICK = settings(max_examples=300, deadline=None, database=None)

SPOT = re.compile(r"(?P<path>[^{+]*)(?:\{(?P<names>[^}]*)\})?(?P<flags>(?:\+[etf])*)")


def words(command):
    """The command's words; `$X` stands for what only the shell knows."""
    return tuple(word.replace("$X", UNKNOWN) for word in shlex.split(command))


def spots(text):
    """Spots written as `path{name,name}+t+e+f`, separated by blanks: a tree, an entry, a folder."""
    found = []
    for each in text.split():
        match = SPOT.fullmatch(each.replace("$X", UNKNOWN))
        flags = match["flags"]
        names = tuple(match["names"].split(",")) if match["names"] else ()
        found.append(Spot(match["path"], "+e" in flags, names, "+t" in flags, "+f" in flags))
    return tuple(found)


def cases(text):
    """One case a line: command => writes ; deletes."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        command, _, rest = line.partition(" => ")
        writes, _, deletes = rest.partition(";")
        found.append(pytest.param(command.removesuffix(" =>"), writes.strip(), deletes.strip(), id=command))
    return found


COPYING = r"""
cp a b => b{a}
cp a b/ => b/{a}
cp a b c d => d{a,b,c}
cp -r a b => b{a}+t
cp -R x/a b => b{a}+t
cp -a a b => b{a}+t
cp -rf a b => b{a}+t
cp a -r b => b{a}+t
cp a b -r => b{a}+t
cp --recursive a b => b{a}+t
cp --recurs a b => b{a}+t
cp -- -a b => b{-a}
cp -t dir a b => dir{a,b}
cp -tdir a b => dir{a,b}
cp a b -t dir => dir{a,b}
cp -rt dir a => dir{a}+t
cp -bt dir a => dir{a}
cp -fvt dir a => dir{a}
cp --target-directory=dir a => dir{a}
cp --target-directory dir a => dir{a}
cp --target-dir=dir a => dir{a}
cp --targ dir a => dir{a}
cp -T a b => b
cp -rT a . => .+t
cp -r a/. b => b+t
cp -r a/ b => b{a}+t
cp -r .. b => b+t
cp -r a . b => b{a}+t b+t
cp --parents x/y/z d => d{x/y/z}
cp --parents /etc/x d => d{etc/x}
cp -S .old a b => b{a}
cp --suffix .old a b => b{a}
cp --suffix=.old a b => b{a}
cp --backup=numbered a b => b{a}
cp --backup a b => b{a}
cp -b a b => b{a}
cp -p --preserve=mode a b => b{a}
cp --no-preserve=mode a b => b{a}
cp --no-preserve mode a b => b{a}
cp --sparse=always a b => b{a}
cp --reflink a b => b{a}
cp *.py d => d{*.py}
cp x/*.py d => d{*.py}
cp a - => ./-{a}
cp a /dev/null =>
cp a =>
cp --help =>
cp --version =>
cp a $X => $X{a}
cp $X b => b{$X} $X
cp x/$X b => b{$X}
cp $X/x b => b{x}
cp $X => $X
cp -$X a b => b{a} $X
cp a b$X/c => b$X/c{a}
cp -t $X a => $X{a}
gcp a b => b{a}
mv a b => b{a} ; a+e+t
mv a b c => c{a,b} ; a+e+t b+e+t
mv -t d a b => d{a,b} ; a+e+t b+e+t
mv -T a b => b ; a+e+t
mv -f a b => b{a} ; a+e+t
mv -b -S .x a b => b{a} ; a+e+t
mv -- a -b => -b{a} ; a+e+t
mv a => ;
mv $X b => b{$X} $X ; $X+e+t
mv a/ b => b{a} ; a/+e+t
mv --target-directory=d a => d{a} ; a+e+t
install a b => b{a}
install -m 755 a b => b{a}
install -m755 -o root -g root a b => b{a}
install -D a x/y/b => x/y/b{a}
install -Dm644 a b => b{a}
install -t d a b => d{a,b}
install -D -t d a => d{a}
install -T a b => b
install -d x y => x+f y+f
install -d -m 700 x => x+f
install --directory x => x+f
install -dm755 x => x+f
install --mode=755 a b => b{a}
ln -s a b => b{a}+e
ln a b => b{a}+e
ln -s a => a+e
ln -s /x/y => y+e
ln -sf a b => b{a}+e
ln -sfn a b => b{a}+e
ln -snf a b => b{a}+e
ln -sT a b => b+e
ln -s -t d a b => d{a,b}+e
ln -s a b d/ => d/{a,b}+e
ln -sr a b => b{a}+e
ln --symbolic a b => b{a}+e
ln -s .. up => up+e
link a b => b{a}+e
cp -s a b => b{a}+e
cp -l a b => b{a}+e
cp -al a b => b{a}+e+t
rsync a b => b{a}
rsync -a a b => b{a}+t
rsync -a a/ b => b+t
rsync -av a/ c b => b{c}+t b+t
rsync -a a/ b --delete => b+t ; b+t
rsync -a --del a/ b => b+t ; b+t
rsync -a --delete-after a/ b => b+t ; b+t
rsync -a --delete-excluded a/ b/ => b/+t ; b/+t
rsync --remove-source-files a b => b{a} ; a+e
rsync -a --remove-source-files a b => b{a}+t ; a+e+t
rsync -a a host:b =>
rsync -a a rsync://host/b =>
rsync -a host:x/y b => b{y}+t
rsync -a host::mod/y b => b{y}+t
rsync -a host:x/ b => b+t
rsync -e ssh a b => b{a}
rsync --exclude x -a a b => b{a}+t
rsync --exclude=x a b => b{a}
rsync -n -a a b =>
rsync -an a b =>
rsync --dry-run a b --delete =>
rsync --log-file=l -an a b => l
rsync -aR x/y b => b{x/y}+t
rsync --backup-dir=old -ab a b => b{a}+t b/old+t
rsync a =>
rsync --checksum a b => b{a}
rsync --group a b => b{a}
scp a host:b =>
scp host:x/a . => .{a}
scp -r host:x d => d{x}+t
scp -P 22 -i k host:x d => d{x}
scp a b => b{a}
docker cp c:/x/y . => .{y}+t
docker cp a c:/x =>
sftp host:a b => b{a}
sftp host:x/a => a{a}
"""

PLAIN = r"""
tee a => a
tee -a a b => a b
tee --append a => a
tee - => ./-
tee /dev/null =>
tee /dev/stderr /dev/tty /dev/fd/3 =>
tee -- -a => -a
tee $X => $X
tee a.$X => a.$X
tee -i a => a
tee =>
touch a b => a b
touch -d yesterday a => a
touch -d $X a => a
touch -t 202001010000 a => a
touch -r ref a => a
touch --reference=ref a => a
touch -c a => a
touch - =>
touch --help =>
truncate -s 0 a => a
truncate -s0 a b => a b
truncate --size=0 a => a
truncate -r x a => a
mkdir a b => a+f b+f
mkdir -p a/b/c => a/b/c+f
mkdir -m 700 a => a+f
mkdir -pm 700 a => a+f
mkdir -- -p => -p+f
mkdir - => ./-+f
mkdir $X => $X+f
rmdir a => ; a+e
rmdir -p a/b/c => ; a/b/c+e a/b+e a+e
rm a b => ; a+e b+e
rm -f a => ; a+e
rm -r a => ; a+e+t
rm -R a => ; a+e+t
rm -rf a b => ; a+e+t b+e+t
rm -fr -- -x => ; -x+e+t
rm a -r => ; a+e+t
rm --recursive a => ; a+e+t
rm --rec a => ; a+e+t
rm -rf $X => ; $X+e+t
rm -rf $X/ => ; $X/+e+t
rm -rf / --no-preserve-root => ; /+e+t
rm *.o => ; *.o+e
rm - => ; ./-+e
rm /dev/null => ; /dev/null+e
rm -rf => ;
unlink a => ; a+e
shred a => a
shred -u a => a ; a+e
shred -n 3 -u a => a ; a+e
shred --remove=wipe a => a ; a+e
chmod 644 a b => a b
chmod +x a => a
chmod -x a => a
chmod -w,o+r a => a
chmod -R u+w a => a+t
chmod -R 700 -- a => a+t
chmod u+x -R a => a+t
chmod --reference=r a => a
chmod --recursive 644 a => a+t
chmod -rwx a => a
chmod $X a => a $X
chown me a => a
chown me:me a b => a b
chown -R me a => a+t
chown --reference=r a => a
chown --from=x me a => a
chown -h me a => a
chgrp g a => a
chgrp -R g a => a+t
chattr +i a => a
chattr -i a => a
chattr -R +i a => a+t
chattr =i a => a
setfacl -m u:x:r a => a
setfacl -R -m u:x:r a => a+t
setfacl -b a => a
setfacl --restore=f => $X
setfattr -n user.x -v 1 a => a
setfattr -x user.x a => a
dd if=a of=b => b
dd of=b bs=1 count=2 => b
dd if=a =>
dd if=a of=/dev/null =>
dd of=$X if=a => $X
dd $X => $X
mkfifo p => p
mkfifo -m 600 p => p
mknod n p => n
mknod -m 600 n c 1 3 => n
fallocate -l 1M a => a
fallocate -l1M a => a
mktemp => /tmp/tmp.XXXXXXXXXX
mktemp -d => /tmp/tmp.XXXXXXXXXX+f
mktemp x.XXXX => x.XXXX
mktemp -p d => d/tmp.XXXXXXXXXX
mktemp -p d x.XXX => d/x.XXX
mktemp -t x.XXX => /tmp/x.XXX
mktemp --tmpdir=d x.XXX => d/x.XXX
mktemp --tmpdir x.XXX => /tmp/x.XXX
mktemp --suffix=.c x.XXX => x.XXX.c
mktemp -u =>
mkfs.ext4 /dev/sdb => /dev/sdb
mkfs -t ext4 disk => disk
mount --bind a b => b+t
mount -o bind a b => b+t
mount -t tmpfs none m => m+t
mount =>
sponge a => a
sponge -a a => a
script => typescript
script log => log
script -c ls log => log
script -qc ls /dev/null =>
script -q -O log -c ls => log
split a => x$X
split -b 10 a p => p$X
split -l10 a d/p => d/p$X
split --additional-suffix=.c a p => p$X.c
split - p => p$X
split --filter=cat a =>
csplit a 10 => xx$X
csplit -f p a 10 => p$X
sort a =>
sort -o b a => b
sort a -o b => b
sort -ob a => b
sort -uo b a => b
sort --output=b a => b
sort --outp b a => b
sort -k 2 -t : a =>
sort -co b a => b
sort $X =>
sort -o b $X => b
sort -T /tmp a =>
shuf -o b a => b
uniq a =>
uniq a b => b
uniq -c a b => b
uniq -f 1 a b => b
uniq - b => b
iconv -f latin1 -t utf-8 a =>
iconv -f latin1 -t utf-8 -o b a => b
iconv -f latin1 -t utf-8 --output=b a => b
base64 a =>
xxd a =>
xxd a b => b
xxd -r a b => b
xxd -r -p a b => b
xxd -ps -c 8 a b => b
xxd -c 8 a =>
crontab f => /var/spool/cron/crontabs+t
crontab -l =>
flock l ls => l
flock -n 9 =>
time -o t ls -o u => t
strace -o t ls -o u => t
rename s/a/b/ x/a => x/$X+e ; x/a+e
rename s/a$/new/ a => $X+e ; a+e
ssh-keygen -f k -N x => k k.pub
ssh-keygen -lf k =>
tree -o t => t
printf a =>
echo a =>
true =>
"""

EDITING = r"""
sed s/a/b/ f =>
sed -n 1,5p f =>
sed -e s/a/b/ f =>
sed -i s/a/b/ f => f
sed -i s/a/b/ f g => f g
sed -i.bak s/a/b/ f => f f.bak
sed -i.bak s/a/b/ d/f => d/f d/f.bak
sed -iold_* s/a/b/ d/f => d/f d/old_f
sed -i'bak/*' s/a/b/ f => f bak/f
sed --in-place s/a/b/ f => f
sed --in-place=.bak s/a/b/ f => f f.bak
sed --in s/a/b/ f => f
sed -ni p f => f
sed -n -i p f => f
sed -i -e s/a/b/ f => f
sed -i -e s/a/b/ -e s/c/d/ f g => f g
sed -E -i s/a/b/ f => f
sed -Ei s/a/b/ f => f
sed -i -E s/a/b/ f => f
sed s/a/b/ -i f => f
sed s/a/b/ f -i => f
sed -f s.sed -i f => f
sed -i -f s.sed f => f
sed -i --expression=s/a/b/ f => f
sed -i -- s/a/b/ f => f
sed -i '' s/a/b/ f => f
sed -i '' -e s/a/b/ f => f
sed -i s/a/b/ $X => $X
sed -i "s/a/$X/" f => f
sed -i $X f => f $X
sed -i s/a/b/ *.py => *.py
sed -n 'w out' f => out
sed -n '/x/w out' f => out
sed 's/a/b/w out' f => out
sed 's/a/b/gw out' f => out
sed 's/a/b/g w out' f => out
sed 's|a|b|w d/out' f => d/out
sed 's/a\/w/b/w out' f => out
sed '1,5w out' f => out
sed '1~2W out' f => out
sed '/w x/p' f =>
sed 's/w x/w y/' f =>
sed '\,w x,p' f =>
sed 'y/w /ab/' f =>
sed 'a w text' f =>
sed '# w text' f =>
sed -e 'a\' -e 'w text' -e 'w out' f => out
sed 'r other' f =>
sed -e p -e 'w out' f => out
sed '/x/{p;w out' f => out
sed ':a;N;$!ba;s/x/y/w out' f => out
sed '$!w out' f => out
sed 's/a/b/;s/c/d/w out' f => out
sed 'w /dev/stdout' f =>
gsed -i s/a/b/ f => f
perl -i -pe s/a/b/ f => f
perl -pi -e s/a/b/ f g => f g
perl -pi.bak -e s/a/b/ f => f f.bak
perl -i.bak -pe s/a/b/ f => f f.bak
perl -0777 -pi -e s/a/b/ f => f
perl -0777pi -e s/a/b/ f => f
perl -lpi -e s/a/b/ f => f
perl -w -i -ne print f => f
perl -Mstrict -pi -e 1 f => f
perl -ne print f =>
perl -e 1 f =>
perl script.pl f =>
perl -pi -e 1 -- f => f
perl -pi -e 1 $X => $X
ruby -i -pe x f => f
ruby -pi.bak -e x f => f f.bak
ruby -e x f =>
gawk -i inplace '{print}' f => f
gawk --include=inplace '{print}' f => f
gawk -i inplace -v INPLACE_SUFFIX=.bak '{print}' f => f f.bak
gawk -i inplace -f p.awk f => f
gawk '{print}' f =>
gawk -v x=1 '{print}' f =>
gawk -oout.awk '{print}' f => out.awk
patch f p => f
patch -p1 => $X
patch -p1 -i p => $X
patch -i p -d dir => $X
patch -d dir f => dir/f
patch -o out f p => out
patch -o out -i p => out
patch --dry-run -p1 -i p =>
patch -r rej f p => rej f
yq .a f =>
yq -i .a=1 f => f
yq eval -i .a=1 f => f
yq e .a f =>
dos2unix f => f
dos2unix -n a b => b
dos2unix -O f =>
unix2dos f g => f g
vim -c wq f => f
vim -es -c wq f => f
vim +5 f => f
vim -u NONE f => f
ex -s f => f
ex -sc wq f => f
ed -s f => f
ed f => f
nano f => f
nano +3 f => f
emacs --batch f --eval x => f
emacs -nw f => f
sqlite3 db 'select 1' => db
sqlite3 -readonly db 'select 1' =>
sqlite3 :memory: 'select 1' =>
sqlite3 db '.output out' => db out
sqlite3 db '.backup out' => db out
sqlite3 db "vacuum into 'x.db'" => db x.db
sqlite3 db "attach 'y.db' as y" => db y.db
black f => f+t
black . => .+t
black --check f =>
black --diff f =>
black -l 100 f => f+t
black -q -t py311 f => f+t
ruff format f => f+t
ruff format => .+t
ruff format --check f =>
ruff format --diff =>
ruff check f =>
ruff check --fix f => f+t
ruff check --fix => .+t
ruff check --select E f --fix => f+t
ruff check -o out f => out
ruff --config x check --fix f => f+t
isort f => f+t
isort --check-only f =>
isort -c f =>
isort --profile black f => f+t
autopep8 f =>
autopep8 -i f => f+t
autopep8 --in-place f => f+t
yapf -i f => f+t
yapf -d f =>
prettier f =>
prettier --check f =>
prettier --write f => f+t
prettier -w src => src+t
eslint src =>
eslint --fix src => src+t
eslint -o out src => out
gofmt f =>
gofmt -w f => f+t
gofmt -l -w . => .+t
goimports -w f => f+t
rustfmt f => f
rustfmt --check f =>
clang-format f =>
clang-format -i f => f
clang-format-15 -i -style=file f => f
shfmt f =>
shfmt -w f => f+t
shfmt -i 2 -w f => f+t
terraform fmt => .+t
terraform fmt -check =>
terraform fmt d => d+t
cargo fmt =>
"""

ARCHIVES = r"""
tar xf a.tar => .+t
tar xzf a.tgz => .+t
tar -xzf a.tgz => .+t
tar -xf a.tar -C d => d+t
tar -C d -xf a.tar => d+t
tar xfC a.tar d => d+t
tar xf a.tar --directory=d => d+t
tar xf a.tar --directory d x y => d+t
tar --extract --file=a.tar => .+t
tar --get -f a.tar => .+t
tar xf a.tar -C d -C e => d+t d/e+t
tar xOf a.tar x =>
tar -xf a.tar --to-stdout =>
tar xPf a.tar => .+t $X
tar xf a.tar --one-top-level=x/y => .+t x/y+t
tar xf a.tar --xattrs -C d => d+t
tar --sparse -cf out.tar d => out.tar
tar tf a.tar =>
tar -tzvf a.tgz =>
tar cf out.tar d => out.tar
tar czf out.tgz d => out.tgz
tar -czf out.tgz -C x y => out.tgz
tar -cf - d =>
tar c d =>
tar cf $X d => $X
tar --create --file out.tar d => out.tar
tar rf out.tar x => out.tar
tar --delete -f out.tar x => out.tar
tar cf out.tar d --remove-files => out.tar ; d+e+t
tar -cf out.tar -C x d --remove-files => out.tar ; x/d+e+t
tar df a.tar =>
tar -x -f a.tar --strip-components=1 -C d => d+t
tar -x --strip-components 1 -f a.tar => .+t
tar $X a.tar => $X
tar tf $X =>
tar cf host:out.tar d =>
tar cf out.tar -g snap d => snap out.tar
bsdtar -xf a.zip -C d => d+t
unzip a.zip => .+t
unzip a.zip -d d => d+t
unzip -d d a.zip => d+t
unzip -qo a.zip -d d => d+t
unzip -l a.zip =>
unzip -p a.zip x =>
unzip -t a.zip =>
unzip -Z a.zip =>
zip out.zip a => out.zip
zip -r out.zip d => out.zip
zip -qr out d => out out.zip
zip -m out.zip a => out.zip ; a+e
zip -rm out.zip a => out.zip ; a+e+t
zip - a =>
gzip f => f.gz ; f+e
gzip -k f => f.gz
gzip -9 f g => f.gz g.gz ; f+e g+e
gzip -c f =>
gzip -d f.gz => f ; f.gz+e
gzip -dk f.gz => f
gzip -dc f.gz =>
gzip -t f.gz =>
gzip -l f.gz =>
gzip -S .z f => f.z ; f+e
gzip -r d => d+t d.gz+t ; d+e+t
gzip =>
gunzip f.gz => f ; f.gz+e
gunzip f.tgz => f.tar ; f.tgz+e
gunzip -c f.gz =>
gunzip -k f.gz => f
zcat f.gz =>
bzip2 f => f.bz2 ; f+e
bzip2 -d f.bz2 => f ; f.bz2+e
bunzip2 -k f.bz2 => f
xz f => f.xz ; f+e
xz -k -T 0 f => f.xz
xz -T0 -9 f => f.xz ; f+e
xz -d f.xz => f ; f.xz+e
unxz f.xz => f ; f.xz+e
xz --format=lzma f => f.lzma ; f+e
zstd f => f.zst
zstd -19 f -o g => g
zstd --rm f => f.zst ; f+e
zstd -d f.zst => f
zstd -dc f.zst =>
unzstd f.zst => f
lz4 f => f.lz4
lz4 f g => g
lz4 -l f => f.lz4
lz4 --list f.lz4 =>
pigz -p 4 f => f.gz ; f+e
lz4 -d f.lz4 => f
7z x a.7z => .+t
7z x a.7z -od => d+t
7z e a.7z => .+t
7z a out.7z d => out.7z
7z a out d => out out.7z
7z l a.7z =>
7z a -p out.7z d => out.7z
7z a -sdel out.7z d => out.7z ; d+e+t
cpio -i => .+t $X
cpio -id -D d --no-absolute-filenames => d+t
cpio -it =>
cpio -o -F out => out
cpio -o =>
cpio -pdm d => d+t
ar rcs l.a x.o => l.a
ar -rcs l.a x.o => l.a
ar x l.a => .+t
ar t l.a =>
ar rb pos.o l.a x.o => l.a
"""

BUILDING = r"""
gcc -o x a.c => x
gcc -ox a.c => x
gcc a.c => a.out
gcc -c d/a.c => a.o
gcc -c a.c -o b.o => b.o
gcc -S a.c => a.s
gcc -E a.c =>
gcc --version =>
gcc -fsyntax-only a.c =>
gcc -Wall -O2 -I inc -std=c11 -o x a.c -lm => x
gcc -MD -MF d.d -c a.c -o a.o => d.d a.o
gcc-12 -o x a.c => x
x86_64-linux-gnu-gcc -o x a.c => x
cc -o x a.c => x
clang++ -o x a.cc => x
ld -o x a.o => x
rustc -o x a.rs => x
rustc --out-dir d a.rs => d+t
go build ./... =>
go build -o bin/x . => bin/x
go -C d build -o x . => d/x
go test -coverprofile=c.out ./... => c.out
tsc --outDir dist => dist+t
tsc --outFile x.js a.ts => x.js
tsc -p . =>
tsc --outdir dist => dist+t
objcopy a => a
objcopy a b => b
objcopy -O binary a b => b
strip a b => a b
strip -o b a => b
strip --strip-debug a => a
openssl enc -in a -out b => b
openssl req -newkey rsa -keyout k -out c => k c
openssl dgst -sha256 a =>
gpg -o b -d a => b
gpg --output b -c a => b
gpg -c a => a.gpg
gpg --armor --detach-sign a => a.asc
gpg -d a.gpg =>
gpg a.gpg => a
gpg --verify a.sig a =>
pandoc -o b a => b
protoc --python_out=gen a.proto => gen+t
npm install =>
pip install x =>
cargo build =>
make =>
"""

NETWORKING = r"""
curl http://h/x =>
curl -s http://h/x =>
curl -o f http://h/x => f
curl -of http://h/x => f
curl -sSLo f http://h/x => f
curl --output f http://h/x => f
curl --output=f http://h/x => f
curl -O http://h/d/x => x
curl -LO http://h/x?y=1 => x
curl -OJ http://h/x => $X
curl --remote-name http://h/x => x
curl --output-dir d -O http://h/x => d/x
curl --output-dir d -o f http://h/x => d/f
curl -o - http://h/x =>
curl -o /dev/null http://h/x =>
curl -D h http://h/x => h
curl -c jar http://h/x => jar
curl --trace t http://h/x => t
curl -o f $X => f
curl -o $X http://h/x => $X
curl -O $X => $X
curl -K c => $X
curl -T f http://h/x =>
curl --parallel -o f http://h/x => f
curl --netrc -o f http://h/x => f
curl --stderr f http://h/x => f
curl -w '%output{o}x' http://h/x => o
curl -X POST -d @f http://h/x =>
curl -o 'f#1' 'http://h/[1-3]' => f$X
wget http://h/x => x
wget http://h => index.html
wget http://h/ => index.html
wget http://h/d/ => index.html
wget -O f http://h/x => f
wget -Of http://h/x => f
wget -qO- http://h/x =>
wget -O - http://h/x =>
wget -P d http://h/x => d/x
wget -P d -i list => d/$X
wget -o log http://h/x => log x
wget -r http://h/x => .+t
wget -r -P d http://h/x => d+t
wget -e robots=off http://h/x => x
wget -e output_document=f -O - http://h/x => f+t
wget --spider http://h/x =>
wget $X => $X
ssh host ls =>
"""

GIT = r"""
git status =>
git commit -m x =>
git clone http://h/x.git => x+t
git clone http://h/x => x+t
git clone http://h/x.git d => d+t
git clone --depth 1 -b main http://h/x d => d+t
git clone git@h:u/x.git => x+t
git clone --bare http://h/x.git => x.git+t
git -C a clone http://h/x d => a/d+t
git clone http://h/x $X => $X+t
git apply p => $X
git apply --check p =>
git apply --stat p =>
git apply --cached p =>
git apply --stat --apply p => $X
git am p => $X
git checkout -- a b => a+t b+t
git checkout HEAD -- a => a+t
git checkout HEAD a => a+t
git checkout . => .+t
git checkout a.py => a.py+t
git checkout main =>
git checkout feature/x =>
git checkout -b x origin/main =>
git checkout -- $X => $X+t
git -C d checkout -- a => d/a+t
git -C d -C e checkout -- a => d/e/a+t
git --work-tree=/x checkout -- a => /x+t a+t
git -c core.worktree=/x checkout -f => /x+t
git restore a => a+t
git restore -s HEAD~1 a => a+t
git restore --source=HEAD a => a+t
git restore --staged a =>
git restore --staged --worktree a => a+t
git restore :/ => $X+t
git mv a b => b{a} ; a+e+t
git mv -n a b => ;
git rm a => ; a+e
git rm -r a => ; a+e+t
git rm --cached a => ;
git clean -fd => ; .+t
git clean -fdx d => ; d+t
git clean -n => ;
git worktree add d => d+t
git worktree add -b x d main => d+t
git worktree remove d => ; d+e+t
git worktree list =>
git diff =>
git diff --output=f => f
git diff --output f HEAD => f
git log -p --output=f => f
git archive HEAD =>
git archive -o f HEAD => f
git archive --format=tar --output=f HEAD => f
git format-patch -o d HEAD~1 => d+t
git format-patch --stdout HEAD~1 =>
git format-patch HEAD~1 => $X.patch
git config -f f a.b c => f
git config -f f a.b =>
git config -f f --get a.b =>
git config -f f --unset a.b => f
git config a.b c =>
git bundle create f HEAD => f
git submodule add http://h/x d => d+t
git init d => d+t
git $X =>
git =>
"""

SEARCHING = r"""
find . -name x =>
find a b -delete => ; a+e+t b+e+t
find -delete => ; .+e+t
find . -name x -delete => ; .+e+t
find -L a -delete => ; a+e+t
find $X -delete => ; $X+e+t
find $X -name x =>
find . -fprint f => f
find . -fprint0 f => f
find . -fprintf f %p => f
find . -fls f => f
cat a =>
grep x a =>
grep -r x . =>
rg x =>
head -n 5 a =>
tail -f a =>
less a =>
wc -l a =>
diff a b =>
cmp a b =>
cut -d : -f 1 a =>
stat a =>
file a =>
md5sum a =>
od a =>
jq . a =>
ls -la =>
cat $X =>
grep $X $X =>
python3 a.py =>
bash a.sh =>
node a.js =>
unknown-program a b =>
"""

WRITING = COPYING + PLAIN + EDITING + ARCHIVES + BUILDING + NETWORKING + GIT + SEARCHING


@pytest.mark.parametrize(("command", "writes", "deletes"), cases(WRITING))
def test_what_a_command_writes_and_deletes_is_told_by_its_words(command, writes, deletes):
    touch = touched(words(command))

    assert (touch.writes, touch.deletes) == (spots(writes), spots(deletes))


READING = r"""
cp a b => a
cp -r a b c => a+t b+t
install a b => a
cat a b => a b
cat - =>
cat -n a => a
grep x a b => a b
grep -e x a => a
grep -f p a => p a
grep -r x d => d+t
grep -A 3 x a => a
rg x d => d+t
rg --files d => d+t
rg -g '*.py' x d => d+t
head -n 5 a => a
head -n5 a => a
head -5 a => a
tail -c 5 a => a
less a => a
wc -l a => a
diff -u a b => a b
diff -r a b => a+t b+t
comm a b => a b
cut -d : -f 1 a => a
sha256sum a => a
od -t x1 a => a
hexdump -C a => a
strings a => a
stat -c %s a => a
file a => a
jq .x a => a
jq --arg k v .x a => a
source a => a
. a x => a
python3 a.py x => a.py
python3.11 a.py => a.py
python3 -c x a =>
python3 -m x a =>
bash a.sh x => a.sh
bash -c x a =>
sed -n 1p a => a
sed -f s a => s a
sed 'r x' a => a x
awk '{print}' a b => a b
awk -f p a => p a
awk '{print}' v=1 a => a
perl x.pl a => x.pl a
perl -ne 1 a => a
sort a b => a b
uniq a => a
xxd a => a
tar tf a => a
tar cf - d => d+t
unzip -l a => a
gzip -c a => a
gzip -k a => a
zcat a => a
dd if=a => a
dd if=/dev/zero of=x =>
patch f p => p
patch -i p -d d => d/p
find a -name x => a+t
curl -T a http://h => a
curl -d @a http://h => a
curl -F x=@a http://h => a
curl file:///a => /a
prettier a => a+t
black --check a => a+t
rsync a h:b => a
scp a h:b => a
git apply p => p
sqlite3 -readonly db x => db
touch -r ref a => ref
objcopy a b => a
git clone ../x => ../x+t
"""


@pytest.mark.parametrize(("command", "reads", "_nothing"), cases(READING))
def test_what_a_command_reads_is_told_by_its_operands(command, reads, _nothing):
    assert touched(words(command)).reads == spots(reads)


LINKS = [
    ("ln -s a b", (("a", "b", True),)),
    ("ln a b", (("a", "b", False),)),
    ("ln -s /x/y", (("/x/y", "y", True),)),
    ("ln -s a b d", (("a", "d/a", True), ("b", "d/b", True))),
    ("ln -s x/a d/", (("x/a", "d/a", True),)),
    ("ln -t d -s a", (("a", "d/a", True),)),
    ("ln -sfT a b", (("a", "b", True),)),
    ("ln -f a b", (("a", "b", False),)),
    ("link a b", (("a", "b", False),)),
    ("cp -s a b", (("a", "b", True),)),
    ("cp --symbolic-link a b", (("a", "b", True),)),
    ("cp -l a b", (("a", "b", False),)),
    ("cp -al a b", (("a", "b", False),)),
    ("cp -lt d a", (("a", "d/a", False),)),
    ("ln -s $X b", ((UNKNOWN, "b", True),)),
    ("cp a b", ()),
    ("mv a b", ()),
]


@pytest.mark.parametrize(("command", "links"), LINKS, ids=[command for command, _ in LINKS])
def test_every_link_is_told_with_its_target_and_its_kind(command, links):
    assert touched(words(command)).links == links


REACHING = [
    ("curl http://h/x", ("http://h/x",)),
    ("curl -o f http://h/x", ("http://h/x",)),
    ("curl --url http://h/x -s", ("http://h/x",)),
    ("curl -H 'A: b' -X POST http://h", ("http://h",)),
    ("curl $X", (UNKNOWN,)),
    ("curl file:///a", ()),
    ("curl --version", ()),
    ("wget http://h/x", ("http://h/x",)),
    ("wget -i list", ("wget",)),
    ("rsync -a a h:b", ("h:b",)),
    ("rsync -a a b", ()),
    ("rsync a ./h:b", ()),
    ("scp h:a .", ("h:a",)),
    ("sftp h", ("h",)),
    ("ssh -p 22 h ls", ("h",)),
    ("ftp h", ("h",)),
    ("nc h 80", ("h",)),
    ("tar cf h:x d", ("h:x",)),
    ("tar cf h:x d --force-local", ()),
    ("git clone http://h/x", ("http://h/x",)),
    ("git clone ../x y", ()),
    ("git fetch origin", ("git fetch",)),
    ("git -C d push", ("git push",)),
    ("git status", ()),
    ("pip install x", ("pip install",)),
    ("pip list", ()),
    ("npm ci", ("npm ci",)),
    ("npm test", ()),
    ("cargo build", ()),
    ("gh pr list", ("gh",)),
    ("openssl s_client -connect h:443", ("h:443",)),
    ("cp a b", ()),
]


@pytest.mark.parametrize(("command", "network"), REACHING, ids=[command for command, _ in REACHING])
def test_a_command_that_reaches_out_says_where_to(command, network):
    assert touched(words(command)).network == network


def test_nothing_comes_of_no_words():
    assert touched(()) == Touch()


def test_every_shape_the_table_names_is_known():
    assert {grammar.shape for grammar in GRAMMARS.values()} - set(SHAPES) == set()


def test_every_option_a_grammar_decides_by_is_one_it_lists():
    strays = []
    for name, grammar in GRAMMARS.items():
        listed = {each.partition("=")[0].partition(",")[0] for each in grammar.options.split()}
        deciding = f"{grammar.change} {grammar.still} {grammar.tree}".split()
        strays += [(name, each) for each in deciding if each != "*" and each not in listed]

    assert strays == []


def test_every_option_is_listed_once():
    twice = []
    for name, grammar in GRAMMARS.items():
        listed = [each for item in grammar.options.split() for each in item.partition("=")[0].split(",")]
        twice += [(name, each) for each in set(listed) if listed.count(each) > 1]

    assert twice == []


def test_a_very_long_command_is_read_at_once():
    count = 20_000

    touch = touched(("sed", "-i", "s/a/b/;" * count, *("f",) * count))

    assert touch.writes == (Spot("f"),)


PROGRAMS = st.sampled_from(sorted({name.split()[0] for name in GRAMMARS}))
READERS = [
    "cat",
    "grep",
    "rg",
    "head",
    "wc",
    "cmp",
    "md5sum",
    "stat",
    "jq",
    "ls",
    "du",
    "zcat",
    "od",
    "cut",
    "python",
    "bash",
]
WORDS = st.one_of(
    st.sampled_from(
        [
            "-", "--", "-i", "-r", "-t", "-o", "-e", "-C", "-d", "-x", "xf", "-f", "a", "b/", "..", "/", "",
            "*.c", "--output", "--output=", "add", "check", "clone", "checkout", "worktree", "s/a/b/w f", "w", "s",
            "\\", UNKNOWN, f"-{UNKNOWN}",
            f"a{UNKNOWN}", "host:x", "of=x", "http://h", "?", "#1", "@", "=", "-=", "--=", "---", "-delete",
            "-fprint", "/x/{", "a\\\n", "y,", ":",
        ]
    ),
    st.text(max_size=8),
    st.sampled_from(sorted({part for name in GRAMMARS for part in name.split()})),
)  # fmt: skip


@pytest.mark.parametrize("program", sorted(GRAMMARS))
def test_a_program_without_operands_is_read(program):
    assert isinstance(touched(tuple(program.split())), Touch)


@QUICK
@example("sed", ["-n", "s"])
@example("ar", [])
@example("tar", ["xfC"])
@given(PROGRAMS, st.lists(WORDS, max_size=8))
def test_no_words_confuse_it(program, rest):
    touch = touched((program, *rest))

    assert all(spot.path for spot in (*touch.writes, *touch.deletes, *touch.reads))


@QUICK
@given(
    st.sampled_from(
        ["cp", "mv", "tee", "touch", "mkdir", "truncate", "ln", "install", "rsync", "chmod", "dd", "black"]
    ),
    st.lists(st.sampled_from(["a", "b", "x/y", "-v"]), max_size=4),
    st.integers(min_value=0, max_value=4),
)
def test_a_word_that_may_be_anything_makes_the_place_of_a_write_unknown(program, rest, at):
    line = (program, *rest[:at], UNKNOWN, *rest[at:])

    assert any(UNKNOWN in spot.path for spot in touched(line).writes)


@QUICK
@given(st.lists(st.sampled_from(["a", "b/c", "-n", "--", "-x", "-5", UNKNOWN, "-"]), max_size=6), st.data())
def test_a_reader_never_writes(rest, data):
    program = data.draw(st.sampled_from(READERS))

    assert touched((program, *rest)).writes == ()


# What really happens


def snapshot(root):
    """Every path below the root, and what it is."""
    seen = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            state = path.lstat()
            if path.is_symlink():
                seen[str(path.relative_to(root))] = ("link", str(path.readlink()))
            elif path.is_dir():
                seen[str(path.relative_to(root))] = ("folder", state.st_mode)
            elif path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                seen[str(path.relative_to(root))] = ("file", state.st_mode, state.st_mtime_ns, state.st_nlink, digest)
            else:
                seen[str(path.relative_to(root))] = ("other", state.st_mode)
    return seen


def matches(said, path):
    pattern = re.escape(said).replace(re.escape(UNKNOWN), ".*").replace("X", ".")
    return re.fullmatch(pattern, path) is not None


def covers(spot, path, *, unit):
    """Whether the spot speaks of the path; `unit` where folders move as one."""
    said = os.path.normpath(spot.path)
    for place in (said, *(os.path.normpath(f"{said}/{name}") for name in spot.names)):
        below = (spot.tree or unit) and (place == "." or path.startswith(f"{place}/"))
        if below or matches(place, path) or place.startswith(f"{path}/"):
            return True
    return False


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder with one of everything."""
    root = tmp_path_factory.mktemp("model")
    for folder in ("d/sub", "e", "old"):
        (root / folder).mkdir(parents=True)
    for name in ("a", "b", "c", "d/a", "d/sub/x", "d/y.txt", "e/z"):
        (root / name).write_text(f"one {name}\ntwo\nthree\n")
    (root / "a.c").write_text("int main(void) { return 0; }\n")
    (root / "p.diff").write_text("--- a\n+++ a\n@@ -1,3 +1,3 @@\n-one a\n+ONE a\n two\n three\n")
    (root / "link").symlink_to("a")
    for command in (
        "tar cf t.tar a d",
        "gzip -k b",
        "bzip2 -k b",
        "xz -k b",
        "zip -qr z.zip d",
        "ar rc l.a a",
        "gcc -o prog a.c",
        "git init -q repo",
        "git -C repo -c user.name=x -c user.email=x@x commit -q --allow-empty -m x",
    ):
        if shutil.which(command.split()[0]):
            subprocess.run(shlex.split(command), cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture
def root(model, tmp_path):
    """A fresh copy of it."""
    return shutil.copytree(model, tmp_path / "root", symlinks=True)


REAL = r"""
cp a new
cp a b d
cp -r d e
cp -r d new
cp -r d/. e
cp -rT d e
cp -t d b c
cp -bt e/ a
cp --parents d/sub/x e
cp -s a new
cp -l a new
cp --suffix=.x a new
mv a new
mv a b d
mv d e
mv -T d new
mv a link
ln -s a new
ln a new
ln -s d/y.txt
ln -s -t e a b
ln -sf b link
install a new
install -D a new/deep/file
install -d new/one two
install -t d b c
tee new b
tee -
dd if=a of=new
dd if=a of=b conv=notrunc
truncate -s 3 a
touch -d 2001-01-01 a new
mkdir -p new/x/y
rmdir -p old
rm a b
rm -rf d e
unlink a
shred -u a
chmod 600 a
chmod -R go-rwx d
chmod -x prog
sed -i s/one/1/ a b
sed -ni.bak p a
sed -i'old/*' s/one/1/ a
sed -n '/one/w new' a
sed 's/one/1/gw new' a
sed -e 'a\' -e 'w text' -e 'w new' a
sed s/one/1/ -i a -E
perl -pi -e s/one/1/ a
perl -i.bak -pe s/one/1/ a
perl -0777pi -e s/one/1/ a
patch a p.diff
patch -i p.diff
patch -o new a p.diff
tar xf t.tar -C e
tar xfC t.tar e
tar -xf t.tar --transform s,^,new/,
tar czf new.tgz d
tar cf new.tar a --remove-files
tar cf new.tar -C d a --remove-files
unzip -qo z.zip -d new
zip -q new.zip a
zip -qr new d
zip -qm new.zip a
gzip a
gzip -k a
gzip -S .q a
gzip -r d
gunzip -f b.gz
bzip2 a
bunzip2 -f b.bz2
xz -T1 a
unxz -f b.xz
zstd -q a
zstd -q --rm a
lz4 -q -m a
lz4 -q a new
ar x l.a --output=e
ar rcs new.a a
split -l 1 a
split -l 1 a d/p
csplit -s -f p a 2
sort -o new a
sort a -uo a
shuf --outp new a
uniq a new
iconv -f latin1 -t utf-8 -o new a
xxd a new
xxd -p -c 8 a new
mkfifo new
mktemp -p d
mktemp new.XXXX
mktemp -d -p e q.XXXX
fallocate -l 100 new
gcc -c a.c
gcc a.c
gcc -MD -MF new.d -c a.c -o new.o
objcopy prog new
strip prog
strip -o new prog
openssl rand -out new 16
find d -name x -delete
find d -fprint new
find d -fprintf new %p
sqlite3 new.db 'create table t(x)'
git clone -q repo new
git -C repo archive -o new.tar HEAD
git -C repo worktree add -q ../new
git config -f new a.b c
git diff --no-index --output=new a b
script -qc true new
script -q -c true
vim -es -c s/one/1/ -c wq a
ex -sc wq! new
"""


@pytest.mark.parametrize("command", [pytest.param(each, id=each) for each in REAL.strip().splitlines()])
def test_whatever_really_changes_was_told_before(command, root):
    line = words(command)
    if shutil.which(line[0]) is None:
        pytest.skip(f"{line[0]} is not installed")
    before = snapshot(root)

    subprocess.run(line, cwd=root, input=b"typed\n", capture_output=True, timeout=60, check=False)

    after = snapshot(root)
    changed = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    changed = [path for path in changed if not path.startswith("repo/.git")]
    touch = touched(line)
    told = [*touch.writes, *touch.deletes, *(Spot(target) for target, _, symbolic in touch.links if not symbolic)]
    assert changed
    assert [path for path in changed if not any(covers(spot, path, unit=line[0] == "mv") for spot in told)] == []


HARMLESS = r"""
cp --help
touch --help
sed -n 1,5p a
sed s/one/1/ a
tar tf t.tar
tar -cf - a
tar xOf t.tar a
unzip -l z.zip
unzip -p z.zip
gzip -c a
gzip -t b.gz
zcat b.gz
dd if=a
sort a
uniq a
xxd a
split --filter=cat a
mktemp -u
perl -ne print a
patch --dry-run -i p.diff
find . -name a
grep -r one .
ar t l.a
gcc -fsyntax-only a.c
gcc -E a.c
openssl dgst a
git -C repo status
git -C repo log --oneline
"""


@pytest.mark.parametrize("command", [pytest.param(each, id=each) for each in HARMLESS.strip().splitlines()])
def test_a_command_that_changes_nothing_is_told_to_change_nothing(command, root):
    line = words(command)
    if shutil.which(line[0]) is None:
        pytest.skip(f"{line[0]} is not installed")
    before = snapshot(root)

    subprocess.run(line, cwd=root, input=b"", capture_output=True, timeout=60, check=False)

    assert {path for path, state in snapshot(root).items() if before.get(path) != state} <= {"repo/.git/index"}
    assert (touched(line).writes, touched(line).deletes) == ((), ())
