"""Grammars of programs that read their operands, and of interpreters and containers."""

from keisei.rules.shell.target.grammar import Grammar, same

_GREP = (
    "e,regexp= f,file=r A,after-context= B,before-context= C,context= m,max-count= d,directories= D,devices= "
    "label= color=? colour=? "
    "include= exclude= include-dir= exclude-dir= exclude-from=r binary-files= r,recursive R,dereference-recursive"
)

_RG = (
    "e,regexp= f,file=r A,after-context= B,before-context= C,context= m,max-count= g,glob= iglob= t,type= "
    "T,type-not= j,threads= "
    "M,max-columns= d,max-depth= E,encoding= r,replace= ignore-file=r pre= pre-glob= sort= sortr= color= colors= "
    "engine= "
    "max-filesize= path-separator= type-add= type-clear= context-separator= files type-list"
)

READERS = {
    **same("grep egrep fgrep zgrep ggrep", Grammar(_GREP, skip=1, given="e f", tree="r R")),
    **same("rg ag ack", Grammar(_RG, skip=1, given="e f files", tree="*")),
    **same("head tail", Grammar("n,lines= c,bytes= s,sleep-interval= pid= max-unchanged-stats= f follow=?")),
    **same(
        "diff sdiff diff3 colordiff",
        Grammar(
            "U= unified=? C= context=? W,width= I= x,exclude= X,exclude-from=r L,label= F= S= r,recursive "
            "from-file=r to-file=r color=? o,output=w",
            tree="r",
        ),
    ),
    **same(
        "cut paste join comm nl fold fmt expand unexpand pr column",
        Grammar(
            "b,bytes= c,characters= d,delimiter,delimiters= f,fields= t,tabs= w,width= o= 1= 2= a= e= v= i= l= n= "
            "s=? h= output-delimiter="
        ),
    ),
    "cat": Grammar(),
    **same(
        "tac rev wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum base64 base32 cmp zcat "
        "bzcat xzcat zstdcat lz4cat "
        "zless bzless ldd nm objdump readelf size jo basenc zdiff zcmp",
        Grammar("files0-from=r n,bytes= i,ignore-initial= w,wrap= tag"),
    ),
    **same("od hexdump hd strings", Grammar("n= t= A= j= N= w=? S= e= s= f=")),
    "stat": Grammar("c,format= printf= f,file-system"),
    "file": Grammar("m,magic-file=r f,files-from=r F,separator= P,parameter= e,exclude="),
    **same(
        "bat batcat", Grammar("l,language= r,line-range= H,highlight-line= theme= style= m,map-syntax= paging= color=")
    ),
    **same("ls dir vdir", Grammar("I,ignore= w,width= T,tabsize= R,recursive", tree="R")),
    "du": Grammar("d,max-depth= X,exclude-from=r t,threshold= B,block-size= exclude= files0-from=r", tree="*"),
    "jq": Grammar("f,from-file=r L= indent= arg== argjson== slurpfile== rawfile== args jsonargs n", skip=1, given="f"),
    **same("getfacl getfattr lsattr", Grammar("R,recursive n= m=", tree="R")),
    **same("source .", Grammar("", "script_file", posix=True)),
    **same("bash sh dash zsh ksh", Grammar("c= o= O= rcfile=r init-file=r s", "script_file", posix=True)),
    **same("python pypy python3", Grammar("c= m= W= X= Q= check-hash-based-pycs=", "script_file", posix=True)),
    **same(
        "node nodejs",
        Grammar("e,eval= p,print= r,require= c,check import= loader= C,conditions=", "script_file", posix=True),
    ),
    "php": Grammar("r= f=r c= d= B= R= F=r E= S= t= z=", "script_file", posix=True),
    "find": Grammar("", "find"),
    **same("docker podman", Grammar("H,host= c,context= l,log-level= config=", "verb", posix=True)),
    **same("docker_save docker_export podman_save podman_export", Grammar("o,output=w", "none")),
    **same("docker_cp podman_cp", Grammar("a L q", "docker_cp")),
}
