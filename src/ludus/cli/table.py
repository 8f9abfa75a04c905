"""Table of all commands: name, location of the struct, summary. Loaded at every start, so plain data only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ludus.cli.arguments import Command

DESCRIPTION = (
    "Train game-playing agents: fast simulation, reinforcement learning, self-play, search, ratings."
)
EXAMPLES = (
    "ludus train tic_tac_toe",
    "ludus eval RUN@best --against random",
    "ludus replay to-html RUN/replays/FILE.ludus",
)


class Entry(NamedTuple):
    """One command: ``where`` (``module:Struct`` below :mod:`ludus.cli.commands`) and its summary."""

    where: str
    summary: str


#: Commands by purpose, as ``ludus --help`` lists them.
SECTIONS: dict[str, dict[str, Entry]] = {
    "training": {
        "train": Entry("train:Train", "train a policy by a preset"),
        "resume": Entry("train:Resume", "resume an interrupted run, or extend a finished one"),
        "surgery": Entry("surgery:Surgery", "carry a run over to other settings, network or game"),
        "sweep": Entry("sweep:Sweep", "train many runs: a grid, cells or random points, several seeds"),
        "report": Entry("report:Report", "compare runs or the cells of sweeps: tables and curves"),
        "track": Entry("report:Track", "give the numbers of runs to W&B, MLflow or TensorBoard"),
        "presets list": Entry("presets:PresetsList", "list the shipped presets"),
        "presets show": Entry("presets:PresetsShow", "print the file of a preset"),
        "export": Entry("export:Export", "write a policy as an ONNX file, which runs without Ludus"),
    },
    "clusters": {
        "cluster render": Entry("cluster:ClusterRender", "write the file of a run for KubeRay or SLURM"),
        "cluster status": Entry(
            "cluster:ClusterStatus", "show the rollouts of a run, or a cluster's machines"
        ),
        "cluster drain": Entry("cluster:ClusterDrain", "let the rollouts of a machine move to others"),
        "plan": Entry("cluster:PlanRun", "plan the machines of a run from measured rates"),
    },
    "matches": {
        "eval": Entry("evaluate:Eval", "play two players against each other: win rate with its interval"),
        "rate": Entry("rate:Rate", "rate players in a round robin: Elo and Nash averaging"),
        "play": Entry("serve:Play", "play against a bot or a policy, in a browser"),
        "watch": Entry("serve:Watch", "watch matches of a run's newest weights, or a replay, in a browser"),
        "serve": Entry("serve:Serve", "serve the pages of a folder: runs, replays, matches"),
        "gtp": Entry("gtp:Gtp", "run a Go engine for GTP programs and graphical boards"),
        "analyze": Entry("analyze:Analyze", "analyse a replay or an SGF: a page with the largest mistakes"),
        "replay info": Entry("replay:ReplayShow", "show the contents of a replay"),
        "replay verify": Entry("replay:ReplayVerify", "re-simulate replays and compare every hash"),
        "replay to-html": Entry("replay:ReplayToHtml", "write a replay as one HTML page"),
        "replay to-video": Entry("replay:ReplayToVideo", "write a replay as an MP4 video"),
    },
    "recorded matches": {
        "data import": Entry("data.making:DataImport", "make a data set of SGF, replays or self-play"),
        "data record": Entry("data.making:DataRecord", "make a data set of matches between bots"),
        "data info": Entry("data.using:DataInfo", "show what a data set holds"),
        "data check": Entry("data.using:DataCheck", "check a data set: hashes, and every match by the rules"),
        "data export": Entry("data.using:DataExport", "write a data set as SGF, NumPy arrays or replays"),
    },
    "trained players": {
        "zoo list": Entry("zoo:ZooList", "list the trained players that come with Ludus"),
        "zoo show": Entry("zoo:ZooShow", "show the card of a trained player"),
        "zoo check": Entry("zoo:ZooCheck", "measure trained players again, and compare with their cards"),
    },
    "leagues": {
        "league status": Entry("league:LeagueStatus", "show the members of a league, also while it runs"),
        "league players": Entry("league:LeaguePlayers", "list all players: members, frozen ones, bots"),
        "league payoff": Entry("league:LeaguePayoff", "show how often each player beats each other"),
        "league ratings": Entry("league:LeagueRatings", "rate the players: Elo, TrueSkill, Nash averaging"),
        "league audit": Entry("league:LeagueAudit", "ask a league's own rules again, and compare"),
        "league lineage": Entry("league:LeagueLineage", "show the parent of each frozen player"),
    },
    "analyses of a run": {
        "go elo": Entry("go.elo:GoElo", "rate versions: self-play Elo, Elo of all pairs, Nash averaging"),
        "go losses": Entry("go.losses:GoLosses", "show losses and scores against players, by version"),
        "go puct": Entry("go.setting_values:GoPuct", "play values of c_puct against the default"),
        "go virtual-loss": Entry(
            "go.setting_values:GoVirtualLoss", "play values of the virtual loss against the default"
        ),
        "go visits": Entry("go.visits:GoVisits", "play versions against themselves with more visits"),
        "go gating": Entry("go.gating:GoGating", "train with and without AlphaGo Zero's gate, and compare"),
        "go ladders": Entry("go.ladders:GoLadders", "ask versions about ladders that are decided"),
        "go agreement": Entry("go.agreement:GoAgreement", "compare versions with the moves of a data set"),
        "go match": Entry("go.match:GoMatch", "play matches of Go against GTP programs, and rate the player"),
        "go show": Entry("go.show:GoShow", "check and show the record of an analysis, and write its page"),
    },
    "games": {
        "games list": Entry("games:GamesList", "list the playable games"),
        "games show": Entry("games:GamesShow", "show a game's parameters, bots, observations and actions"),
        "games fetch": Entry("fetch:GamesFetch", "fetch files of other projects that games need"),
        "games check": Entry("games:GamesCheck", "check a game against the contract"),
        "games schema": Entry("games:GamesSchema", "print the JSON schema of rulebooks, for editors"),
    },
    "measurement and diagnosis": {
        "bench sim": Entry("bench:BenchSim", "measure simulation speed of a game"),
        "bench train": Entry("bench:BenchTrain", "measure training speed, and compare it with its limits"),
        "bench cluster": Entry("bench:BenchCluster", "measure what a Ray cluster costs or gains"),
        "search": Entry("search:Search", "search a position: candidate moves with values and lines"),
        "search bench": Entry("search:Bench", "measure search speed, alone and with a network"),
        "signature": Entry("doctor:Signature", "print a hash of the behaviour of all games"),
        "doctor": Entry("doctor:Doctor", "print the facts for a bug report"),
        "completion": Entry("doctor:Completion", "print a completion script for the shell"),
    },
}

COMMANDS: dict[str, Entry] = {name: entry for rows in SECTIONS.values() for name, entry in rows.items()}


def load(name: str) -> type[Command]:
    """Import and return the struct of a command."""
    module, _, struct = COMMANDS[name].where.partition(":")
    command: type[Command] = getattr(import_module(f"ludus.cli.commands.{module}"), struct)
    return command


def groups() -> list[str]:
    """Return the first words of all commands."""
    return list(dict.fromkeys(name.split()[0] for name in COMMANDS))
