"""Words of 64 bits, as int64: the instructions that Python has no operator for.

Words stay int64 throughout, because int64 and uint64 together make float64. So only the operators that do not mind the sign
are used on them (& | ^ ~ and <<). From here comes what does: a shift to the right that brings in zeros, and counting. Each
is one machine instruction when compiled, and plain Python with `NUMBA_DISABLE_JIT=1`; both give the same.
"""

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from model.jit import kernel

ALL = np.int64(-1)  # the word of 64 ones
ONE = np.int64(1)
_MASK = 2**64 - 1


@intrinsic
def _shift_right(typing, word, n):
    return types.int64(types.int64, types.int64), lambda context, builder, signature, args: builder.lshr(*args)


@intrinsic
def _lowest(typing, word):
    return types.int64(types.int64), lambda context, builder, signature, args: builder.cttz(args[0], cgutils.false_bit)


@intrinsic
def _zeros_above(typing, word):
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctlz(args[0], cgutils.false_bit)


@intrinsic
def _count(typing, word):
    return types.int64(types.int64), lambda context, builder, signature, args: builder.ctpop(args[0])


def _plain_shift_right(word, n):
    return _signed((int(word) & _MASK) >> int(n))


def _plain_lowest(word):
    word = int(word) & _MASK
    return (word & -word).bit_length() - 1 if word else 64


def _plain_zeros_above(word):
    return 64 - (int(word) & _MASK).bit_length()


def _plain_count(word):
    return (int(word) & _MASK).bit_count()


def _signed(word):
    return np.int64(word - 2**64 if word >> 63 else word)


if numba.config.DISABLE_JIT:
    _shift_right, _lowest, _zeros_above, _count = _plain_shift_right, _plain_lowest, _plain_zeros_above, _plain_count

shift_right = _shift_right  # (word, n): n of 0..63, zeros come in at the top
lowest = _lowest  # (word): number of its lowest one; 64 if there is none
zeros_above = _zeros_above  # (word): how many zeros stand above its highest one; 64 if there is none
count = _count  # (word): how many ones


@kernel
def bit(n):
    """The word in which only bit `n` is set; n of 0..63, here and below."""
    return ONE << n


@kernel
def below(n):
    """Ones in all bits below bit `n`."""
    return ~(ALL << n)


@kernel
def above(n):
    """Ones in all bits above bit `n`."""
    return ALL << n << 1
