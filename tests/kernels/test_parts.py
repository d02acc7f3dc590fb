"""Kernels that see a part of every sequence: as if the sequences had been cut by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelweave as kw
from kernelweave import RBF, Frozen, GappedKmer, InputError, MKLClassifier, Spectrum, WeightedDegree, parse, per_feature
from kernelweave.explain import contributions, kmer_table, mutation_map, word_views
from kernelweave.kernels import Mismatch
from kernelweave.kernels.pieces import pieces, readers
from kernelweave.sequences import SequenceSet, as_sequences
from kernelweave.views import as_views

bounds = st.none() | st.integers(-12, 12)
texts = st.lists(st.text("ACGTN", min_size=1, max_size=10), min_size=1, max_size=8)


@pytest.mark.filterwarnings("ignore:.*are ambiguous")
@given(texts=texts, start=st.integers(-12, 12), stop=bounds, packed=st.booleans())
def test_parts_are_slices_of_text(texts, start, stop, packed):
    found = as_sequences(texts, "dna")
    found = found.pack() if packed else found
    part = found.part(start, stop)
    assert list(part) == [text[start:stop] for text in texts]
    assert part.packed == packed
    assert list(part.rows([0])) == [texts[0][start:stop]]


def test_parts_of_a_mapped_file_and_of_many_blocks(tmp_path):
    rng = np.random.default_rng(0)
    texts = ["".join(row) for row in rng.choice(list("ACGTN"), size=(20_000, 9), p=[0.24, 0.24, 0.24, 0.24, 0.04])]
    as_sequences(texts, "dna").save(tmp_path / "s.kws")
    part = SequenceSet.open(tmp_path / "s.kws").part(2, -1)
    assert part == as_sequences([text[2:-1] for text in texts], "dna")
    assert part.length == 6


def data(n=60, low=40, high=60, seed=0):
    rng = np.random.default_rng(seed)
    texts = ["".join(rng.choice(list("ACGT"), size=rng.integers(low, high + 1))) for _ in range(n)]
    return texts, np.array([text[:15].count("A") > 3 for text in texts])


@pytest.mark.parametrize(("start", "stop"), [(0, 15), (3, -4), (-12, None), (-12, -2)])
@pytest.mark.parametrize(
    "kernel",
    [Spectrum(k=2), Spectrum(k=2).normalized(), GappedKmer(4, 2), Mismatch(3, 1), Spectrum(k=2) * Spectrum(k=1)],
    ids=repr,
)
def test_matrices_are_those_of_sequences_cut_by_hand(kernel, start, stop):
    texts, _ = data(20)
    cut = [text[start:stop] for text in texts]
    seen = kernel.part(start, stop)
    np.testing.assert_allclose(seen(texts[:12], texts[12:]), kernel(cut[:12], cut[12:]), rtol=1e-12)
    np.testing.assert_allclose(seen.diag(texts), kernel.diag(cut), rtol=1e-12)
    assert parse(repr(seen)) == seen


@pytest.mark.parametrize("by", [(), ("degree",), ("position",), ("degree", "position")])
@pytest.mark.parametrize("dual", ["auto", "coordinate"])
def test_machines_are_those_of_sequences_cut_by_hand(by, dual):
    texts, y = data(40, 20, 20)
    cut = [text[3:11] for text in texts]
    kernel = WeightedDegree(degree=2).normalized()
    kernel = kernel.split(*by) if by else kernel
    options = {"norm": 2 if by else 1, "tol": 1e-6, "dual": dual, "C": 0.5}
    whole = MKLClassifier(kernel.part(3, 11), **options).fit(texts, y)
    small = MKLClassifier(kernel, **options).fit(cut, y)
    np.testing.assert_allclose(whole.weights_, small.weights_, atol=1e-9)
    np.testing.assert_allclose(whole.decision_function(texts), small.decision_function(cut), atol=1e-9)
    assert whole.objective_ == pytest.approx(small.objective_, rel=1e-12)


def test_a_model_of_parts_is_kept_explained_and_predicts(tmp_path):
    texts, y = data()
    kernel = Spectrum(k=2).part(0, 15) + Spectrum(k=2).normalized().part(-12) + 2.0 * Spectrum(k=1)
    model = MKLClassifier(kernel).fit(texts, y)
    kw.save(model, tmp_path / "m.kw")
    loaded = kw.load(tmp_path / "m.kw")
    new, _ = data(30, seed=1)
    np.testing.assert_allclose(loaded.decision_function(new), model.decision_function(new), atol=1e-12)
    assert loaded.kernel_ == model.kernel_
    views = [repr(found.view) for found in word_views(model)]
    assert views == ["letters[:15]", "letters[-12:]", "None"]
    assert len(kmer_table(model, top=2)) == 2
    found = contributions(model, new)
    np.testing.assert_allclose(found.terms.sum(axis=1) + found.intercept, model.decision_function(new), atol=1e-9)
    # letters that no term sees do not count
    two = MKLClassifier(Spectrum(k=2).part(0, 15) + Spectrum(k=2).part(-12)).fit(texts, y)
    change = mutation_map(two, texts[0]).values
    assert change.shape == (len(texts[0]), 4)
    assert not change[15:-12].any()
    assert change[:15].any()


def test_parts_of_columns():
    texts, y = data()
    frame = pd.DataFrame({"seq": texts, "other": texts[::-1], "x": np.arange(60.0)})
    by_hand = pd.DataFrame({"seq": [text[:15] for text in texts], "other": frame["other"], "x": frame["x"]})
    kernel = Spectrum(k=2).on("seq").part(0, 15) + Spectrum(k=1).on("other") + RBF(0.01).on("x")
    assert repr(kernel.kernels[0]) == "Spectrum(k=2).part(0, 15).on('seq')"
    plain = Spectrum(k=2).on("seq") + Spectrum(k=1).on("other") + RBF(0.01).on("x")
    model, twin = MKLClassifier(kernel).fit(frame, y), MKLClassifier(plain).fit(by_hand, y)
    np.testing.assert_allclose(model.decision_function(frame), twin.decision_function(by_hand), atol=1e-9)
    each = per_feature(Spectrum(k=2)).part(0, 15).on(["seq", "other"])
    terms = each.terms(as_views(frame))
    assert list(map(repr, terms)) == ["Spectrum(k=2).part(0, 15).on('seq')", "Spectrum(k=2).part(0, 15).on('other')"]
    assert Frozen(Spectrum(k=2) + Spectrum(k=1)).part(0, 3).terms(as_views(texts)) == (
        Frozen(Spectrum(k=2) + Spectrum(k=1)).part(0, 3),
    )


def test_readers_see_whole_columns_and_pieces_see_parts():
    texts, _ = data(5)
    views, kernel = as_views(texts), Spectrum(k=2).part(0, 15)
    assert [path for path, _ in readers(kernel, views)] == [()]
    (piece,) = pieces(kernel, views)
    assert list(views.through(piece.path).sequences()) == [text[:15] for text in texts]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RBF(1.0).part(0, 3), "reads numbers"),
        (lambda: Spectrum(k=2).part(5, 5), "sees no letters"),
        (lambda: Spectrum(k=2).part(-2, -4), "sees no letters"),
        (lambda: Spectrum(k=2).part(0.5), "whole numbers"),
        (lambda: Spectrum(k=2).part(0, True), "whole numbers"),
        (lambda: Spectrum(k=2).part(2**70), "whole numbers"),
        (lambda: Spectrum(k=2).part(0, 9).part(1), "part already"),
        (lambda: parse("Spectrum(k=2).part('a')"), "whole numbers"),
        (lambda: WeightedDegree(degree=2).part(0, 50)(["ACGT", "ACGTA"]), "length"),
        (lambda: parse("Spectrum(k=2).party(1)"), "part"),
    ],
)
def test_what_is_no_part_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
