"""A script for sbatch: Ray's head and workers are steps of the job, the program runs in the batch shell."""

from __future__ import annotations

import shlex

import msgspec

from ludus.cluster.processes.health import HEALTH
from ludus.cluster.render.job import Job, MachineKind, machines_of, program
from ludus.flow.inputs.shown import shell
from ludus.presets.errors import ConfigError

WARNING_S = 120  # before the job's end: time to write a checkpoint


def script(job: Job) -> str:
    """Return the script of a job."""
    head, *workers = machines_of(job)
    hours = job.options.hours
    first, *others = ("\n".join(_resources(machines, hours)) for machines in (head, *workers))
    first += f"\n#SBATCH --signal=B:USR1@{WARNING_S} --open-mode=append"  # of the group with the batch shell
    health = " ".join(f"{name}={value}" for name, value in HEALTH.items())
    starts = "\n".join(_start_worker(number, machines) for number, machines in enumerate(workers, 1))
    return _SCRIPT.format(
        name=job.name,
        resources="\n#SBATCH hetjob\n".join((first, *others)),
        health=health,
        head_cpus=head.ray_cpus,
        head_gpus=head.ray_gpus,
        workers=starts,
        runs=shlex.quote(job.options.runs),
        access=shell(access_file(job)),
        program=program(job),
    )


def extension(job: Job) -> str:
    """Return the script of an array of machines that join a running job, each for itself.

    Raises:
        ConfigError: The job has all its rollouts.
    """
    *_, machines = machines_of(job)
    more = machines.count - machines.least
    if not more:
        cluster = job.preset.cluster
        raise ConfigError(
            f"cluster.min_rollouts = {cluster.min_rollouts}: expected 1 to {cluster.rollouts - 1} with "
            "--extend, fewer than the machines of cluster.rollouts; the others are those that join"
        )
    one = msgspec.structs.replace(machines, least=1)
    first, *others = _resources(one, job.options.hours)
    return _EXTENSION.format(
        name=job.name,
        count=more,
        resources="\n".join((first.removesuffix(" --requeue"), *others)),
        warning=WARNING_S,
        health=" ".join(f"{name}={value}" for name, value in HEALTH.items()),
        access=shell(access_file(job)),
        cpus=machines.ray_cpus,
        gpus=machines.ray_gpus,
        wait=_WAIT,
    )


def access_file(job: Job) -> str:
    """Return the file by which machines join a running job: its cluster's address and token."""
    return f"{job.run_dir}.cluster"


def _resources(machines: MachineKind, hours: float) -> list[str]:
    """Return the directives of a group of machines. SLURM applies each to its group."""
    lines = [
        f"#SBATCH --nodes={machines.least} --ntasks-per-node=1 --cpus-per-task={machines.cpus} --requeue"
    ]
    if machines.gpus:
        lines.append(f"#SBATCH --gpus-per-node={machines.gpus}")
    if hours:
        lines.append(f"#SBATCH --time={max(1, round(60 * hours))}")
    return lines


def _start_worker(number: int, machines: MachineKind) -> str:
    start = (
        f'{_WAIT}; exec ray start --address="$RAY_ADDRESS" --num-cpus={machines.ray_cpus} '
        f"--num-gpus={machines.ray_gpus} --disable-usage-stats --block"
    )
    log = f"ray-{machines.kind}-%j-%t.log"
    steps = f"srun --het-group={number} --overlap --cpus-per-task={machines.cpus}"  # a step has 1 by default
    return f"{steps} --output={log} bash -c {shlex.quote(start)} &"


_WAIT = (
    "for i in {1..90}; do "
    '(exec 3<>"/dev/tcp/${RAY_ADDRESS%:*}/${RAY_ADDRESS##*:}") 2>/dev/null && break; sleep 1; done'
)

_SCRIPT = (
    """#!/usr/bin/env bash
#SBATCH --job-name={name}
{resources}
set -u
again=0 ending=0 program=
# USR1: the limit is near, or others need the machines: save, and come again.
# TERM (scancel --signal=TERM --batch): save and end. A plain scancel ends Ray's steps before the run saves.
trap 'again=1; [ -z "$program" ] || kill -TERM "$program"' USR1
trap 'ending=1; [ -z "$program" ] || kill -TERM "$program"' TERM
export PYTHONUNBUFFERED=1 {health}
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST_HET_GROUP_0" | head -n 1)
addresses=$(srun --het-group=0 --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address)
ip=  # the first of IPv4, one of the network if there is one
for address in $addresses; do
  case "$address" in
    *[!0-9.]*) ;;  # IPv6, whose colons look like the one before the port
    127.*) ip=${{ip:-$address}} ;;
    *) ip=$address; break ;;
  esac
done
if [ -z "$ip" ]; then
  echo "$head: expected an IPv4 address from hostname --ip-address, found: $addresses" >&2
  exit 2
fi
port=$((20000 + 2 * (SLURM_JOB_ID % 5000)))  # and the next one: jobs may share the head's machine
# Everyone who has the token and reaches the ports can run code in the job.
token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n')
export RAY_ADDRESS="$ip:$port" RAY_AUTH_MODE=token RAY_AUTH_TOKEN="$token"
echo "head $head at $RAY_ADDRESS, restart ${{SLURM_RESTART_COUNT:-0}}"
srun --het-group=0 --overlap --nodes=1 --ntasks=1 --nodelist="$head" --output=ray-head-%j.log \\
  ray start --head --node-ip-address="$ip" --port="$port" --ray-client-server-port=$((port + 1)) \\
  --num-cpus={head_cpus} --num-gpus={head_gpus} --include-dashboard=false --disable-usage-stats --block &
{workers}
"""
    + _WAIT.replace("{", "{{").replace("}", "}}")
    + """
mkdir -p {runs}
(umask 077; rm -f {access}; echo "RAY_ADDRESS=$RAY_ADDRESS RAY_AUTH_TOKEN=$token" > {access})
trap 'rm -f {access}' EXIT
{program}code=143
if [ $((again + ending)) = 0 ]; then
  "$@" &  # the batch shell is on the head's machine, and no step: the signals reach it alone
  program=$!
  [ $((again + ending)) = 0 ] || kill -TERM "$program"
  wait "$program"; code=$?
  while kill -0 "$program" 2>/dev/null; do wait "$program"; code=$?; done  # a trap ends a wait early
  wait "$program" 2>/dev/null; last=$?; [ "$last" = 127 ] || code=$last  # also just before the program's end
  program=  # scontrol sends TERM too
fi
echo "the program ended with $code"
case "$again$code" in
  1130 | 1143) scontrol requeue "$SLURM_JOB_ID" && sleep 30 ;;
esac
exit "$code"
"""
)

_EXTENSION = """#!/usr/bin/env bash
#SBATCH --job-name={name}-more --array=1-{count}
{resources}
#SBATCH --signal=B:USR1@{warning}
# Each machine joins the running job. USR1 (scancel --signal=USR1 --batch ID): it is drained, and leaves.
set -u
export RAY_AUTH_MODE=token {health}
for i in {{1..60}}; do [ -f {access} ] && break; sleep 5; done
if ! [ -O {access} ]; then
  echo {access}": no such file of yours; the job that it joins is not running" >&2
  exit 2
fi
read -r line < {access}
for word in $line; do export "$word"; done
name="$(hostname)-${{SLURM_JOB_ID:-0}}"
drained=0
drain() {{ ludus cluster drain "$name" && drained=1; }}
trap drain USR1
{wait}
ray start --address="$RAY_ADDRESS" --num-cpus={cpus} --num-gpus={gpus} --node-name="$name" \\
  --disable-usage-stats --block &
ray=$!
wait "$ray"; code=$?
while kill -0 "$ray" 2>/dev/null; do wait "$ray"; code=$?; done  # a trap ends a wait early
[ "$drained" = 0 ] || code=0  # for Ray the end of a machine is a failure
exit "$code"
"""
