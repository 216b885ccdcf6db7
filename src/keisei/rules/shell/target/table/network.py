"""Grammars of programs that reach out to other machines."""

from keisei.rules.shell.target.grammar import Grammar, same

NETWORK = {
    "curl": Grammar(
        "o,output= O,remote-name J,remote-header-name remote-name-all output-dir= D,dump-header=w c,cookie-jar=w "
        "trace=w "
        "trace-ascii=w trace-ids trace-time stderr=w hsts=w alt-svc=w etag-save=w etag-compare=r libcurl=w "
        "K,config= T,upload-file=r url= "
        "d,data= data-binary= data-raw= data-ascii= data-urlencode= json= F,form= form-string= form-escape "
        "H,header= A,user-agent= "
        "b,cookie= e,referer= u,user= U,proxy-user= x,proxy= X,request= w,write-out= m,max-time= r,range= "
        "C,continue-at= E,cert= "
        "key= cacert= capath= cert-type= key-type= pass= ciphers= P,ftp-port= Q,quote= t,telnet-option= "
        "y,speed-time= Y,speed-limit= "
        "z,time-cond= connect-timeout= retry= retry-delay= retry-max-time= resolve= connect-to= interface= "
        "limit-rate= "
        "max-filesize= max-redirs= netrc-file=r noproxy= proto= proto-default= proto-redir= socks4= socks5= "
        "socks5-hostname= "
        "unix-socket= abstract-unix-socket= request-target= tls-max= dns-servers= doh-url= h help create-file-mode= "
        "expect100-timeout= ftp-method= ftp-account= keepalive-time= krb= local-port= login-options= mail-from= "
        "mail-rcpt= "
        "mail-auth= oauth2-bearer= parallel-max= pinnedpubkey= preproxy= pubkey= random-file= rate= sasl-authzid= "
        "service-name= socks4a= tls13-ciphers= tlsuser= tlspassword= tlsauthtype= tftp-blksize= "
        "url-query= variable= "
        "aws-sigv4= curves= engine= crlfile= proxy-header= proxy-cacert= proxy-cert= proxy-key= "
        "happy-eyeballs-timeout-ms= "
        "G,get I,head s,silent S,show-error L,location f,fail-with-body fail compressed create-dirs Z,parallel "
        "n,netrc crlf location-trusted",
        "curl",
    ),
    "wget": Grammar(
        "O,output-document=w P,directory-prefix= o,output-file=w a,append-output=w i,input-file=r save-cookies=w "
        "load-cookies=r "
        "warc-file= hsts-file=w rejected-log=w r,recursive m,mirror p,page-requisites x,force-directories spider "
        "e,execute= config= "
        "content-disposition b,background post-file=r post-data= body-file=r body-data= header= U,user-agent= "
        "t,tries= T,timeout= "
        "w,wait= Q,quota= l,level= A,accept= R,reject= D,domains= I,include-directories= X,exclude-directories= "
        "B,base= user= "
        "password= method= limit-rate= cut-dirs= referer= default-page= progress= ca-certificate= ca-directory= "
        "certificate= "
        "private-key= certificate-type= dns-timeout= connect-timeout= read-timeout= waitretry= max-redirect= "
        "accept-regex= "
        "reject-regex= exclude-domains= follow-tags= ignore-tags= local-encoding= remote-encoding= bind-address= "
        "prefer-family= "
        "http-user= http-password= proxy-user= proxy-password= ftp-user= ftp-password= start-pos= "
        "restrict-file-names= "
        "secure-protocol= random-file= egd-file= report-speed= regex-type= retry-on-http-error= warc-header= "
        "warc-max-size= "
        "warc-tempdir=W warc-dedup=r H,span-hosts no-directories nd nH nc c,continue E,adjust-extension "
        "trust-server-names",
        "wget",
    ),
    "aria2c": Grammar(
        "o,out= d,dir= l,log=w i,input-file=r x= s= j= k= U= header= T,torrent-file=r save-session=w", "aria2"
    ),
    **same(
        "http https xh",
        Grammar("o,output=w d,download a,auth= A= session= session-read-only= p,print= timeout= proxy= cert=r", "http"),
    ),
    "scp": Grammar("r P= i=r F=r o= l= c= S= J= D= X=", "scp", tree="r"),
    "sftp": Grammar("r P= i=r F=r o= l= c= S= J= D= X= b=r B= R= s=", "sftp"),
    "ssh": Grammar("E=w i=r F=r o= p= l= L= R= D= J= W= b= B= c= e= I= m= O= Q= S= w=", "host", posix=True),
    **same(
        "ftp lftp telnet nc ncat netcat socat ping ping6 traceroute tracepath mtr dig nslookup host whois rsh "
        "rlogin ssh-copy-id "
        "nmap tftp ncftpget ncftpput ssh-keyscan mosh wscat websocat",
        Grammar("", "host"),
    ),
    **same(
        "gh hub glab aws gcloud az gsutil kubectl helm rclone sendmail mail mailx mutt swaks twine",
        Grammar("", "service"),
    ),
    "rsync": Grammar(
        "a,archive r,recursive c,checksum g,group n,dry-run d,dirs delete,del delete-before delete-during "
        "delete-after delete-delay "
        "delete-excluded "
        "delete-missing-args remove-source-files remove-sent-files e,rsh= exclude= include= exclude-from=r "
        "include-from=r "
        "files-from=r f,filter= T,temp-dir= partial-dir= backup-dir= suffix= log-file=w password-file=r link-dest= "
        "compare-dest= copy-dest= M,remote-option= timeout= contimeout= port= bwlimit= B,block-size= max-size= "
        "min-size= "
        "max-delete= chmod= chown= usermap= groupmap= out-format= log-file-format= info= debug= rsync-path= "
        "protocol= sockopts= "
        "address= iconv= checksum-seed= write-batch=w only-write-batch=w read-batch=r compress-level,zl= "
        "skip-compress= "
        "modify-window,@= stop-after= stop-at= outbuf= checksum-choice,cc= compress-choice,zc= early-input=r "
        "max-alloc= config= "
        "dparam= R,relative b,backup partial copy-links links log compress z ignore-errors",
        "rsync",
        tree="a r files-from",
        plain=True,
    ),
}
