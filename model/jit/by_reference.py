"""States are handed over by reference.

To Numba a NamedTuple is a value. To call a kernel with the state of a file system means to hand over each field of each
of its hundred arrays. Every function then has all of them in each of its lines. Here a NamedTuple that holds an array,
itself or in a NamedTuple in it, is the address of a table. Its fields are read from there:

    number, truth          one word of 8 bytes
    array                  its address, its shape, and its strides unless they follow from the shape
    tuple, NamedTuple      its fields, one behind the other

Python makes the table at each call of a kernel (`packed`). It never changes while the kernel runs, and the compiler is told
so. Whatever is written to the arrays, it need not read the table again. So kernels cannot make states, only use them.
NamedTuples of numbers alone are values as ever.
"""

import struct

import numpy as np
from numba.core import boxing, cgutils, errors, types
from numba.core.cgutils import ir  # llvmlite's
from numba.core.datamodel import default_manager
from numba.core.datamodel.models import PrimitiveModel
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.pythonapi import NativeValue, unbox
from numba.cpython.tupleobj import namedtuple_constructor

WORD = 8  # bytes
ADDRESS, WORDS = ir.IntType(8).as_pointer(), ir.IntType(64)
NAMED = (types.NamedTuple, types.NamedUniTuple)


# ---- what is by reference, and how long it is ----


def _can_be_read(kind):
    if isinstance(kind, types.BaseTuple):
        return all(map(_can_be_read, kind.types))
    return kind in (types.none, types.float64) or isinstance(kind, (types.Integer, types.Boolean, types.Array))


def _holds_arrays(kind):
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_holds_arrays, kind.types)))


def is_by_reference(kind):
    """Whether kernels are handed a pointer to a value of this Numba type: a NamedTuple with arrays."""
    return isinstance(kind, NAMED) and _holds_arrays(kind) and _can_be_read(kind)


def _follows(array):
    return array.layout == "C"


def _n_words(kind):
    if isinstance(kind, types.BaseTuple):
        return sum(map(_n_words, kind.types))
    if isinstance(kind, types.Array):
        return 1 + kind.ndim * (1 if _follows(kind) else 2)
    return int(kind != types.none)


# ---- the table ----


def _append(value, words):
    if isinstance(value, tuple):
        for field in value:
            _append(field, words)
    elif isinstance(value, np.ndarray):
        words += (value.__array_interface__["data"][0], *value.shape)
        if not value.flags.c_contiguous:
            words += (stride % 2**64 for stride in value.strides)
    elif isinstance(value, float):
        words += struct.unpack("Q", struct.pack("d", value))
    elif value is not None:
        words.append(int(value) % 2**64)


def packed(state):
    """The table of a state."""
    words = []
    _append(state, words)
    return struct.pack(f"{len(words)}Q", *words)


# ---- in compiled code ----


class _State(PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ADDRESS)

    def get_return_type(self):
        raise errors.TypingError("a kernel cannot return a state, it can only change its arrays")


def _register(of_kind):
    by_value = default_manager._handlers[of_kind]

    def model(manager, kind):
        return (_State if is_by_reference(kind) else by_value)(manager, kind)

    default_manager.register(of_kind, model)


def _word(builder, table, at, kind=WORDS):
    place = builder.bitcast(builder.gep(table, [WORDS(at * WORD)]), kind.as_pointer())
    word = builder.load(place)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def _array(context, builder, table, kind, at):
    model = context.data_model_manager[kind]
    native = context.get_data_type(kind.dtype)
    item = context.get_abi_sizeof(native)
    shape = [_word(builder, table, at + 1 + i) for i in range(kind.ndim)]
    strides, n_items = [None] * kind.ndim, WORDS(1)
    for i in reversed(range(kind.ndim)):
        follows = builder.mul(n_items, WORDS(item))
        strides[i] = follows if _follows(kind) else _word(builder, table, at + 1 + kind.ndim + i)
        n_items = builder.mul(n_items, shape[i])
    fields = {"data": _word(builder, table, at, native.as_pointer()), "nitems": n_items, "itemsize": WORDS(item)}
    array = context.get_constant_null(kind)
    for name, value in fields.items():
        array = builder.insert_value(array, value, model.get_field_position(name))
    for name, values in (("shape", shape), ("strides", strides)):
        for i, value in enumerate(values):
            array = builder.insert_value(array, value, (model.get_field_position(name), i))
    return array


def _read(context, builder, table, kind, at):
    """The value that begins at word `at` of a table."""
    if is_by_reference(kind):
        return builder.gep(table, [WORDS(at * WORD)])
    if isinstance(kind, types.BaseTuple):
        values = []
        for field in kind.types:
            values.append(_read(context, builder, table, field, at))
            at += _n_words(field)
        return context.make_tuple(builder, kind, values)
    if isinstance(kind, types.Array):
        return _array(context, builder, table, kind, at)
    if kind == types.none:
        return context.get_dummy_value()
    native = context.get_value_type(kind)
    if isinstance(kind, types.Float):
        return _word(builder, table, at, native)
    word = _word(builder, table, at)
    return word if native == WORDS else builder.trunc(word, native)


@lower_getattr_generic(types.NamedTuple)
@lower_getattr_generic(types.NamedUniTuple)
def _field(context, builder, kind, value, attr):
    """`value.attr`."""
    i = kind.fields.index(attr)
    if not is_by_reference(kind):
        return builder.extract_value(value, i)
    return _read(context, builder, value, kind.types[i], sum(map(_n_words, kind.types[:i])))


def _unbox(kind, state, c):
    if not is_by_reference(kind):
        return boxing.unbox_tuple(kind, state, c)
    packer = c.pyapi.unserialize(c.pyapi.serialize_object(packed))
    table = c.pyapi.call_function_objargs(packer, (state,))
    c.pyapi.decref(packer)
    failed = cgutils.is_null(c.builder, table)
    words = cgutils.alloca_once_value(c.builder, ir.Constant(ADDRESS, None))
    with cgutils.if_likely(c.builder, c.builder.not_(failed)):
        c.builder.store(c.pyapi.bytes_as_string(table), words)
    return NativeValue(c.builder.load(words), is_error=failed, cleanup=lambda: c.pyapi.decref(table))


@lower_builtin(types.NamedTupleClass, types.VarArg(types.Any))
def _made_in_a_kernel(context, builder, sig, args):
    if is_by_reference(sig.return_type):
        raise errors.TypingError(f"a kernel cannot make a {sig.return_type.instance_class.__name__}, which holds arrays")
    return namedtuple_constructor(context, builder, sig, args)


def install():
    """Teach Numba all this."""
    for kind in NAMED:
        _register(kind)
        unbox(kind)(_unbox)
