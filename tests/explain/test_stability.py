"""Stability: intervals, selection and significance of weights under refits."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import false_discovery_control
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kernelweave import (
    RBF,
    DataWarning,
    InputError,
    Linear,
    MKLClassifier,
    MKLOneClass,
    MKLRegressor,
    WeightedDegree,
    per_feature,
)
from kernelweave.explain import stability
from kernelweave.explain.refits import gains
from kernelweave.explain.stability import correct, p_values

SPLIT = MKLClassifier(WeightedDegree(degree=2).split("position"))
MOTIFS = {3: "G", 8: "T"}


def motif_windows(n=160, length=12, noise=0.2, seed=0):
    """Sequences of which every other one has the letters MOTIFS at their positions, but for some noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    letters = rng.choice(list("ACGT"), (n, length))
    for position, letter in MOTIFS.items():
        there = (y == 1) & (rng.random(n) >= noise)
        letters[there, position] = letter
    return ["".join(row) for row in letters], y


X, Y = motif_windows()


@pytest.fixture(scope="module")
def found():
    return stability(SPLIT, X, Y, n_bootstrap=15, n_permutations=25, random_state=0)


def numbers(n=50, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 3))
    return A, (A[:, 0] + 0.5 * rng.standard_normal(n) > 0).astype(int)


# -- what it finds ---------------------------------------------------------------------------------------------------


def test_only_true_positions_are_significant(found):
    assert np.flatnonzero(found.significant).tolist() == sorted(MOTIFS)
    assert found.frequency[list(MOTIFS)].tolist() == [1.0, 1.0]
    lower, upper = found.interval
    assert (lower <= found.mean).all()
    assert (found.mean <= upper).all()
    others = np.setdiff1d(np.arange(12), list(MOTIFS))
    assert lower[list(MOTIFS)].min() > found.mean[others].max()
    assert found.note == ""


def test_both_kinds_of_refit_differ_from_the_fit(found):
    model = SPLIT.fit(X, Y)
    np.testing.assert_array_equal(found.weights, model.weights_)
    assert found.names == model.term_names_
    assert found.bootstrap.shape == (15, 12)
    assert found.permuted.shape == (25, 12)
    rows = np.vstack([found.weights, found.bootstrap, found.permuted])
    assert len(np.unique(rows.round(9), axis=0)) == len(rows)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-6)  # norm=1


def test_summaries_are_those_of_the_refits(found):
    np.testing.assert_allclose(found.mean, found.bootstrap.sum(axis=0) / 15)
    np.testing.assert_allclose(found.interval[1], np.percentile(found.bootstrap, 97.5, axis=0))
    selected = [[w > 1e-3 * max(row) for w in row] for row in found.bootstrap]
    np.testing.assert_allclose(found.frequency, np.mean(selected, axis=0))
    np.testing.assert_array_equal(found.corrected, correct(found.p_values, "holm"))


def test_terms_without_meaning_gain_nothing(found):
    others = np.setdiff1d(np.arange(12), list(MOTIFS))
    assert found.gain[list(MOTIFS)].min() > found.permuted_gains.max()
    assert np.abs(found.gain[others]).max() < 0.1 * found.gain[list(MOTIFS)].min()
    assert abs(found.permuted_gains.mean()) < 0.1 * found.gain[list(MOTIFS)].min()


def test_labels_without_meaning_are_rarely_significant():
    """With no term to be found, Holm's correction lets anything pass in one of twenty data sets; 60 gave three."""
    passed = []
    for seed in range(4):
        A = np.random.default_rng(seed).standard_normal((40, 4))
        y = np.random.default_rng(100 + seed).integers(2, size=40)
        model = MKLClassifier(per_feature(Linear()))
        passed.append(stability(model, A, y, n_bootstrap=3, n_permutations=20, random_state=seed).significant.any())
    assert sum(passed) <= 1


def test_a_large_weight_may_mean_nothing():
    """A narrow kernel on noise takes up what no other term explains: its weight is large, and it gains nothing."""
    rng = np.random.default_rng(0)
    A = rng.uniform(-1, 1, (60, 2))
    y = np.where(rng.random(60) < 0.15, -1, 1) * np.sign(A[:, 0])
    model = MKLClassifier(Linear().on(0) + RBF(1000.0).on(1))
    got = stability(model, A, y, n_bootstrap=10, n_permutations=20, random_state=0)
    assert got.weights[1] > got.weights[0]
    assert got.significant.tolist() == [True, False]


# -- the same whatever the way ---------------------------------------------------------------------------------------


def test_threads_change_nothing():
    A, y = numbers()
    model = MKLClassifier(per_feature(Linear()) + RBF(0.5), norm=1.5)
    options = {"n_bootstrap": 5, "n_permutations": 20, "random_state": 3}
    one, two = (stability(model, A, y, n_jobs=n_jobs, **options) for n_jobs in (None, 3))
    for name in ("weights", "bootstrap", "permuted", "gains", "permuted_gains"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    other = stability(model, A, y, **options | {"random_state": 4})
    assert not np.array_equal(one.bootstrap, other.bootstrap)


def test_more_refits_leave_the_first_as_they_were():
    A, y = numbers()
    model = MKLClassifier(per_feature(Linear()))
    few = stability(model, A, y, n_bootstrap=3, n_permutations=0, random_state=0)
    more = stability(model, A, y, n_bootstrap=5, n_permutations=20, random_state=0)
    np.testing.assert_array_equal(few.bootstrap, more.bootstrap[:3])


def test_weighed_samples_are_the_same_as_repeated_ones():
    """Inside a pipeline rows are repeated, as sample weights cannot be passed on."""
    A, _ = numbers()
    model = MKLRegressor(per_feature(Linear()), loss="squared", tol=1e-7)
    y = A @ [1.0, 0.5, 0.2]
    options = {"n_bootstrap": 4, "n_permutations": 0, "random_state": 0}
    weighed, repeated = stability(model, A, y, **options), stability(make_pipeline(model), A, y, **options)
    np.testing.assert_allclose(weighed.bootstrap, repeated.bootstrap, atol=1e-4)
    np.testing.assert_allclose(weighed.gains, repeated.gains, atol=1e-4)


def test_containers():
    A, y = numbers(30)
    options = {"n_bootstrap": 3, "n_permutations": 0, "random_state": 0}
    sequences, _ = motif_windows(30)
    kernel = WeightedDegree(degree=2).on("seq") + Linear().on("a")
    frame = pd.DataFrame({"seq": sequences, "a": A[:, 0]}, index=np.arange(30) + 7)
    as_dict = {"seq": sequences, "a": A[:, :1]}
    model = MKLClassifier(kernel)
    weights = [
        stability(m, data, y, **options).bootstrap for m in (model, make_pipeline(model)) for data in (frame, as_dict)
    ]
    for other in weights[1:]:
        np.testing.assert_allclose(weights[0], other, atol=0.02)  # as near as tol makes them
    text = stability(MKLClassifier(WeightedDegree(degree=2).split("degree")), sequences, pd.Series(y), **options)
    assert text.bootstrap.shape == (3, 2)


def test_regressors_one_class_and_classes():
    A, _ = numbers(30)
    options = {"n_bootstrap": 3, "random_state": 0}
    kernel = per_feature(Linear())
    assert stability(MKLRegressor(kernel), A, A[:, 0], n_permutations=20, **options).significant.tolist()[0]
    one_class = MKLOneClass(RBF(0.1) + RBF(1.0), nu=0.3)
    assert stability(one_class, A, n_permutations=0, **options).bootstrap.shape == (3, 2)
    classes = np.array(["a", "b", "c"])[np.arange(30) % 3]
    found = stability(MKLClassifier(kernel, weights="per_class"), A, classes, n_permutations=0, **options)
    assert found.names[3] == "Linear().on(0) for b"
    assert found.bootstrap.shape == (3, 9)


# -- progress, interrupts, notes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_hears_of_every_fit(n_jobs):
    A, y = numbers(30)
    heard = []
    stability(
        MKLClassifier(Linear() + RBF(0.5)), A, y, n_bootstrap=3, n_permutations=20, n_jobs=n_jobs, callback=heard.append
    )
    assert [entry["done"] for entry in heard] == list(range(1, 25))
    assert {entry["total"] for entry in heard} == {24}
    assert all(a["seconds"] <= b["seconds"] for a, b in pairwise(heard))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_gives_what_is_done(n_jobs):
    def stop(entry):
        if entry["done"] == 6:
            raise KeyboardInterrupt

    A, y = numbers(30)
    with pytest.warns(DataWarning, match=r"interrupted after \d+ of 51 fits"):
        found = stability(
            MKLClassifier(per_feature(Linear())), A, y, n_bootstrap=25, n_permutations=25, n_jobs=n_jobs,
            random_state=0, callback=stop,
        )  # fmt: skip
    assert "interrupted after" in found.note
    assert found.note in str(found)
    done = len(found.bootstrap) + len(found.permuted)
    assert 5 <= done < 50
    assert abs(len(found.bootstrap) - len(found.permuted)) <= 2  # some of each
    assert np.isfinite(found.mean).all()


def test_an_interrupt_before_anything_is_done_is_passed_on(monkeypatch):
    A, y = numbers(30)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(MKLClassifier, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stability(MKLClassifier(Linear()), A, y)


def test_fits_that_did_not_converge_are_counted():
    A, y = numbers(30)
    with pytest.warns(DataWarning, match="4 of 4 fits stopped before their gap was below tol"):
        found = stability(
            MKLClassifier(per_feature(Linear()), solver="silp", max_iter=1), A, y, n_bootstrap=3, n_permutations=0
        )
    assert "4 of 4" in found.note


def test_table_and_text(found, tmp_path):
    table = found.table()
    expected = ["name", "weight", "mean", "lower", "upper", "frequency", "gain", "p_value", "corrected", "significant"]
    assert list(table.columns) == expected
    found.to_csv(tmp_path / "stability.csv")
    assert pd.read_csv(tmp_path / "stability.csv")["significant"].tolist() == found.significant.tolist()
    lines = str(found).splitlines()
    assert lines[1].endswith("*")
    assert sum(line.endswith(" *") for line in lines) == 2
    assert lines[-1].startswith("15 bootstrap samples, 25 permutations")
    assert found.to_text(top=3).splitlines()[4] == "and 9 more terms"


# -- p-values and their correction -----------------------------------------------------------------------------------

gains_and_permuted = st.tuples(st.integers(1, 5), st.integers(0, 4), st.integers(0, 6)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float64, (shape[1], shape[0]), elements=st.floats(-1, 1)),
        arrays(np.float64, (shape[2], shape[0]), elements=st.floats(-1, 1)),
    )
)


@given(gains_and_permuted)
def test_p_values_equal_their_definition(data):
    gained, by_chance = data
    for m, p in enumerate(p_values(gained, by_chance)):
        mean = gained[:, m].mean() if len(gained) else 0.0
        reached = sum(other >= mean for row in by_chance for other in row)
        assert p == ((1 + reached) / (1 + by_chance.size) if mean > 0 else 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gains_are_differences_of_class_means(n_classes):
    A, _ = numbers(40)
    y = np.array(["a", "b", "c"])[np.arange(40) % n_classes]
    model = MKLClassifier(Linear() + RBF(0.5), norm=2).fit(A, y)
    parts = model.fitted_.parts(A)
    expected = np.zeros(2)
    for c, name in enumerate(["b"] if n_classes == 2 else ["a", "b", "c"]):
        expected += 0.5 * (parts[:, y == name, c].mean(axis=1) - parts[:, y != name, c].mean(axis=1))
    np.testing.assert_allclose(gains(model, A, y), expected)
    if n_classes == 3:
        model = MKLClassifier(Linear() + RBF(0.5), norm=2, weights="per_class").fit(A, y)
        assert gains(model, A, y).shape == (6,)


def test_gains_of_numbers_and_of_pipelines():
    A, _ = numbers(40)
    y = A[:, 0]
    pipeline = make_pipeline(StandardScaler(), MKLRegressor(per_feature(Linear()))).fit(A, y)
    parts, away = pipeline[-1].fitted_.parts(pipeline[:-1].transform(A))[:, :, 0], y - y.mean()
    expected = [sum(part * away) / sum(abs(away)) for part in parts]
    np.testing.assert_allclose(gains(pipeline, A, y), expected)


p_lists = arrays(np.float64, st.integers(1, 8), elements=st.floats(0, 1))


@given(p_lists)
def test_holm_equals_its_definition(p):
    """The i-th smallest passes at level a if p_(j) ≤ a / (n − j + 1) for all j ≤ i."""
    corrected, order = correct(p, "holm"), np.argsort(p, kind="stable")
    for i, m in enumerate(order):
        needed = max(p[order[j]] * (len(p) - j) for j in range(i + 1))
        assert corrected[m] == pytest.approx(min(1.0, needed))


@given(p_lists)
def test_benjamini_hochberg_equals_scipys(p):
    np.testing.assert_allclose(correct(p, "bh"), false_discovery_control(p, method="bh"))


@given(p_lists)
def test_holm_is_the_stricter_one(p):
    assert (correct(p, "holm") >= correct(p, "bh") - 1e-12).all()
    assert (correct(p, "bh") >= p - 1e-12).all()


def test_correction_can_be_chosen(found):
    other = replace(found, correction="bh")
    np.testing.assert_array_equal(other.corrected, correct(found.p_values, "bh"))


# -- errors that teach -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bootstrap": -1}, "n_bootstrap must be a whole number ≥ 0; got -1"),
        ({"n_permutations": 2.5}, "n_permutations must be a whole number ≥ 0; got 2.5"),
        ({"n_permutations": 19}, "With 19 permutations no p-value can be as low as alpha=0.05; take at least 20"),
        ({"alpha": 1.0}, "alpha must be a level between 0 and 1"),
        ({"n_bootstrap": 0}, "set n_bootstrap=100, or no permutations"),
        ({"correction": "bonferroni"}, "correction must be one of"),
        ({"y": None}, "no labels y to permute"),
        ({"y": np.zeros(3)}, "one target for each of the 160 samples"),
    ],
)
def test_errors(options, message):
    y = options.pop("y", Y)
    with pytest.raises(InputError, match=message):
        stability(SPLIT, X, y, **options)


def test_a_search_that_changes_its_kernel_is_told_so():
    A, _ = numbers(30)
    search = GridSearchCV(MKLRegressor(), {"kernel": [Linear() + RBF(1.0), RBF(0.1) + RBF(10.0) + RBF(1.0)]}, cv=2)
    with pytest.raises(InputError, match="do not have the same terms"):
        stability(search, A, A[:, 0] ** 2 * 0.3 + A[:, 0], n_bootstrap=5, n_permutations=20, random_state=0)


def test_terms_that_learn_from_their_samples_are_the_same_terms():
    """The spreads of a bootstrap sample are others than those of all samples; the term is not."""
    A, _ = numbers(30)
    model = MKLRegressor(Linear().standardized() + RBF(1.0).standardized())
    found = stability(model, A, A[:, 0] ** 2 * 0.3 + A[:, 0], n_bootstrap=3, n_permutations=0, random_state=0)
    assert found.weights.shape == (2,)
    assert np.isfinite(found.mean).all()


def test_terms_that_are_chosen_anew_are_not_taken_for_the_same():
    A, _ = numbers(30)
    A = A.copy()
    A[5:, 1] = 0.0  # a column that some bootstrap samples see as constant, and leave out
    with pytest.raises(InputError, match="do not have the same terms"):
        stability(MKLRegressor(), A, A[:, 0], n_bootstrap=20, n_permutations=0, random_state=0)
