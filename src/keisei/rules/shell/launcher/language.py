"""Interpreters as data: how each of them is given its program, and their other names."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Language, make_language, valued

LANGUAGES: Mapping[str, Language] = {
    "python": make_language(
        "python",
        "-bBdEiIOPqRsSuvx -c=:code,end -m=:module,end -WX= --check-hash-based-pycs= -V:stop -h:stop -?:stop"
        " --version:stop"
        " --help:stop --help-all:stop --help-env:stop --help-xoptions:stop",
    ),
    "ipython": make_language(
        "python", "-c=:code --c=:code -m=:module,end -i --pylab? --profile= --version:stop --help:stop", marks="lenient"
    ),
    "perl": make_language(
        "perl",
        "-acdfnpsStTuUwW -e=:code -E=:code -C# -D? -F? -i? -I= -l# -0# -m?:use -M?:use -x? -V?:stop -v:stop -h:stop"
        " -?:stop",
    ),
    "ruby": make_language(
        "ruby",
        "-acdlnpsSUvwy -e=:code -C=:dir -X=:dir -0# -F? -i? -I= -r= -E= -K? -T? -W? -x? --encoding="
        " --external-encoding="
        " --internal-encoding= --disable= --enable= --version:stop --help:stop -h:stop --jit --yjit --copyright:stop",
    ),
    "node": make_language(
        "javascript",
        "-e=:code -p=:code --eval=:code --print=:code -r=:load --require=:load --import=:load --loader=:load"
        " --experimental-loader=:load -C= --conditions= -c:stop --check:stop -i --interactive -v:stop --version:stop"
        " --run=:npm --inspect? --inspect-brk? --inspect-wait? --test:none --watch -h:stop --help:stop"
        " --v8-options:stop --completion-bash:stop"
        + valued(
            "allow-fs-read allow-fs-write build-snapshot-config cpu-prof-dir cpu-prof-interval cpu-prof-name"
            " diagnostic-dir disable-proto disable-warning dns-result-order env-file env-file-if-exists"
            " experimental-default-type experimental-policy experimental-sea-config heap-prof-dir"
            " heap-prof-interval"
            " heap-prof-name heapsnapshot-near-heap-limit heapsnapshot-signal icu-data-dir input-type inspect-port"
            " inspect-publish-uid max-http-header-size openssl-config redirect-warnings report-directory report-dir"
            " report-filename report-signal secure-heap secure-heap-min snapshot-blob test-concurrency"
            " test-name-pattern test-reporter test-reporter-destination test-shard test-timeout title"
            " tls-cipher-list"
            " tls-keylog trace-event-categories trace-event-file-pattern trace-require-module unhandled-rejections"
            " use-largepages v8-pool-size watch-path"
        ),
        marks="lenient exact",
    ),
    "tsx": make_language(
        "javascript",
        "-e=:code -p=:code --eval=:code --print=:code -r= --require= --import= --tsconfig=",
        marks="lenient",
    ),
    "ts-node": make_language(
        "javascript",
        "-e=:code -pTHC -r= --eval=:code --print --require= -P= --project= -O= --cwd=:dir",
        marks="lenient",
    ),
    "php": make_language(
        "php",
        "-naeCqHsw -r=:code -B=:code -R=:code -E=:code -f=:codefile -F=:codefile -d= -c= -z= -S=:none -t= -l:stop"
        " -i:stop"
        " -m:stop -v:stop -h:stop --run=:code --process-code=:code --process-begin=:code --process-end=:code"
        " --file=:codefile --process-file=:codefile --define= --php-ini= --server=:none --docroot= --version:stop"
        " --help:stop"
        " --info:stop --modules:stop --syntax-check:stop --ini:stop --rf=:stop --rc=:stop --re=:stop --ri=:stop",
    ),
    "lua": make_language("lua", "-e=:code -l= -iEW -v"),
    "luajit": make_language("lua", "-e=:code -l= -iE -v -j? -O? -b:stop"),
    "tclsh": make_language("tcl", "--encoding=", marks="single"),
    "wish": make_language("tcl", "--encoding=", marks="single lenient"),
    "expect": make_language("tcl", "-c=:code -f=:codefile,end -b=:codefile,end -dinNv -D="),
    "Rscript": make_language("r", "-e=:code --verbose --default-packages= --version:stop --help:stop", marks="lenient"),
    "R": make_language(
        "r", "-e=:code -f=:codefile --file=:codefile -qs -d= -g= --version:stop --help:stop", "none", "lenient permute"
    ),
    "osascript": make_language("applescript", "-e=:code -i -s= -l="),
    "julia": make_language(
        "julia",
        "-e=:code -E=:code --eval=:code --print=:code -L=:codefile --load=:codefile -Jptm= -qiO -v:stop --version:stop",
        marks="lenient",
    ),
    "raku": make_language("raku", "-e=:code -np -I= -M= -v:stop"),
    "elixir": make_language(
        "elixir",
        "-e=:code --eval=:code --rpc-eval== -r=:codefile -p= -S= --cookie= --sname= --name= -v:stop",
        marks="lenient",
    ),
    "erl": make_language("erlang", "--eval=:code", "none", "lenient single permute"),
    "groovy": make_language("groovy", "-e=:code -c= -D= -inp", marks="lenient"),
    "scala": make_language("scala", "-e=:code", marks="lenient"),
    "clojure": make_language(
        "clojure", "-e=:code -i=:codefile --eval=:code --init=:codefile", "none", "lenient permute"
    ),
    "guile": make_language("scheme", "-c=:code,end -e= -l=:codefile -s=:codefile,end -LCx= -q", marks="lenient"),
    "racket": make_language("scheme", "-e=:code -ftrup=:codefile --eval=:code -l= -i", marks="lenient"),
    "sbcl": make_language(
        "lisp",
        "--eval=:code --load=:codefile --script=:codefile --core= --userinit= --sysinit=",
        "none",
        "lenient permute",
    ),
    "emacs": make_language(
        "elisp",
        "--eval=:code --execute=:code --load=:codefile -l=:codefile --script=:codefile -f= --funcall= -q -Q --insert="
        " --batch"
        " --directory= -L=",
        "none",
        "lenient permute single silent",
    ),
    "emacsclient": make_language("elisp", "-e=:code --eval=:code -sfaTFd=", "none", "lenient permute silent"),
    "pwsh": make_language(
        "powershell",
        "--c=:code --Command=:code --command=:code --f=:codefile --File=:codefile --file=:codefile"
        " --EncodedCommand=:code --e=:code --ec=:code",
        marks="lenient single",
    ),
    "ghci": make_language("haskell", "-e=:code", marks="lenient"),
    "runghc": make_language("haskell", "-e=:code -f=", marks="lenient"),
    "ghc": make_language("haskell", "-e=:code", "none", "lenient permute silent"),
    "swift": make_language("swift", "-e=:code", "none", "lenient silent"),
    "ocaml": make_language("ocaml", "-e=:code -I= --init=", marks="lenient single"),
    "gnuplot": make_language("gnuplot", "-e=:code -cpd --persist", marks="lenient"),
    "octave": make_language("octave", "--eval=:code -q --path= -p=", marks="lenient"),
    "dc": make_language("dc", "-e=:code --expression=:code -f=:codefile --file=:codefile"),
    "m4": make_language("m4", "-D= -I= -U= -L= --define= --include= -EGPQs", marks="lenient"),
    "awk": make_language(
        "awk",
        "-bcCgGhIkMnNOPrsStV -F= -v=:assign -f=:codefile -e=:code -i=:codefile -E=:codefile,end -l= -d? -D? -L? -o? -p?"
        " -W=:wide --field-separator= --assign=:assign --file=:codefile --source=:code --include=:codefile"
        " --exec=:codefile,end --load="
        " --dump-variables? --debug? --lint? --pretty-print? --profile? --characters-as-bytes --traditional --copyright"
        " --gen-pot --bignum --use-lc-numeric --non-decimal-data --optimize --no-optimize --posix --re-interval"
        " --sandbox"
        " --lint-old --csv --trace --persist --version:stop --help:stop --dump?:stop --random= --usage:stop",
        "program",
    ),
    "sed": make_language(
        "sed",
        "-nErsuzba -e=:code -f=:codefile -i? -I? -l= --expression=:code --file=:codefile --in-place? --line-length="
        " --quiet"
        " --silent --regexp-extended --separate --unbuffered --null-data --zero-terminated --binary --posix --sandbox"
        " --debug"
        " --follow-symlinks --version:stop --help:stop",
        "program",
        "permute",
    ),
    "sqlite3": make_language(
        "sqlite3",
        "--cmd=:code --init=:codefile --lookaside== --pagecache== --maxsize= --mmap= --newline= --nonce= --nullvalue="
        " --separator= --vfs= --escape= --heap= --version:stop --help:stop -A:none",
        "second",
        "lenient single permute",
    ),
    "duckdb": make_language(
        "duckdb",
        "-c=:code --c=:code --s=:code --cmd=:code --init=:codefile --f=:codefile --separator= --newline= --nullvalue=",
        "second",
        "lenient single permute",
    ),
    "psql": make_language(
        "psql",
        "-c=:code --command=:code -f=:codefile --file=:codefile -dvLoFPRThpU= -l:stop -V:stop -?:stop --list:stop"
        " --version:stop"
        " --help?:stop --dbname= --set= --variable= --log-file= --output= --field-separator= --pset="
        " --record-separator="
        " --table-attr= --host= --port= --username= -XabeEnqsSAHtxz0wW1",
        "none",
        "permute lenient",
    ),
    "mysql": make_language(
        "mysql", "-e=:code --execute=:code -uhPDS= -p? --user= --host= --init-command=:code", "none", "permute lenient"
    ),
    "gdb": make_language(
        "gdb",
        "--ex=:code --eval-command=:code --iex=:code --init-eval-command=:code --x=:codefile --command=:codefile"
        " --ix=:codefile"
        " --init-command=:codefile -x=:codefile --args:words --pid= -p= -c= --core= -s= --symbols= -e= --exec= --se="
        " -d="
        " --directory= --cd=:dir -b= -l= --tty= -D= --data-directory= --interpreter= -i= --batch --quiet -q --nx -n"
        " --nh",
        "none",
        "single permute lenient",
    ),
    "lldb": make_language(
        "lldb",
        "-o=:code -O=:code -k=:code -K=:codefile -s=:codefile -S=:codefile --one-line=:code --source=:codefile -pnca=",
        "none",
        "permute lenient",
    ),
    "bpftrace": make_language("bpftrace", "-e=:code -c=:sh -p= -o= -B= -f= -I= -l? -v", marks="lenient silent"),
}
LANGUAGE_NAMES: Mapping[str, str] = {
    "pypy": "python",
    "jython": "python",
    "micropython": "python",
    "nodejs": "node",
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "original-awk": "awk",
    "rakudo": "raku",
    "perl6": "raku",
    "jruby": "ruby",
    "irb": "ruby",
    "texlua": "lua",
    "powershell": "pwsh",
    "mariadb": "mysql",
    "clj": "clojure",
    "runhaskell": "runghc",
    "iex": "elixir",
    "ssed": "sed",
    "expectk": "expect",
}
