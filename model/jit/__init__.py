"""How kernels are compiled, and where compiled code is kept. Nothing in here knows about storage.

`kernel` and `part` make compiled functions (`decorators`); states are handed to them by reference (`by_reference`); of
several processes one compiles (`compile_lock`); what will be needed is named to the processor (`cpu_prefetch`).
"""
from model.jit.decorators import either, kernel, part

__all__ = ["either", "kernel", "part"]
