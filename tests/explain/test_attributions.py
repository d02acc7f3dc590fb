"""What letters add, and would add: exact, and in the forms of MoDISco, logomaker, shap, JASPAR and genome browsers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernelweave import MKLClassifier, Oligo, Spectrum, WeightedDegree
from kernelweave.errors import InputError
from kernelweave.explain import attributions, contributions, logo, motif, to_jaspar
from kernelweave.io.bed import Intervals
from kernelweave.io.tracks import letter_track, read_bedgraph, write_bedgraph, write_bigwig

RNG = np.random.default_rng(0)
X = ["".join(row) for row in RNG.choice(list("ACGT"), (30, 12))]
Y = [1 if "A" in row[3:6] else -1 for row in X]


@pytest.mark.parametrize("kernel", [WeightedDegree(degree=3), Spectrum(k=3).normalized(), Oligo(k=2, width=1.0)])
def test_letters_and_others_in_their_place(kernel):
    model = MKLClassifier(kernel).fit(X, Y)
    found = attributions(model, X[:3])
    decision = model.decision_function(X[:3])
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), decision, atol=1e-9)
    np.testing.assert_allclose((found.one_hot * found.hypothetical).sum(axis=1), found.contributions, atol=1e-9)
    assert (found.one_hot.sum(axis=1) == 1).all()
    for p, c in ((0, "A"), (5, "G"), (11, "T")):
        other = X[1][:p] + c + X[1][p + 1 :]
        change = model.decision_function([other])[0] - decision[1]
        expected = found.contributions[1, p] + change
        assert found.hypothetical[1, "ACGT".index(c), p] == pytest.approx(expected, abs=1e-9)
    if kernel.reads == "sequences" and not isinstance(kernel, Oligo):
        np.testing.assert_allclose(found.contributions, contributions(model, X[:3]).positions, atol=1e-12)


def test_modisco_files(tmp_path):
    """As `modisco motifs` loads them: one array (examples, 4, length) in each file, of equal shapes, float."""
    found = attributions(MKLClassifier(WeightedDegree(degree=3)).fit(X, Y), [*X[:4], "ACGTNACGTACG"])
    letters, added = (np.load(path) for path in found.save_modisco(tmp_path / "new" / "folder"))
    assert letters.files == added.files == ["arr_0"]
    assert letters["arr_0"].shape == added["arr_0"].shape == (5, 4, 12)
    assert letters["arr_0"].dtype == added["arr_0"].dtype == np.float32
    assert set(np.unique(letters["arr_0"])) == {0.0, 1.0}
    assert letters["arr_0"][4, :, 4].sum() == 0  # N
    text = "".join("ACGT"[c] for c in letters["arr_0"][0].argmax(axis=0))
    assert text == X[0]
    uneven = attributions(MKLClassifier(Spectrum(k=2)).fit(X, Y), ["ACGT", "ACGTA"])
    assert uneven.one_hot.shape == (2, 4, 5)
    with pytest.raises(InputError, match="one length"):
        uneven.save_modisco(tmp_path)


def test_modisco_itself_reads_the_files(tmp_path):
    cli = pytest.importorskip("modiscolite.cli", reason="modisco-lite is not installed: pip install modisco-lite")
    if not hasattr(cli, "_load_input"):
        pytest.skip("this version of modisco-lite has its loader elsewhere")
    found = attributions(MKLClassifier(WeightedDegree(degree=3)).fit(X, Y), X[:4])
    letters, added = (cli._load_input(Path(path)) for path in found.save_modisco(tmp_path))
    np.testing.assert_array_equal(letters, found.one_hot)
    np.testing.assert_allclose(added, found.hypothetical, rtol=1e-6)


def test_frames_for_logomaker():
    model = MKLClassifier(WeightedDegree(degree=3)).fit(X, Y)
    found = attributions(model, X[:2])
    frame = found.logo_frame(1)
    assert isinstance(frame, pd.DataFrame)
    assert (list(frame.columns), frame.shape) == (list("ACGT"), (12, 4))
    np.testing.assert_allclose(frame.sum(axis=1), found.contributions[1])
    assert (frame != 0).sum(axis=1).max() == 1
    np.testing.assert_allclose(found.logo_frame(1, hypothetical=True), found.hypothetical[1].T)
    assert logo(model).to_frame().shape == (12, 4)
    np.testing.assert_allclose(motif(model, position=3).to_frame().sum(axis=1), 1.0)


def test_shap():
    pytest.importorskip("shap", reason="shap is not installed")
    found = attributions(MKLClassifier(WeightedDegree(degree=3)).fit(X, Y), X[:2])
    told = found.to_shap()
    np.testing.assert_allclose(told.values.sum(axis=1) + told.base_values, found.base + found.contributions.sum(axis=1))
    assert "".join(told.data[0]) == X[0]


def test_missing_packages_say_how_to_install_them(monkeypatch, tmp_path):
    found = attributions(MKLClassifier(WeightedDegree(degree=3)).fit(X, Y), X[:2])
    for name in ("shap", "pyBigWig"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(ImportError, match="pip install shap"):
        found.to_shap()
    with pytest.raises(ImportError, match=r"pip install 'kernelweave\[genome\]'"):
        write_bigwig(tmp_path / "x.bw", iter(()), {"chr1": 10})
    assert not list(tmp_path.iterdir())


def test_jaspar(tmp_path):
    model = MKLClassifier(WeightedDegree(degree=3)).fit(X, Y)
    one = motif(model, position=4, flank=1)
    to_jaspar(tmp_path / "m.jaspar", [one, np.array([[0.5, 0.5, 0, 0]])], ["first", "second"])
    head, *rows = (tmp_path / "m.jaspar").read_text().splitlines()
    assert head == ">first"
    counts = np.array([[int(n) for n in row[row.index("[") + 1 : -1].split()] for row in rows[:4]])
    assert [row[0] for row in rows[:4]] == list("ACGT")
    np.testing.assert_array_equal(counts, np.rint(one.matrix.T * one.n_sites))
    assert rows[5:7] == [">second", "A [500 ]"]


# -- along a genome ----------------------------------------------------------------------------------------------------

PLACES = Intervals.of([("b", 5, 8, "-"), ("a", 2, 5), ("a", 4, 6, "+"), ("a", 9, 11)])
ROWS = [np.array([1.0, 2, 3]), np.array([1.0, 2, 4]), np.array([2.0, 5]), np.array([7.0, 8])]
EXPECTED = {("a", 2): 1, ("a", 3): 2, ("a", 4): 3, ("a", 5): 5, ("a", 9): 7, ("a", 10): 8,
            ("b", 5): 3, ("b", 6): 2, ("b", 7): 1}  # fmt: skip


def test_bedgraph(tmp_path):
    path = tmp_path / "t.bedgraph"
    write_bedgraph(path, letter_track(PLACES, ROWS, ["a", "b"]))
    head, *lines = path.read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    assert head == "track type=bedGraph"
    assert {(name, int(start)): float(value) for name, start, _, value in rows} == EXPECTED
    assert [(name, int(start)) for name, start, *_ in rows] == list(EXPECTED)
    again = list(read_bedgraph(path))
    assert [(name, start, values.tolist()) for name, start, values in again] == [
        ("a", 2, [1, 2, 3, 5]), ("a", 9, [7, 8]), ("b", 5, [3, 2, 1]),
    ]  # fmt: skip
    path.write_text("a\t1\t5\t0.5\n")
    with pytest.raises(InputError, match="a row for every letter"):
        list(read_bedgraph(path))


def test_bigwig_is_read_by_pybigwig(tmp_path):
    package = pytest.importorskip("pyBigWig", reason="pyBigWig is not installed")
    write_bigwig(tmp_path / "t.bw", letter_track(PLACES, ROWS, ["a", "b"]), {"a": 20, "b": 10})
    file = package.open(str(tmp_path / "t.bw"))
    assert file.chroms() == {"a": 20, "b": 10}
    for (name, start), value in EXPECTED.items():
        assert file.values(name, start, start + 1) == [value]
    assert np.isnan(file.values("a", 6, 9)).all()
    file.close()
    assert [path.name for path in tmp_path.iterdir()] == ["t.bw"]
