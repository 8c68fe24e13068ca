"""The form of an experiment: each module that is one has every member, with the parameters that the form tells."""
import inspect

import pytest

from study.ensembles.effects import Effect
from study.ensembles.ensembles import AFTER, BEFORE, VARIANTS
from study.experiments.alignment_2010 import lun
from study.experiments.allocator_2010 import exchange, order_entry
from study.experiments.protocol import Checked, Comparison, Experiment, table_of
from study.experiments.vdev_cache_2007 import filebench_oltp, sequential_reads
from study.runs import catalogue

EXPERIMENTS = (filebench_oltp, sequential_reads, order_entry, exchange, lun)
METHODS = {name: member for name, member in vars(Experiment).items()
           if inspect.isfunction(member) and not name.startswith("_")}
OF_SERIES = {"n_runs", "claim"}     # the order entry is run in series, and three claims are made of it
NAMES = [(module, name) for module in EXPERIMENTS for name in METHODS]


def misfits(form, function, own: set[str] = frozenset()) -> list[str]:
    """What a function of a module has not as the form tells, or asks for besides: names of parameters."""
    asked = [parameter for parameter in inspect.signature(form).parameters.values() if parameter.name != "self"]
    is_open = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in asked)
    names = [parameter.name for parameter in asked if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    has = inspect.signature(function).parameters
    wanted = [name for name, parameter in has.items() if parameter.default is inspect.Parameter.empty
              and parameter.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)]
    absent = [name for name in names if name not in has or has[name].kind is inspect.Parameter.VAR_POSITIONAL]
    besides = [] if is_open else [name for name in wanted if name not in {*names, *own}]
    moved = [] if absent else [
        name for name, there in zip(names, (name for name in has if name in names), strict=False) if name != there]
    return absent + besides + moved


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda value: getattr(value, "__name__", value).split(".")[-1])
def test_an_experiment_has_every_member_of_the_form_with_its_parameters(module, name):
    assert not misfits(METHODS[name], getattr(module, name), OF_SERIES if module is order_entry else set())
    assert METHODS[name].__doc__
    if name == "setup":
        assert not any(parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                       for parameter in inspect.signature(module.setup).parameters.values())


@pytest.mark.parametrize("module", EXPERIMENTS, ids=lambda module: module.__name__.split(".")[-1])
def test_an_experiment_tells_its_name_and_its_effect(module):
    assert isinstance(module.EXPERIMENT, str)
    assert isinstance(module.EFFECT, Effect)


def test_the_machines_of_the_catalogue_are_experiments_that_are_checked_early():
    of_catalogue = {entry.machine for entry in catalogue.STUDY.values() if entry.machine}
    assert of_catalogue == {module.__name__ for module in EXPERIMENTS if hasattr(module, "check")}
    for module in (filebench_oltp, sequential_reads):
        assert not misfits(Checked.check, module.check)


@pytest.mark.parametrize(("function", "names"), [
    (lambda machine, variant, seed: None, []), (lambda machine, variant, seed, recorder=None: None, []),
    (lambda machine, seed: None, ["variant"]), (lambda machine, seed, variant: None, ["variant", "seed"]),
    (lambda machine, variant, seed, disks: None, ["disks"]), (lambda *of: None, ["machine", "variant", "seed"])])
def test_a_function_of_another_form_is_seen(function, names):
    assert misfits(METHODS["run"], function) == names


def test_a_comparison_names_its_variants_in_their_order():
    runs = Comparison("machine", 1, 2)
    assert runs.items() == ((BEFORE, 1), (AFTER, 2))
    assert tuple(name for name, _ in runs.items()) == VARIANTS


def test_a_table_has_a_row_per_quantity_with_its_unit_and_the_ratio():
    shown = table_of(Comparison(10.0, 2.0, 5.0), lambda x, machine: {"a.rate": machine * x, "b.time": 1 / x},
                     {"a.rate": "1/s", "b.time": "ms"}.__getitem__)
    assert shown.to_dict("index") == {
        "a.rate": {"unit": "1/s", BEFORE: 20.0, AFTER: 50.0, "after / before": 2.5},
        "b.time": {"unit": "ms", BEFORE: 0.5, AFTER: 0.2, "after / before": 0.4}}
