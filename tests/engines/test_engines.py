from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_strings as naive
from kernelweave.engines import ENGINES, HashTable, SuffixArray, Table, Trie, choose
from kernelweave.errors import InputError

ALPHABETS = {2: 4, 5: 20, 8: 200}


@st.composite
def problems(draw):
    """Rows to add, rows to look up, coefficients, k and bits; repetitive rows, empty ones, ambiguous letters."""
    bits = draw(st.sampled_from(sorted(ALPHABETS)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_letters = draw(st.sampled_from([1, 2, ALPHABETS[bits]]))
    rows = [rng.integers(0, n_letters, rng.integers(0, 40)).astype(np.uint8) for _ in range(draw(st.integers(1, 8)))]
    if draw(st.booleans()):
        for row in rows:
            row[rng.random(len(row)) < 0.1] = naive.AMBIGUOUS
    n_added = draw(st.integers(1, len(rows)))
    k = draw(st.integers(1, 64 // bits))
    return rows[:n_added], rows[n_added - 1 :], rng.normal(size=n_added), k, bits


def fitting(k, bits):
    # A table of 2^22 numbers is enough for a test.
    return [e for e in ENGINES if e.can_hold(k, bits) and (e is not Table or k * bits <= 22)]


@given(problems())
@settings(deadline=None, max_examples=150)
def test_all_engines_hold_the_same_vector(problem):
    added, asked, coef, k, bits = problem
    vector = naive.vector(added, coef, k)
    scores = [sum(vector[word] for word in naive.kmers(row, k)) for row in asked]
    words = sorted(vector)
    features = np.array([naive.number(word, bits) for word in words], np.uint64)
    values = np.array([vector[word] for word in words])
    half = len(added) // 2
    for engine in (e(k, bits) for e in fitting(k, bits)):
        engine.add_sequences(*naive.join(added), coef)
        found = engine.lookup_sequences(*naive.join(asked))
        np.testing.assert_allclose(found, scores, atol=1e-12, err_msg=repr(engine))
        np.testing.assert_allclose(engine.lookup(features), values, atol=1e-12)
        np.testing.assert_allclose(engine.sqnorm(), values @ values, atol=1e-12)
        kept, stored = engine.items()
        keep = np.isin(features, kept)
        np.testing.assert_array_equal(kept, features[keep])
        np.testing.assert_allclose(stored, values[keep], atol=1e-12)
        assert not values[~keep].any()

        # In parts, by features, and again from the start: the same vector.
        engine.clear()
        assert engine.sqnorm() == 0.0
        assert not engine.lookup(features).any()
        engine.add_sequences(*naive.join(added[:half]), coef[:half])
        engine.lookup(features)
        for row, c in zip(added[half:], coef[half:], strict=True):
            engine.add(np.array([naive.number(w, bits) for w in naive.kmers(row, k)], np.uint64), c)
        np.testing.assert_allclose(engine.lookup(features), values, atol=1e-12)


@given(problems(), st.integers(1, 60))
@settings(deadline=None, max_examples=60)
def test_suffix_array_has_no_limit_on_k(problem, k):
    added, asked, coef, _, bits = problem
    engine = SuffixArray(k, bits)
    engine.add_sequences(*naive.join(added), coef)
    vector = naive.vector(added, coef, k)
    scores = [sum(vector[word] for word in naive.kmers(row, k)) for row in asked]
    np.testing.assert_allclose(engine.lookup_sequences(*naive.join(asked)), scores, atol=1e-12)
    np.testing.assert_allclose(engine.sqnorm(), sum(v * v for v in vector.values()), atol=1e-10)
    lengths, _ = engine.matches(*naive.join(asked))
    expected = [[min(k, naive.longest_match(row, i, added)) for i in range(len(row))] + [0] for row in asked]
    assert lengths.tolist() == list(chain(*expected))


def test_trie_of_the_paper():
    """Sonnenburg, Rätsch and Rieck (2007), figure 4.3: AAA, AGA, GAA and the sums at inner nodes."""
    a1, a2, a3 = 1.0, 10.0, 100.0
    trie = Trie(3, 2)
    aaa, aga, gaa = (naive.number(naive.letters(w), 2) for w in ("AAA", "AGA", "GAA"))
    trie.add([aaa, aga, gaa], [a1, a2, a3])
    prefixes = np.array([trie.lookup_prefixes([aaa, aga, gaa], np.arange(1, 4) == d) for d in (1, 2, 3)])
    np.testing.assert_array_equal(prefixes, [[a1 + a2, a1 + a2, a3], [a1, a2, a3], [a1, a2, a3]])
    # AAC shares A and AA: beta_1 (a1 + a2) + beta_2 a1; the walk ends there.
    aac = naive.number(naive.letters("AAC"), 2)
    np.testing.assert_allclose(trie.lookup_prefixes([aac], [0.5, 0.25, 7.0]), 0.5 * (a1 + a2) + 0.25 * a1)
    assert trie.lookup([aac, aga]).tolist() == [0.0, a2]


def test_matching_statistics_of_the_paper():
    """Sonnenburg, Rätsch and Rieck (2007), figure 4.4: GAACG against GAGAAG matches GAA, AA, A, nothing, G."""
    engine = SuffixArray(6, 2)
    engine.add_sequences(*naive.join([naive.letters("GAGAAG")]), [1.0])
    lengths, ranks = engine.matches(*naive.join([naive.letters("GAACG")]))
    assert lengths.tolist() == [3, 2, 1, 0, 1, 0]
    # Suffixes of GAGAAG$ in order: $, AAG, AG, AGAAG, G, GAAG, GAGAAG.
    text, _, suffixes, _, _ = engine._build()
    assert suffixes.tolist() == [6, 3, 4, 1, 5, 2, 0]
    assert ranks.tolist()[:2] == [5, 1]
    assert text[suffixes[ranks[4]]] == 2


def test_choose_and_refusal():
    assert isinstance(choose(6, 2), Table)
    assert isinstance(choose(20, 2), HashTable)
    assert isinstance(choose(12, 2), HashTable)
    assert isinstance(choose(12, 2, n_kmers=10_000_000), Table)
    assert isinstance(choose(9, 8), SuffixArray)
    assert repr(choose(3, 8)) in {"Table(k=3, bits=8)", "HashTable(k=3, bits=8)"}
    with pytest.raises(InputError, match=r"cannot hold k-mers of 40 letters"):
        HashTable(40, 2)
