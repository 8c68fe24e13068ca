"""SHA-256 by hashlib on this machine, in a few seconds: .cache/checksums.toml, in the form of data/measured/checksums.toml.

    .venv/bin/python benchmarks/checksum_rates.py

It is another measurement each time. No result and no prediction reads it; notebook 13 shows the one of data/measured.
"""
from study import project
from study.experiments.dedup_2010 import checksums

if __name__ == "__main__":
    path = project.CACHE / "checksums.toml"
    project.write_atomically(path, checksums.to_toml(checksums.measure()))
    print(f"written: {path.relative_to(project.ROOT)}")
