"""Several views in one container: counted and cut by scikit-learn, and the same as a dict to the bit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline

from kernelweave import RBF, InputError, Linear, MKLClassifier, MultiView, Spectrum


def views(n=60):
    rng = np.random.default_rng(0)
    parts = {
        "genes": rng.normal(size=(n, 8)),
        "counts": sparse.random_array((n, 6), density=0.4, rng=rng, format="csr"),
        "dna": ["".join(rng.choice(list("ACGT"), 12)) for _ in range(n)],
    }
    return parts, parts["genes"][:, 0] > 0


KERNEL = RBF(0.1).on("genes") + Linear().on("counts") + Spectrum(k=2).on("dna")


def test_it_is_the_dict():
    parts, y = views()
    X = MultiView(parts)
    one, other = MKLClassifier(KERNEL).fit(parts, y), MKLClassifier(KERNEL).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(parts), other.decision_function(X))
    assert (len(X), X.shape, list(X)) == (60, (60, 3), ["genes", "counts", "dna"])
    np.testing.assert_array_equal(X["genes"], parts["genes"])


@pytest.mark.parametrize("index", [np.array([3, 1, 5]), [3, 1, 5], slice(2, 9, 3), np.arange(60) % 7 == 2])
def test_samples_are_cut_in_all_views(index):
    parts, _ = views()
    some = MultiView(parts)[index]
    rows = np.arange(60)[index]
    np.testing.assert_array_equal(some["genes"], parts["genes"][rows])
    np.testing.assert_array_equal(some["counts"].toarray(), parts["counts"].toarray()[rows])
    assert list(some["dna"]) == [parts["dna"][i] for i in rows]


def test_scikit_learn_takes_it():
    parts, y = views()
    X = MultiView(parts)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert isinstance(X_train, MultiView)
    search = GridSearchCV(make_pipeline(MKLClassifier(KERNEL)), {"mklclassifier__C": [0.1, 1.0, 10.0]}, cv=3)
    assert search.fit(X_train, y_train).score(X_test, y_test) > 0.6
    assert len(cross_val_predict(MKLClassifier(KERNEL), X, y, cv=3)) == 60
    assert MKLClassifier().fit(X, y).score(X, y) > 0.9


def test_errors_name_what_is_wrong():
    parts, y = views()
    with pytest.raises(InputError, match="takes a dict"):
        MultiView([1, 2])
    with pytest.raises(InputError, match="their lengths differ"):
        MultiView({"a": np.ones((3, 1)), "b": np.ones((4, 1))})
    with pytest.raises(InputError, match="no view 'proteins'"):
        MultiView(parts)["proteins"]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GridSearchCV(MKLClassifier(KERNEL), {"C": [1.0]}).fit(parts, y)  # a plain dict: scikit-learn counts its views
