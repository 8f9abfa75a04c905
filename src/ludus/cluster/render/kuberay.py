"""A RayJob for KubeRay, and a ConfigMap with the files of its program."""

from __future__ import annotations

import json
import re

from ludus.cluster.processes.health import HEALTH
from ludus.cluster.render.job import RAY_VERSION, Job, MachineKind, machines_of, program
from ludus.flow.problem import Argument, Problem
from ludus.games.names import is_installed_name
from ludus.presets.config import Preset
from ludus.presets.document import to_toml
from ludus.presets.errors import ConfigError

FILES = "/etc/ludus"
PRESET = f"{FILES}/preset.toml"
PID = "/tmp/ludus.pid"
USER = 1000  # of the image: without rights
RETRIES = 100  # each starts a cluster and resumes the run
IDLE_S = 120  # of a machine without a process, until the autoscaler gives it up
SAVE_S = 120  # to write a checkpoint before a pod ends
STORE_SHARE = 0.3  # of a pod's memory: Ray's object store
_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
#: Words that YAML reads as something else than text.
_NOT_TEXT = re.compile(r"(?i:y|n|yes|no|on|off|true|false|null)")


def check_no_files(preset: Preset) -> None:
    """Refuse settings that name files, which the image does not have. Raises ``ConfigError``."""
    named = {"game.name": preset.game.name} if not is_installed_name(preset.game.name) else {}
    named["run.start"] = preset.run.start
    named["algorithm.teacher"] = _file(str(getattr(preset.algorithm, "teacher", "")))
    for path, value in named.items():
        if value:
            raise ConfigError(
                f'{path} = "{value}": a file of this machine, which pods do not have; put it into the image'
            )


def _file(name: str) -> str:
    """Return ``name`` if it means a file; a bot or a search is none."""
    return name if "/" in name or "@" in name or name.endswith(".py") else ""


def image_note(image: str) -> Problem | None:
    """Return what is missing if an image names no registry."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return None
    pushed = f"REGISTRY/{image}"
    text = (
        f"image {image}: names no registry, so pods look for it on Docker Hub and on their own machine; "
        f"docker build -t {pushed} . && docker push {pushed}, and render with "
    )
    return Problem(text=(text, Argument("image", pushed, command="cluster render")))


def documents(job: Job, whole: Preset | None) -> tuple[dict[str, object], ...]:
    """Return the ConfigMap and the RayJob of a job.

    Args:
        job: The job.
        whole: Settings that pods find at :data:`PRESET`; None = the job's words name the preset.
    """
    files = {"run.sh": _run_script(job), "stop.sh": _STOP_SCRIPT}
    if whole is not None:
        files["preset.toml"] = to_toml(whole)
    name = f"{job.name}-files"
    settings: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": files,
    }
    return settings, rayjob(job, name)


def rayjob(job: Job, files: str) -> dict[str, object]:
    """Return the RayJob of a job. ``files``: name of its ConfigMap."""
    head, *workers = machines_of(job)
    cluster: dict[str, object] = {
        "rayVersion": RAY_VERSION,
        "authOptions": {"mode": "token"},
        "headGroupSpec": {
            "rayStartParams": _start_params(head) | {"dashboard-host": "0.0.0.0"},
            "template": _pod(job, head, files),
        },
        "workerGroupSpecs": [
            {
                "groupName": machines.kind,
                "replicas": machines.least,
                "minReplicas": machines.least,
                "maxReplicas": machines.count,
                "rayStartParams": _start_params(machines),
                "template": _pod(job, machines, ""),
            }
            for machines in workers
        ],
    }
    spec: dict[str, object] = {
        "entrypoint": f"sh {FILES}/run.sh",
        "shutdownAfterJobFinishes": True,
        "backoffLimit": RETRIES,
        "rayClusterSpec": cluster,
    }
    if any(machines.least < machines.count for machines in workers):
        cluster["enableInTreeAutoscaling"] = True
        cluster["autoscalerOptions"] = {"version": "v2", "idleTimeoutSeconds": IDLE_S}
    if job.options.hours:
        spec["activeDeadlineSeconds"] = round(3600 * job.options.hours)
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": job.name}, "spec": spec}


def _start_params(machines: MachineKind) -> dict[str, str]:
    return {"num-cpus": str(machines.ray_cpus), "num-gpus": str(machines.ray_gpus)}


def _pod(job: Job, machines: MachineKind, files: str) -> dict[str, object]:
    """Return the template of a pod; the controller's has ``files`` and the runs."""
    memory = machines.cpus * job.options.memory_gib
    amounts: dict[str, object] = {"cpu": machines.cpus, "memory": f"{memory}Gi"}
    if machines.gpus:
        amounts["nvidia.com/gpu"] = machines.gpus
    store = f"{max(256, round(1024 * STORE_SHARE * memory))}Mi"
    volumes: list[dict[str, object]] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": store}}]
    mounts: list[dict[str, object]] = [{"name": "shm", "mountPath": "/dev/shm"}]
    container: dict[str, object] = {
        "name": "ludus",
        "image": job.options.image,
        "resources": {"requests": amounts, "limits": dict(amounts)},
        "env": [{"name": name, "value": value} for name, value in HEALTH.items()],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }
    spec: dict[str, object] = {
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": volumes,
    }
    if files:
        volumes.append({"name": "runs", "persistentVolumeClaim": {"claimName": job.options.claim}})
        volumes.append({"name": "files", "configMap": {"name": files}})
        mounts.append({"name": "runs", "mountPath": job.options.runs})
        mounts.append({"name": "files", "mountPath": FILES, "readOnly": True})
        container["lifecycle"] = {"preStop": {"exec": {"command": ["sh", f"{FILES}/stop.sh"]}}}
        spec["terminationGracePeriodSeconds"] = SAVE_S
    elif machines.kind == "rollout" and job.options.spot:
        spec["tolerations"] = [{"key": job.options.spot, "operator": "Exists"}]
    return {"spec": spec}


def _run_script(job: Job) -> str:
    return f"# The run is resumed if it is there.\n{program(job)}echo $$ > {PID}\n" + 'exec "$@"\n'


_STOP_SCRIPT = f"""# The pod ends: the run saves first.
pid=$(cat {PID}) || exit 0
kill -TERM "$pid" || exit 0
while kill -0 "$pid" 2>/dev/null; do sleep 1; done
"""


def to_yaml(document: dict[str, object]) -> str:
    """Return ``document`` as YAML. Text is in JSON's quotes, or a block if it has several lines."""
    return "".join(f"{line}\n" for line in _lines(document))


def _lines(value: object) -> list[str]:
    """Return the lines of a non-empty value."""
    if isinstance(value, dict):
        return [line for key, item in value.items() for line in _entry(f"{_key(key)}:", item)]
    if isinstance(value, list):
        return [line for item in value for line in _item(item)]
    return [_scalar(value)]


def _entry(key: str, value: object) -> list[str]:
    if isinstance(value, str) and _is_block(value):
        return [f"{key} |", *(f"  {line}" if line else "" for line in value[:-1].split("\n"))]
    if not value or not isinstance(value, (dict, list)):
        return [f"{key} {_scalar(value)}"]
    return [key, *(f"  {line}" for line in _lines(value))]


def _item(value: object) -> list[str]:
    first, *rest = _lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _key(text: str) -> str:
    return text if _PLAIN_KEY.fullmatch(text) and not _NOT_TEXT.fullmatch(text) else _scalar(text)


def _is_block(text: str) -> bool:
    lines = text.split("\n")
    return (
        len(lines) > 2
        and lines[-1] == ""
        and lines[-2] != ""
        and lines[0][:1] not in ("", " ")
        and all(line.isprintable() for line in lines)
    )


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
