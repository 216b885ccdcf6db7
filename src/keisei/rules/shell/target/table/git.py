"""Grammars of git and its verbs."""

from keisei.rules.shell.target.grammar import Grammar, same

_DIFF = "output=w G= S= O=r U,unified= stat=? word-diff=? color=? src-prefix= dst-prefix= n= max-count= since= "

_PATHSPEC = "pathspec-from-file=r "

GIT = {
    "git": Grammar(
        "C= c= git-dir= work-tree= namespace= exec-path=? super-prefix= config-env= list-cmds=", "verb", posix=True
    ),
    "git clone": Grammar(
        "b,branch= o,origin= u,upload-pack= c,config= j,jobs= depth= reference= reference-if-able= template= "
        "separate-git-dir=W "
        "shallow-since= shallow-exclude= filter= server-option= bundle-uri= bare mirror recurse-submodules=? "
        "revision= "
        "sparse shared single-branch l,local n,no-checkout q v",
        "git_clone",
    ),
    "git init": Grammar("b,initial-branch= template= separate-git-dir=W shared=? object-format=", "write", tree="*"),
    "git apply": Grammar(
        "check stat numstat summary cached apply directory= p= C= exclude= include= whitespace= 3 R index "
        "intent-to-add inaccurate-eof",
        "git_apply",
    ),
    "git am": Grammar("directory= p= C= exclude= include= whitespace= S=? patch-format=", "git_apply"),
    "git checkout": Grammar(
        _PATHSPEC + "b= B= orphan= t track=? conflict= recurse-submodules=? f q p detach ours theirs", "git_checkout"
    ),
    "git restore": Grammar(
        _PATHSPEC + "s,source= S,staged W,worktree conflict= p,patch ours theirs m q", "git_restore"
    ),
    "git mv": Grammar("f k n,dry-run v", "move", still="n"),
    "git rm": Grammar(_PATHSPEC + "r cached n,dry-run f q ignore-unmatch", "git_rm", tree="r", still="cached n"),
    "git clean": Grammar("e,exclude= n,dry-run f,force d x X q i", "git_clean", still="n"),
    "git worktree": Grammar("", "verb"),
    "git worktree add": Grammar(
        "b= B= reason= f d,detach checkout no-checkout lock orphan track guess-remote q", "first", tree="*"
    ),
    "git worktree remove": Grammar("f,force", "delete", tree="*"),
    "git worktree move": Grammar("f,force", "move"),
    "git submodule": Grammar("q", "verb"),
    "git submodule add": Grammar("b= name= reference= depth= f,force", "git_clone"),
    "git checkout-index": Grammar("prefix=W stage= temp a,all f,force u,index", "write"),
    "git archive": Grammar(
        "o,output=w format= prefix= remote=n exec= add-file=r add-virtual-file= mtime= l,list v", "none"
    ),
    "git bundle": Grammar("", "verb"),
    "git bundle create": Grammar("", "first"),
    "git format-patch": Grammar(
        _DIFF + "o,output-directory=W stdout N s k subject-prefix= v,reroll-count= start-number= suffix= "
        "signature= "
        "signature-file=r cover-letter attach=? inline=? thread=? in-reply-to= to= cc= base= range-diff= "
        "filename-max-length=",
        "git_format_patch",
    ),
    "git config": Grammar(
        "f,file= global system local worktree blob= get get-all get-regexp get-urlmatch l,list show-origin "
        "show-scope "
        "type= default= add unset unset-all replace-all rename-section remove-section e,edit z,null name-only "
        "get-color get-colorbool",
        "git_config",
    ),
    **same(
        "git_diff git_log git_show git_diff-tree git_diff-index git_diff-files git_whatchanged git_stash "
        "git_range-diff",
        Grammar(_DIFF, "none"),
    ),
}
