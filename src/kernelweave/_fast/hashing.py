"""Samples to 64 bits: the same content gives the same number, on every machine."""

import numpy as np

from . import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BASIS, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_ZERO, _ONE, _S27, _S30, _S31 = np.uint64(0), np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31)


@jit
def mixed(z):
    """Return z with every bit spread over all 64 (the last steps of splitmix64)."""
    z = (z ^ (z >> _S30)) * _FIRST
    z = (z ^ (z >> _S27)) * _SECOND
    return z ^ (z >> _S31)


@jit
def hash_rows(bits, out):
    """out[i] += the hash of row i of bits (n, d) uint64, numbers as they lie in memory; zeros add nothing."""
    for i in range(bits.shape[0]):
        total = out[i]
        for j in range(bits.shape[1]):
            counts = np.uint64(
                (bits[i, j] << _ONE) != _ZERO
            )  # neither 0.0 nor -0.0; no branch, so that lanes run along
            total += counts * mixed(bits[i, j] + np.uint64(j + 1) * _GOLDEN)
        out[i] = total


@jit
def hash_sparse_rows(bits, indices, indptr, out):
    """out[i] += the hash of row i of a CSR matrix with values bits (nnz,) uint64; the same as that of the dense row."""
    for i in range(indptr.size - 1):
        for p in range(indptr[i], indptr[i + 1]):
            if bits[p] << _ONE:
                out[i] += mixed(bits[p] + np.uint64(indices[p] + 1) * _GOLDEN)


@jit
def hash_letters(codes, letters, offsets, out):
    """out[r] = the hash of the letters[codes[offsets[r]:offsets[r + 1]]]; codes uint8, letters (256,) uint8."""
    for r in range(offsets.size - 1):
        h = _BASIS
        for i in range(offsets[r], offsets[r + 1]):
            h = (h ^ np.uint64(letters[codes[i]])) * _PRIME
        out[r] = mixed(h)


def join_hashes(part, out):
    """out[i] = the hash of what out[i] and part[i] stand for, in this order; both (n,) uint64."""
    out[:] = mixed.py_func(out * _PRIME + part + _GOLDEN)
