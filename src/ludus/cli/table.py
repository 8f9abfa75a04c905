"""All commands: name, where the struct is, one line. Loaded at every start, so plain data only."""

from __future__ import annotations

from typing import NamedTuple

DESCRIPTION = (
    "Trains game-playing agents: fast simulation, reinforcement learning, self-play, search, ratings."
)


class Entry(NamedTuple):
    """``where``: ``module:Struct`` below :mod:`ludus.cli.commands`."""

    where: str
    summary: str


COMMANDS: dict[str, Entry] = {
    "games list": Entry("games:GamesList", "the games that can be played here"),
    "games show": Entry("games:GamesShow", "a game's parameters, bots, observations and actions"),
    "games check": Entry("games:GamesCheck", "whether a game keeps the contract"),
    "games schema": Entry("games:GamesSchema", "the JSON schema of rulebooks, for editors"),
    "presets list": Entry("presets:PresetsList", "the presets that come with ludus"),
    "presets show": Entry("presets:PresetsShow", "the file of a preset"),
    "train": Entry("train:Train", "train a policy as a preset says"),
    "resume": Entry("train:Resume", "go on with a run that was interrupted"),
    "eval": Entry("evaluate:Eval", "one player against another, with confidence intervals"),
    "rate": Entry("rate:Rate", "everyone against everyone: Elo and Nash averaging"),
    "replay info": Entry("replay:ReplayInfo", "what a recorded match holds"),
    "replay verify": Entry("replay:ReplayVerify", "whether it plays out the same again"),
    "replay to-html": Entry("replay:ReplayToHtml", "one page that shows it, offline"),
    "replay to-video": Entry("replay:ReplayToVideo", "an MP4 file of a match on a map"),
    "bench sim": Entry("bench:BenchSim", "how fast a game simulates"),
    "bench train": Entry("bench:BenchTrain", "how fast a preset trains, against what its parts allow"),
    "gtp": Entry("gtp:Gtp", "a Go player for programs and graphical boards"),
    "search bench": Entry("search:Bench", "how fast a search is, alone and with a network"),
    "doctor": Entry("doctor:Doctor", "what a bug report needs"),
    "signature": Entry("signature:Signature", "one number for the behaviour of all games"),
    "completion": Entry("completion:Completion", "a completion script for the shell"),
}


def groups() -> list[str]:
    """First words of all commands."""
    return list(dict.fromkeys(name.split()[0] for name in COMMANDS))
