"""``ludus cluster render`` and ``ludus plan``: a run on a cluster that others manage, and its machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, UserError
from ludus.cli.words import said
from ludus.cluster.render.job import JobOptions
from ludus.presets.checks.game import check_game
from ludus.presets.file import find_preset, is_game, load_preset, shipped_presets

if TYPE_CHECKING:
    from ludus.cluster.plan.sizing import Plan

Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Speed = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Hours = Annotated[float, msgspec.Meta(ge=0, le=8760)]


class ClusterRender(msgspec.Struct, frozen=True):
    """Write the file that starts a run on a cluster: a RayJob for KubeRay, or a script for sbatch of SLURM.

    The run is resumed if it is there, and trained if not. Nothing is applied, and Ray is not needed here.
    Any setting of the preset can be given as for ludus train.
    """

    EXAMPLES: ClassVar = (
        "ludus cluster render kuberay minirts --cluster.rollouts 8 --image registry/ludus:1 > job.yaml",
        "ludus cluster render slurm minirts --cluster.rollouts 8 --runs /scratch/runs > job.sbatch",
    )

    manager: Annotated[Literal["kuberay", "slurm"], positional("kuberay or slurm", "MANAGER")]
    preset: Annotated[str, positional("name of a shipped preset, a TOML file, or a game")]
    name: Annotated[str, option("name of the job and its run (default: the preset's)", "NAME")] = ""
    image: Annotated[str, option("container image with Ludus (kuberay)", "IMAGE")] = JobOptions().image
    claim: Annotated[str, option("PersistentVolumeClaim of the runs (kuberay)", "NAME")] = JobOptions().claim
    runs: Annotated[str, option("folder of the runs (default: /runs for kuberay, runs for slurm)", "DIR")] = (
        ""
    )
    per_machine: Annotated[Count, option("rollouts on one machine", "N")] = JobOptions().per_machine
    learner_cpus: Annotated[Count, option("processors of a learner's machine", "N")] = (
        JobOptions().learner_cpus
    )
    memory_gib: Annotated[Count, option("memory for each processor (kuberay)", "GIB")] = (
        JobOptions().memory_gib
    )
    spot: Annotated[
        str, option("taint that rollouts tolerate, of machines that may be taken away (kuberay)", "KEY")
    ] = JobOptions().spot
    hours: Annotated[Hours, option("longest time of the job; 0 = unbounded", "H")] = 0.0
    json: Annotated[bool, option("print one JSON document")] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Print the file and return the exit code."""
        from ludus.cluster.render import kuberay, slurm
        from ludus.cluster.render.job import job_of

        loaded = load_preset(self.preset, self.overrides)
        check_game(loaded)
        on_kuberay = self.manager == "kuberay"
        options = JobOptions(
            self.name,
            self.image,
            self.claim,
            self.runs or ("/runs" if on_kuberay else "runs"),
            self.per_machine,
            self.learner_cpus,
            self.memory_gib,
            self.spot,
            self.hours,
        )
        is_file = not is_game(self.preset) and self.preset not in shipped_presets()
        if not on_kuberay:
            preset = str(Path(find_preset(self.preset)).resolve()) if is_file else self.preset
            script = slurm.script(job_of(loaded, preset, self.overrides, options))
            if self.json:
                console.document({"script": script})
            else:
                console.result(script.rstrip("\n"))
            return DONE
        kuberay.check_no_files(loaded.preset)
        if note := kuberay.image_note(options.image):
            console.note(said(note))
        if is_file:
            job = job_of(loaded, kuberay.PRESET, {}, options)
        else:
            job = job_of(loaded, self.preset, self.overrides, options)
        documents = kuberay.documents(job, loaded.preset if is_file else None)
        if self.json:
            console.document({"apiVersion": "v1", "kind": "List", "items": documents})
        else:
            console.result("---\n".join(map(kuberay.to_yaml, documents)).rstrip("\n"))
        return DONE


class PlanRun(msgspec.Struct, frozen=True):
    """Plan the machines of a run from measured rates: processors, learners, bytes, lag, idle time, the limit.

    The rates are files that ludus bench train PRESET --json wrote on a machine that plays and on one that
    learns. Lag and idle time come from a simulation. cluster.rollouts = 0 means: as many as are needed.
    Any setting of the preset can be given as for ludus train. Ray is not needed.
    """

    EXAMPLES: ClassVar = (
        "ludus plan minirts --decisions-per-s 1e6 --rollout rollout.json --learner learner.json",
        "ludus plan --like openai-five",
    )

    preset: Annotated[str, positional("name of a shipped preset, a TOML file, or a game")] = ""
    decisions_per_s: Annotated[Amount, option("decisions to be learned from a second", "D")] = 0.0
    rollout: Annotated[str, option("file of ludus bench train on a machine that plays", "FILE")] = ""
    learner: Annotated[str, option("file of ludus bench train on a machine that learns", "FILE")] = ""
    gbit: Annotated[Speed, option("network of each machine, in Gbit/s", "G")] = 10.0
    core_price: Annotated[Amount, option("price of a processor of a rollout, an hour", "P")] = 0.0
    learner_price: Annotated[Amount, option("price of a learner's machine, or a GPU, an hour", "P")] = 0.0
    like: Annotated[
        Literal["", "openai-five", "opengo", "tleague"],
        option("figures of a paper beside this planner's", "PAPER"),
    ] = ""
    json: Annotated[bool, option("print one JSON document")] = False
    overrides: dict[str, str] = {}

    def run(self) -> int:
        """Print the plan and return the exit code."""
        from ludus.cluster.plan.papers import PAPERS

        if not (self.preset or self.like):
            raise UserError("ludus plan: expected a preset, or --like with a paper; see: ludus plan --help")
        plan = self._plan() if self.preset else None
        figures = PAPERS[self.like]() if self.like else []
        if self.json:
            console.document({"plan": plan, "like": self.like, "figures": figures})
            return DONE
        if plan is not None:
            self._show(plan)
        if figures:
            rows = [(f.name, f"{f.ours:,.5g}", _range(f.paper), f.source) for f in figures]
            console.result(console.table(rows, (self.like, "ours", "paper", "ours from")))
        return DONE

    def _plan(self) -> Plan:
        from ludus.cluster.plan.measured import check_alike, read_measured
        from ludus.cluster.plan.sizing import Wanted, make_plan

        loaded = load_preset(self.preset, self.overrides)
        spec = check_game(loaded)
        if not self.decisions_per_s:
            raise UserError("--decisions-per-s: missing; expected a number above 0, such as 1e6")
        rollout = read_measured("rollout", self.rollout)
        learner = read_measured("learner", self.learner)
        check_alike(rollout, learner, spec.name)
        wanted = Wanted(self.decisions_per_s, self.gbit, self.core_price, self.learner_price)
        return make_plan(loaded.preset, rollout, learner, wanted)

    def _show(self, plan: Plan) -> None:
        percent, si = console.percent, console.si
        per_rollout = plan.cores // plan.rollouts
        gpus = f", {plan.inference_gpus:,} GPUs" if plan.inference_gpus else ""
        rows = [
            ("rollouts", f"{plan.rollouts:,} of {per_rollout} processors: {plan.cores:,} processors{gpus}"),
            (
                "learners",
                f"{plan.learners:,}, {percent(plan.learner_efficiency)} of their time without exchange",
            ),
            (
                "batch",
                f"{plan.batch_decisions:,} decisions; slab {plan.slab_s:.3g} s, update {plan.update_s:.3g} s",
            ),
            ("network", f"slabs {plan.slab_mb_per_s:,.4g} MB/s, weights {plan.weights_mb_per_s:,.4g} MB/s"),
            ("object store", f"{plan.store_mb:,.4g} MB"),
            ("calls", f"{plan.calls_per_s:,.4g} a second of the controller"),
            ("lag", f"{plan.lag_mean:.2f} versions, at most {plan.lag_max}; {percent(plan.dropped)} dropped"),
            ("idle", f"rollouts {percent(plan.rollout_idle)}, learners {percent(plan.learner_idle)}"),
            ("decisions", f"{si(plan.decisions_per_s)}/s as simulated, {si(self.decisions_per_s)}/s wanted"),
        ]
        if plan.cost_per_hour:
            a_billion = plan.cost_per_hour / 3600 / plan.decisions_per_s * 1e9
            rows.append(("cost", f"{plan.cost_per_hour:,.4g} an hour, {a_billion:,.4g} for 1e9 decisions"))
        use = plan.uses[plan.limit]
        short = "; not enough" if use > 1.0 else ""
        rows.append(("limit", f"{plan.limit}, {percent(use)} of the capacity{short}"))
        console.result(console.table(rows))


def _range(numbers: tuple[float, float]) -> str:
    low, high = (f"{number:,.5g}" for number in numbers)
    return low if low == high else f"{low} to {high}"
