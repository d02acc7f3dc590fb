"""Checkpoints: whatever happens to a fit, the next one goes on from it or says why not."""

import errno
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave import progress
from kernelweave.datasets import make_splice_sites
from kernelweave.errors import CheckpointError, DataWarning, InputError, ModelFormatError
from kernelweave.estimators import keeper
from kernelweave.io import atomic, checkpoint
from kernelweave.io.checkpoint import Checkpoint
from kernelweave.mkl import SOLVERS

KERNEL = "RBF(0.2) + Linear() + RBF(2.0)"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _tell_everything(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def stopped(after):
    """A callback that stops the fit at its n-th call, as Ctrl-C does."""
    calls = []

    def callback(entry):
        calls.append(entry)
        if len(calls) == after:
            signal.raise_signal(signal.SIGINT)

    return callback


def often(path, **options):
    return Checkpoint(path, seconds=0.0, **options)


def half_done(path, model, X, y, after=2):
    """Leave the checkpoint of a fit that was stopped."""
    with pytest.raises(KeyboardInterrupt, match="usable"):
        model.fit(X, y, checkpoint=path, callback=stopped(after))
    assert path.exists()
    return model


# -- to the same result ------------------------------------------------------------------------------------------------

MODELS = {
    **{
        kind.name: kw.MKLClassifier(KERNEL, solver=kind.name, norm=2 if kind.name == "analytic" else 1)
        for kind in SOLVERS
    },
    "one kernel": kw.MKLClassifier("RBF(0.5)"),
    "logistic": kw.MKLClassifier(KERNEL, loss="logistic"),
    "learn_C": kw.MKLClassifier(KERNEL, loss="squared_hinge", learn_C=True),
    "regressor": kw.MKLRegressor(KERNEL, epsilon=0.05),
    "ridge": kw.MKLRegressor("RBF(0.5)", loss="squared"),
    "one class": kw.MKLOneClass(KERNEL),
    "per class": kw.MKLClassifier(KERNEL, weights="per_class"),
    "shared by classes": kw.MKLClassifier(KERNEL),
    "learned widths": kw.MKLClassifier("RBF('learn')", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_stopped_fit_goes_on_to_the_same_result(name, after, path, blobs):
    X, y = blobs
    if name in ("per class", "shared by classes"):
        y = (y > 0).astype(int) + (X[:, 0] > 1)
    model = MODELS[name].set_params(tol=1e-5)
    whole = model.fit(X, y).__dict__.copy()
    try:
        model.fit(X, y, checkpoint=path, callback=stopped(after))
        assert not path.exists(), "a fit that took no time leaves no file"
    except KeyboardInterrupt:
        bound = model.lower_bound_
        model.fit(X, y, checkpoint=path)
        assert model.lower_bound_ >= bound or not np.isfinite(bound)
    assert model.converged_ == whole["converged_"]
    assert model.objective_ == pytest.approx(whole["objective_"], rel=2 * max(whole["gap_"], 1e-9))
    np.testing.assert_allclose(model.weights_, whole["weights_"], atol=0.02)


def test_the_coefficients_of_a_long_solve_are_not_lost(path, rng):
    y = np.where(rng.random(1200) < 0.5, 1, -1)
    X = rng.normal(size=(1200, 3)) + 0.5 * y[:, None]
    model = kw.MKLClassifier(kw.RBF(0.5) * kw.RBF(0.1), memory="1500kB", tol=1e-4)  # by rows on demand
    whole, rest = [], []
    objective = model.fit(X, y, callback=whole.append).objective_
    n = len(whole)
    assert n > 6
    assert {entry["iteration"] for entry in whole} == {1}, "all of it happens inside the only iteration"
    half_done(path, model, X, y, after=n - 3)
    assert model.fit(X, y, checkpoint=path, callback=rest.append).converged_
    assert model.objective_ == pytest.approx(objective, rel=2e-4)
    assert rest[0]["gap"] < min(entry["gap"] for entry in whole[: n // 2])
    assert len(rest) < n


def test_limits_leave_a_checkpoint_to_go_on_from(path, blobs):
    X, y = blobs
    model = kw.MKLClassifier(KERNEL, solver="silp", tol=1e-6, max_iter=2)
    bounds = []
    for _ in range(100):
        try:
            with pytest.warns(ConvergenceWarning):
                model.fit(X, y, checkpoint=path)
        except pytest.fail.Exception:  # no warning: it got there
            break
        assert model.stop_reason_ == "max_iter"
        bounds.append(model.lower_bound_)
    assert model.converged_
    assert len(bounds) >= 2
    assert bounds == sorted(bounds), "a lower bound that was proved stays proved"


def test_what_says_when_to_stop_may_change(path, blobs):
    model = half_done(path, kw.MKLClassifier(KERNEL, tol=1e-3), *blobs)
    model.set_params(tol=1e-7, n_jobs=1, memory="1GB", max_seconds=30.0)
    assert model.fit(*blobs, checkpoint=path).gap_ <= 1e-7


def test_row_9_kill_at_random_moments():
    script = ROOT / "benchmarks" / "kill_and_resume.py"
    if not script.exists() or not hasattr(os, "fork"):
        pytest.skip("needs benchmarks/kill_and_resume.py, and a system that forks processes")
    size = ["--kernel", "degrees", "--samples", "1500", "--degree", "5"]
    command = [sys.executable, str(script), *size, "--tol", "1e-6", "--kills", "2", "--json"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert out.returncode == 0, out.stderr
    found = json.loads(out.stdout)
    assert len(found["kills"]) == 2
    for kill in found["kills"]:
        assert kill["gap"] <= 1e-6
        apart = abs(kill["objective"] - found["plain"]["objective"])
        assert apart <= 1e-6 * found["plain"]["objective"], "both lie within the certified gap of the optimum"


# -- finished, begun anew ----------------------------------------------------------------------------------------------


def test_a_finished_checkpoint_repeats_its_result_at_once(path, blobs):
    model = kw.MKLClassifier(KERNEL, solver="silp", tol=1e-6)
    objective = model.fit(*blobs, checkpoint=often(path)).objective_
    assert model.n_iter_ > 2
    assert path.exists()
    assert model.fit(*blobs, checkpoint=path).n_iter_ <= 2, "one to see it, one to prove it"
    assert model.objective_ == pytest.approx(objective, rel=1e-6)


def test_a_finished_checkpoint_makes_room_for_another_fit(path, blobs):
    kw.MKLClassifier(KERNEL).fit(*blobs, checkpoint=often(path))
    other = kw.MKLClassifier(KERNEL, C=3.0)
    half_done(path, other, *blobs)
    assert not Path(often(path).previous).exists(), "the generation before is not of another fit"
    assert other.fit(*blobs, checkpoint=path).converged_


def test_quick_fits_leave_no_file(path, blobs):
    kw.MKLClassifier(KERNEL).fit(*blobs, checkpoint=path)
    assert os.listdir(path.parent) == []


def test_restart(path, blobs):
    half_done(path, kw.MKLClassifier(KERNEL, C=2.0), *blobs)
    model = kw.MKLClassifier(KERNEL).fit(*blobs, checkpoint=often(path, restart=True))
    assert model.objective_ == pytest.approx(kw.MKLClassifier(KERNEL).fit(*blobs).objective_, rel=1e-9)


def test_remove(path, blobs):
    kw.MKLClassifier(KERNEL).fit(*blobs, checkpoint=often(path))
    assert often(path).exists()
    often(path).remove()
    assert not often(path).exists()
    assert os.listdir(path.parent) == []
    often(path).remove()  # there is nothing to complain about


# -- other fits --------------------------------------------------------------------------------------------------------


def changed(X, y):
    """Ways to change a fit, and what the refusal has to name."""
    X2, y2 = X.copy(), y.copy()
    X2[17, 2] = np.nextafter(X2[17, 2], 9.0)
    y2[3] = -y2[3]
    weight = np.ones(len(y))
    weight[5] = 1.5
    model = kw.MKLClassifier(KERNEL)
    return [
        (model, (X2, y), ["X differs"]),
        (model, (X, y2), ["y differs"]),
        (model, (X, y, weight), ["weights of the samples) differs"]),
        (model, (X[:-1], y[:-1]), ["number of samples was 60, is 59", "X differs"]),
        (kw.MKLClassifier(KERNEL, C=2.0), (X, y), ["C was None, is 2.0"]),
        (kw.MKLClassifier(KERNEL, norm=2), (X, y), ["norm was None, is 2"]),
        (kw.MKLClassifier(KERNEL, loss="squared_hinge"), (X, y), ["loss was None, is 'squared_hinge'"]),
        (
            kw.MKLClassifier("RBF(0.2) + Linear()"),
            (X, y),
            ["kernel was RBF(gamma=0.2) + Linear() + RBF(gamma=2.0), is RBF(gamma=0.2) + Linear()"],
        ),
        (
            kw.MKLRegressor(KERNEL),
            (X, y),
            ["estimator was 'MKLClassifier', is 'MKLRegressor'", "epsilon was not there"],
        ),
    ]


@pytest.mark.parametrize("case", range(9))
def test_row_28_the_checkpoint_of_another_fit_is_refused(case, path, blobs):
    half_done(path, kw.MKLClassifier(KERNEL), *blobs)
    before = path.read_bytes()
    model, data, said = changed(*blobs)[case]
    with pytest.raises(CheckpointError) as error:
        model.fit(*data, checkpoint=path, callback=lambda entry: pytest.fail("it was refused too late"))
    for words in (*said, str(path), "restart=True"):
        assert words in str(error.value)
    assert path.read_bytes() == before
    assert kw.MKLClassifier(KERNEL).fit(*blobs, checkpoint=path).converged_


def test_row_28_one_base_tells_sequences_apart(path):
    X, y = make_splice_sites(60, positives=0.5, random_state=1)
    model = kw.MKLClassifier(kw.Spectrum(k=2) + kw.WeightedDegree(degree=3))
    half_done(path, model, X, y)
    letters = list(X)
    letters[7] = letters[7][:5] + ("A" if letters[7][5] != "A" else "C") + letters[7][6:]
    with pytest.raises(CheckpointError, match=r"is of another fit: X differs\."):
        model.fit(letters, y, checkpoint=path)


def test_one_number_tells_given_matrices_apart(path, blobs):
    X, y = blobs
    K = X @ X.T
    model = kw.MKLClassifier(kw.Precomputed(K, name="mine") + kw.Precomputed(K @ K, name="other"))
    half_done(path, model, np.arange(60), y)
    K2 = K.copy()
    K2[3, 3] += 1e-9
    other = kw.MKLClassifier(kw.Precomputed(K2, name="mine") + kw.Precomputed(K @ K, name="other"))
    with pytest.raises(CheckpointError, match=r"is of another fit: mine differs\."):
        other.fit(np.arange(60), y, checkpoint=path)


def product(A, B):
    return A @ B.T


def half_square(y, f):
    return 0.5 * (f - y) ** 2


@pytest.mark.parametrize(
    "model",
    [
        kw.MKLClassifier(product),
        kw.MKLClassifier(kw.RBF(0.5) + kw.kernels.Function(lambda A, B: A @ B.T)),
        kw.MKLRegressor(
            kw.RBF(0.5), loss=kw.CustomLoss(half_square, lambda y, f: f - y, lambda y, s: s * y + s * s / 2)
        ),
    ],
)
def test_row_28_functions_that_nothing_tells_apart_are_refused(path, blobs, model):
    with pytest.raises(CheckpointError, match="cannot be kept in a checkpoint: functions of one name"):
        model.fit(*blobs, checkpoint=path)
    assert not path.exists()


def test_tables_are_told_by_the_columns_that_are_read(path, blobs):
    X, y = blobs
    table = {"a": X[:, :2], "b": X[:, 2:], "unread": np.arange(60.0)[:, None]}
    model = kw.MKLClassifier("RBF(0.5).on('a') + Linear().on('b')")
    half_done(path, model, table, y)
    with pytest.raises(CheckpointError, match=r"is of another fit: X\['b'\] differs\."):
        model.fit(table | {"b": X[:, 2:] * 2}, y, checkpoint=path)
    model.fit(table | {"unread": np.zeros((60, 1))}, y, checkpoint=path)


# -- damage ------------------------------------------------------------------------------------------------------------


def flip(path):
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 0xFF
    Path(path).write_bytes(data)


def test_row_29_the_generation_before_stands_in_for_a_damaged_one(path, blobs):
    model = kw.MKLClassifier(KERNEL, solver="silp", tol=1e-6)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*blobs, checkpoint=often(path), callback=stopped(8))
    flip(path)
    with pytest.warns(DataWarning, match=r"is damaged.*goes on from the checkpoint before it, '.*\.previous'"):
        model.fit(*blobs, checkpoint=path)
    assert model.converged_


def test_two_damaged_generations_are_an_error(path, blobs):
    model = kw.MKLClassifier(KERNEL, solver="silp", tol=1e-6)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*blobs, checkpoint=often(path), callback=stopped(8))
    flip(path)
    flip(often(path).previous)
    with pytest.raises(CheckpointError, match=r"no checkpoint to go on from.*digest differs.*digest differs.*restart"):
        model.fit(*blobs, checkpoint=path)
    assert model.fit(*blobs, checkpoint=often(path, restart=True)).converged_


@cache
def stored(folder):
    """The bytes of a checkpoint, and the fit that it is of."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model, path = kw.MKLClassifier(KERNEL), Path(folder) / "whole.checkpoint"
    half_done(path, model, X, y)
    return path.read_bytes(), model, X, y


@settings(max_examples=40)
@given(st.data())
def test_no_damage_goes_unseen(tmp_path_factory, data):
    whole, model, X, y = stored(str(tmp_path_factory.getbasetemp()))
    path = tmp_path_factory.getbasetemp() / "damaged.checkpoint"
    if data.draw(st.booleans()):
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    else:
        at = data.draw(st.integers(0, len(whole) - 1))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])
    with pytest.raises(CheckpointError, match="no checkpoint to go on from"):
        model.fit(X, y, checkpoint=path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda manifest, arrays: manifest.pop("fit"),
        lambda manifest, arrays: manifest.pop("problems"),
        lambda manifest, arrays: manifest.update(problems=[{"number": 0}]),
        lambda manifest, arrays: arrays.update({"rows/0.npy": np.array([10**6])}),
        lambda manifest, arrays: arrays.pop("weights/0.npy"),
    ],
)
def test_what_does_not_hold_together_is_refused(spoil, path, blobs):
    model = half_done(path, kw.MKLClassifier(KERNEL), *blobs)
    manifest, arrays = often(path).read()
    spoil(manifest, arrays)
    often(path).write(manifest, arrays)
    with pytest.raises(CheckpointError, match="does not hold what a checkpoint holds"):
        model.fit(*blobs, checkpoint=path)


@pytest.mark.parametrize("solver", ["silp", "hessian", "silp_chunking", "simple"])
def test_a_resumed_fit_proves_its_bounds_anew(path, blobs, solver):
    model = half_done(path, kw.MKLClassifier(KERNEL, solver=solver), *blobs)
    manifest, arrays = often(path).read()
    assert not any("lower" in name or "quad" in name for name in (*arrays, *manifest["problems"][0]))
    values = arrays["values/0.npy"]
    arrays["values/0.npy"] = values[::-1] * 1e3  # other coefficients prove less, never more
    for name in arrays:
        if name.startswith("cut_values"):
            arrays[name] = arrays[name] * 1e3
    often(path).write(manifest, arrays)
    true = kw.MKLClassifier(KERNEL, tol=1e-8).fit(*blobs).objective_
    model.fit(*blobs, checkpoint=path)
    assert model.lower_bound_ <= true * (1 + 1e-7) <= model.objective_ * (1 + 2e-7)
    assert model.converged_


# -- disks -------------------------------------------------------------------------------------------------------------


def test_row_20_a_crash_between_two_renames_loses_nothing(path, blobs, monkeypatch):
    model = half_done(path, kw.MKLClassifier(KERNEL, solver="silp", tol=1e-6), *blobs)
    before = path.read_bytes()

    def crash(self):
        self.file.close()
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(atomic.AtomicFile, "commit", crash)
        with pytest.raises(SystemExit):
            model.fit(*blobs, checkpoint=often(path))
    assert not path.exists()
    assert Path(often(path).previous).read_bytes() == before
    assert model.fit(*blobs, checkpoint=path).converged_


def test_row_20_what_a_killed_writer_left_is_removed(path, blobs):
    half_done(path, kw.MKLClassifier(KERNEL), *blobs)
    half = atomic.AtomicFile(path)
    half.file.close()  # the process died: nobody holds the file
    os.utime(half._temporary, (0, 0))
    kw.MKLClassifier(KERNEL).fit(*blobs, checkpoint=path)
    assert sorted(os.listdir(path.parent)) == ["run.checkpoint", "run.checkpoint.previous"]


def test_row_19_a_full_disk_warns_and_the_fit_goes_on(path, blobs, monkeypatch):
    model = half_done(path, kw.MKLClassifier(KERNEL, solver="silp"), *blobs)
    before, write, calls = path.read_bytes(), checkpoint.write_archive, []

    def full(*args, **options):
        calls.append(1)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*args, **options)

    monkeypatch.setattr(checkpoint, "write_archive", full)
    monkeypatch.setattr(keeper, "MOST_SAVING", 1e-6)  # no second try before the end
    with pytest.warns(DataWarning, match="could not be written.*No space left.*The fit goes on"):
        model.fit(*blobs, checkpoint=often(path))
    assert model.converged_
    assert len(calls) == 2
    assert Path(often(path).previous).read_bytes() == before


def test_row_30_a_folder_that_cannot_be_written_is_known_before_the_work(tmp_path, blobs):
    for path in (tmp_path / "missing" / "run.checkpoint", tmp_path):
        with pytest.raises(InputError, match="Cannot write"):
            kw.MKLClassifier(KERNEL).fit(*blobs, checkpoint=path, callback=lambda entry: pytest.fail("too late"))


def test_row_13_a_file_that_changes_during_the_fit_is_an_error(path, tmp_path):
    X, y = make_splice_sites(200, positives=0.5, random_state=0, path=tmp_path / "sites.kwseq")
    model = kw.MKLClassifier(kw.WeightedDegree(degree=3) + kw.Spectrum(k=3), tol=1e-9)
    whole = (tmp_path / "sites.kwseq").read_bytes()

    def edit(entry):
        with open(tmp_path / "sites.kwseq", "r+b") as file:
            file.seek(9000)
            file.write(bytes([whole[9000] ^ 0xFF]))

    with pytest.raises(InputError, match=r"sites\.kwseq' was written to during the fit"):
        model.fit(X, y, checkpoint=often(path), callback=edit)
    with pytest.raises(InputError, match=r"content of .*sites\.kwseq' is damaged"):
        model.fit(X, y, checkpoint=path)
    (tmp_path / "new").write_bytes(whole)
    os.replace(tmp_path / "new", tmp_path / "sites.kwseq")
    X = X.open(tmp_path / "sites.kwseq")

    def exchange(entry):
        (tmp_path / "new").write_bytes(whole[:100])
        os.replace(tmp_path / "new", tmp_path / "sites.kwseq")

    model.set_params(tol=1e-3).fit(X, y, checkpoint=path, callback=exchange)
    assert model.converged_, "what is mapped stays, whatever takes its name"


def test_a_checkpoint_is_not_a_model(path, blobs):
    model = half_done(path, kw.MKLClassifier(KERNEL), *blobs)
    with pytest.raises(ModelFormatError, match="is a kernelweave checkpoint, not a kernelweave model"):
        kw.load(path)
    kw.save(model, path)
    with pytest.raises(CheckpointError, match="is a kernelweave model, not a kernelweave checkpoint"):
        model.fit(*blobs, checkpoint=path)


@pytest.mark.parametrize("seconds", [-1.0, np.nan, "soon"])
def test_bad_times(seconds, path):
    with pytest.raises(InputError, match="seconds must be"):
        Checkpoint(path, seconds=seconds)
