"""Shards: several packed files as one set of sequences, and what is told of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import InputError, Shards
from kernelweave.cluster import cut
from kernelweave.sequences import SequenceSet, as_sequences
from kernelweave.sequences.shards import shard_names


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Random sequences, equally long and not, packed and not, with unknown letters; in memory and in shards."""
    rng = np.random.default_rng(0)
    found = {}
    for name, letters, lengths in (
        ("equal", "ACGTN", np.full(37, 9)),
        ("varying", "ACGTN", rng.integers(1, 12, 37)),
        ("protein", "ACDEFGHIKLMNPQRSTVWY", rng.integers(3, 8, 37)),
    ):
        text = ["".join(rng.choice(list(letters), n)) for n in lengths]
        alphabet = "protein" if name == "protein" else "dna"
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X = as_sequences(text, alphabet)
        path = tmp_path_factory.mktemp(name) / "x.kwseq"
        found[name] = X, Shards.write(X, path, 4), path
    return found


@pytest.mark.parametrize("name", ["equal", "varying", "protein"])
def test_they_are_one_set(written, name):
    X, shards, path = written[name]
    assert list(shards) == list(X)
    assert len(shards) == 37
    assert shards == X
    assert np.array_equal(shards.unknown, X.unknown)
    assert shards[5] == X[5]
    assert Shards.open(str(path.with_suffix(".*.kwseq"))) == X


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(["equal", "varying", "protein"]), rows=st.lists(st.integers(-37, 36), max_size=20))
def test_any_rows(written, name, rows):
    X, shards, _ = written[name]
    assert list(shards.rows(np.array(rows, np.int64))) == list(X.rows(np.array(rows, np.int64)))


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(["equal", "varying"]), ends=st.tuples(st.integers(0, 37), st.integers(0, 37)))
def test_any_slice(written, name, ends):
    X, shards, _ = written[name]
    assert list(shards[ends[0] : ends[1]]) == list(X[ends[0] : ends[1]])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.one_of(st.none(), st.integers(1, 50)))
def test_cuts_hold_every_row_once_and_open_to_it(written, n_threads, rows):
    X, whole, _ = written["varying"]
    shards = cut({None: Shards(whole.files, rows)}, n_threads)
    assert [shard.start for shard in shards] == [0, *(shard.stop for shard in shards)][:-1]
    assert shards[-1].stop == 37
    assert all(len(shard) <= (rows or 37) for shard in shards)
    assert [text for shard in shards for text in shard.views().sequences()] == list(X)
    assert all(len(pickle.dumps(shard)) < 600 for shard in shards)


def test_pickled_shards_are_names_not_letters(written, tmp_path):
    _, shards, _ = written["equal"]
    many = Shards.write(as_sequences(["ACGT" * 50] * 2000), tmp_path / "long.kwseq", 2)
    assert len(pickle.dumps(many)) < 1500
    assert pickle.loads(pickle.dumps(many)) == many
    assert pickle.loads(pickle.dumps(shards)) == shards


def test_a_file_that_was_replaced_is_refused(tmp_path):
    shards = Shards.write(as_sequences(["ACGT", "GGCC", "TTTA"]), tmp_path / "x.kwseq", 2)
    (first, _), pickled = cut({None: shards}, 1), pickle.dumps(shards)
    as_sequences(["TTTT", "GGCC"]).save(shard_names(tmp_path / "x.kwseq", 2)[0])
    with pytest.raises(InputError, match=r"x\.00\.kwseq' is not the file that was described"):
        first.views()
    with pytest.raises(InputError, match="is not the file that was described"):
        pickle.loads(pickled)


def test_what_is_no_shard(tmp_path):
    as_sequences(["ACGT"]).save(tmp_path / "dna.kwseq")
    as_sequences(["WYVH"], "protein").save(tmp_path / "protein.kwseq")
    with pytest.raises(InputError, match="No file is called"):
        Shards.open(str(tmp_path / "*.nothing"))
    with pytest.raises(InputError, match="shards are of one alphabet"):
        Shards.open(str(tmp_path / "*.kwseq"))
    with pytest.raises(InputError, match="in memory"):
        Shards([as_sequences(["ACGT"])])
    with pytest.raises(InputError, match="There are no shards"):
        Shards([])
    with pytest.raises(InputError, match="rows of a shard"):
        Shards.open(tmp_path / "dna.kwseq", rows=0)
    with pytest.raises(InputError, match="number of shards"):
        Shards.write(as_sequences(["ACGT"]), tmp_path / "x.kwseq", 0)
    assert isinstance(Shards.open(tmp_path / "dna.kwseq"), SequenceSet)
