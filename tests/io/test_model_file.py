"""Model files: what comes back is what was saved, and what is not a whole model file is refused."""

import errno
import json
import os
import pickle
import resource
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import kernelweave as kw
from kernelweave.errors import InputError, ModelFormatError
from kernelweave.io import archive, atomic
from kernelweave.io.model_file import HISTORY_STEPS, describe
from kernelweave.losses import CustomLoss, SmoothHinge
from kernelweave.mkl import SILP, ActiveTerms, Hessian, TwoStage
from kernelweave.norms import Fixed, LpNorm
from kernelweave.sequences import DNA, Alphabet, as_sequences

DATA = Path(__file__).parents[1] / "data"
sys.path.insert(0, str(DATA))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- models of every kind ----------------------------------------------------------------------------------------------


def numbers(n=40, width=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, width)) + y[:, None], y


def letters(n=40, length=12, seed=0, text="ACGT"):
    rng = np.random.default_rng(seed)
    rows = ["".join(rng.choice(list(text), length)) for _ in range(n)]
    return [row[:4] + "AAA" + row[7:] if i % 2 else row for i, row in enumerate(rows)]


def table(library):
    X, y = numbers(40, 3)
    columns = {"age": X[:, 0], "count": np.round(10 * X[:, 1]).astype(int), "unread": [f"row {i}" for i in range(40)]}
    columns |= {"flag": X[:, 2] > 0, "promoter": letters(), "comment": [f"sample {i % 3} ok" for i in range(40)]}
    return pytest.importorskip(library).DataFrame(columns), y


def mixed_array():
    X, y = numbers(40, 5)
    return np.column_stack([X.astype(object), np.array(letters(), dtype=object)]), y


TABLE_KERNEL = (
    "RBF(0.5).on(['age', 'count']) + Linear().on('flag') + WeightedDegree(degree=4).on('promoter')"
    " + Spectrum(k=3, alphabet='bytes').on('promoter') + BagOfWords().on('comment')"
)


def given_matrices():
    X, y = numbers(40, 3)
    return {"a": X @ X.T, "b": np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))}, y


@cache
def built(name):
    """A fitted model, samples to predict, and the matrices that it needs."""
    X, y = numbers()
    new, wide = numbers(17, seed=1)[0], numbers(40, 50)[0]
    three = np.array(["x", "yy", "z"])[np.arange(40) % 3]
    K, labels = given_matrices()
    given_kernel = kw.Precomputed(K["a"], "a") + kw.Precomputed(K["b"], "b")
    seqs, pairs, soft = letters(), kw.RBF(0.5) + kw.RBF(5.0) + kw.Linear(), kw.RBF(0.01) + kw.Linear()
    fits = {
        "matrix": lambda: (kw.MKLClassifier(pairs, norm=2).fit(X, y), new),
        "no kernel": lambda: (kw.MKLClassifier().fit(X, y), new),
        "text": lambda: (kw.MKLClassifier("RBF(0.5) + Linear()", loss=SmoothHinge(3.0)).fit(X, y == 1), new),
        "wide": lambda: (kw.MKLClassifier(soft.on(slice(1, None, 2)) + soft, norm=2).fit(wide, y), wide[3:20]),
        "float32": lambda: (kw.MKLRegressor(pairs).fit(X.astype(np.float32), X[:, 0]), new),
        "sparse": lambda: (kw.MKLClassifier(pairs).fit(sparse.csr_matrix(X * (X > 0)), y), sparse.csr_array(new)),
        "three": lambda: (kw.MKLClassifier(pairs).fit(X, three), new),
        "per class": lambda: (kw.MKLClassifier(pairs, weights="per_class", norm=LpNorm(1.5)).fit(X, three), new),
        "logistic": lambda: (kw.MKLClassifier(pairs, loss="logistic", class_weight="balanced").fit(X, y), new),
        "regressor": lambda: (kw.MKLRegressor(kw.per_feature(kw.RBF(0.5)), C=3).fit(X, X[:, 0]), new),
        "learned C": lambda: (kw.MKLRegressor(pairs, loss="squared", learn_C=True).fit(X, X[:, 0] ** 2), new),
        "widths": lambda: (kw.MKLRegressor("RBF('learn')", random_state=0).fit(X, X[:, 0]), new),
        "one class": lambda: (kw.MKLOneClass(pairs, nu=0.2).fit(X), new),
        "two stages": lambda: (kw.MKLClassifier(pairs, solver="two_stage").fit(X, y), new),
        "pandas": lambda: (kw.MKLClassifier(TABLE_KERNEL, norm=2).fit(*table("pandas")), table("pandas")[0][5:25]),
        "polars": lambda: (kw.MKLClassifier(TABLE_KERNEL).fit(*table("polars")), table("polars")[0][5:25]),
        "positions": lambda: (
            kw.MKLClassifier(kw.RBF(0.5).on([0, 1]) + kw.Spectrum(2).on(-2), norm=2).fit(*table("pandas")),
            table("pandas")[0][:9],
        ),
        "mixed array": lambda: (
            kw.MKLClassifier(kw.Linear().on([0, 2, 3]) + kw.Spectrum(2).on(5), norm=2).fit(*mixed_array()),
            mixed_array()[0][7:],
        ),
        "views": lambda: (
            kw.MKLClassifier(
                kw.RBF(0.1).on("x") * kw.Linear().on("s")
                + kw.Spectrum(3).on("t")
                + kw.Frozen(kw.RBF(1.0) + kw.Linear()).on("x"),
                norm=2,
            ).fit({"x": X, "s": sparse.csr_array(X), "t": as_sequences(seqs), "unread": X}, y),
            {"x": new, "s": sparse.csr_array(new), "t": letters(17, seed=1), "unread": new},
        ),
        "list of views": lambda: (kw.MKLRegressor(kw.RBF(0.01).on(1) + kw.RBF(0.02)).fit([X, wide], y), [X, wide]),
        "ids": lambda: (kw.MKLClassifier(given_kernel).fit(np.arange(30), labels[:30]), np.arange(40), K),
        "strings": lambda: (kw.MKLClassifier(kw.Spectrum(3) + kw.Mismatch(3, 1)).fit(seqs, y), letters(17, seed=1)),
        "packed": lambda: (kw.MKLClassifier(kw.WeightedDegree(5)).fit(as_sequences(seqs, packed=True), y), letters(9)),
        "alphabets": lambda: (
            kw.MKLClassifier(kw.Spectrum(3, alphabet=DNA) + kw.Mismatch(3, 1, alphabet=Alphabet("ACGT", "four"))).fit(
                seqs, y
            ),
            letters(9, seed=3),
        ),
        "split": lambda: (
            kw.MKLClassifier(kw.WeightedDegree(3).normalized().split("position", "degree")).fit(seqs, y),
            letters(9, seed=3),
        ),
        "lengths": lambda: (
            kw.MKLOneClass(kw.Spectrum(2).normalized() + kw.GappedKmer(), nu=0.3).fit(
                [s[: 9 + i % 4] for i, s in enumerate(seqs)]
            ),
            letters(9, seed=3),
        ),
        "protein": lambda: (
            kw.MKLRegressor(kw.Oligo()).fit(letters(text="ACDEFGHIKLMNPQ"), y),
            letters(5, text="ACDEFGH"),
        ),
    }
    model, new, *rest = fits[name]()
    return model, new, rest[0] if rest else None


NAMES = ["matrix", "no kernel", "text", "wide", "float32", "sparse", "three", "per class", "logistic", "regressor"]
NAMES += ["learned C", "widths", "one class", "two stages", "pandas", "polars", "positions", "mixed array", "views"]
NAMES += ["list of views", "ids", "strings", "packed", "alphabets", "split", "lengths", "protein"]


def decisions(model, X):
    return getattr(model, "decision_function", model.predict)(X)


def same(a, b):
    """Whether two fitted values are the same, to the last bit."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b) or a == b


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.kw"


# -- what comes back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_models_come_back(path, name):
    model, new, matrices = built(name)
    kw.save(model, path)
    again = kw.load(path, matrices=matrices)
    assert type(again) is type(model)
    assert np.array_equal(decisions(again, new), decisions(model, new))
    assert np.array_equal(again.predict(new), model.predict(new))
    assert again.fitted_.parts(new).tobytes() == model.fitted_.parts(new).tobytes()
    attributes = {key for key in vars(model) if key.endswith("_")}
    assert {key for key in vars(again) if key.endswith("_")} == attributes
    for key in attributes - {"history_"}:
        assert same(getattr(again, key), getattr(model, key)), key
    assert again.history_[-1]["gap"] == model.history_[-1]["gap"]
    for key, value in model.get_params(deep=False).items():
        assert same(getattr(again, key), kw.parse(value) if key == "kernel" and isinstance(value, str) else value), key
    assert os.listdir(path.parent) == [path.name]
    assert decisions(pickle.loads(pickle.dumps(again)), new).tobytes() == decisions(model, new).tobytes()


@pytest.mark.parametrize("name", ["matrix", "pandas", "views", "mixed array", "widths", "split"])
def test_a_loaded_model_is_saved_to_the_same_bytes(path, name):
    kw.save(built(name)[0], path)
    first = path.read_bytes()
    kw.save(kw.load(path), path)
    assert path.read_bytes() == first


def test_a_loaded_model_can_be_fitted_again(path):
    model, new, _ = built("matrix")
    kw.save(model, path)
    X, y = numbers()
    again = clone(kw.load(path)).fit(X, y)
    assert np.array_equal(again.decision_function(new), model.decision_function(new))


@pytest.mark.parametrize("labels", [[True, False], [3, 7], [-1.0, 2.0], ["a", "long"], np.array(["b", "a"], object)])
def test_labels_keep_their_type(path, labels):
    X, _ = numbers()
    y = np.array(labels)[np.arange(40) % 2]
    model = kw.MKLClassifier().fit(X, y)
    kw.save(model, path)
    again = kw.load(path)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert type(again.classes_[0]) is type(model.classes_[0])


@pytest.mark.parametrize(
    "params",
    [
        {"solver": SILP(), "norm": 1},
        {"solver": Hessian(simple_first=True)},
        {"solver": ActiveTerms(Hessian(), n_start=2)},
        {"solver": TwoStage()},
        {"norm": LpNorm(3.0), "loss": "squared_hinge"},
        {"norm": Fixed(np.array([1.0, 0.5])), "C": 2},
        {"class_weight": {0: 2.0, 1: 1}, "memory": "1GB", "n_jobs": 1, "max_seconds": 60.5},
    ],
    ids=str,
)
def test_parameters_come_back(path, params):
    X, y = numbers()
    model = kw.MKLClassifier(kw.RBF(0.5) + kw.Linear(), **params).fit(X, y)
    kw.save(model, path)
    again = kw.load(path)
    for key, value in params.items():
        assert same(getattr(again, key), value)
    assert repr(again) == repr(model)


def test_row_32_predictions_in_a_new_process_are_the_same_bits(tmp_path):
    work = []
    for number, name in enumerate(NAMES):
        model, new, matrices = built(name)
        kw.save(model, tmp_path / f"{number}.kw")
        work.append((f"{number}.kw", new, matrices, decisions(model, new), model.predict(new)))
    (tmp_path / "work.pickle").write_bytes(pickle.dumps(work))
    code = (
        "import os, pickle, sys, numpy as np, kernelweave as kw\n"
        "os.chdir(sys.argv[1])\n"
        "for name, new, matrices, scores, labels in pickle.load(open('work.pickle', 'rb')):\n"
        "    model = kw.load(name, matrices=matrices)\n"
        "    found = getattr(model, 'decision_function', model.predict)(new)\n"
        "    assert found.tobytes() == scores.tobytes(), name\n"
        "    assert (model.predict(new) == labels).all(), name\n"
        "print('same')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, env=_here())
    assert done.stdout == "same\n", done.stderr


def _here():
    source = str(Path(kw.__file__).parents[1])
    return os.environ | {"PYTHONPATH": source, "OPENBLAS_NUM_THREADS": "1"}


def test_no_data_frame_library_is_needed_to_load(tmp_path):
    kw.save(built("polars")[0], tmp_path / "m.kw")
    code = (
        "import sys; sys.modules['polars'] = sys.modules['pandas'] = None\n"
        "import kernelweave as kw; print(len(kw.load(sys.argv[1]).support_))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "m.kw"], capture_output=True, text=True, env=_here())
    assert done.stdout.strip() == str(len(built("polars")[0].support_)), done.stderr


def test_only_what_is_needed_is_kept(path):
    rng = np.random.default_rng(0)
    n, y = 300, np.arange(300) % 2
    X = {"big": rng.normal(size=(n, 400)), "seq": letters(n, 60)}
    kernel = kw.RBF(1e-6).on("big") + kw.Spectrum(3).on("seq")
    model = kw.MKLClassifier(kernel, norm=Fixed([0.0, 1.0]), C=10).fit(X, y)
    kw.save(model, path)
    support = len(model.support_) * 60
    assert path.stat().st_size < 1.2 * support + 4000
    assert np.array_equal(kw.load(path).decision_function(X), model.decision_function(X))
    assert describe(path)["data"]["parts"][0] == {"kind": "unread"}


def test_history_is_thinned(path):
    model = clone(built("matrix")[0]).fit(*numbers())
    weights = model.history_[0]["weights"]
    model.history_ = [{"iteration": i, "gap": 1.0 / (i + 1), "weights": weights} for i in range(5000)]
    kw.save(model, path)
    history = kw.load(path).history_
    assert len(history) == HISTORY_STEPS
    assert same(history[0], model.history_[0])
    assert same(history[-1], model.history_[-1])
    model.history_ = [{"iteration": i, "weights": np.ones(5000)} for i in range(10)]
    kw.save(model, path)
    assert kw.load(path).history_ == [{"iteration": i} for i in range(10)]


def test_a_model_that_did_not_get_far(path):
    model = clone(built("matrix")[0]).fit(*numbers())
    model.lower_bound_, model.gap_, model.converged_ = -np.inf, np.nan, False
    kw.save(model, path)
    again = kw.load(path)
    assert again.lower_bound_ == -np.inf
    assert np.isnan(again.gap_)


def test_a_model_without_support(path):
    X, _ = numbers()
    model = kw.MKLRegressor("RBF(1.0) + Linear()", epsilon=100.0).fit(X, np.ones(40))
    assert len(model.support_) == 0
    kw.save(model, path)
    assert np.array_equal(kw.load(path).predict(X), model.predict(X))


def test_describe_reads_no_data(path):
    kw.save(built("three")[0], path)
    said = describe(path)
    assert said["estimator"] == "MKLClassifier"
    assert said["classes"]["values"] == ["x", "yy", "z"]
    assert said["training"]["converged"] is True
    with pytest.raises(ModelFormatError, match="is not a model file"):
        describe(__file__)


@pytest.mark.filterwarnings("ignore::kernelweave.errors.DataWarning")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_stored_models_stay_readable(version):
    import make_model

    expected = json.loads((DATA / f"model_v{version}.json").read_text())
    model = kw.load(DATA / f"model_v{version}.kw", matrices={"given": make_model.given_matrix()})
    assert repr(model.kernel) == expected["kernel"]
    assert model.weights_.tolist() == expected["weights"]
    np.testing.assert_allclose(model.decision_function(make_model.new_samples()), expected["decisions"], rtol=1e-9)


# -- matrices that were given ------------------------------------------------------------------------------------------


def test_matrices_are_asked_for(path):
    model, _, K = built("ids")
    kw.save(model, path)
    used = [name for name, weight in zip("ab", model.weights_, strict=True) if weight > 0]
    with pytest.raises(InputError, match=rf"matrices=\{{'{used[0]}': K\}}"):
        kw.load(path)
    with pytest.raises(InputError, match="no matrix 'c': it has 'a', 'b'"):
        kw.load(path, matrices=K | {"c": K["a"]})
    with pytest.raises(InputError, match="not the one that the model was fitted on"):
        kw.load(path, matrices={name: matrix + 1.0 for name, matrix in K.items()})
    with pytest.raises(InputError, match="not the one that the model was fitted on"):
        kw.load(path, matrices={name: matrix[:, :30] for name, matrix in K.items()})
    single = {name: matrix.astype(np.float32) for name, matrix in K.items()}
    np.testing.assert_allclose(kw.load(path, matrices=single).predict(np.arange(40)), model.predict(np.arange(40)))


def test_new_rows_below_a_matrix(path):
    K, y = given_matrices()
    model = kw.MKLClassifier(kw.Precomputed(K["b"][:, :30], "b")).fit(np.arange(30), y[:30])
    kw.save(model, path)
    more = np.vstack([K["b"][:, :30], K["b"][:7, :30]])
    found = kw.load(path, matrices={"b": more}).decision_function(np.arange(30, 47))
    assert found[:10] == pytest.approx(model.decision_function(np.arange(30, 40)))
    assert found[10:] == pytest.approx(model.decision_function(np.arange(7)))


def test_matrices_of_one_name(path):
    K, y = given_matrices()
    model = kw.MKLClassifier(kw.Precomputed(K["a"], "x") + kw.Precomputed(K["b"], "x"), norm=2).fit(np.arange(40), y)
    with pytest.raises(InputError, match="Two matrices have the name 'x'"):
        kw.save(model, path)


# -- what cannot be saved ----------------------------------------------------------------------------------------------


def dot(X, Y):
    return X @ Y.T


class Twice(kw.Linear):
    """A kernel that the library does not know."""


def unsaveable():
    X, y = numbers()
    custom = CustomLoss(
        lambda y, f: (y - f) ** 2, lambda y, f: 2 * (f - y), lambda y, s: s * y + s**2 / 4, reads="numbers"
    )
    yield kw.MKLClassifier(dot).fit(X, y), "function of your own"
    yield kw.MKLClassifier(Twice()).fit(X, y), r"Twice\(\) cannot be read back from its text"
    yield kw.MKLRegressor(loss=custom).fit(X, X[:, 0]), "loss is CustomLoss"
    yield kw.MKLClassifier(random_state=np.random.default_rng(0)).fit(X, y), "random_state is Generator"
    yield kw.PositionalMarkovChain(1).fit(letters(), y), "PositionalMarkovChain"
    yield GridSearchCV(kw.MKLClassifier(), {"C": [1.0]}, cv=2).fit(X, y), "best_estimator_"


def test_what_cannot_be_saved_says_why(path):
    for model, why in unsaveable():
        with pytest.raises(InputError, match=why):
            kw.save(model, path)
    with pytest.raises(NotFittedError, match="call fit before it is saved"):
        kw.save(kw.MKLClassifier(), path)
    assert os.listdir(path.parent) == []


# -- writing whole files -----------------------------------------------------------------------------------------------


def test_row_19_a_full_disk_leaves_the_old_file(path, monkeypatch):
    kw.save(built("matrix")[0], path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for broken in ((os, "fsync"), (archive, "seal"), (os, "replace"), (archive, "_write_array")):
        with monkeypatch.context() as patch:
            patch.setattr(*broken, full)
            with pytest.raises(OSError, match=r"No space left .*as it was.*model\.kw") as caught:
                kw.save(built("three")[0], path)
        assert caught.value.errno == errno.ENOSPC
        assert os.listdir(path.parent) == [path.name]
        assert path.read_bytes() == before


def test_row_19_a_limit_of_the_system_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.kw"
    kw.save(built("matrix")[0], path)
    before = path.read_bytes()
    code = (
        "import resource, sys, numpy as np, kernelweave as kw\n"
        "X = np.random.default_rng(0).normal(size=(60, 40))\n"
        "model = kw.MKLRegressor(epsilon=1e-3).fit(X, X[:, 0])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try:\n    kw.save(model, sys.argv[1])\n"
        "except OSError as error:\n    print('refused', error.filename)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, env=_here())
    assert done.stdout == f"refused {path}\n", done.stderr
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 5000


def test_row_20_a_crash_before_the_file_gets_its_name(tmp_path):
    path = tmp_path / "model.kw"
    model, new, _ = built("matrix")
    kw.save(model, path)
    code = (
        "import os, sys\nfrom kernelweave.io.atomic import AtomicFile\n"
        "out = AtomicFile(sys.argv[1]); out.file.write(b'half'); out.file.flush(); os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path], env=_here()).returncode == 9
    (orphan,) = (name for name in os.listdir(tmp_path) if name != path.name)
    assert np.array_equal(kw.load(path).decision_function(new), model.decision_function(new))
    old = time.time() - 2 * atomic.GRACE
    os.utime(tmp_path / orphan, (old, old))
    kw.save(model, path)
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    path = tmp_path / "model.kw"
    with atomic.AtomicFile(path) as slow:
        slow.file.write(b"slow")
        old = time.time() - 2 * atomic.GRACE
        os.utime(slow._temporary, (old, old))
        with atomic.AtomicFile(path) as quick:
            quick.file.write(b"quick")
        assert path.read_bytes() == b"quick"
        atomic.check_writable(tmp_path / "other")
    assert path.read_bytes() == b"slow"
    assert os.listdir(tmp_path) == [path.name]


def test_files_are_made_as_others_are(tmp_path):
    plain, target, link = tmp_path / "plain", tmp_path / "target", tmp_path / "link"
    plain.write_bytes(b"")
    target.write_bytes(b"old")
    link.symlink_to(target)
    with atomic.AtomicFile(link) as out:
        out.file.write(b"new")
    assert target.read_bytes() == b"new"
    assert link.is_symlink()
    assert target.stat().st_mode == plain.stat().st_mode


def test_row_30_places_that_cannot_be_written_to(tmp_path, monkeypatch):
    model = built("matrix")[0]
    with pytest.raises(InputError, match=r"the folder .* does not exist"):
        kw.save(model, tmp_path / "none" / "model.kw")
    with pytest.raises(InputError, match="it is a folder"):
        kw.save(model, tmp_path)

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    for write in (lambda: kw.save(model, tmp_path / "model.kw"), lambda: atomic.check_writable(tmp_path / "model.kw")):
        with pytest.raises(PermissionError, match=r"Permission denied: nothing was written.*model\.kw"):
            write()
