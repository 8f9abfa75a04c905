"""Entry point of ``ludus COMMAND``: find the command, run it, turn an error into a message and an exit code.

Only the standard library is imported before the command is known.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence

from ludus.cli import errors, streams
from ludus.cli.process_exit import exits_process
from ludus.cli.table import COMMANDS, DESCRIPTION, EXAMPLES, SECTIONS, groups, load

JSON = "--json"

#: Expected errors: module, class, exit code. They are looked up in the loaded modules: a class whose module
#: was not imported cannot have been raised.
_KNOWN = (
    ("ludus.cli.errors", "UserError", errors.USAGE),
    ("ludus.cli.errors", "CheckError", errors.REFUSED),
    ("ludus.cli.errors", "CommandError", errors.FAILED),
    ("ludus.presets.file", "PresetError", errors.USAGE),
    ("ludus.presets.errors", "ConfigError", errors.USAGE),
    ("ludus.league.rules.errors", "RuleError", errors.USAGE),
    ("ludus.export.errors", "ExportError", errors.USAGE),
    ("ludus.flow.errors", "RunFailed", errors.FAILED),
    ("ludus.presets.errors", "Interrupted", errors.INTERRUPTED),
    ("ludus.storage.errors", "StorageError", errors.USAGE),
    ("ludus.surgery.plan", "SurgeryError", errors.USAGE),
    ("ludus.web.serve.matches", "UnplayableMatch", errors.USAGE),
    ("ludus.web.serve.server", "PortInUse", errors.USAGE),
    ("ludus.rollouts.scripted", "BotError", errors.USAGE),
    ("ludus.pool.errors", "PoolError", errors.FAILED),
    ("ludus.native", "ParamError", errors.USAGE),
    ("ludus.native", "ReplayError", errors.USAGE),
    ("ludus.native", "SearchError", errors.USAGE),
)

#: The extra that brings a package which a command lacks.
_EXTRAS = {
    **dict.fromkeys(("torch", "safetensors", "tensorboard"), "train"),
    "rich": "cli",
    **dict.fromkeys(("starlette", "uvicorn", "wsproto"), "web"),
    **dict.fromkeys(("onnx", "onnxruntime"), "export"),
}


@exits_process
def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code (see :mod:`ludus.cli.errors`)."""
    words = list(sys.argv[1:] if argv is None else argv)
    _one_thread_an_operation()
    streams.prepare()
    try:
        return dispatch(words)
    except KeyboardInterrupt:
        _report("interrupted")
        return errors.INTERRUPTED
    except OSError as error:
        why = streams.stdout_failed()  # code that writes to it directly
        if not why:
            return _explain(error, words)
        if why == "closed":  # its reader has exited
            return errors.DONE
        _report(f"stdout: {why}")
        return errors.FAILED
    except Exception as error:
        return _explain(error, words)
    finally:
        streams.settle()


def _one_thread_an_operation() -> None:
    """Limit OpenMP and MKL to one thread: commands run separate threads, which would compete.

    Libraries read these variables when they are loaded.
    """
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def dispatch(words: list[str]) -> int:
    """Find the command that ``words`` start with and run it with the remaining words."""
    if not words:
        _report(overview())
        return errors.USAGE
    if words[0] == "help":
        words = [*words[1:], "--help"]
    if words[0] in ("-h", "--help"):
        _print(overview())
        return errors.DONE
    if words[0] in ("-V", "--version"):
        from ludus.version import __version__

        _print(f"ludus {__version__}")
        return errors.DONE
    if words[0] == "__complete":
        from ludus.cli.complete import candidates

        _print("\n".join(candidates(words[1:])))
        return errors.DONE
    name = _command_name(words)
    if name not in COMMANDS:
        return _help_on_group(name, words)
    rest = words[len(name.split()) :]
    command = load(name)
    from ludus.cli import arguments
    from ludus.flow.process.interrupts import like_ctrl_c

    before_separator = rest[: rest.index("--")] if "--" in rest else rest
    if "-h" in before_separator or "--help" in before_separator:
        _print(arguments.usage(command, name))
        return errors.DONE
    parsed = arguments.parse(command, name, rest)
    with like_ctrl_c():  # what a command has started or half written ends with it, whatever the signal
        return parsed.run()


def _command_name(words: Sequence[str]) -> str:
    two = " ".join(words[:2])
    return two if two in COMMANDS else words[0]


def _help_on_group(name: str, words: Sequence[str]) -> int:
    """Handle ``ludus games`` alone or followed by an unknown word, and unknown commands."""
    below = {n.split()[1]: c for n, c in COMMANDS.items() if n.startswith(name + " ")}
    given = words[1] if len(words) > 1 else ""
    if below and given in ("-h", "--help"):
        rows = {f"{name} {k}": c.summary for k, c in below.items()}
        more = f"\n\nSee also: ludus {name} COMMAND --help"
        _print("\n".join([f"usage: ludus {name} COMMAND ...", "", "commands", *_listing(rows)]) + more)
        return errors.DONE
    from ludus.flow.names import did_you_mean

    if below and not given:
        raise errors.UserError(f"ludus {name}: missing command; expected one of {', '.join(below)}")
    if below:
        raise errors.UserError(
            f"ludus {name}: unknown command {given}{did_you_mean(given, below, 'commands')}"
        )
    names = groups()
    raise errors.UserError(
        f"unknown command {name}{did_you_mean(name, names, 'commands', most=len(names))}; see: ludus --help"
    )


def overview() -> str:
    """Return the text of ``ludus --help``."""
    lines = ["usage: ludus COMMAND ...", "", DESCRIPTION]
    width = max(map(len, COMMANDS))
    for title, rows in SECTIONS.items():
        lines += ["", title, *_listing({name: entry.summary for name, entry in rows.items()}, width)]
    lines += [
        "",
        "options",
        *_listing({"--help": "show this page, or a command's own", "--version": "print the version"}, width),
    ]
    lines += ["", "examples", *(f"  {line}" for line in EXAMPLES)]
    return "\n".join(lines) + (
        "\n\nRUN is a run directory, such as runs/tic_tac_toe-20261120-1530-3f2a."
        "\nResults go to stdout, logs and progress to stderr; --json prints the result as one JSON document."
        "\nExit codes: 0 success, 1 failure, 2 bad usage or configuration, 3 failed check, 130 interrupted."
    )


def _listing(rows: Mapping[str, str], width: int = 0) -> list[str]:
    width = max(width, *map(len, rows))
    return [f"  {name:<{width}}  {text}" for name, text in rows.items()]


def _explain(error: Exception, words: Sequence[str]) -> int:
    """Print the error and return the exit code. Only an internal error shows a traceback.

    With ``--json`` a command that has printed no result prints a document about an expected error.
    """
    for module, name, code in _KNOWN:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            from ludus.cli.words import error_document, said

            _report(said(error))
            if JSON in words and not streams.has_result():
                from ludus.cli import console

                console.document(error_document(error))
            return code
    if isinstance(error, MemoryError):
        detail = f" ({error})" if str(error) else ""
        _report(f"not enough memory{detail}; expected smaller settings, such as pool.slots or policy.hidden")
        return errors.USAGE
    if isinstance(error, OSError):
        _report(_os_error(error))
        return errors.FAILED
    if isinstance(error, ImportError):
        package = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(package)
        if extra:
            from ludus.flow.process.extras import install_command

            _report(f"this command needs {package}, which is not installed: {install_command(extra)}")
            return errors.USAGE
        if package == "ludus" or "compiled core" in str(error):
            _report(str(error))
            return errors.FAILED
    import traceback

    _report("".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip())
    files = sys.modules.get("ludus.presets.method_file")
    if files is not None and (path := files.file_at_fault(error)):
        _report(f"the learning method {path} failed: the error is in the lines above")
        return errors.FAILED
    _report("internal error: please report it with the lines above and the output of: ludus doctor")
    return errors.FAILED


def _os_error(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    text = f"{error.strerror or error}{where}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        text += (
            "; files written before are intact: free some space and try again (for a run: ludus resume RUN)"
        )
    if error.errno == errno.EFBIG:
        text += "; files written before are intact: raise the limit on the size of files (ulimit -f)"
    return text


def _report(text: str) -> None:
    from ludus.flow.inputs.shown import terminal

    streams.write_err(f"{terminal(text)}\n")


def _print(text: str) -> None:
    streams.write_out(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
