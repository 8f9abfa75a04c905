"""Files that start a run on a managed cluster: KubeRay, SLURM. They are written, never applied.

The modules need no Ray.
"""
