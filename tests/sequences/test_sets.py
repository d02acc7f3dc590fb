import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold, cross_val_score, train_test_split

import naive_sequences as naive
from kernelweave.errors import InputError
from kernelweave.sequences import DNA, PROTEIN, TEXT, Alphabet, SequenceSet, as_sequences

pytestmark = pytest.mark.filterwarnings("ignore:.*are ambiguous:kernelweave.errors.DataWarning")

VARYING = st.lists(st.text("ACGTN", max_size=13), min_size=1, max_size=8)
EQUAL = st.integers(0, 13).flatmap(lambda n: st.lists(st.text("ACGTN", min_size=n, max_size=n), min_size=1, max_size=8))
TEXTS = st.one_of(VARYING, EQUAL)


def both(texts):
    plain = as_sequences(texts, "dna", on_short="zero")
    return plain, plain.pack()


@settings(deadline=None)
@given(TEXTS)
def test_both_forms_hold_the_same_letters(texts):
    for found in both(texts):
        assert len(found) == len(texts)
        assert list(found) == texts
        assert [found[i] for i in range(len(texts))] == texts
        assert found.lengths.tolist() == [len(t) for t in texts]
        assert found.offsets.tolist() == [0, *np.cumsum([len(t) for t in texts])]
        assert found.n_letters == sum(map(len, texts))
        assert found.unknown.tolist() == [i for i, c in enumerate("".join(texts)) if c == "N"]
        assert [found.codes(i).tolist() for i in range(len(texts))] == [naive.codes(t, DNA) for t in texts]
        assert found.flat_codes().tolist() == naive.codes("".join(texts), DNA)
        assert (found.length is not None) == (len(set(map(len, texts))) == 1)
        assert np.asarray(found).tolist() == texts
    plain, packed = both(texts)
    assert plain == packed
    assert packed.unpack() == plain
    assert plain.pack().pack() == packed


@settings(deadline=None)
@given(TEXTS, st.data())
def test_rows_choose_like_a_list(texts, data):
    n = len(texts)
    part = data.draw(st.slices(n))
    chosen = data.draw(st.lists(st.integers(-n, n - 1), max_size=10))
    mask = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    for found in both(texts):
        assert list(found[part]) == texts[part]
        assert list(found[chosen]) == [texts[i] for i in chosen]
        assert list(found[np.array(mask)]) == [t for t, keep in zip(texts, mask, strict=True) if keep]
        again = found[chosen]
        assert again == as_sequences([texts[i] for i in chosen], "dna", on_short="zero") if chosen else len(again) == 0
        assert list(again[::-1]) == [texts[i] for i in reversed(chosen)]


@settings(deadline=None)
@given(TEXTS)
def test_reverse_complement(texts):
    for found in both(texts):
        flipped = found.reverse_complement()
        assert list(flipped) == [naive.reverse_complement(t) for t in texts]
        assert flipped.packed == found.packed
        assert flipped.reverse_complement() == found


def test_matrix_needs_equal_lengths():
    assert as_sequences(["ACG", "TTN"], "dna").as_matrix().tolist() == [[0, 1, 2], [3, 3, 255]]
    with pytest.raises(InputError, match=r"got 2 lengths: 3 \(2x\), 2 \(1x\).*Spectrum"):
        as_sequences(["ACG", "TTT", "AC"], "dna").as_matrix()


def test_a_slice_shares_memory_and_nothing_can_be_written():
    found = as_sequences(["ACGT"] * 100, "dna")
    assert np.shares_memory(found.flat_codes(), found[10:20].flat_codes())
    with pytest.raises(ValueError, match="read-only"):
        found.flat_codes()[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        found.as_matrix()[0, 0] = 1


@pytest.mark.parametrize("key", [5, -6, [5], [-6], [True, False], [0.5], [[0]]])
def test_rows_outside_are_index_errors(key):
    with pytest.raises(IndexError):
        as_sequences(["ACGT"] * 5, "dna")[key]


def test_packing_needs_four_letters():
    with pytest.raises(InputError, match="protein alphabet has 20"):
        as_sequences(["MEEPQ"], "protein").pack()
    assert list(as_sequences(["ABBA"], Alphabet("AB"), packed=True)) == ["ABBA"]


def test_pickle_and_equality():
    for found in both(["ACGTN", "AC"]):
        again = pickle.loads(pickle.dumps(found))
        assert again == found
        assert again.packed == found.packed
    assert found != as_sequences(["ACGTT", "AC"], "dna")
    assert found != ["ACGTN", "AC"]
    assert as_sequences(["AC"], "dna") != as_sequences(["AC"], PROTEIN)


def test_text_is_utf8_and_bytes_are_bytes():
    found = as_sequences(["héllo", "日本"], TEXT)
    assert found.lengths.tolist() == [6, 6]
    assert list(found) == ["héllo", "日本"]
    every = bytes(range(256))
    found = as_sequences([every], "bytes")
    assert found.codes(0).tolist() == list(every)
    assert found.unknown.size == 0
    assert found[0].encode("latin-1") == every
    assert as_sequences([b"\xff\xfe"], TEXT)[0].encode("utf-8", "surrogateescape") == b"\xff\xfe"


class Majority(BaseEstimator):
    """An estimator that says what most labels are, and insists on being given a set."""

    def fit(self, X, y):
        assert isinstance(X, SequenceSet)
        self.answer_ = np.sign(y.sum())
        return self

    def score(self, X, y):
        assert isinstance(X, SequenceSet)
        return float((y == self.answer_).mean())


def test_scikit_learn_splits_sets():
    found, y = as_sequences(["ACGT", "ACG"] * 10, "dna"), np.array([1, 1, 1, -1] * 5)
    train, test = train_test_split(found, random_state=0)
    assert isinstance(train, SequenceSet)
    assert len(train) + len(test) == 20
    assert np.mean(cross_val_score(Majority(), found, y, cv=KFold(5))) == 0.75
