"""Make what is in data/full_scale anew.

    python benchmarks/full_scale.py             the day of two pools: 45 minutes of processor time, 6 GB
    python benchmarks/full_scale.py draws 6     so many draws: a quarter of an hour and 3 GB each

It comes out as it is, digit by digit, unless the simulation has changed (`git diff data/full_scale` shows it).
"""
import sys

from study import project
from study.experiments.allocator_2010 import order_entry_full_draws as full_draws
from study.experiments.allocator_2010 import order_entry_full_scale as full_scale

if __name__ == "__main__":
    if sys.argv[1:2] == ["draws"]:
        drawn = full_draws.cases()[:int(sys.argv[2])]
        full_draws.write(drawn, [full_draws.made(case) for case in drawn])
        print(f"written: data/{full_draws.CASES}, data/{full_draws.SERIES}")
    else:
        path = project.DATA / full_scale.FILE
        path.parent.mkdir(exist_ok=True)
        project.write_atomically(path, full_scale.to_csv(full_scale.simulate()))
        print(f"written: {path.relative_to(project.ROOT)}")
