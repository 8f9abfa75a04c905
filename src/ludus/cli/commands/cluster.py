"""``ludus cluster render``: files that start a run on a cluster that others manage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import msgspec

from ludus.cli import console
from ludus.cli.arguments import option, positional
from ludus.cli.errors import DONE
from ludus.cluster.render.job import Options
from ludus.presets.file import find_preset, is_game, load_preset, shipped_presets
from ludus.presets.game_checks import check_game

Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 16)]
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
    image: Annotated[str, option("container image with Ludus (kuberay)", "IMAGE")] = Options().image
    claim: Annotated[str, option("PersistentVolumeClaim of the runs (kuberay)", "NAME")] = Options().claim
    runs: Annotated[str, option("folder of the runs (default: /runs for kuberay, runs for slurm)", "DIR")] = (
        ""
    )
    per_machine: Annotated[Count, option("rollouts on one machine", "N")] = Options().per_machine
    learner_cpus: Annotated[Count, option("processors of a learner's machine", "N")] = Options().learner_cpus
    memory_gib: Annotated[Count, option("memory for each processor (kuberay)", "GIB")] = Options().memory_gib
    spot: Annotated[
        str, option("taint that rollouts tolerate, of machines that may be taken away (kuberay)", "KEY")
    ] = Options().spot
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
        options = Options(
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
