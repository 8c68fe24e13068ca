"""Make data/full_scale/order_entry.csv anew: 45 minutes of processor time, 6 GB.

    python benchmarks/full_scale.py

It comes out as it is, digit by digit, unless the simulation has changed (`git diff data/full_scale` shows it).
"""
from study import project
from study.experiments.allocator_2010 import order_entry_full_scale as full_scale

if __name__ == "__main__":
    path = project.DATA / full_scale.FILE
    path.parent.mkdir(exist_ok=True)
    project.write_atomically(path, full_scale.to_csv(full_scale.simulate()))
    print(f"written: {path.relative_to(project.ROOT)}")
