"""``ludus cluster`` and ``ludus plan``: a run on a cluster that others manage, and its machines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE, UserError
from ludus.cli.words import said
from ludus.cluster.render.job import JobOptions
from ludus.flow.inputs.shown import shell
from ludus.flow.process.extras import install_command
from ludus.presets.checks.game import check_game
from ludus.presets.file import find_preset, is_game, load_preset, shipped_presets

if TYPE_CHECKING:
    from ludus.cluster.plan.compared import ComparedRate, RunRates
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
        "ludus cluster render slurm minirts --cluster.rollouts 8 --cluster.min-rollouts 2 --extend",
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
    extend: Annotated[
        bool,
        option("write the array of machines that join the running job, beyond cluster.min_rollouts (slurm)"),
    ] = False
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
        if on_kuberay and self.extend:
            raise UserError(
                "--extend: expected slurm; the group of kuberay grows to cluster.rollouts by itself"
            )
        is_file = not is_game(self.preset) and self.preset not in shipped_presets()
        if not on_kuberay:
            preset = str(Path(find_preset(self.preset)).resolve()) if is_file else self.preset
            job = job_of(loaded, preset, self.overrides, options)
            script = slurm.extension(job) if self.extend else slurm.script(job)
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


class ClusterStatus(msgspec.Struct, frozen=True):
    """Show the rollouts of a run, or the machines of a Ray cluster.

    Of a run: its rollouts, their machines, and the parts of the matches that each plays, as its events tell.
    Of a cluster: its machines, with the processes of Ludus there. That needs Ray and the cluster's token.
    """

    EXAMPLES: ClassVar = (
        "ludus cluster status runs/minirts-20261120-1530-3f2a",
        "ludus cluster status 10.0.0.1:6379 --json",
    )

    target: Annotated[str, positional("a run directory, or the address of a Ray cluster", "RUN|HOST:PORT")]
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Print the status and return the exit code."""
        path = Path(self.target)
        if path.exists() or ":" not in self.target:
            self._show_run(path)
        else:
            self._show_cluster()
        return DONE

    def _show_run(self, path: Path) -> None:
        from ludus.cluster.elastic.status import rollouts_of
        from ludus.reporting.changes import run_settings
        from ludus.storage import RunDirectory

        run = RunDirectory.open(path)
        cluster = run_settings(run).preset.cluster
        found = rollouts_of(run, cluster)
        if self.json:
            console.document(found)
            return
        head = f"{found.state}: {len(found.rollouts)} of {found.wanted} rollouts, {found.least} needed"
        console.result(f"{head}, {found.lost} lost; cluster {found.address}")
        rows = [
            (
                str(r.rollout),
                r.node,
                " ".join(map(str, r.parts)),
                r.since,
                "leaves when another joins" if r.leaving else "",
            )
            for r in found.rollouts
        ]
        if rows:
            console.result(console.table(rows, ("rollout", "machine", "parts", "since", "")))

    def _show_cluster(self) -> None:
        with connected(self.target):
            from ludus.cluster.elastic.nodes import present_nodes

            there = present_nodes()
        if self.json:
            fields = ("name", "id", "address", "cpus", "gpus", "processes", "draining")
            listed = [dict(zip(fields, (n.node.name, n.node.id, *n[1:]), strict=True)) for n in there]
            console.document({"address": self.target, "machines": listed})
            return
        rows = [
            (
                n.node.name,
                n.node.id[:8],
                n.address,
                f"{n.cpus:g}",
                f"{n.gpus:g}",
                str(n.processes),
                "drained" if n.draining else "",
            )
            for n in there
        ]
        head = ("machine", "id", "address", "processors", "GPUs", "processes", "")
        console.result(console.table(rows, head))


class ClusterDrain(msgspec.Struct, frozen=True):
    """Let rollouts leave a machine: their matches move to others, and the machine leaves the cluster.

    Nothing starts there any more. A run whose rollouts would be fewer than cluster.min_rollouts keeps its
    rollout until another has joined. The command waits for the machine to leave. It needs Ray and the
    cluster's token.
    """

    EXAMPLES: ClassVar = ("ludus cluster drain node17 --address 10.0.0.1:6379",)

    node: Annotated[str, positional("name, address or id of the machine", "NODE")]
    address: Annotated[str, option("address of the Ray cluster (default: $RAY_ADDRESS)", "HOST:PORT")] = ""
    wait: Annotated[Amount, option("seconds to wait for the machine to leave; 0 = not", "S")] = 120.0
    json: Annotated[bool, option("print one JSON document")] = False

    def run(self) -> int:
        """Drain the machine and return the exit code."""
        address = self.address or os.environ.get("RAY_ADDRESS", "")
        if not address:
            raise UserError("--address: missing, and there is no RAY_ADDRESS; expected HOST:PORT")
        with connected(address):
            from ludus.cluster.elastic import nodes

            node = nodes.find_node(self.node, nodes.present_nodes())
            nodes.drain(node, "ludus cluster drain")
            console.note(f"{node.node.name}: drained; its rollouts leave")
            is_gone = nodes.wait_until_gone(node, self.wait)
            if self.wait and not is_gone:
                raise UserError(
                    f"{node.node.name}: still there after {self.wait:g} s; it leaves when its rollouts have, "
                    f"see: ludus cluster status {shell(address)}"
                )
        if self.json:
            console.document({"machine": node.node.name, "id": node.node.id, "is_gone": is_gone})
        return DONE


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Connect to the cluster at ``address`` in the body.

    Raises:
        UserError: Ray is not installed.
        ConfigError: An address that is none, or without an answer.
    """
    from ludus.cluster.checks import LOCAL_ADDRESS, host_and_port
    from ludus.presets.config import ClusterConfig

    if address == LOCAL_ADDRESS:
        raise UserError(f"{address}: such a cluster belongs to one run; see: ludus cluster status RUN")
    host_and_port(address)
    try:
        from ludus.cluster.session import connect, disconnect
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UserError(f"{address}: Ray is not installed; {install_command('cluster')}") from error
    connect(ClusterConfig(address=address))
    try:
        yield
    finally:
        disconnect()


class PlanRun(msgspec.Struct, frozen=True):
    """Plan the machines of a run from measured rates: processors, learners, bytes, lag, idle time, the limit.

    The rates are files that ludus bench train PRESET --json wrote on a machine that plays and on one that
    learns. Lag and idle time come from a simulation. cluster.rollouts = 0 means: as many as are needed.
    Any setting of the preset can be given as for ludus train. Ray is not needed.

    With --run the plan is of that run's settings and rollouts, at the rate that it had, and is compared with
    what the run's log has. A run without rollouts is planned as one rollout on a separate machine.
    """

    EXAMPLES: ClassVar = (
        "ludus plan minirts --decisions-per-s 1e6 --rollout rollout.json --learner learner.json",
        "ludus plan --run runs/minirts --rollout rollout.json --learner learner.json",
        "ludus plan --like openai-five",
    )

    preset: Annotated[str, positional("name of a shipped preset, a TOML file, or a game")] = ""
    decisions_per_s: Annotated[Amount, option("decisions to be learned from a second", "D")] = 0.0
    rollout: Annotated[str, option("file of ludus bench train on a machine that plays", "FILE")] = ""
    learner: Annotated[str, option("file of ludus bench train on a machine that learns", "FILE")] = ""
    run_: Annotated[str, option("compare a plan of this run's settings with its own rates", "RUN")] = ""
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

        if not (self.preset or self.like or self.run_):
            raise UserError(
                "ludus plan: expected a preset, --run with a run, or --like with a paper; see: "
                "ludus plan --help"
            )
        if self.preset and self.run_:
            raise UserError(
                f"--run {self.run_}: expected no preset beside it: the plan is of the run's settings"
            )
        plan, rates, compared = self._compared() if self.run_ else (None, None, None)
        if self.preset:
            plan = self._plan()
        figures = PAPERS[self.like]() if self.like else []
        if self.json:
            document = {"plan": plan, "like": self.like, "figures": figures}
            console.document({**document, "run": rates, "compared": compared} if self.run_ else document)
            return DONE
        if plan is not None:
            self._show(plan, self.decisions_per_s or (rates.learned_per_s if rates is not None else 0.0))
        if compared is not None:
            told = [(c.name, f"{c.planned:,.4g}", f"{c.measured:,.4g}", _percent(c.share)) for c in compared]
            console.result("\n" + console.table(told, ("", "plan", "run", "of the plan")))
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

    def _compared(self) -> tuple[Plan, RunRates, list[ComparedRate]]:
        from ludus.cluster.plan.compared import compare, planned_as_run, run_rates
        from ludus.cluster.plan.measured import check_alike, read_measured
        from ludus.cluster.plan.sizing import Wanted, make_plan
        from ludus.reporting.changes import run_settings
        from ludus.reporting.run_view import RunView

        view = RunView.open(Path(self.run_))
        rates = run_rates(view)
        rollout = read_measured("rollout", self.rollout)
        learner = read_measured("learner", self.learner)
        check_alike(rollout, learner, view.info().game)
        wanted = Wanted(
            self.decisions_per_s or rates.learned_per_s, self.gbit, self.core_price, self.learner_price
        )
        preset = planned_as_run(run_settings(view.directory, self.overrides).preset, rollout)
        plan = make_plan(preset, rollout, learner, wanted)
        return plan, rates, compare(plan, rates)

    def _show(self, plan: Plan, decisions_per_s: float) -> None:
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
            ("decisions", f"{si(plan.decisions_per_s)}/s as simulated, {si(decisions_per_s)}/s wanted"),
        ]
        if plan.cost_per_hour:
            a_billion = plan.cost_per_hour / 3600 / plan.decisions_per_s * 1e9
            rows.append(("cost", f"{plan.cost_per_hour:,.4g} an hour, {a_billion:,.4g} for 1e9 decisions"))
        use = plan.uses[plan.limit]
        short = "; not enough" if use > 1.0 else ""
        rows.append(("limit", f"{plan.limit}, {percent(use)} of the capacity{short}"))
        console.result(console.table(rows))


def _percent(share: float | None) -> str:
    return "-" if share is None else console.percent(share)


def _range(numbers: tuple[float, float]) -> str:
    low, high = (f"{number:,.5g}" for number in numbers)
    return low if low == high else f"{low} to {high}"
