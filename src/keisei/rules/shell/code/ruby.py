"""Ruby code: what it starts and touches."""

from keisei.rules.shell.code.deed import flat
from keisei.rules.shell.code.dialect import Dialect
from keisei.rules.shell.code.language import Language, kinds
from keisei.rules.shell.code.result import Code
from keisei.rules.shell.code.scan import Scan, scanned


def _ruby_extra(scan: Scan, at: int) -> None:
    """`send(:system, ...)`, `method(:system).call(...)`; shells that get their program from the code."""
    token = scan.tokens[at]
    if token.kind == "word" and token.text in _TALKING:
        _ruby_talks(scan, at)
    if token.kind != "word" or token.text not in {"send", "public_send", "__send__", "method"}:
        return
    arguments = scan.arguments(at) or []
    first = [one for one in arguments[0] if one.text != ":"] if arguments else []
    name = scan.fold(first) if first and first[0].kind == "str" else first[0].text if len(first) == 1 else None
    kind = scan.language.table.get(name) if isinstance(name, str) else None
    if name is None and arguments and len(first) > 1:
        scan.found.opaque("It calls something by a computed name.")
    elif kind and token.text == "method":
        scan.found.opaque("It calls a starter of programs in a way that cannot be read.")
    elif kind:
        scan.act(kind, arguments[1:])


_TALKING = frozenset({"capture2", "capture2e", "capture3", "popen2", "popen2e", "popen3"})


def _ruby_talks(scan: Scan, at: int) -> None:
    """`Open3.capture2('sh', stdin_data: 'x')`."""
    plain = [one for one in scan.arguments(at) or [] if len(one) < len("a:b") or one[1].text != ":"]
    values = [flat(scan.fold(one)) for one in plain]
    words = values[0].split() if len(values) == 1 else values
    scan.found.piped(words, given=len(plain) < len(scan.arguments(at) or []))


_RUBY = Language(
    name="ruby",
    dialect=Dialect(
        blocks=(("=begin", "=end"),),
        holes="#{",
        tick="cmd",
        patterns=True,
        word=r"[$@]{0,2}[A-Za-z_]\w*[?!]?",
        quoters="ruby",
    ),
    glue=("+", "<<"),
    table=kinds(
        {
            "shell": "system exec spawn Kernel.system Kernel.exec Kernel.spawn Process.spawn Process.exec PTY.spawn "
            "Open3.capture2 Open3.capture2e Open3.capture3 Open3.popen2 Open3.popen2e Open3.popen3 Open3.pipeline "
            "Kernel.` popen3 capture3 sh",
            "popen": "IO.popen",
            "link symbolic": "FileUtils.ln_s FileUtils.ln_sf FileUtils.symlink File.symlink ln_s",
            "link": "FileUtils.ln FileUtils.link File.link",
            "eval": "eval instance_eval class_eval module_eval Kernel.eval .instance_eval .class_eval .module_eval "
            "binding.eval Object.eval",
            "opaque": "syscall Fiddle.dlopen",
            "file ruby": "load",
            "open": "open File.open File.new IO.open Kernel.open",
            "touch w0": "File.write IO.write File.binwrite IO.binwrite Dir.mkdir File.truncate FileUtils.mkdir "
            "FileUtils.mkdir_p FileUtils.touch FileUtils.makedirs File.mkfifo mkdir_p",
            "touch w1": "FileUtils.cp FileUtils.cp_r FileUtils.copy "
            "FileUtils.install FileUtils.copy_file IO.copy_stream File.chmod FileUtils.chmod",
            "touch d*": "File.delete File.unlink FileUtils.rm FileUtils.rm_f FileUtils.rm_r FileUtils.rm_rf rm_rf "
            "FileUtils.rmdir FileUtils.rmtree FileUtils.remove FileUtils.remove_dir FileUtils.remove_entry Dir.rmdir "
            "Dir.delete Dir.unlink",
            "touch d0 w1": "File.rename FileUtils.mv FileUtils.move",
        }
    ),
    bare=True,
    dots=(".", "::"),
    besides=_ruby_extra,
)


def ruby(text: str) -> Code:
    """What Ruby code starts and touches."""
    return scanned(_RUBY, text.partition("\n__END__")[0])
