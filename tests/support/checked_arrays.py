"""Small runs of every family of kernels (`checked_runs`) in which an index below 0 is an error: compiled kernels take
indices as they are (`model.jit`), and in front of an array is not its end. Prints the kernels of `model` that never ran.

    NUMBA_DISABLE_JIT=1 PYTHONPATH=.:tests python -m support.checked_arrays
"""

import importlib
import json
import pkgutil

import numpy as np

import model
from model.jit import decorators

WITHOUT_SIGN = {slice, np.ndarray}


class Checked(np.ndarray):
    """So is every view of it. Its two methods call nothing that they need not, as they are called millions of times."""

    def __getitem__(self, i, get=np.ndarray.__getitem__, without_sign=WITHOUT_SIGN):
        kind = type(i)
        if kind is tuple:
            for part in i:
                if type(part) not in without_sign and part < 0:
                    refuse(i)
        elif kind not in without_sign and i < 0:
            refuse(i)
        return get(self, i)

    def __setitem__(self, i, value, put=np.ndarray.__setitem__, without_sign=WITHOUT_SIGN):
        kind = type(i)
        if kind is tuple:
            for part in i:
                if type(part) not in without_sign and part < 0:
                    refuse(i)
        elif kind not in without_sign and i < 0:
            refuse(i)
        put(self, i, value)


WITHOUT_SIGN.add(Checked)


def refuse(i):
    raise IndexError(f"{i}: an index below 0")


def checked(value):
    if isinstance(value, np.ndarray):
        return value.view(Checked)
    if isinstance(value, tuple):
        return type(value)(*map(checked, value)) if hasattr(value, "_fields") else tuple(map(checked, value))
    return value


made, ran, under_way = set(), set(), []  # names; names; kernels that Python has called


def name_of(function):
    return f"{function.__module__.removeprefix('model.')}.{function.__name__}"


def takes_checked(function, forceinline):
    """What Python hands to a kernel is checked; what kernels hand on is already."""
    name = name_of(function)
    made.add(name)

    def kernel(*args):
        ran.add(name)
        if under_way:
            return function(*args)
        under_way.append(function)
        try:
            return function(*map(checked, args))
        finally:
            under_way.pop()
    return kernel


if __name__ == "__main__":
    decorators._twice = takes_checked  # before any kernel is made
    for module in pkgutil.walk_packages(model.__path__, "model."):
        importlib.import_module(module.name)
    importlib.import_module("support.checked_runs").main()
    print(json.dumps(sorted(made - ran)))
