"""One command that checks and measures Ludus on an NVIDIA card: see README.md beside this file.

python benchmarks/gpu/check.py [--device cuda] [--seconds 600] [--out FILE] [--only STAGE,STAGE]
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # The root of the repository in place of this folder, so that `benchmarks` can be imported.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from benchmarks.gpu.program import main

    sys.exit(main(sys.argv[1:]))
