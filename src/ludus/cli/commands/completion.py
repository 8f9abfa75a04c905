"""``ludus completion``: a few lines for the shell that ask ``ludus`` itself for candidates."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from ludus.cli import console
from ludus.cli.arguments import positional
from ludus.cli.errors import DONE

_SCRIPTS = {
    "bash": """\
# ludus: completion for bash. Put this line into ~/.bashrc:  eval "$(ludus completion bash)"
_ludus() {
  local IFS=$'\\n'
  COMPREPLY=($(ludus __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -o nosort -F _ludus ludus
""",
    "zsh": """\
# ludus: completion for zsh. Put this line into ~/.zshrc, below compinit:  eval "$(ludus completion zsh)"
_ludus() {
  local -a found
  found=("${(@f)$(ludus __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[*]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _ludus ludus
""",
    "fish": """\
# ludus: completion for fish. Write it to ~/.config/fish/completions/ludus.fish
function __ludus_complete
  set -l words (commandline -opc) (commandline -ct)
  ludus __complete $words[2..-1] 2>/dev/null
end
complete -c ludus -a '(__ludus_complete)'
""",
}


class Completion(msgspec.Struct, frozen=True):
    """Print a completion script: commands, options, settings of presets, games, bots and runs.

    bash and zsh: add the first example to ~/.bashrc or ~/.zshrc, for zsh below compinit.
    """

    EXAMPLES: ClassVar = (
        'eval "$(ludus completion bash)"',
        "ludus completion fish > ~/.config/fish/completions/ludus.fish",
    )

    shell: Annotated[Literal["bash", "zsh", "fish"], positional("the shell")]

    def run(self) -> int:
        """Print the script and return the exit code."""
        console.result(_SCRIPTS[self.shell].rstrip())
        return DONE
