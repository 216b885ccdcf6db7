"""Grammars of editors, with a screen or without."""

from keisei.rules.shell.target.grammar import Grammar, same

EDITORS = {
    "sed": Grammar(
        "n,quiet,silent e,expression= f,file=r E,r,regexp-extended i,in-place=? l,line-length= s,separate u z b "
        "follow-symlinks posix debug sandbox",
        "sed",
    ),
    "perl": Grammar("i=? e= E= I= M= m= l=# 0=# F=? x=? C=? D=? V=? d=? n p a w", "script_in_place", posix=True),
    "ruby": Grammar("i=? e= I= r= l 0=# F=? x=? C= X= K=? W=? T=? E= n p a w", "script_in_place", posix=True),
    **same(
        "awk gawk mawk nawk",
        Grammar(
            "i,include= f,file=r e,source= E,exec=r F,field-separator= v,assign= l,load= o,pretty-print=?w "
            "p,profile=?w "
            "d,dump-variables=?w L,lint=? W=",
            "awk",
            posix=True,
        ),
    ),
    "patch": Grammar(
        "p,strip= d,directory= i,input= o,output= r,reject-file= B,prefix= z,suffix= V,version-control= "
        "Y,basename-prefix= "
        "D,ifdef= F,fuzz= g,get= dry-run C,check read-only= reject-format= quoting-style= x,debug=",
        "patch",
    ),
    "yq": Grammar(
        "i,inplace,in-place s,split-exp= f,front-matter= o,output-format= p,input-format= I,indent= from-file=r "
        "arg= w,width= "
        "P,prettyPrint n,null-input e,exit-status j,tojson r,unwrapScalar y,yaml-output Y,yaml-roundtrip",
        "yq",
    ),
    **same(
        "dos2unix unix2dos mac2unix unix2mac fromdos todos",
        Grammar("n,newfile o,oldfile c,convmode= i,info=? D,display-enc= O,to-stdout l=", "dos2unix"),
    ),
    **same(
        "vim vi ex nvim gvim view vimdiff",
        Grammar("c= cmd= S=r u=r i= w=w W=w T= t= q= r d N=? O=? o=? p=? V=? servername= startuptime=w", "editor"),
    ),
    **same("ed red", Grammar("p,prompt= s E v l", "editor")),
    **same(
        "nano pico rnano",
        Grammar(
            "C,backupdir=W J,guidestripe= Q,quotestr= T,tabsize= Y,syntax= o,operatingdir= r,fill= s,speller= "
            "f,rcfile=r X=",
            "editor",
        ),
    ),
    **same("micro joe jed mcedit kak hx", Grammar("", "editor", single=True)),
    **same(
        "emacs emacsclient",
        Grammar(
            "l,load=r f,funcall= eval,execute= L,directory= script,x=r insert,i=r init-directory= u,user= d,display= "
            "T,title= a,alternate-editor= s,socket-name= chdir=",
            "editor",
            single=True,
        ),
    ),
    "sqlite3": Grammar(
        "cmd= init=r separator= nullvalue= newline= mmap= vfs= readonly heap= lookaside= pagecache= maxsize= escape=",
        "sqlite",
        single=True,
    ),
}
