"""Grammars of the GNU core utilities that write or delete."""

from keisei.rules.shell.target.grammar import Grammar, same

_COPY = "t,target-directory= T,no-target-directory S,suffix= b backup=? Z context=? "

COREUTILS = {
    "cp": Grammar(
        _COPY + "r,R,recursive a,archive l,link s,symbolic-link P,no-dereference parents preserve=? no-preserve= "
        "sparse= reflink=? L,dereference update=? u strip-trailing-slashes copy-contents attributes-only",
        "copy",
        tree="r a",
        plain=True,
    ),
    "mv": Grammar(_COPY + "update=? strip-trailing-slashes exchange", "move", plain=True),
    "ln": Grammar(_COPY + "s,symbolic f,force n,no-dereference r,relative L,logical P,physical", "link", plain=True),
    "link": Grammar("", "link", plain=True),
    "install": Grammar(
        _COPY + "d,directory D m,mode= o,owner= g,group= strip-program= strip s preserve-context p,preserve-timestamps",
        "install",
        plain=True,
    ),
    "tee": Grammar("output-error=?", "write", plain=True),
    "dd": Grammar("", "dd"),
    "truncate": Grammar("s,size= r,reference=r", "write", plain=True),
    "touch": Grammar("r,reference=r d,date= t= time=", "write"),
    "mkdir": Grammar("m,mode= Z context=?", "make", plain=True),
    "rmdir": Grammar("p,parents", "rmdir", plain=True),
    "rm": Grammar("r,R,recursive interactive=? preserve-root=? no-preserve-root", "delete", tree="r", plain=True),
    "unlink": Grammar("", "delete", plain=True),
    "shred": Grammar("u remove=? n,iterations= s,size= random-source=r", "shred"),
    "chmod": Grammar(
        "R,recursive reference=r",
        "write",
        skip=1,
        given="reference r w x X s t u g o a 0 1 2 3 4 5 6 7 + =",
        tree="R",
        plain=True,
    ),
    **same(
        "chown chgrp",
        Grammar("R,recursive reference=r from=", "write", skip=1, given="reference", tree="R", plain=True),
    ),
    "chcon": Grammar(
        "R,recursive reference=r u,user= r,role= t,type= l,range=",
        "write",
        skip=1,
        given="reference u r t l",
        tree="R",
        plain=True,
    ),
    "mkfifo": Grammar("m,mode= Z context=?", "write", plain=True),
    "mknod": Grammar("m,mode= Z context=?", "first", plain=True),
    "mktemp": Grammar("p= tmpdir=? d,directory u,dry-run t suffix= q,quiet", "mktemp"),
    "split": Grammar(
        "a,suffix-length= b,bytes= C,line-bytes= l,lines= n,number= t,separator= additional-suffix= filter= "
        "d numeric-suffixes=? hex-suffixes=?",
        "split",
    ),
    "csplit": Grammar("f,prefix= b,suffix-format= n,digits=", "csplit"),
    "sort": Grammar(
        "o,output=w T,temporary-directory= k,key= t,field-separator= S,buffer-size= files0-from=r parallel= "
        "batch-size= "
        "compress-program= random-source=r sort= c check=?"
    ),
    "shuf": Grammar("o,output=w n,head-count= i,input-range= random-source=r e,echo"),
    "uniq": Grammar("f,skip-fields= s,skip-chars= w,check-chars= all-repeated=? group=?", "pair"),
}
