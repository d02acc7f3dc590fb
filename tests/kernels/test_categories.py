"""Categories, in any container, against loops over pairs; gaps and unseen ones; and what an order adds."""

import numpy as np
import pytest

from kernelweave import RBF, Categorical, InputError, MKLClassifier, Ordinal, load, parse, save
from kernelweave.categories import category_names
from kernelweave.testing import check_kernel
from kernelweave.views import as_views

COLOURS = ["red", "blue", "red", None, "green", "blue", "red"]


def learned(kernel, X):
    return kernel.learned(as_views(X))


def naive_same(A, B, worth):
    return np.array([[worth.get(a, 0.0) if a is not None and a == b else 0.0 for b in B] for a in A])


def test_the_same_or_not():
    ones = dict.fromkeys(["red", "blue", "green"], 1.0)
    for kernel in (Categorical(), learned(Categorical(), COLOURS)):
        np.testing.assert_array_equal(kernel(COLOURS), naive_same(COLOURS, COLOURS, ones))
        check_kernel(kernel, COLOURS)
    assert repr(learned(Categorical(), COLOURS)) == "Categorical(levels=['blue', 'green', 'red'])"


def test_rare_ones_count_more():
    kernel = learned(Categorical(rare=True), COLOURS)
    worth = {"red": 2.0, "blue": 3.0, "green": 6.0}
    np.testing.assert_array_equal(kernel(COLOURS), naive_same(COLOURS, COLOURS, worth))
    assert parse(repr(kernel)) == kernel
    assert learned(kernel, ["red"] * 5) is kernel
    check_kernel(kernel, COLOURS)


def test_unseen_categories_are_unlike_everything():
    kernel = learned(Categorical(), ["a", "b"])
    new = ["c", "a", "c", None]
    assert kernel(new, ["a", "b"]).tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]
    assert kernel.diag(new).tolist() == [0, 1, 0, 0]
    assert kernel.unseen(as_views(new)) == 2
    assert Categorical().unseen(as_views(new)) == 0


def containers():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    names, numbers = ["x", None, "y", "x", "y"], [1, 2, 1, 3, 2]
    yes = [True, False, True, True, False]
    columns = {"names": names, "numbers": numbers, "yes": yes}
    return {
        "pandas": pd.DataFrame(columns),
        "categories": pd.DataFrame({name: pd.Series(values, dtype="category") for name, values in columns.items()}),
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
        "dict": {name: np.array(values, dtype=object) for name, values in columns.items()},
    }


def test_the_container_does_not_matter():
    frames = containers()
    for name, levels in (("names", ["x", "y"]), ("numbers", ["1", "2", "3"]), ("yes", ["False", "True"])):
        first = None
        for X in frames.values():
            kernel = learned(Categorical().on(name), X)
            assert kernel.kernel.levels == levels
            first = kernel(X) if first is None else first
            np.testing.assert_array_equal(kernel(X), first)


def test_names_of_values():
    values = ["a", 1, 1.0, 2.5, float("nan"), None, True, b"x", np.float32(3), 2**60]
    assert category_names(values) == ["a", "1", "1", "2.5", "", "", "True", "x", "3", str(2**60)]


def test_ordered_categories():
    levels = ["low", "middle", "high", "top"]
    X = ["high", "low", None, "top", "middle", "odd"]
    ranks = {name: i for i, name in enumerate(levels)}
    expected = [[1 - abs(ranks[a] - ranks[b]) / 3 if a in ranks and b in ranks else 0.0 for b in X] for a in X]
    np.testing.assert_allclose(Ordinal(levels)(X), expected)
    check_kernel(Ordinal(levels), X)


def test_the_order_is_learned_from_types_and_numbers():
    pd = pytest.importorskip("pandas")
    ordered = pd.Categorical(["s", "l", "m"], categories=["s", "m", "l"], ordered=True)
    X = pd.DataFrame({"size": ordered, "grade": [10, 2, 5]})
    assert learned(Ordinal().on("size"), X).kernel.levels == ["s", "m", "l"]
    grades = learned(Ordinal().on("grade"), X)
    assert grades.kernel.levels == ["2", "5", "10"]
    np.testing.assert_allclose(grades.kernel([3.5, 99.0], [2.0, 5.0, 10.0]), [[0.75, 0.75, 0.25], [0.0, 0.5, 1.0]])
    check_kernel(grades, X)
    with pytest.raises(InputError, match="needs the order"):
        learned(Ordinal(), ["b", "a"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict"])
def test_in_a_model_and_its_file(kind, tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    columns = {
        "colour": rng.choice(np.array(["red", "blue", "green", None], dtype=object), 90),
        "grade": rng.integers(1, 6, 90),
        "x": rng.normal(size=90),
    }
    y = (columns["colour"] == "red") | (columns["grade"] > 3)
    X = columns if kind == "dict" else pd.DataFrame(columns)
    if kind in ("polars", "arrow"):
        X = pytest.importorskip("polars").from_pandas(X)
        X = X.to_arrow() if kind == "arrow" else X
    kernel = Categorical().on("colour") + Categorical(rare=True).on("colour") + Ordinal().on("grade")
    kernel += RBF(1.0).on("x") if kind != "dict" else Categorical().on("grade")
    model = MKLClassifier(kernel, C=10.0, norm=2).fit(X, y)
    assert model.score(X, y) > 0.95
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert "levels=['blue', 'green', 'red']" in repr(again.base_kernel_)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Categorical(levels=["a", "a"])(["a"]), "different names"),
        (lambda: Categorical(levels="ab")(["a"]), "different names"),
        (lambda: Categorical(levels=[1, 2])(["1"]), "different names"),
        (lambda: Categorical(rare=True)(["a"]), "does not know yet"),
        (lambda: Categorical(True, ["a"], [-1.0])(["a"]), "one worth"),
        (lambda: Categorical(True, ["a"], [1.0, 2.0])(["a"]), "one worth"),
        (lambda: Ordinal()(["a"]), "knows no order"),
    ],
)
def test_errors_say_what_would_work(make, why):
    with pytest.raises(InputError, match=why):
        make()
