"""Grammars of archivers and compressors."""

from keisei.rules.shell.target.grammar import Grammar, same

_SQUEEZE = "c,stdout,to-stdout k,keep d,decompress,uncompress t,test l,list r,recursive f,force "

_SQUEEZE_LZ4 = (
    "c,stdout k,keep d,decompress t,test list legacy,l r f,force m,multiple rm D=r z,compress B=? b=? e=? i=?"
)

ARCHIVERS = {
    **same(
        "tar bsdtar gtar jar",
        Grammar(
            "S,sparse xattrs c,create x,extract,get t,list r,append u,update A,catenate,concatenate delete "
            "d,diff,compare test-label "
            "f,file= C,directory= O,to-stdout to-command= P,absolute-names remove-files force-local "
            "b,blocking-factor= "
            "T,files-from=r X,exclude-from=r I,use-compress-program= g,listed-incremental=w H,format= "
            "K,starting-file= "
            "L,tape-length= N,newer,after-date= V,label= F,info-script,new-volume-script= exclude= strip-components= "
            "transform,xform= owner= group= mode= mtime= sort= checkpoint=? checkpoint-action= index-file=w suffix= "
            "one-top-level=? occurrence=? rsh-command= rmt-command= quoting-style= record-size= backup=? warning= "
            "volno-file=w newer-mtime= add-file= exclude-tag= exclude-ignore= level= pax-option= sparse-version= "
            "xattrs-include= xattrs-exclude= totals=? show-transformed-names owner-map=r group-map=r dir=",
            "tar",
        ),
    ),
    "unzip": Grammar("d= P= p l t v z Z c x O= I=", "unzip"),
    "zip": Grammar(
        "r,recurse-paths m,move O,out,output-file=w b,temp-path= t= tt= n,suffixes= P,password= s,split-size= "
        "TT,unzip-command= x,exclude= i,include= d,delete U lf,logfile-path=w sf,show-files",
        "zip",
    ),
    **same("gzip gunzip", Grammar(_SQUEEZE + "S,suffix= n,no-name N,name v q fast best", "squeeze", suffix=".gz")),
    **same("pigz unpigz", Grammar(_SQUEEZE + "S,suffix= p,processes= b,blocksize=", "squeeze", suffix=".gz")),
    **same("compress uncompress", Grammar(_SQUEEZE + "b=", "squeeze", suffix=".Z")),
    **same("bzip2 bunzip2 pbzip2 lbzip2", Grammar(_SQUEEZE + "z,compress s,small", "squeeze", suffix=".bz2")),
    **same("lzip plzip", Grammar(_SQUEEZE + "S= b= m= s= o,output=w", "squeeze", suffix=".lz")),
    **same(
        "xz unxz",
        Grammar(
            _SQUEEZE + "z,compress S,suffix= F,format= C,check= T,threads= M,memlimit,memory= files=?r files0=?r "
            "block-size= memlimit-compress= memlimit-decompress= flush-timeout=",
            "squeeze",
            suffix=".xz",
        ),
    ),
    **same("lzma unlzma", Grammar(_SQUEEZE + "S,suffix= F,format= T,threads= M=", "squeeze", suffix=".lzma")),
    **same(
        "zstd unzstd zstdmt pzstd",
        Grammar(
            _SQUEEZE
            + "o=w rm D=r M,memory=? filelist=r output-dir-flat=W output-dir-mirror=W patch-from=r T,threads=? "
            "train maxdict= dictID= trace=w z,compress format= p=? B=? b=? i=? e=?",
            "squeeze",
            suffix=".zst",
        ),
    ),
    **same("lz4 unlz4", Grammar(_SQUEEZE_LZ4, "squeeze", suffix=".lz4")),
    "brotli": Grammar(_SQUEEZE + "o,output=w j,rm S,suffix= q,quality= w,lgwin= D=r", "squeeze", suffix=".br"),
    **same("7z 7za 7zr 7zz", Grammar("o=?W so sdel", "seven", single=True)),
    **same("unrar", Grammar("", "unrar", single=True)),
    "cpio": Grammar(
        "i,extract o,create p,pass-through t,list F,file= O= I=r D,directory= l,link to-stdout no-absolute-filenames "
        "H,format= E,pattern-file=r M,message= R,owner= C,io-size= d,make-directories u,unconditional m v",
        "cpio",
    ),
    "ar": Grammar("output=W plugin= target=", "ar"),
    "ranlib": Grammar("plugin=", "write"),
}
