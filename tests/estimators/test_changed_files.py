"""Fault 13: a packed file that changes while a fit reads it. Digests say whether it did, not times."""

import os

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.datasets import make_splice_sites
from kernelweave.errors import InputError
from kernelweave.sequences import SequenceSet, mapped

KERNEL = kw.WeightedDegree(degree=3) + kw.Spectrum(k=3)
WRITTEN = r"sites\.kwseq' was written to during the fit"


@pytest.fixture
def sites(tmp_path):
    X, y = make_splice_sites(200, positives=0.5, random_state=0, path=tmp_path / "sites.kwseq")
    return X, y, tmp_path / "sites.kwseq"


def once(work):
    """A callback that does this at the first step."""
    done = []

    def callback(entry):
        if not done:
            done.append(work())

    callback.done = done
    return callback


def rewrite(path, at=9000):
    """Change a byte in place, and leave the file with the times it had."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0xFF]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(path).st_mtime_ns == before.st_mtime_ns
    return "done"


def fit(X, y, callback):
    model = kw.MKLClassifier(KERNEL, tol=1e-6)
    model.fit(X, y, callback=callback)
    assert callback.done, "the fit was over before anything happened"
    return model


@pytest.mark.parametrize("part", [slice(None), slice(0, 150)], ids=["whole", "slice"])
def test_fault_13_a_file_that_is_rewritten_with_the_same_time(sites, part):
    X, y, path = sites
    with pytest.raises(InputError, match=WRITTEN):
        fit(X.rows(part), y[part], once(lambda: rewrite(path)))
    with pytest.raises(InputError, match="is damaged"):
        list(X)


def test_fault_13_a_change_that_no_time_shows_is_noticed_at_the_end(sites, monkeypatch):
    X, y, path = sites
    monkeypatch.setattr(mapped.MappedFile, "_stamp_now", lambda self: None)
    with pytest.raises(InputError, match=WRITTEN):
        fit(X, y, once(lambda: rewrite(path)))


def test_fault_13_a_file_that_is_cut(sites):
    X, y, path = sites
    with pytest.raises(InputError, match=WRITTEN):
        fit(X, y, once(lambda: os.truncate(path, 9000) or "done"))


def test_fault_13_another_whole_file_written_over_it(sites, tmp_path):
    X, y, path = sites
    make_splice_sites(200, positives=0.5, random_state=1, path=tmp_path / "other.kwseq")
    with pytest.raises(InputError, match=WRITTEN):
        fit(X, y, once(lambda: path.write_bytes((tmp_path / "other.kwseq").read_bytes())))


def test_fault_13_what_changes_no_letter_is_no_error(sites, tmp_path):
    X, y, path = sites
    whole = fit(X, y, once(lambda: "nothing"))

    def same_bytes():
        data = path.read_bytes()
        with open(path, "r+b") as file:
            return file.write(data)

    for work in (lambda: os.utime(path) or "touched", same_bytes, lambda: os.chmod(path, 0o600) or "other rights"):
        model = fit(SequenceSet.open(path), y, once(work))
        assert np.array_equal(model.decision_function(X), whole.decision_function(X))


def test_fault_13_a_file_that_is_replaced_or_removed_stays_mapped(sites, tmp_path):
    X, y, path = sites
    whole = fit(X, y, once(lambda: "nothing"))
    make_splice_sites(200, positives=0.5, random_state=1, path=tmp_path / "other.kwseq")
    again = fit(X, y, once(lambda: os.replace(tmp_path / "other.kwseq", path) or "done"))
    assert again.dual_coef_.tobytes() == whole.dual_coef_.tobytes()
    fit(X, y, once(lambda: os.remove(path) or "done"))
