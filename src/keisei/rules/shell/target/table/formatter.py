"""Grammars of programs that bring source code into shape."""

from keisei.rules.shell.target.grammar import Grammar, same

_PYTHONIC = (
    "l,line-length= t,target-version= c,code= config=r include= exclude= extend-exclude= force-exclude= "
    "stdin-filename= W,workers= required-version= check diff line-ranges= python-cell-magics= color "
)

_RUFF = (
    "config= select= ignore= extend-select= extend-ignore= fixable= unfixable= extend-fixable= exclude= "
    "extend-exclude= "
    "line-length= target-version= cache-dir= output-format= o,output-file=w per-file-ignores= stdin-filename= range= "
    "extension= fix fix-only add-noqa=? diff check n,no-cache e,exit-zero isolated preview unsafe-fixes"
)

_ISORT = (
    "c,check-only,check d,diff stdout sp,settings-path,settings-file,settings= profile= "
    "sg,skip-glob= s,skip= "
    "l,line-length,line-width= w= wl= m,multi-line= p,project= o,thirdparty= f= b= a,add-import= rm= src= ext= "
    "filename= py,python-version= virtual-env= conda-env= section-default= extend-skip= extend-skip-glob= j,jobs="
)

FORMATTERS = {
    "black": Grammar(_PYTHONIC, "write", still="check diff c", tree="*"),
    "isort": Grammar(_ISORT, "write", still="c d stdout", tree="*"),
    **same(
        "autopep8 yapf autoflake docformatter",
        Grammar(
            "i,in-place d,diff style= s select= ignore= max-line-length= exclude= e= l,lines= r,recursive p,parallel "
            "j,jobs= p1= imports= config= wrap-summaries= wrap-descriptions=",
            change="i",
            still="d",
            tree="*",
        ),
    ),
    "pyupgrade": Grammar("", "write"),
    "mdformat": Grammar("check wrap= end-of-line= number", "write", still="check", tree="*"),
    "codespell": Grammar(
        "w,write-changes L,ignore-words-list= S,skip= I,ignore-words=r D,dictionary= x= exclude-file=r q= c= f",
        change="w",
        default=".",
        tree="*",
    ),
    "ruff": Grammar(_RUFF, "verb", posix=True),
    "ruff format": Grammar(_RUFF, "write", still="check diff", default=".", tree="*"),
    "ruff check": Grammar(_RUFF, change="fix fix-only add-noqa", still="diff", default=".", tree="*"),
    "prettier": Grammar(
        "cache loglevel= w,write c,check l,list-different config=r ignore-path=r plugin= parser= stdin-filepath= "
        "print-width= "
        "tab-width= "
        "trailing-comma= end-of-line= prose-wrap= log-level= cache-location= arrow-parens= quote-props=",
        change="w",
        tree="*",
    ),
    **same(
        "eslint stylelint standard xo tslint",
        Grammar(
            "fix o,output-file=w c,config=r ext= f,format,formatter= rule= ignore-path=r ignore-pattern= "
            "max-warnings= "
            "parser= parser-options= plugin= rulesdir= env= global= resolve-plugins-relative-to= cache-location=w "
            "cache-file=w cache-strategy= fix-type= fix-dry-run cache no-fix",
            change="fix",
            tree="*",
        ),
    ),
    "biome": Grammar("config-path=", "verb", posix=True),
    **same(
        "biome_format biome_lint biome_check",
        Grammar("write fix apply apply-unsafe", change="write fix apply", default=".", tree="*"),
    ),
    **same(
        "gofmt goimports gofumpt",
        Grammar("w l d e s r= local= cpuprofile=w srcdir=", change="w", tree="*", single=True),
    ),
    "rustfmt": Grammar("check emit= config= config-path= edition= l,files-with-diff backup", "rustfmt"),
    "clang-format": Grammar(
        "i style= fallback-style= files=r lines= offset= length= assume-filename= cursor= dry-run n",
        change="i",
        still="dry-run n",
        single=True,
    ),
    "clang-tidy": Grammar(
        "fix fix-errors fix-notes p= checks= config= export-fixes=w header-filter= extra-arg=",
        change="fix fix-errors fix-notes",
        single=True,
    ),
    "shfmt": Grammar(
        "w,write l,list d,diff i,indent= ln,language-dialect= filename= p s bn ci sr kp fn mn",
        change="w",
        tree="*",
        single=True,
    ),
    "rubocop": Grammar(
        "a,autocorrect,auto-correct A,autocorrect-all,auto-correct-all x,fix-layout c,config=r o,out=w f,format= "
        "only= except= r,require=",
        change="a A x",
        default=".",
        tree="*",
    ),
    "stylua": Grammar("check f,config-path=r g,glob= s,search-parent-directories", "write", still="check", tree="*"),
    "terraform": Grammar("chdir=", "verb", single=True, posix=True),
    "terraform fmt": Grammar("check write= list= diff recursive", "terraform_fmt", default=".", tree="*", single=True),
    "terraform plan": Grammar("out=w var= var-file=r state=r target=", "none", single=True),
}
