"""A slider of disks offers those that hold the files, and asks for few layouts."""
import pytest

from study.experiments.vdev_cache_2007 import fewest_disks, filebench_oltp, sequential_reads
from study.runs import catalogue, notebook_file
from study.runs.catalogue import STUDY

DISKS = range(1, 65)


def holds(n_disks):
    """A check that lets pass so many disks and more, and the numbers that it was asked."""
    asked = []

    def check(n_leaves, **_):
        asked.append(n_leaves)
        if n_leaves < n_disks:
            raise ValueError(f"n_leaves is {n_leaves}; choose more")
    return check, asked


def offered(check, **values):
    def is_offered(n):
        try:
            fewest_disks.held(check, {"n_leaves": n} | values)
        except ValueError:
            return False
        return True
    return [n for n in DISKS if is_offered(n)]


@pytest.mark.parametrize("n_disks", [1, 2, 3, 5, 8, 33, 64, 65, 10**6])
def test_what_is_offered_is_what_holds(n_disks):
    check, asked = holds(n_disks)
    assert offered(check) == [n for n in DISKS if n >= n_disks]
    assert len([n for n in asked if n >= n_disks]) <= 15


def test_files_are_laid_out_again_for_other_files_alone():
    check, asked = holds(1)
    offered(check, n_streams=1, window=1)
    offered(check, n_streams=1, window=2)
    assert asked == [1]
    offered(check, n_streams=2, window=2)
    assert asked == [1, 1]


def settings(module, name):
    """The parameters of a notebook that make its machine."""
    source = next(cell.source for cell in notebook_file.cells(catalogue.find(name)) if "parameters" in cell.tags)
    values = {}
    exec(source, values)
    taken = module.setup.__kwdefaults__.keys() | module.setup.__annotations__.keys()
    return {name: values[name] for name in STUDY[catalogue.find(name).stem].parameters if name in taken}


@pytest.mark.parametrize(("module", "name", "changed", "fewest"), [
    (filebench_oltp, "01", {}, 1), (filebench_oltp, "01", {"disk": "savvio-10k1"}, 2),
    (sequential_reads, "02", {}, 1), (sequential_reads, "02", {"disk": "savvio-10k1"}, 2),
    (sequential_reads, "02", {"disk": "savvio-10k1", "n_streams": 16}, 5)])
def test_of_the_tests_of_2007(module, name, changed, fewest):
    assert offered(module.check, **{key: value for key, value in settings(module, name).items() if key != "n_leaves"} |
                   changed)[0] == fewest
