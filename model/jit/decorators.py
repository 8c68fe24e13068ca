"""How the model is compiled: by which options, and what each of them bought.

Only this and `pipeline`, `compiled_code`, `by_reference` and `cpu_prefetch` beside it reach into Numba.

Every compiled function of the project is written as

    from model.jit import kernel

    @kernel
    def seek_ns(disk, distance): ...

The options (measured on the vdev cache, ns per operation, on the machine these lines were written on).

* `cache`: compiled code is kept on disk, so only the first run on a machine waits for the compiler.
* `_nrt=False`: kernels own nothing. They work in arrays that are handed to them and cannot make any, so Numba need
  not count references to them. It otherwise does so at every call, for every array of a state: 900 became 64.
* States are handed over by reference (`model.jit.by_reference`). Numba hands over every field of every array of a state.
* A `kernel` is copied into who calls it (`forceinline`). It is built from helpers of three lines, and none of them should
  cost a call: 64 became 27. A `part`, a chapter of a simulation, is called. (Neither can call itself.)
* `no_cfunc_wrapper`: no kernel is called from C.
* What Python calls and what other kernels call is compiled apart (`_twice`). Only the former is made fast and machine
  code, with all that it calls (`PartOfCallers`). Numba makes each function fast once more in each that calls it.
* Nobody else calls what is in there (`WholeOfPython`), so a part that is called in one place only is copied there.
  Others are called without ceremony: 7 to 9 % of the time of the OLTP simulation.
* An index below 0 does not count from the end (`IndicesAsTheyAre`), but reaches in front of the array. That saves a
  comparison, an addition and a choice at each index, a seventh of the time of the OLTP simulation. No kernel has such an
  index: a test runs all families of them interpreted, where it is an error, and so it is with `NUMBA_BOUNDSCHECK=1`. Code
  that is compiled by Numba alone, that of users, is as ever.
* Fields are looked up once (`LookUpOnce`). Else `m.arc.nodes` in twenty places are as many variables, and the compiler takes
  long to find out that they are all the same.
* What Numba finds out about `+` for such arguments it need not find out again (`_remembered`).
* PostgreSQL on ZFS, 460 kernels: 105 s of compiling became 88 s by making each of them fast once, and 76 s by
  references. They became 43 s by calling parts, which had been copied before, and 37 s by remembering. It runs as fast.
* No `fastmath` and no `parallel`: both change the order of floating-point operations and so the last bits of a result. Runs
  are parallel among themselves, never inside.
* Python's error model: a division by zero stops the run in compiled and in interpreted code alike. NumPy's would go on with
  0 or infinity. The hot loops shift instead of dividing, so this costs nothing.

Where compiled code is kept, and when it is compiled anew, stands in `model.jit.compiled_code`.

`NUMBA_DISABLE_JIT=1` runs every kernel as plain Python, `NUMBA_BOUNDSCHECK=1` checks every index; both give the same
results, and the latter has compiled code of its own.
"""


import numba
from numba.core.types import unliteral

from model.jit import by_reference, sources
from model.jit.compile_lock import one_compiles
from model.jit.compiled_code import KernelCache, folder_of
from model.jit.pipeline import Pipeline

by_reference.install()
_OPTIONS = {"_nrt": False, "no_cfunc_wrapper": True, "fastmath": False, "parallel": False, "error_model": "python",
            "pipeline_class": Pipeline}


def _of_any_value(get_call_template):
    """The same, but for constants no compilation of their own is made; the optimiser sees them anyway."""
    def template(args, kws):
        return get_call_template(tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()})
    return template


def _twice(function, forceinline):
    """Python and other kernels call two compilations of it, each of which is only made if it is wanted."""
    for_python = numba.njit(forceinline=True, nogil=True, **_OPTIONS)(function)
    if not numba.config.DISABLE_JIT:
        if sources.path_of(function.__module__):  # that of anybody else is compiled anew in each process
            for_python._cache = KernelCache(function)
        one_compiles(for_python, folder_of(function.__module__ if sources.path_of(function.__module__) else "others"))
        for_kernels = numba.njit(no_cpython_wrapper=True, forceinline=forceinline, **_OPTIONS)(function)
        for_python.get_call_template = _of_any_value(for_kernels.get_call_template)
        for_python.get_overload = for_kernels.get_overload
    return for_python


def kernel(function):
    """A kernel. Others that call it get a copy of it."""
    return _twice(function, forceinline=True)


def part(function):
    """A kernel that is called by others, not copied into them: for what is large, or not done often."""
    return _twice(function, forceinline=False)


def either(field, absent, present):
    """One of two kernels, settled when their callers are compiled. It is `present` if the state that is their first argument
    has something in `field`, `absent` if that is None there. The other one is not compiled."""
    def of_state(state):
        return absent if getattr(state, field) is None else present

    def of_type(args):
        return absent if args[0].types[args[0].fields.index(field)] == numba.types.none else present

    def called(*args):
        return of_state(args[0])(*args)

    if numba.config.DISABLE_JIT:
        return called
    chosen = numba.njit(called)
    chosen.get_call_template = lambda args, kws: of_type(args).get_call_template(args, kws)
    chosen.get_overload = lambda args: of_type(args).get_overload(args)
    return chosen
