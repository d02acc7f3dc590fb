"""What words add to all places of a window: dense rows for short words, and differences for three letters more.

A row holds the values of all places for the words of `depth` letters, column width - 1 - i for place i. Each of the
next three letters changes some places only: a *node* lists what it adds, as the bits of the columns and then the
numbers that belong to them. Numbers are whole multiples of a unit. They are differences of rounded sums, not rounded
differences: a place is never further than half a unit from the truth, however long the word.
"""

from collections import namedtuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from kernelweave._fast import jit
from kernelweave._fast.lanes import intrinsic

#: Columns that are added at a time; rows are multiples of it.
LINE = 8
#: Letters after those of a row that have nodes.
STEPS = 3
#: Words of the support for each row and place, at least, where rows go one letter deeper; letters of a row, at most.
SHARED, DEEPEST = 128, 8

#: depth: letters of a row; rows (4^depth, width) int64
#: starts: for every step where the node of a word begins, (4^(depth + step),) int32; 0 is an empty node
#: numbers: for every step the nodes, (.,) int64: bits of the columns, LINE a byte, then one number for each
Levels = namedtuple("Levels", "depth rows starts numbers")


def _spreading(adds):
    @intrinsic
    def spread(typingctx, target, to, source, start, values, at, mask):
        def codegen(context, builder, signature, args):
            number, flags = ir.IntType(64), ir.VectorType(ir.IntType(1), LINE)
            lanes = ir.VectorType(number, LINE)

            def pointer(k):
                struct = context.make_array(signature.args[k])(context, builder, args[k])
                return cgutils.get_item_pointer(
                    context, builder, signature.args[k], struct, [args[k + 1]], wraparound=False
                )

            def load(address):
                return builder.load(builder.bitcast(address, lanes.as_pointer()), align=8)

            to, start, at = (pointer(k) for k in (0, 2, 4))
            function_type = ir.FunctionType(lanes, [number.as_pointer(), flags, lanes])
            name = f"llvm.masked.expandload.v{LINE}i64"
            function = cgutils.get_or_insert_function(builder.module, function_type, name)
            few = builder.call(function, [at, builder.bitcast(args[6], flags), ir.Constant(lanes, None)])
            total = builder.add(load(start), few)
            total = builder.add(total, load(to)) if adds else total
            builder.store(total, builder.bitcast(to, lanes.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.void(target, types.intp, source, types.intp, values, types.intp, types.uint8), codegen

    return spread


#: target[to : to + 8] = source[start : start + 8], and where mask has a bit, the next number of values, from `at` on.
#: Arrays of int64; nothing is checked. The second adds that to target.
set_spread, add_spread = _spreading(False), _spreading(True)


@jit
def header(width):
    """How many numbers the bits of all columns take."""
    return (width // LINE + 7) // 8


@jit
def _add_letter(words, depth, above, here):
    """Values of all words of `depth` letters, here (4^depth, width) of zeros, from those of a letter less."""
    width, shift = here.shape[1], np.uint64(64 - 2 * depth)
    for t in range(len(words.codes)):
        if words.known[t] >= depth:
            here[words.codes[t] >> shift, np.uint64(width - 1) - words.places[t]] += words.coef[t]
    for u in range(len(here)):
        for i in range(len(words.sums)):
            column = width - 1 - i
            weight = words.sums[i, depth] - words.sums[i, depth - 1]
            here[u, column] = above[u >> 2, column] + weight * here[u, column]


@jit
def _write_node(words, first, last, depth, unit, above, here, gains, numbers, at):
    """The node of the words first .. last - 1, which share `depth` letters; returns where the next one begins.

    above, here (width,): values of all places with a letter less and with this one; gains (width,): zeros.
    """
    width = len(here)
    for t in range(first, last):
        if words.known[t] >= depth:
            i = np.int64(words.places[t])
            gains[width - 1 - i] += words.coef[t] * (words.sums[i, depth] - words.sums[i, depth - 1])
    start, end = at, at + header(width)
    numbers[start:end] = 0
    masks = numbers[start:end].view(np.uint8)
    for column in range(width):
        here[column] = above[column] + gains[column]
        if gains[column] != 0.0:
            gains[column] = 0.0
            number = np.int64(np.rint(here[column] / unit)) - np.int64(np.rint(above[column] / unit))
            if number != 0:
                masks[column // LINE] |= np.uint8(1 << (column % LINE))
                numbers[end] = number
                end += 1
    return end


@jit
def _write_nodes(words, depth, rows, unit, starts, numbers, ends):
    """All nodes; rows (4^depth, width) float64. Leaves in ends (STEPS,) how many numbers were written."""
    width, n = rows.shape[1], len(words.codes)
    values, gains, now = np.zeros((STEPS + 1, width)), np.zeros(width), np.full(STEPS + 1, -1)
    t = 0
    while t < n:
        row = np.int64(words.codes[t] >> np.uint64(64 - 2 * depth))
        values[0] = rows[row]
        changed = False
        for step in range(1, STEPS + 1):
            shift = np.uint64(64 - 2 * (depth + step))
            word = np.int64(words.codes[t] >> shift)
            changed = changed or word != now[step]
            if not changed:
                continue
            now[step], last = word, t
            while last < n and np.int64(words.codes[last] >> shift) == word:
                last += 1
            starts[step - 1][word] = ends[step - 1]
            ends[step - 1] = _write_node(
                words, t, last, depth + step, unit, values[step - 1], values[step], gains, numbers[step - 1],
                ends[step - 1],
            )  # fmt: skip
        shift = np.uint64(64 - 2 * (depth + STEPS))
        word = words.codes[t] >> shift
        while t < n and words.codes[t] >> shift == word:
            t += 1


@jit
def _round(values, unit, whole):
    """Values (n, width) as whole numbers of units."""
    for u in range(len(values)):
        for column in range(values.shape[1]):
            whole[u, column] = np.int64(np.rint(values[u, column] / unit))


def row_depth(n_words, degree):
    """Letters of a row."""
    depth = 1
    while depth < min(DEEPEST, degree) and n_words > SHARED * 4**depth:
        depth += 1
    return depth


def short_values(words, width):
    """SortedWords -> values (4^depth, width) float64 of all short words."""
    degree = words.sums.shape[1] - 1
    rows = np.zeros((1, width))
    for depth in range(1, row_depth(len(words.codes), degree) + 1):
        here = np.zeros((4**depth, width))
        _add_letter(words, depth, rows, here)
        rows = here
    return rows


def build_levels(words, values, rows, unit):
    """SortedWords, their `short_values`, room (4^depth, width) int64 -> Levels."""
    width, degree = values.shape[1], words.sums.shape[1] - 1
    depth = row_depth(len(words.codes), degree)
    sums = words.sums[:, np.minimum(np.arange(depth + STEPS + 1), degree)]  # no letter beyond the degree adds anything
    _round(values, unit, rows)
    starts = tuple(np.zeros(4 ** (depth + step), np.int32) for step in range(1, STEPS + 1))
    sizes = [len(words.codes) + header(width) * (min(len(words.codes), len(one)) + 1) + LINE for one in starts]
    numbers = tuple(np.zeros(size, np.int64) for size in sizes)
    ends = np.full(STEPS, header(width))
    _write_nodes(words._replace(sums=np.ascontiguousarray(sums)), depth, values, unit, starts, numbers, ends)
    numbers = tuple(one[: end + LINE].copy() for one, end in zip(numbers, ends.tolist(), strict=True))
    return Levels(depth, rows, starts, numbers)
