"""exp of numbers that are not positive, written so that loops over it use vector units."""

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

#: exp(r) = 1 + r + r² P(r) for |r| ≤ ln 2 / 2, P by its Chebyshev series: off by 1e-8 and by 2e-17 of the value.
P0, P1, P2, P3, P4 = (
    np.float32(x)
    for x in (0.500000001347030314, 0.166665769672475921, 0.0416664648953554202, 0.0083631815446748173,
              0.00139336524878079752)
)  # fmt: skip
Q0, Q1, Q2, Q3, Q4 = (
    0.500000000000000102, 0.16666666666666671, 0.0416666666666241234, 0.00833333333332613456, 0.00138888889172155869,
)  # fmt: skip
Q5, Q6, Q7, Q8, Q9 = (
    0.000198412698748223081, 0.0000248015212934638606, 2.75572553983387109e-6, 2.76200894819545888e-7,
    2.51052176956845177e-8,
)  # fmt: skip
#: What is added to a number below 2^22 (2^51) so that its last bits are its nearest whole number.
MAGIC32, MAGIC64 = np.float32(1.5 * 2.0**23), 1.5 * 2.0**52
#: Below these, exp is that of these: next to the smallest number with all its digits.
LEAST32, LEAST64 = np.float32(-87.0), -708.0
LOG2E32, LN2_32 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
#: ln 2 in two parts, of which whole multiples of the first are exact.
LOG2E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10


@intrinsic
def _times_power(typingctx, value, shifted):
    """(), () -> (): value · 2^k, with k the last bits of `shifted`: it is added to the exponent."""
    whole, width = (types.int32, 23) if value == types.float32 else (types.int64, 52)

    def codegen(context, builder, signature, args):
        bits = context.get_value_type(whole)
        k = builder.shl(builder.bitcast(args[1], bits), context.get_constant(whole, width))
        return builder.bitcast(builder.add(builder.bitcast(args[0], bits), k), args[0].type)

    return value(value, shifted), codegen


def exponential(x):
    """() -> (): exp(x) for x ≤ 0, in the precision of x."""
    return np.exp(x)


# the order of additions matters here (magic numbers), but products may be fused with them
@overload(exponential, jit_options={"fastmath": {"contract", "nnan"}, "error_model": "numpy"})
def _exponential(x):
    return _single if x == types.float32 else _double


def _single(x):
    x = max(x, LEAST32)
    shifted = x * LOG2E32 + MAGIC32
    r = x - (shifted - MAGIC32) * LN2_32
    p = (((P4 * r + P3) * r + P2) * r + P1) * r + P0
    return _times_power(p * (r * r) + r + np.float32(1.0), shifted)  # type: ignore[call-arg]


def _double(x):
    x = max(x, LEAST64)
    shifted = x * LOG2E + MAGIC64
    whole = shifted - MAGIC64
    r = (x - whole * LN2_HIGH) - whole * LN2_LOW
    p = (((Q9 * r + Q8) * r + Q7) * r + Q6) * r + Q5
    p = ((((p * r + Q4) * r + Q3) * r + Q2) * r + Q1) * r + Q0
    return _times_power(p * (r * r) + r + 1.0, shifted)  # type: ignore[call-arg]
