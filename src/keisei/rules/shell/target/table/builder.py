"""Grammars of compilers, converters and programs for keys."""

from keisei.rules.shell.target.grammar import Grammar, same

_CC = (
    "o,output=w I= L= D= U= l= x= T= u= z= e= include= imacros= isystem= idirafter= iquote= MF=w MT= MQ= Xlinker= "
    "Xpreprocessor= "
    "Xassembler= arch= target= framework= sysroot= aux-info=w dumpdir= dumpbase= G= A= B= specs= std= W=? f=? m=? "
    "O=? g=? "
    "c S E M MM MD=? MMD=? Map=w soname= h= rpath= version fsyntax-only dumpversion dumpmachine v verbose p=? d=? "
    "n=? s=? r=?"
)

BUILDERS = {
    **same("gcc cc g++ c++ clang clang++ tcc icx", Grammar(_CC, "cc", single=True)),
    **same("ld gold lld ld.lld ld.bfd ld.gold", Grammar(_CC, "ld", single=True)),
    "as": Grammar("o=w I= a=? defsym= MD=w", "as", single=True),
    "rustc": Grammar(
        "o=w out-dir=W L= l= C,codegen= A,allow= W,warn= D,deny= F,forbid= Z= emit= crate-name= crate-type= "
        "edition= target= cfg= "
        "extern= print= cap-lints= error-format= color= sysroot= remap-path-prefix= explain="
    ),
    "go": Grammar("C=", "verb", single=True, posix=True),
    **same(
        "go_build go_test",
        Grammar(
            "o=w coverprofile=w cpuprofile=w memprofile=w blockprofile=w mutexprofile=w trace=w outputdir=W run= "
            "tags= "
            "ldflags= gcflags= asmflags= p= mod= modfile= overlay= pkgdir= bench= count= timeout= coverpkg= "
            "covermode= C=",
            "none",
            single=True,
        ),
    ),
    "tsc": Grammar(
        "p,project=r outfile,out=w outdir=W declarationdir=W tsbuildinfofile=w t,target= m,module= lib= rootdir= "
        "baseurl= jsx= "
        "generatetrace=W generatecpuprofile=w",
        single=True,
    ),
    "protoc": Grammar("I,proto_path= o,descriptor_set_out=w", "protoc"),
    **same(
        "pandoc xsltproc dot flex bison yacc m4 xmllint iconv",
        Grammar("o,output=w f,from,from-code= t,to,to-code= T= K= G= I="),
    ),
    "objcopy": Grammar(
        "I,input-target= O,output-target= F,target= B,binary-architecture= j,only-section= R,remove-section= "
        "K,keep-symbol= "
        "N,strip-symbol= G,keep-global-symbol= L,localize-symbol= W,weaken-symbol= weaken X x S,strip-all "
        "g,strip-debug "
        "add-section= update-section= dump-section= set-section-flags= rename-section= redefine-sym= add-symbol= "
        "prefix-symbols= "
        "add-gnu-debuglink=r change-start= set-start= adjust-start= pad-to= gap-fill= only-keep-debug extract-symbol",
        "objcopy",
    ),
    "strip": Grammar(
        "o=w I,input-target= O,output-target= F,target= R,remove-section= K,keep-symbol= N,strip-symbol= "
        "keep-section= remove-relocations=",
        "write",
        still="o",
    ),
    "xxd": Grammar("c,cols= g,groupsize= l,len= s,seek,skip= o= n,name= R=", "pair", single=True),
    **same("convert magick ffmpeg", Grammar("i=r", "last", single=True)),
    "pdftotext": Grammar("f= l= r= x= y= W= H= enc= layout raw", "pair", single=True),
    **same(
        "openssl",
        Grammar(
            "out=w keyout=w in=r writerand=w outdir=W inkey=r key=r cert=r CA=r CAkey=r CAfile=r config=r subj= "
            "days= connect=n "
            "signature=r sign=r verify=r prverify=r passin= passout= pass= k= K= iv= S= md= name= newkey= addext= "
            "extensions= "
            "inform= outform= keyform= CAserial=w certfile=r CApath= pkeyopt= algorithm= paramfile=r rand= iter= "
            "sigopt= "
            "servername= host=n url=n port= reqin=r reqout=w respout=w sess_out=w keylogfile=w msgfile=w",
            "none",
            single=True,
        ),
    ),
    **same(
        "gpg gpg2",
        Grammar(
            "o,output=w r,recipient= u,local-user= R,hidden-recipient= homedir= passphrase= passphrase-file=r "
            "passphrase-fd= "
            "status-file=w logger-file=w log-file=w status-fd= logger-fd= cipher-algo= digest-algo= compress-algo= "
            "s,sign b,detach-sign clear-sign,clearsign e,encrypt c,symmetric d,decrypt a,armor verify import "
            "export=? "
            "k,list-keys K,list-secret-keys gen-key full-generate-key keyserver=n recv-keys,receive-keys "
            "send-keys search-keys "
            "refresh-keys encrypt-files decrypt-files store multifile pinentry-mode= keyring= secret-keyring= "
            "default-key= "
            "trust-model= options=r fingerprint delete-keys edit-key list-packets enarmor dearmor print-md=",
            "gpg",
        ),
    ),
    **same("age rage", Grammar("o,output=w r,recipient= R,recipients-file=r i,identity=r")),
    "age-keygen": Grammar("o,output=w"),
}
