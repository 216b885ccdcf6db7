"""Forms of programs that start something only when an option says so."""

from collections.abc import Mapping

from keisei.rules.shell.launcher.form import Form, make_form

FORMS: Mapping[str, Form] = {
    # programs that start something only when an option says so
    "sort": make_form("-bcCdfghimMnRrsuVz -kStT= -o= --compress-program=:prog", "visible lenient permute", rest="none"),
    "split": make_form("-dxeu -abClntN= --filter=:sh", "visible lenient permute", rest="none"),
    "rsync": make_form("-BfMT@= -e=:sh --rsh=:sh --rsync-path=:sh", "visible lenient permute", rest="none"),
    "scp": make_form("-cFiJlPX= -S=:prog -D=:sh -o=:ssh", "visible lenient permute", rest="none"),
    "sftp": make_form("-BbcFiJlPRsX= -S=:prog -D=:sh -o=:ssh", "visible lenient permute", rest="none"),
    "ssh-copy-id": make_form("-iptF= -o=:ssh", "visible lenient permute", rest="none"),
    "man": make_form(
        "-CRLmMsSerEpT= -P=:sh --pager=:sh -H?:sh --html?:sh --preprocessor=", "visible lenient permute", rest="none"
    ),
    "zip": make_form("--unzip-command=:sh --TT=:sh -bntx= --temp-path=", "visible lenient permute single", rest="none"),
    "nc": make_form(
        "-e=:sh -c=:sh --exec=:sh --sh-exec=:sh --lua-exec=:stopless -IiMmOPpqsTVWwXx=",
        "visible lenient permute",
        rest="none",
    ),
    "rg": make_form("-efgtTABCmjdErM= --pre=:prog --hostname-bin=:prog", "visible lenient permute", rest="none"),
    "wget": make_form("-OPoaietUTQw= --use-askpass=:prog", "visible lenient permute", rest="none"),
    "go": make_form("--toolexec=:sh --exec=:sh --vettool=:prog", "visible lenient permute single", rest="none"),
    "apt": make_form("-ct= -o=:apt --option=:apt", "visible lenient permute", rest="none"),
    "apt-get": make_form("-ct= -o=:apt --option=:apt", "visible lenient permute", rest="none"),
    "bat": make_form("--pager=:sh", "visible lenient permute", rest="none"),
    "fzf": make_form("--preview=:sh", "visible lenient permute", rest="none"),
    "cpio": make_form("-CEFHIMORD= --rsh-command=:prog", "visible lenient permute", rest="none"),
    "pip": make_form("--python=:prog", "visible lenient permute", rest="none"),
    "logrotate": make_form("-m=:sh --mail=:sh -sl=", "visible lenient permute", rest="none"),
    "openvpn": make_form("--up=:sh --down=:sh", "visible lenient permute", rest="none"),
    "dpkg": make_form("--pre-invoke=:sh --post-invoke=:sh --status-logger=:sh", "visible lenient permute", rest="none"),
    "tcpdump": make_form("-BcCEFGijMrsTVwWyZ= -z=:prog", "visible lenient permute", rest="none"),
    "gcc": make_form("--wrapper=:wrapper", "visible lenient permute single", rest="none"),
}
