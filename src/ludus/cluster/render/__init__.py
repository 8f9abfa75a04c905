"""Files that start a run on a cluster that others manage: KubeRay, SLURM. They are written, never applied.

The modules need no Ray.
"""
