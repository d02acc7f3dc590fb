"""Random kernel expressions and data for property tests."""

import numpy as np
from hypothesis import strategies as st

from kernelweave.kernels import RBF, Frozen, Laplacian, Linear, LowRank, Polynomial, Precomputed, per_feature

#: Data that every expression below can read: a table-like dict of columns, and ids.
N_COLUMNS = 4

positive = st.floats(1e-3, 1e3, allow_nan=False) | st.integers(1, 100) | st.floats(0.1, 2.0).map(np.float64)
names = st.text(min_size=1, max_size=6)
columns = st.one_of(
    st.integers(0, N_COLUMNS - 1),
    st.lists(st.integers(0, N_COLUMNS - 1), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(0, N_COLUMNS - 1), min_size=1, max_size=3, unique=True).map(tuple),
    st.just(slice(0, 2)),
    st.just(slice(None, None, 2)),
)
#: Column names as people (and enemies) write them; only for expressions that are never evaluated.
any_columns = columns | names | st.lists(names, min_size=1, max_size=3)

vector_kernels = st.one_of(
    st.just(Linear()),
    st.builds(RBF, st.none() | positive),
    st.builds(Laplacian, st.none() | positive),
    st.builds(Polynomial, st.integers(1, 3), st.none() | st.floats(0.1, 2.0), st.floats(0.0, 2.0)),
)
matrices = st.integers(0, 2**16).map(lambda seed: _gram_matrix(seed))
precomputed = st.builds(Precomputed, matrices, names, st.sampled_from(["error", "clip", "ignore"]))


def _gram_matrix(seed):
    A = np.random.default_rng(seed).normal(size=(5, 3))
    return A @ A.T


def _grown(kernels, on):
    pairs = st.tuples(kernels, kernels)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        st.tuples(st.floats(1e-3, 1e3) | st.integers(0, 10), kernels).map(lambda p: p[0] * p[1]),
        st.tuples(kernels, on).map(lambda p: p[0].on(p[1])),
        kernels.map(lambda k: k.normalized()),
        kernels.map(Frozen),
    )


def _printable(kernels):
    low = st.tuples(kernels, st.integers(1, 900)).map(lambda p: LowRank(*p))
    return _grown(kernels, any_columns) | kernels.map(per_feature) | low


#: Any expression at all, to be printed and read.
expressions = st.recursive(vector_kernels | precomputed, _printable, max_leaves=8)

_seen = st.tuples(vector_kernels, columns)
_leaves = vector_kernels | _seen.map(lambda p: p[0].on(p[1])) | _seen.map(lambda p: per_feature(p[0]).on(p[1]))
#: Expressions that a plain matrix of N_COLUMNS columns can answer.
evaluable = st.recursive(_leaves, lambda kernels: _grown(kernels, st.just(slice(None))), max_leaves=5)


@st.composite
def samples(draw):
    seed, rows = draw(st.integers(0, 2**16)), draw(st.integers(3, 9))
    X = np.random.default_rng(seed).normal(size=(rows, N_COLUMNS))
    if draw(st.booleans()):
        X[rows // 2] = X[0]  # twins
    if draw(st.booleans()):
        X[-1] = 0.0
    return X
