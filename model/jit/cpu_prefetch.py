"""Asking the processor for what will be needed soon: changes nothing but the time that a run takes.

Headers, tables of blocks and lists of what is dirty take a hundred MB in a run of files of gigabytes. A kernel that looks
something up there waits as long as for two hundred additions. Several such waits in a row (a block's number, its header)
cannot overlap, as each says where the next one goes. But a simulation knows some events ahead what it will look up. The next
record of a shadow is drawn, and a disk that begins to serve a unit says whose blocks will come. `prefetch` names the place.
Without the compiler it does nothing.
"""

import numba
from numba.core import cgutils, types
from numba.core.cgutils import ir
from numba.extending import intrinsic

_READ, _KEEP, _DATA = 0, 3, 1  # what LLVM wants to know: to be read; to be kept in all caches; data, not code


def _nothing(array, row):
    return


@intrinsic
def _instruction(typing, array, row):
    def codegen(context, builder, signature, arguments):
        table = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = cgutils.unpack_tuple(builder, table.strides)[0]
        place = builder.gep(builder.bitcast(table.data, cgutils.voidptr_t), [builder.mul(stride, arguments[1])])
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t] + [ir.IntType(32)] * 3)
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(fetch, [place, *(ir.Constant(ir.IntType(32), n) for n in (_READ, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


def _prefetch(array, row):
    """`array[row]`, or the first of that row, will be looked at soon. Any row may be named."""
    _instruction(array, row)


_OPTIONS = {"forceinline": True, "no_cpython_wrapper": True, "_nrt": False}
prefetch = _nothing if numba.config.DISABLE_JIT else numba.njit(**_OPTIONS)(_prefetch)
