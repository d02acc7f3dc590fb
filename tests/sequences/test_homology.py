"""Families of sequences: the same groups as by comparing all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave.errors import InputError
from kernelweave.sequences import as_sequences
from kernelweave.sequences.homology import homology_groups

FLIP = str.maketrans("ACGT", "TGCA")


def naive(rows, k, similarity, measure, both):
    """Single linkage over all pairs."""

    def words(row):
        found = {row[i : i + k] for i in range(len(row) - k + 1)}
        return {min(word, word.translate(FLIP)[::-1]) for word in found} if both else found

    sets = [words(row) for row in rows]
    group = list(range(len(rows)))
    for i in range(len(rows)):
        for j in range(i):
            shared = len(sets[i] & sets[j])
            whole = len(sets[i] | sets[j]) if measure == "jaccard" else min(len(sets[i]), len(sets[j]))
            if rows[i] == rows[j] or (shared and shared >= similarity * whole - 1e-9):
                old, new = group[i], group[j]
                group = [new if g == old else g for g in group]
    first = {}
    return [first.setdefault(g, len(first)) for g in group]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.2, 0.5, 1.0]), st.sampled_from(["containment", "jaccard"]))
def test_groups_are_those_of_all_pairs(seed, similarity, measure):
    rng = np.random.default_rng(seed)
    base = "".join(rng.choice(list("ACGT"), 60))
    rows = []
    for _ in range(12):
        start = int(rng.integers(0, 50))
        part = base[start : start + int(rng.integers(1, 40))]
        noise = "".join(rng.choice(list("ACGT"), int(rng.integers(0, 20))))
        row = part + noise
        rows.append(row.translate(FLIP)[::-1] if rng.integers(2) else row)
    dna = as_sequences(rows, "dna")
    found = homology_groups(dna, k=4, similarity=similarity, measure=measure)
    assert found.tolist() == naive(rows, 4, similarity, measure, both=True)


def test_proteins_and_common_words(monkeypatch):
    rows = ["MKVLAAGIVG", "AAGIVGLCMK", "WWWWPPPPYY", "MK", "MK"]
    assert homology_groups(rows, similarity=0.3).tolist() == [0, 0, 1, 2, 2]
    monkeypatch.setattr("kernelweave.sequences.homology.COMMON", 1)
    assert homology_groups(rows, similarity=0.3).tolist() == [0, 1, 2, 3, 3]


def test_errors():
    with pytest.raises(InputError, match="containment"):
        homology_groups(["ACGT"], measure="edit")
    with pytest.raises(InputError, match="64 bits"):
        homology_groups(["ACGT"], k=40)
