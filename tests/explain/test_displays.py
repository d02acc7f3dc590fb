"""Displays, by what they draw: artists, labels and data, not pixels."""

import subprocess
import sys
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection, PathCollection
from sklearn.datasets import load_iris
from sklearn.metrics import average_precision_score, roc_auc_score

import kernelweave
from kernelweave import (
    RBF,
    ConvergenceDisplay,
    CurvesDisplay,
    EmbeddingDisplay,
    InputError,
    KernelWeightsDisplay,
    KmerMapDisplay,
    Linear,
    MKLClassifier,
    MutationMapDisplay,
    PathDisplay,
    PositionImportanceDisplay,
    SequenceLogoDisplay,
    Spectrum,
    StabilityDisplay,
    WeightedDegree,
    explain,
    load,
    save,
)
from kernelweave.explain import displays
from kernelweave.explain.displays.base import COLOURS, labels_of, shorten
from kernelweave.explain.stability import Stability
from kernelweave.explain.terms import Places
from kernelweave.testing.windows import windows

X, Y = windows(40)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return MKLClassifier(WeightedDegree(degree=3).split("degree", "position")).fit(X, Y)


def names(n):
    return [f"RBF(gamma={g:.3g}).on('view')" for g in np.logspace(-3, 3, n)]


def weights(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.5, rng.random(n), 0.0) + (np.arange(n) == 0)


def along(n, *, degree=False):
    values, none = np.arange(1, n + 1), np.full(n, -1)
    return Places(values, none, "WD()") if degree else Places(none, values - 1, "WD()")


def grid(n_degrees, n_positions):
    degrees, positions = np.divmod(np.arange(n_degrees * n_positions), n_positions)
    return Places(degrees + 1, positions, "WD()")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# -- what all have in common -----------------------------------------------------------------------------------------


def stability_of(n, places=None, n_bootstrap=30, n_permutations=20):
    """A result in which the first two terms gain, and the others do not."""
    rng = np.random.default_rng(0)
    w, sure = weights(n), np.arange(n) < 2
    places = Places(np.full(n, -1), np.full(n, -1), None) if places is None else places
    return Stability(
        names(n),
        w,
        w * rng.uniform(0.5, 1.5, (n_bootstrap, n)),
        rng.random((n_permutations, n)),
        sure + 0.01 * rng.random((n_bootstrap, n)),
        0.1 * rng.random((n_permutations, n)),
        0.05,
        "holm",
        places,
    )


MAKERS = {
    "KernelWeightsDisplay": lambda: KernelWeightsDisplay(weights(5), names(5)),
    "ConvergenceDisplay": lambda: ConvergenceDisplay([entry(1), entry(2)], tol=0.1),
    "PathDisplay": lambda: PathDisplay({"C": [1, 10], "mean_test_score": [0.7, 0.8], "std_test_score": [0.1, 0.1]}),
    "EmbeddingDisplay": lambda: EmbeddingDisplay(np.eye(5), [0.5, 0.3], [0, 0, 1, 1, 1]),
    "PositionImportanceDisplay": lambda: PositionImportanceDisplay(importance_of(4, 9)),
    "KmerMapDisplay": lambda: KmerMapDisplay({"kmer": ["ACG", "T"], "position": [3, 5], "weight": [1.0, -0.5]}),
    "MutationMapDisplay": lambda: MutationMapDisplay(SimpleNamespace(values=np.eye(4), letters="ACGT"), "ACGT"),
    "SequenceLogoDisplay": lambda: SequenceLogoDisplay(np.eye(4), "ACGT"),
    "StabilityDisplay": lambda: StabilityDisplay(stability_of(5)),
}


def entry(i, gap=None, lower=None, **more):
    gap = 10.0**-i if gap is None else gap
    return {
        "iteration": i,
        "upper": 1.0,
        "lower": 1.0 - gap if lower is None else lower,
        "gap": gap,
        "seconds": 0.5 * i,
    } | more


def importance_of(n_orders, n_positions, low=0.0):
    values = np.random.default_rng(0).uniform(low, 1.0, (n_orders, n_positions))
    return SimpleNamespace(orders=np.arange(1, n_orders + 1), positions=np.arange(n_positions), values=values)


def test_every_display_is_here():
    assert sorted([*MAKERS, "CurvesDisplay"]) == sorted(displays.__all__)
    for name in displays.__all__:
        assert getattr(kernelweave, name) is getattr(explain, name) is getattr(displays, name)


@pytest.mark.parametrize("name", MAKERS)
def test_axes_are_given_or_made_and_labelled(name):
    display = MAKERS[name]().plot()
    assert display.ax_.figure is display.figure_
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel() or ticks(display.ax_.yaxis)[0]
    display.figure_.canvas.draw()
    figure, ax = plt.subplots()
    assert MAKERS[name]().plot(ax=ax).ax_ is ax
    assert ax.has_data()
    assert len(plt.get_fignums()) == 2  # none but these
    figure.canvas.draw()


def test_matplotlib_is_loaded_by_plot_only():
    code = "import sys; from kernelweave import CurvesDisplay; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", MAKERS)
def test_without_matplotlib_the_error_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install kernelweave\[plot\]"):
        MAKERS[name]().plot()


def test_colours_are_a_ramp_and_tell_apart():
    assert len(set(COLOURS)) == len(COLOURS)
    ramp = plt.get_cmap("cividis")(np.linspace(0, 1, 50))[:, :3] @ [0.299, 0.587, 0.114]
    assert (np.diff(ramp) > 0).all()  # as grey as in colour


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [5, 10, 44])
def test_long_names_lose_their_middle(width):
    short = shorten("a" * 30 + "b" * 30, width)
    assert len(short) == width
    assert short.startswith("a")
    assert short.endswith("b")
    assert shorten("abc", 5) == "abc"


def test_labels_stay_distinct():
    long = ["a" * 40 + c + "b" * 40 for c in "xyz"]
    assert len(set(labels_of(long, None))) == 3
    assert labels_of(names(2), along(2)) == ["position 0", "position 1"]
    assert labels_of(names(2), grid(2, 1)) == ["degree 1, position 0", "degree 2, position 0"]


# -- weights ---------------------------------------------------------------------------------------------------------


def test_few_weights_are_bars_with_names():
    w = weights(20)
    display = KernelWeightsDisplay.from_weights(w, names(20))
    assert display.kind_ == "bars"
    assert [bar.get_width() for bar in display.ax_.patches] == w.tolist()
    assert ticks(display.ax_.yaxis) == names(20)
    bottom, top = display.ax_.get_ylim()
    assert bottom > top  # the first term on top


@pytest.mark.parametrize(
    ("places", "label", "x"),
    [
        (None, "number of the term (from 0)", np.arange(300)),
        (along(300), "position of the first letter (from 0)", np.arange(300)),
        (along(300, degree=True), "word length (letters)", np.arange(1, 301)),
    ],
)
def test_many_weights_are_stems_with_the_largest_named(places, label, x):
    w = weights(300)
    display = KernelWeightsDisplay(w, names(300), places=places).plot()
    assert display.kind_ == "line"
    (stems,) = [c for c in display.ax_.collections if isinstance(c, LineCollection)]
    assert len(stems.get_segments()) == np.count_nonzero(w)
    (dots,) = [line for line in display.ax_.get_lines() if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots.get_xdata(), x[w > 0])
    np.testing.assert_array_equal(dots.get_ydata(), w[w > 0])
    assert display.ax_.get_xlabel() == label
    assert 1 <= len(texts(display.ax_)) <= 6
    assert texts(display.ax_)[0] == shorten(labels_of(names(300), places)[int(w.argmax())], 36)
    assert f"{np.count_nonzero(w)} of 300 terms in use" in display.ax_.get_title()


def test_splits_by_degree_and_position_are_a_map():
    w = weights(60)
    display = KernelWeightsDisplay(w, names(60), places=grid(3, 20)).plot()
    assert display.kind_ == "map"
    (image,) = display.ax_.images
    np.testing.assert_array_equal(image.get_array(), w.reshape(3, 20))
    assert image.get_cmap().name == "cividis"
    assert image.get_extent() == [-0.5, 19.5, 0.5, 3.5]
    assert len(display.figure_.axes) == 2  # and its colour bar
    KernelWeightsDisplay(w, names(60), places=grid(3, 20)).plot(colorbar=False)
    assert len(plt.gcf().axes) == 1


def test_parts_that_do_not_exist_are_left_white(model):
    display = KernelWeightsDisplay.from_estimator(model)
    image = display.ax_.images[0].get_array()
    assert image.shape == (3, 12)
    assert np.argwhere(image.mask).tolist() == [[1, 11], [2, 10], [2, 11]]  # no word of 2 letters starts at the last
    for term, weight in zip(model.fitted_.terms, model.weights_, strict=True):
        assert image[term.degree - 1, term.position] == weight
    assert display.ax_.get_title().startswith("WeightedDegree(degree=3): ")


def test_kind_can_be_chosen():
    assert KernelWeightsDisplay(weights(5), names(5)).plot(kind="line").kind_ == "line"
    assert KernelWeightsDisplay(weights(40), names(40)).plot(kind="bars").kind_ == "bars"
    with pytest.raises(InputError, match="needs terms by degree and position"):
        KernelWeightsDisplay(weights(5), names(5)).plot(kind="map")
    with pytest.raises(InputError, match="kind must be one of"):
        KernelWeightsDisplay(weights(5), names(5)).plot(kind="pie")
    with pytest.raises(InputError, match="One weight per name"):
        KernelWeightsDisplay(weights(5), names(4))


@pytest.mark.parametrize(("n", "shape"), [(3, (3, 4)), (300, (4, 300))])
def test_weights_of_classes_are_a_map(n, shape):
    w = np.array([weights(n, seed) for seed in range(4)])
    display = KernelWeightsDisplay(w, names(n), classes=list("abcd")).plot()
    assert display.kind_ == "classes"
    assert display.ax_.images[0].get_array().shape == shape
    classes, terms = (display.ax_.xaxis, display.ax_.yaxis) if n == 3 else (display.ax_.yaxis, display.ax_.xaxis)
    assert ticks(classes) == list("abcd")
    assert n == 300 or ticks(terms) == names(3)


def test_all_weights_zero():
    display = KernelWeightsDisplay(np.zeros(3), names(3)).plot()
    assert display.ax_.get_xlim()[1] > 0
    KernelWeightsDisplay(np.zeros(50), names(50)).plot().figure_.canvas.draw()


# -- convergence -----------------------------------------------------------------------------------------------------


def test_gap_on_a_logarithmic_axis(blobs):
    fitted = MKLClassifier(RBF(0.5) + Linear(), solver="silp").fit(*blobs)
    display = ConvergenceDisplay.from_estimator(fitted)
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), [e["iteration"] for e in fitted.history_])
    np.testing.assert_array_equal(line.get_ydata(), [e["gap"] for e in fitted.history_])
    assert display.ax_.get_yscale() == "log"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["silp", "tol = 0.001"]
    display = ConvergenceDisplay.from_estimator(fitted, over="seconds")
    assert "seconds" in display.ax_.get_xlabel()


def test_several_models_share_axes():
    _, ax = plt.subplots()
    for i in range(3):
        ConvergenceDisplay([entry(1), entry(2 + i)], tol=0.01, label=f"solver {i}").plot(ax)
    lines = [line for line in ax.get_lines() if line.get_gid() == "gap"]
    assert len({line.get_color() for line in lines}) == len({line.get_linestyle() for line in lines}) == 3
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["solver 0", "solver 1", "solver 2", "tol = 0.01"]


def test_bounds_show_what_lies_between():
    history = [entry(1, gap=np.inf, lower=-np.inf), entry(2, lower=-1e9), entry(3), entry(4)]
    display = ConvergenceDisplay.from_history(history, what="bounds")
    upper, lower = display.lines_
    assert upper.get_ydata().tolist() == [1.0] * 4
    assert np.isnan(lower.get_ydata()[0])
    bottom, top = display.ax_.get_ylim()
    assert -10 < bottom < 1.0 < top  # early bounds far below do not squeeze the rest
    display.figure_.canvas.draw()


def test_machines_of_their_own_have_curves_of_their_own():
    A, y = load_iris(return_X_y=True)
    fitted = MKLClassifier(RBF(0.5) + Linear(), weights="per_class").fit(A, y)
    assert len(ConvergenceDisplay.from_estimator(fitted).lines_) == 3
    display = ConvergenceDisplay.from_estimator(fitted, what="bounds")
    assert len(display.lines_) == 6
    bottom, top = display.ax_.get_ylim()
    assert bottom < min(e["upper"] for e in fitted.history_) < max(e["upper"] for e in fitted.history_) < top


def test_an_exact_optimum_does_not_break_the_axis():
    display = ConvergenceDisplay([entry(1), entry(2, gap=0.0)]).plot()
    assert np.isnan(display.lines_[0].get_ydata()[1])
    display.figure_.canvas.draw()


def test_convergence_errors(blobs, tmp_path):
    with pytest.raises(InputError, match="history is empty"):
        ConvergenceDisplay([])
    with pytest.raises(InputError, match="what must be one of"):
        ConvergenceDisplay([entry(1)]).plot(what="loss")
    with pytest.raises(InputError, match="over must be one of"):
        ConvergenceDisplay([entry(1)]).plot(over="hours")
    save(MKLClassifier(Linear() + RBF(0.5)).fit(*blobs), tmp_path / "model.kw")
    loaded = load(tmp_path / "model.kw")
    if not getattr(loaded, "history_", None):
        with pytest.raises(InputError, match="has no history_"):
            ConvergenceDisplay.from_estimator(loaded)


# -- positions and k-mers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_importance_is_a_map(low):
    found = importance_of(8, 300, low)
    display = PositionImportanceDisplay.from_importance(found)
    np.testing.assert_array_equal(display.image_.get_array(), found.values)
    assert display.image_.get_clim() == pytest.approx((-1 if low < 0 else 0, np.abs(found.values).max()), abs=0.01)
    assert ticks(display.ax_.yaxis) == [str(k) for k in range(1, 9)]
    assert display.ax_.get_xlabel() == "position of the first letter (from 0)"
    assert display.ax_.get_ylabel() == "word length (letters)"
    with pytest.raises(InputError, match="one row per order"):
        PositionImportanceDisplay(SimpleNamespace(orders=[1], positions=[1], values=np.ones((2, 2)))).plot()


def test_importance_of_a_model(model):
    display = PositionImportanceDisplay.from_estimator(model, orders=[1, 2, 3], how="signed")
    expected = explain.importance(model, orders=[1, 2, 3], how="signed")
    np.testing.assert_array_equal(display.image_.get_array(), expected.values)


def test_importance_anywhere_is_bars():
    fitted = MKLClassifier(Spectrum(k=3)).fit(X, Y)
    display = PositionImportanceDisplay.from_estimator(fitted, orders=[1, 2, 3])
    found = explain.importance(fitted, orders=[1, 2, 3])
    assert [bar.get_width() for bar in display.ax_.patches] == found.values[:, 0].tolist()
    assert not display.ax_.images


def test_kmers_stand_where_they_count(model):
    display = KmerMapDisplay.from_estimator(model, top=5)
    assert len(display.kmers_) == 5
    assert ticks(display.ax_.yaxis) == display.kmers_
    (marks,) = [c for c in display.ax_.collections if isinstance(c, PathCollection)]
    table = explain.kmer_table(model)
    there = {(k, p): w for k, p, w in zip(table["kmer"], table["position"], table["weight"], strict=True)}
    assert len(marks.get_offsets()) >= 5
    for (position, row), weight in zip(marks.get_offsets(), marks.get_array(), strict=True):
        assert there[display.kmers_[int(row)], int(position)] == weight
    assert display.kmers_[0] == table["kmer"][0]
    low, high = marks.get_clim()
    assert low == -high


def test_kmers_that_count_anywhere_are_bars():
    fitted = MKLClassifier(Spectrum(k=3)).fit(X, Y)
    display = KmerMapDisplay.from_estimator(fitted, top=4)
    table = explain.kmer_table(fitted, top=4)
    assert display.kmers_ == table["kmer"].tolist()
    assert [bar.get_width() for bar in display.ax_.patches] == table["weight"].tolist()
    with pytest.raises(InputError, match="no k-mers"):
        KmerMapDisplay({"kmer": [], "position": [], "weight": []})


def test_mutation_map(model):
    display = MutationMapDisplay.from_estimator(model, X[1])
    found = explain.mutation_map(model, X[1])
    np.testing.assert_array_equal(display.image_.get_array(), found.values.T)
    low, high = display.image_.get_clim()
    assert low == -high
    assert ticks(display.ax_.yaxis) == list("ACGT")
    (dots,) = [c for c in display.ax_.collections if isinstance(c, PathCollection)]
    assert "".join("ACGT"[int(row)] for _, row in dots.get_offsets()) == X[1]
    window = explain.scan_map(model, "ACG" + X[1], 3)
    assert MutationMapDisplay.from_mutation_map(window).image_.get_extent()[:2] == [2.5, 14.5]
    with pytest.raises(InputError, match="One column per letter"):
        MutationMapDisplay(SimpleNamespace(values=np.ones((3, 2)), letters="ACGT"))
    with pytest.raises(InputError, match="map is of 4 letters"):
        MutationMapDisplay(SimpleNamespace(values=np.eye(4), letters="ACGT"), "ACG")


# -- logos -----------------------------------------------------------------------------------------------------------


def outlines(ax):
    """Letter -> [(x, low, high)] of the outlines that were drawn."""
    found = {}
    for collection in ax.collections:
        boxes = [path.get_extents() for path in collection.get_paths()]
        found[collection.get_label()] = [((b.x0 + b.x1) / 2, b.y0, b.y1) for b in boxes]
    return found


def test_letters_are_as_high_as_their_values():
    values = np.array([[0.5, 0.2, 0.0, -0.3], [0.0, 0.0, -1.0, -0.25]])
    drawn = outlines(SequenceLogoDisplay(values, "ACGT").plot().ax_)
    np.testing.assert_allclose(drawn["A"], [(0, 0.2, 0.7)], atol=1e-9)  # the largest outermost
    np.testing.assert_allclose(drawn["C"], [(0, 0.0, 0.2)], atol=1e-9)
    np.testing.assert_allclose(drawn["T"], [(0, -0.3, 0.0), (1, -0.25, 0.0)], atol=1e-9)
    np.testing.assert_allclose(drawn["G"], [(1, -1.25, -0.25)], atol=1e-9)


@pytest.mark.parametrize(("length", "rows"), [(3, 1), (75, 1), (300, 4)])
def test_long_logos_have_several_rows(length, rows):
    values = np.random.default_rng(0).random((length, 4)) + 0.1
    display = SequenceLogoDisplay(values, "ACGT").plot()
    assert len(display.axes_) == rows
    drawn = [x for ax in display.axes_ for x, _, _ in outlines(ax)["G"]]
    np.testing.assert_allclose(drawn, np.arange(length), atol=1e-9)
    _, ax = plt.subplots()
    assert SequenceLogoDisplay(values, "ACGT").plot(ax).axes_ == [ax]


def test_logo_of_a_model(model):
    display = SequenceLogoDisplay.from_estimator(model)
    found = explain.logo(model)
    np.testing.assert_array_equal(display.values, found.values)
    assert display.letters == list(found.letters)


def test_logos_in_bits():
    sequences = ["AAC", "AAG", "ACT", "ACA"]
    display = SequenceLogoDisplay.from_sequences(sequences, alphabet="dna")
    np.testing.assert_allclose(display.values, [[2, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0]], atol=1e-12)
    assert "bits" in display.label
    matrix = np.array([[1.0, 0, 0, 0], [0.25] * 4])
    display = SequenceLogoDisplay.from_motif(SimpleNamespace(matrix=matrix, letters="ACGT"))
    np.testing.assert_allclose(display.values, [[2, 0, 0, 0], [0, 0, 0, 0]], atol=1e-12)


def test_letters_have_colours_of_their_own():
    for letters in ("ACGT", "ACGU", "ACDEFGHIKLMNPQRSTVWY", "xyz"):
        display = SequenceLogoDisplay(np.ones((1, len(letters))), letters).plot()
        colours = {c.get_label(): tuple(c.get_facecolor()[0]) for c in display.ax_.collections}
        assert set(colours) == set(letters)
        assert len(set(colours.values())) == (4 if len(letters) != 3 else 3)
    with pytest.raises(InputError, match="One column per letter"):
        SequenceLogoDisplay(np.ones((3, 3)), "ACGT")


# -- curves ----------------------------------------------------------------------------------------------------------


def test_curves_of_several_models(blobs):
    A, y = blobs
    models = {name: MKLClassifier(k).fit(A, y) for name, k in {"linear": Linear(), "rbf": RBF(10.0)}.items()}
    display = CurvesDisplay.from_estimators(models, A, y)
    roc, pr = display.ax_
    for name, fitted in models.items():
        f = fitted.decision_function(A)
        assert display.areas_[name] == pytest.approx((roc_auc_score(y, f), average_precision_score(y, f)))
    legend = [text.get_text() for text in roc.get_legend().get_texts()]
    assert legend == [f"{name}: area {area:.3f}" for name, (area, _) in display.areas_.items()]
    assert len({line.get_linestyle() for line in pr.get_lines()[:2]}) == 2  # readable in grey
    _, axes = plt.subplots(1, 2)
    assert CurvesDisplay.from_estimator(models["rbf"], A, y, ax=axes).ax_[1] is axes[1]


def test_curves_of_more_classes():
    A, y = load_iris(return_X_y=True)
    fitted = MKLClassifier(Linear()).fit(A, y)
    display = CurvesDisplay.from_estimator(fitted, A, y)
    assert list(display.areas_) == [f"{c} against the rest" for c in range(3)]
    f = fitted.decision_function(A)
    assert display.areas_["1 against the rest"][0] == pytest.approx(roc_auc_score(y == 1, f[:, 1]))
    with pytest.raises(InputError, match="use from_estimator for each"):
        CurvesDisplay.from_estimators({"a": fitted}, A, y)


def test_curves_errors():
    y = np.array([0, 1, 1])
    with pytest.raises(InputError, match="Two axes are needed"):
        CurvesDisplay.from_predictions(y, [0.1, 0.2, 0.3], ax=plt.subplots()[1])
    with pytest.raises(InputError, match="alike in shape"):
        CurvesDisplay.from_predictions(y, [0.1, 0.2])
    with pytest.raises(InputError, match="two classes; got 1"):
        CurvesDisplay.from_predictions(np.ones(3), [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="samples of both classes"):
        CurvesDisplay({"a": [True, True]}, {"a": [0.1, 0.2]})
    with pytest.raises(InputError, match="same labels"):
        CurvesDisplay({"a": [True, False]}, {"b": [0.1, 0.2]})


# -- stability -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "places", "kind"),
    [(3, None, "bars"), (20, None, "bars"), (300, None, "line"), (20, along(20), "line"), (60, grid(3, 20), "map")],
)
def test_significant_terms_stand_out(n, places, kind):
    found = stability_of(n, places)
    assert found.significant.tolist() == [True, True] + [False] * (n - 2)
    display = StabilityDisplay.from_stability(found)
    assert display.kind_ == kind
    ax = display.ax_
    if kind == "map":
        np.testing.assert_allclose(ax.images[0].get_array(), found.mean.reshape(3, 20))
        assert ax.collections[0].get_offsets().tolist() == [[0, 1], [1, 1]]
        return
    sure, others = [line for line in ax.get_lines() if line.get_marker() == "o"]
    values = sure.get_xdata() if kind == "bars" else sure.get_ydata()
    np.testing.assert_allclose(values, found.mean[:2])
    assert len(others.get_xdata()) == n - 2
    assert sure.get_markerfacecolor() != others.get_markerfacecolor()  # filled and empty: readable in grey
    segments = [s for c in ax.collections if isinstance(c, LineCollection) for s in c.get_segments()]
    ends = np.array([s[:, 0 if kind == "bars" else 1] for s in segments])
    np.testing.assert_allclose(ends[:2], found.interval.T[:2])
    assert "95%" in (ax.get_xlabel() if kind == "bars" else ax.get_ylabel())


def test_stability_without_one_kind_of_refit():
    display = StabilityDisplay(stability_of(4, n_bootstrap=0)).plot()
    assert display.ax_.get_xlabel() == "weight (no unit)"
    display = StabilityDisplay(stability_of(4, n_permutations=0)).plot()
    assert display.ax_.get_legend() is None


def test_stability_of_a_model(blobs):
    A, y = blobs
    display = StabilityDisplay.from_estimator(
        MKLClassifier(Linear() + RBF(0.5)), A, y, n_bootstrap=2, n_permutations=0, random_state=0
    )
    assert ticks(display.ax_.yaxis) == ["Linear()", "RBF(gamma=0.5)"]
