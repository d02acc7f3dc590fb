"""Sixteen sequences at once: vector registers as Numba values.

The compiler does not vectorise a loop around loops, which is what a kernel over sequences is; so the lanes are
spelled out. `Lanes` is sixteen uint32 (one word of sixteen sequences), `Sums` sixteen float64 and `Singles` sixteen
float32. LLVM maps them to whatever registers the machine has. Every function here is inlined into its caller.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

#: Sequences side by side; arrays that are read by lanes are padded to a multiple of it.
LANES = 16

_INT32 = ir.IntType(32)
_WORDS = ir.VectorType(_INT32, LANES)
_FLOATS = ir.VectorType(ir.DoubleType(), LANES)
_SINGLES = ir.VectorType(ir.FloatType(), LANES)


def intrinsic(function: Callable) -> Any:
    """Numba's `intrinsic`, callable without the typing context, which checkers of types do not know about."""
    return numba_intrinsic(function)


class _LanesType(types.Type):
    def __init__(self):
        super().__init__(name="Lanes")


class _SumsType(types.Type):
    def __init__(self):
        super().__init__(name="Sums")


class _SinglesType(types.Type):
    def __init__(self):
        super().__init__(name="Singles")


lanes = _LanesType()
sums = _SumsType()
singles = _SinglesType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _WORDS)


@register_model(_SumsType)
class _SumsModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _FLOATS)


@register_model(_SinglesType)
class _SinglesModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _SINGLES)


#: The vector of every type, and the bytes of a number in it.
_VECTORS = {lanes: (_WORDS, 4), sums: (_FLOATS, 8), singles: (_SINGLES, 4)}


def _pointer(context, builder, array_type, array, index_type, index, vector):
    """Address of array[index] as a pointer to a vector; the last axis must be contiguous."""
    struct = context.make_array(array_type)(context, builder, array)
    indices = cgutils.unpack_tuple(builder, index, count=index_type.count)
    address = cgutils.get_item_pointer(context, builder, array_type, struct, indices, wraparound=False)
    return builder.bitcast(address, vector.as_pointer())


def _splat(builder, value, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, _INT32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_WORDS, [0] * LANES))


@intrinsic
def store(typingctx, array, index, value):
    """array[..., j : j + 16] = value, for Lanes, Sums or Singles in an array of uint32, float64 or float32."""

    def codegen(context, builder, signature, args):
        vector, align = _VECTORS[signature.args[2]]
        pointer = _pointer(context, builder, signature.args[0], args[0], signature.args[1], args[1], vector)
        builder.store(args[2], pointer, align=align)
        return context.get_dummy_value()

    return types.void(array, types.UniTuple(types.intp, index.count), value), codegen


def _masks_type(words):
    return types.UniTuple(lanes, words.count)


def _pack(context, builder, masks_type, values):
    return context.make_tuple(builder, masks_type, values)


@intrinsic
def no_masks(typingctx, words):
    """W masks of Lanes, all zero; `words` is any tuple of W numbers. The compiler knows W: registers, no loops."""

    def codegen(context, builder, signature, args):
        zero = ir.Constant(_WORDS, [0] * LANES)
        return _pack(context, builder, signature.return_type, [zero] * signature.return_type.count)

    return _masks_type(words)(words), codegen


def _with_planes(combine):
    """An intrinsic new[w] = combine(masks[w], planes_a[p, w, i], planes_b[q, w, j : j + 16])."""

    @intrinsic
    def operation(typingctx, masks, planes_a, p, i, planes_b, q, j):
        def codegen(context, builder, signature, args):
            index_type = types.UniTuple(types.intp, 3)
            new = []
            for w, mask in enumerate(cgutils.unpack_tuple(builder, args[0], count=signature.return_type.count)):
                word = context.get_constant(types.intp, w)
                one = context.make_tuple(builder, index_type, [args[2], word, args[3]])
                many = context.make_tuple(builder, index_type, [args[5], word, args[6]])
                scalar = _pointer(context, builder, signature.args[1], args[1], index_type, one, _INT32)
                vector = _pointer(context, builder, signature.args[4], args[4], index_type, many, _WORDS)
                mine = _splat(builder, builder.load(scalar, align=4), _WORDS)
                new.append(combine(builder, mask, mine, builder.load(vector, align=4)))
            return _pack(context, builder, signature.return_type, new)

        return masks(masks, planes_a, types.intp, types.intp, planes_b, types.intp, types.intp), codegen

    return operation


#: masks | (a ^ b): positions where a bit of the letters differs.
add_differences = _with_planes(lambda builder, mask, a, b: builder.or_(mask, builder.xor(a, b)))
#: ~masks & a & b: positions that do not differ and are valid in both.
agreements = _with_planes(lambda builder, mask, a, b: builder.and_(builder.not_(mask), builder.and_(a, b)))


@intrinsic
def narrow(typingctx, masks):
    """M[i] & M[i + 1] in the strided layout: the next word, and for the last word the first one moved by a bit."""

    def codegen(context, builder, signature, args):
        old = cgutils.unpack_tuple(builder, args[0], count=signature.return_type.count)
        following = [*old[1:], builder.lshr(old[0], ir.Constant(_WORDS, [1] * LANES))]
        new = [builder.and_(a, b) for a, b in zip(old, following, strict=True)]
        return _pack(context, builder, signature.return_type, new)

    return masks(masks), codegen


def _count(builder, masks):
    function_type = ir.FunctionType(_WORDS, [_WORDS])
    function = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.ctpop.v{LANES}i32")
    total = ir.Constant(_WORDS, [0] * LANES)
    for mask in masks:
        total = builder.add(total, builder.call(function, [mask]))
    return total


@intrinsic
def count_bits(typingctx, masks):
    """Lanes: number of set bits in all masks of a lane."""

    def codegen(context, builder, signature, args):
        return _count(builder, cgutils.unpack_tuple(builder, args[0], count=signature.args[0].count))

    return lanes(masks), codegen


@intrinsic
def count_bits_within(typingctx, masks, allowed):
    """Lanes: number of set bits in masks[w] & allowed[w], allowed (W,) uint32."""

    def codegen(context, builder, signature, args):
        index_type = types.UniTuple(types.intp, 1)
        kept = []
        for w, mask in enumerate(cgutils.unpack_tuple(builder, args[0], count=signature.args[0].count)):
            index = context.make_tuple(builder, index_type, [context.get_constant(types.intp, w)])
            pointer = _pointer(context, builder, signature.args[1], args[1], index_type, index, _INT32)
            kept.append(builder.and_(mask, _splat(builder, builder.load(pointer, align=4), _WORDS)))
        return _count(builder, kept)

    return lanes(masks, allowed), codegen


@intrinsic
def any_set(typingctx, a):
    """True if any lane is not zero."""

    def codegen(context, builder, signature, args):
        nonzero = builder.icmp_unsigned("!=", args[0], ir.Constant(_WORDS, [0] * LANES))
        mask = builder.bitcast(nonzero, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", mask, ir.IntType(LANES)(0))

    return types.boolean(lanes), codegen


@intrinsic
def no_sums(typingctx, array):
    """Sums that are all zero, or Singles where the array is of float32."""
    found = singles if array.dtype == types.float32 else sums

    def codegen(context, builder, signature, args):
        return ir.Constant(_VECTORS[found][0], [0.0] * LANES)

    return found(array), codegen


@intrinsic
def add_scaled(typingctx, total, weight, counts):
    """Sums or Singles: total + weight * counts, weight a float64, counts Lanes below 2^31."""
    vector = _VECTORS[total][0]

    def codegen(context, builder, signature, args):
        weight = args[1] if total == sums else builder.fptrunc(args[1], ir.FloatType())
        scaled = builder.fmul(_splat(builder, weight, vector), builder.sitofp(args[2], vector), flags=("contract",))
        return builder.fadd(args[0], scaled, flags=("contract",))

    return total(total, types.float64, lanes), codegen
