"""Make data/measured/checksums.toml anew: SHA-256 by hashlib on this machine, in a few seconds.

    .venv/bin/python benchmarks/checksum_rates.py

It is another measurement each time. No result and no prediction reads it.
"""
from study import project
from study.experiments.dedup_2010 import checksums

if __name__ == "__main__":
    path = project.DATA / checksums.FILE
    project.write_atomically(path, checksums.to_toml(checksums.measure()))
    print(f"written: {path.relative_to(project.ROOT)}")
