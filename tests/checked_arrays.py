"""Small runs of every family of kernels (`checked_runs`) in which an index below 0 is an error: compiled kernels take
indices as they are (`model.jit`), and in front of an array is not its end. Prints the modules of `model` of which
a kernel ran.

    NUMBA_DISABLE_JIT=1 python checked_arrays.py
"""

import importlib
import json

import numpy as np

from model import jit


class Checked(np.ndarray):
    """So is every view of it."""

    def __getitem__(self, i):
        check(i)
        return super().__getitem__(i)

    def __setitem__(self, i, value):
        check(i)
        super().__setitem__(i, value)


def check(i):
    for one in i if isinstance(i, tuple) else (i,):
        if not isinstance(one, slice | np.ndarray) and one < 0:
            raise IndexError(f"{i}: an index below 0")


def checked(value):
    if isinstance(value, np.ndarray):
        return value.view(Checked)
    if isinstance(value, tuple):
        return type(value)(*map(checked, value)) if hasattr(value, "_fields") else tuple(map(checked, value))
    return value


ran, under_way = set(), []  # modules; kernels that Python has called


def takes_checked(function, forceinline):
    """What Python hands to a kernel is checked; what kernels hand on is already."""
    def kernel(*args):
        ran.add(function.__module__)
        if under_way:
            return function(*args)
        under_way.append(function)
        try:
            return function(*map(checked, args))
        finally:
            under_way.pop()
    return kernel


if __name__ == "__main__":
    jit._twice = takes_checked  # before any kernel is made
    importlib.import_module("checked_runs").main()
    print(json.dumps(sorted(ran)))
