"""Bit counting, and sequences as bits: planes for the pairwise kernels, 64-bit words for k-mers.

Codes are uint8 letters 0, 1, 2, ...; 255 (`AMBIGUOUS`) is a letter that matches nothing, not even itself.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kernelweave._fast import jit
from kernelweave._fast.lanes import LANES, intrinsic

AMBIGUOUS = 255
#: Sequences that are turned position-major at a time.
TILE = 256
#: Sequences that are looked through at a time for letters that are none.
BLOCK = 1 << 14


def _scalar(name, extra):
    @intrinsic
    def operation(typingctx, value):
        def codegen(context, builder, signature, args):
            word, flag = ir.IntType(64), ir.IntType(1)
            function_type = ir.FunctionType(word, [word] + [flag] * extra)
            function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.i64")
            return builder.call(function, list(args) + [flag(0)] * extra)

        return types.int64(types.uint64), codegen

    return operation


#: Bits set in / zeros above / zeros below a uint64, as int64; 64 zeros are above and below 0.
popcount = _scalar("ctpop", 0)
leading_zeros = _scalar("ctlz", 1)
trailing_zeros = _scalar("cttz", 1)


@intrinsic
def prefetch(typingctx, array, row):
    """Start to load array[row] of a 2-D array into the cache; row is not checked, the load cannot fail."""

    def codegen(context, builder, signature, args):
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        zero = context.get_constant(types.intp, 0)
        address = cgutils.get_item_pointer(
            context, builder, signature.args[0], struct, [args[1], zero], wraparound=False
        )
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(address, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


def empty_planes(n_planes, n_words, n):
    """Zeros (n_planes, n_words, n rounded up to LANES) uint32 on a 64-byte border: no vector straddles two lines."""
    padded = (n + LANES - 1) // LANES * LANES
    size = n_planes * n_words * padded
    raw = np.zeros(size + 16, np.uint32)
    skip = -raw.ctypes.data % 64 // 4
    return raw[skip : skip + size].reshape(n_planes, n_words, padded)


@jit
def _set_bits(letters, start, planes):
    """Letters (L, m) uint8 of the sequences from `start` on into planes, as `pack_planes` has them."""
    length, size = letters.shape
    last, n_words = planes.shape[0] - 1, planes.shape[1]
    for i in range(length):
        shift = np.uint32(i // n_words)
        for p in range(last + 1):
            row = planes[p, i % n_words, start : start + size]
            for t in range(size):
                bit = (letters[i, t] >> p) & 1 if p < last else letters[i, t] != AMBIGUOUS
                row[t] |= np.uint32(np.uint32(bit) << shift)


def pack_planes(codes, n_bits):
    """Codes (n, L) uint8 -> planes (n_bits + 1, W, n rounded up to LANES) uint32, W = ceil(L / 32).

    Position i lives in word i mod W, bit i div W ("strided"), so that moving every position by one is a change of
    word and only one word needs a shift. Plane p holds bit p of each letter; the last plane marks valid letters.
    """
    n, length = codes.shape
    planes = empty_planes(n_bits + 1, max(1, (length + 31) // 32), n)
    # some sequences at a time, turned position-major: then the inner loop runs over sequences, as vectors
    for start in range(0, n, TILE):
        _set_bits(np.ascontiguousarray(codes[start : start + TILE].T), start, planes)
    return planes


@jit
def pack_words(codes):
    """DNA codes (n, L) uint8 -> words (ceil(L / 32) + 1, n) uint64: two bits a letter, the first letter on top.

    Ambiguous letters become 0 and must be masked by `valid_runs`; the last word of each sequence is empty, so that
    a window of 32 letters may reach beyond the end.
    """
    n, length = codes.shape
    n_words = (length + 31) // 32
    words = np.zeros((n_words + 1, n), np.uint64)
    for j in range(n):
        row = codes[j]
        for w in range(n_words):
            word = np.uint64(0)
            stop = min(length, 32 * w + 32)
            for i in range(32 * w, stop):
                letter = np.uint64(row[i] & 3) if row[i] != AMBIGUOUS else np.uint64(0)
                word = np.uint64((word << np.uint64(2)) | letter)
            words[w, j] = word << np.uint64(2 * (32 * w + 32 - stop))
    return words


def ambiguous_rows(codes, n_letters):
    """Codes (n, L) uint8 -> indices (m,) int64 of the rows that hold a letter outside 0 .. n_letters - 1."""
    found = [np.empty(0, np.int64)]
    for start in range(0, len(codes), BLOCK):
        beyond = codes[start : start + BLOCK] >= n_letters
        if beyond.any():
            found.append(start + np.flatnonzero(beyond.any(axis=1)))
    return np.concatenate(found)


def valid_runs(codes, rows, n_letters):
    """Codes (n, L), rows (m,) -> runs (L, m) int32: letters from each position up to the first ambiguous one."""
    if not len(rows):  # mostly so: then nothing is compiled
        return np.empty((codes.shape[1], 0), np.int32)
    return _valid_runs(codes, rows, n_letters)


@jit
def _valid_runs(codes, rows, n_letters):
    """`valid_runs` of some rows."""
    length = codes.shape[1]
    runs = np.empty((length, len(rows)), np.int32)
    for r in range(len(rows)):
        run = 0
        for i in range(length - 1, -1, -1):
            run = run + 1 if codes[rows[r], i] < n_letters else 0
            runs[i, r] = run
    return runs
