import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_strings as naive
from kernelweave._fast import bits, forest, linadd
from kernelweave._fast import weighted_degree as wd


@st.composite
def problems(draw, max_letters=255):
    """Two sets of codes of one length: random, from a family (long shared stretches), or all alike."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_letters = draw(st.sampled_from([n for n in (2, 4, 5, 20, 255) if n <= max_letters]))
    length = draw(st.sampled_from([1, 2, 3, 7, 20, 31, 32, 33, 40, 65, 70]))
    na, nb = draw(st.integers(1, 4)), draw(st.integers(1, 34))
    change = draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    base = rng.integers(0, n_letters, length)
    codes = np.where(rng.random((na + nb, length)) < change, rng.integers(0, n_letters, (na + nb, length)), base)
    codes[rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.0, 0.02, 0.3]))] = naive.AMBIGUOUS
    codes = codes.astype(np.uint8)
    degree = draw(st.integers(1, 12))
    return codes[:na].copy(), codes[na:].copy(), n_letters, rng.normal(size=(length, degree)), rng


def planes_of(codes, n_letters):
    return bits.pack_planes(codes, max(1, (n_letters - 1).bit_length()))


@given(problems())
@settings(deadline=None)
def test_blocks_equal_the_definition(problem):
    a, b, n_letters, beta, _ = problem
    degree = beta.shape[1]
    terms = np.array([[naive.wd_terms(x, y, degree) for y in b] for x in a]).transpose(2, 3, 0, 1)
    plain = beta[0]
    expected = np.einsum("lkij,k->ij", terms, plain)
    planes_a, planes_b = planes_of(a, n_letters), planes_of(b, n_letters)
    out = np.empty((len(a), len(b)))

    wd.wd_block(planes_a, planes_b, plain, out)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    single = np.empty((len(a), len(b)), np.float32)
    wd.wd_block(planes_a, planes_b, plain, single)
    np.testing.assert_allclose(single, expected, rtol=1e-5, atol=1e-4)
    wd.wd_weighted_block(a, b, wd.cumulative(beta), out)
    np.testing.assert_allclose(out, np.einsum("lkij,lk->ij", terms, beta), atol=1e-12)

    each = np.empty((degree, len(a), len(b)))
    wd.wd_block_degrees(planes_a, planes_b, each)
    np.testing.assert_array_equal(each, terms.sum(axis=0))


@given(problems(20), st.integers(0, 6))
@settings(deadline=None, max_examples=40)
def test_shifts_equal_the_definition(problem, shift):
    a, b, n_letters, beta, rng = problem
    a, b = a[:2], b[:3]
    delta, limits = rng.normal(size=shift + 1), np.full(len(beta), shift)
    out = np.empty((len(a), len(b)))
    wd.wd_shift_block(planes_of(a, n_letters), planes_of(b, n_letters), beta[0], delta, out)
    expected = [[naive.wd_shift(x, y, beta[0], delta, limits) for y in b] for x in a]
    np.testing.assert_allclose(out, expected, atol=1e-11)
    own, out = planes_of(b, n_letters), np.empty((len(b), len(b)), np.float32)
    wd.wd_shift_block(own, own, beta[0], delta, out)
    expected = [[naive.wd_shift(x, y, beta[0], delta, limits) for y in b] for x in b]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("length", [700, 2050])
def test_long_sequences(length):
    rng = np.random.default_rng(length)
    codes = rng.integers(0, 4, (3, length)).astype(np.uint8)
    codes[1, :400] = codes[0, :400]
    beta = naive.beta_default(20)
    fast = np.empty((3, 3))
    wd.wd_block(planes_of(codes, 4), planes_of(codes, 4), beta, fast)
    slow = [[naive.wd(x, y, beta) for y in codes] for x in codes]
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


@given(problems(20), st.integers(1, 3), st.booleans(), st.data())
@settings(deadline=None, max_examples=200)
def test_linadd_equals_the_sum_of_kernels(problem, short, exact64, data):
    queries, support, n_letters, beta, rng = problem
    exact64 = exact64 and n_letters == 4
    length, degree = beta.shape
    first = data.draw(st.integers(0, length - 1))
    last = data.draw(st.integers(first + 1, length))
    coef = rng.normal(size=len(support))
    terms = np.array([[naive.wd_terms(x, y, degree) for y in support] for x in queries])
    each = np.einsum("ijlk,j->lki", terms, coef)[first:last]
    letters = np.ascontiguousarray(support.T)

    summed = forest.build_forest(letters, coef, beta, first, last, short, n_letters, exact64, True)
    out = np.ones((1, len(queries)))
    linadd.add_scores(summed, queries, out)
    np.testing.assert_allclose(out[0], 1 + np.einsum("lki,lk->i", each, beta[first:last]), atol=1e-11)
    if last - first > 1:
        out = np.ones((last - first, len(queries)))
        linadd.add_scores(summed, queries, out)
        np.testing.assert_allclose(out, 1 + np.einsum("lki,lk->li", each, beta[first:last]), atol=1e-11)

    plain = forest.build_forest(letters, coef, beta, first, last, short, n_letters, exact64, False)
    out = np.zeros((degree, len(queries)))
    linadd.add_degree_scores(plain, queries, out)
    np.testing.assert_allclose(out, each.sum(axis=0), atol=1e-11)
    if last - first > 1:
        out = np.zeros(((last - first) * degree, len(queries)))
        linadd.add_degree_scores(plain, queries, out)
        np.testing.assert_allclose(out, each.reshape(-1, len(queries)), atol=1e-11)


@pytest.mark.parametrize(("degree", "n_letters"), [(32, 4), (33, 4), (60, 4), (25, 20)])
@pytest.mark.parametrize("change", [0.0, 0.03, 1.0])
def test_linadd_of_high_degree(degree, n_letters, change):
    rng = np.random.default_rng(degree)
    base = rng.integers(0, n_letters, 90)
    codes = np.where(rng.random((400, 90)) < change, rng.integers(0, n_letters, (400, 90)), base).astype(np.uint8)
    beta = rng.random((90, degree))
    coef = rng.normal(size=300)
    block = np.empty((100, 300))
    wd.wd_weighted_block(codes[300:], codes[:300], wd.cumulative(beta), block)
    short = forest.table_depth(300, n_letters, degree)
    exact64 = n_letters == 4 and degree <= 32
    letters = np.ascontiguousarray(codes[:300].T)
    trees = forest.build_forest(letters, coef, beta, 0, 90, short, n_letters, exact64, True)
    out = np.zeros((1, 100))
    linadd.add_scores(trees, codes[300:], out)
    np.testing.assert_allclose(out[0], block @ coef, rtol=1e-10, atol=1e-9)


def test_other_software_agrees():
    reference = naive.oracle()
    codes = np.array([naive.letters(s) for s in reference["sequences"]])
    planes = planes_of(codes, 4)
    checked = 0
    for name, matrix in reference["kernels"].items():
        match = re.match(r"WeightedDegree\(degree=(\d+)(?:, shift=(\d+))?\)", name)
        if not match:
            continue
        beta, out = naive.beta_default(int(match[1])), np.empty((12, 12))
        if match[2]:
            shift = int(match[2])
            delta = np.array([0.5] + [1 / (2 * s) for s in range(1, shift + 1)])
            wd.wd_shift_block(planes, planes, beta, delta, out)
        else:
            wd.wd_block(planes, planes, beta, out)
        np.testing.assert_allclose(out, matrix, rtol=0, atol=1e-9, err_msg=name)
        checked += 1
    assert checked == 7
