"""What a pair of words counts by the number of letters in which they differ: profile[d], d = 0, ..., length.

All such profiles are sums of one set of polynomials. With b letters in the alphabet, the matrix profile[d(u, v)] of
all b^length words has one eigenvalue for each j = 0, ..., length, whose eigenvectors vary at j places of a word:

    value[j] = Σ_d profile[d] P_d(j),    profile[d] = Σ_j value[j] P_j(d) / b^length,
    Σ_d P_d(j) z^d = (1 + (b − 1) z)^(length − j) (1 − z)^j    (Krawtchouk's polynomials).

Profiles are whole numbers or fractions, and exact, so that what cancels out is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

#: What pairs count by the number of letters in which they differ: whole numbers or fractions.
Profile = Sequence[int | Fraction]


@cache
def polynomials(length: int, size: int) -> tuple[tuple[int, ...], ...]:
    """Return P_d(j) as whole numbers, by d and j."""

    def value(d: int, j: int) -> int:
        return sum((-1) ** i * comb(j, i) * (size - 1) ** (d - i) * comb(length - j, d - i) for i in range(d + 1))

    return tuple(tuple(value(d, j) for j in range(length + 1)) for d in range(length + 1))


def eigenvalues(profile: Sequence[Any], size: int) -> list[Any]:
    """Return value[j] of a profile."""
    P = polynomials(len(profile) - 1, size)
    return [sum(profile[d] * P[d][j] for d in range(len(P))) for j in range(len(P))]


def gapped_profile(length: int, k: int) -> Profile:
    """Return in how many choices of k columns two words agree: C(length − d, k)."""
    return [comb(length - d, k) for d in range(length + 1)]


def estimated_profile(length: int, k: int, size: int, truncated: bool) -> Profile:
    """Return what pairs count where counts of words are those that the gapped words of k letters let one expect.

    The least-squares estimate of the counts of all words is their projection on what varies at k places at the most:
    eigenvalues 1 for j ≤ k, and 0 beyond. The kernel of two such estimates has the same eigenvalues. Where truncated,
    the estimate takes words only up to the first distance at which they would count 0 or less; the eigenvalues of the
    kernel are then the squares of the estimate's.
    """
    P, whole = polynomials(length, size), size**length
    spread = [sum(P[j][d] for j in range(k + 1)) for d in range(length + 1)]  # times size^length: whole numbers
    if not truncated:
        return [Fraction(value, whole) for value in spread]
    end = next((d for d, value in enumerate(spread) if value <= 0), length + 1)
    squares = [value**2 for value in eigenvalues([*spread[:end], *[0] * (length + 1 - end)], size)]
    return [Fraction(value, whole**3) for value in eigenvalues(squares, size)]


def wildcard_weights(profile: Profile) -> Profile:
    """Return weights[j] with Σ_j weights[j] C(length − d, j − d) = profile[d] at every distance d.

    C(length − d, j − d) is in how many ways j letters can be left out so that two words agree in the others.
    """
    length = len(profile) - 1
    weights: list[int | Fraction] = [0] * (length + 1)
    for d in range(length, -1, -1):
        weights[d] = profile[d] - sum(weights[j] * comb(length - d, j - d) for j in range(d + 1, length + 1))
    return weights
