"""How kernels are compiled, and where compiled code is kept. Nothing in here knows about storage.

`kernel` and `part` make compiled functions (`decorators`), in steps of our own (`pipeline`), and keep what is compiled
(`compiled_code`). States are handed to them by reference (`by_reference`). Of several processes one compiles
(`compile_lock`). What will be needed is named to the processor (`cpu_prefetch`).
Numba is imported when a kernel is first defined, so that a command that simulates nothing need not wait for it.
"""
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from model.jit.decorators import either, kernel, part

__all__ = ["either", "kernel", "part"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("model.jit.decorators"), name)
