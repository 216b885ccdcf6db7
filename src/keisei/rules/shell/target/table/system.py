"""Grammars of programs that look after files, disks and terminals."""

from keisei.rules.shell.target.grammar import Grammar, same

_ACL = "m,modify= x,remove= M,modify-file=r X,remove-file=r set= set-file=r restore=r R,recursive"

SYSTEM = {
    "chattr": Grammar("R v= p=", "chattr", tree="R", plain=True),
    "setfacl": Grammar(_ACL, "restore", tree="R"),
    "setfattr": Grammar("n,name= v,value= x,remove= h,no-dereference restore=r", "restore"),
    "setcap": Grammar("r", "write", skip=1, given="r"),
    "fallocate": Grammar("l,length= o,offset= n,keep-size", "write"),
    "mkfs": Grammar("t,type= b= C= d=r D= E= g= G= i= I= J= L= l= m= M= N= o= O= r= T= U= e= F s= S= R= f", "write"),
    **same("mkswap wipefs", Grammar("L,label= U,uuid= o,offset= t,types=", "write")),
    "mount": Grammar("t,types= o,options= L,label= U,uuid= O,test-opts= N,namespace= B R M", "mount"),
    "umount": Grammar("t,types= O,test-opts= N,namespace=", "write"),
    "sponge": Grammar("a", "write"),
    "script": Grammar(
        "c,command= a,append e,return f,flush q,quiet O,log-out=w I,log-in=w B,log-io=w T,log-timing=w "
        "t,timing=?w E,echo= "
        "o,output-limit= m,logging-format=",
        "script",
    ),
    "crontab": Grammar("u= l r i e n", "crontab"),
    "flock": Grammar("w,timeout= E,conflict-exit-code= c,command=", "flock", posix=True),
    "time": Grammar("o,output=w f,format= a,append", "none", posix=True),
    **same("strace ltrace", Grammar("o,output=w e= p= s= u= E= a= I= O= P= S= X= b= n=", "none", posix=True)),
    "logger": Grammar("f,file=r", "none"),
    "rename": Grammar("n,nono,no-act e= f,force v", "rename"),
    "ssh-keygen": Grammar(
        "f= t= b= C= N= P= m= a= O= l y e i F= R= Y= I= s= V= n= z= D= E= Z= r= w= B L A c p q", "keygen"
    ),
    "tree": Grammar("o=w L= P= I= H= T= filelimit= charset="),
    "less": Grammar("o,log-file=w O,LOG-FILE=w p,pattern= t= T= b= h= j= k= P= x= y= z= D="),
    "more": Grammar("n,lines="),
}
