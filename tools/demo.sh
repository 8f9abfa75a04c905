#!/usr/bin/env bash
# From a built environment to a trained MiniRTS player (`make demo`): trains, rates, leaves a replay to watch.
#
# LUDUS_DEMO_ARGS adds options to the training (--run.max-minutes 2), LUDUS_DEMO_MATCHES changes the 1,000 final
# matches.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$(cd "${VENV:-.venv}/bin" && pwd)
ludus=$bin/ludus
run=runs/demo-$(date +%Y%m%d-%H%M%S)
matches=${LUDUS_DEMO_MATCHES:-1000}
started=$SECONDS

echo
echo "== 1/2 Training on MiniRTS against SIMPLE, some minutes, then $matches matches against SIMPLE, which decides"
echo "   every 50 ticks like the player does. Ctrl-C saves; make demo starts over."
# The run's own next steps are left out: they name a ludus on PATH, and the demo ends with its own list.
# shellcheck disable=SC2086 # options, separated by spaces
"$ludus" train presets/minirts.toml --run-dir "$run" --evaluation.final-matches "$matches" ${LUDUS_DEMO_ARGS:-} |
  sed '/^next steps$/,$d'

echo
echo "== 2/2 A match to watch"
replay=$("$bin/python" tools/pick_replay.py "$run"/replays/*.ludus)
"$ludus" replay to-html "$replay" --out "$run/replay.html"

cat <<EOF

Done in $(((SECONDS - started) / 60)) minutes and $(((SECONDS - started) % 60)) seconds. Next:

  open $run/replay.html                      (in any browser; it works offline)
  ${VENV:-.venv}/bin/ludus resume $run --run.max-minutes 30
  ${VENV:-.venv}/bin/ludus eval $run@best --game minirts --against hit_and_run --matches 1000
  ${VENV:-.venv}/bin/ludus train presets/minirts-mixture.toml
  ${VENV:-.venv}/bin/ludus bench sim minirts
  open $run/report.html                      (the learning curve and every number)
  ${VENV:-.venv}/bin/ludus play $run@best    (a match against it, in the browser)
EOF

# Someone at a terminal can play at once.
if [ -t 0 ] && [ -t 1 ]; then
  read -r -p "Play against it now? [y/N] " answer || answer=
  case $answer in
    [yY]*) exec "$ludus" play "$run@best" ;;
  esac
fi
