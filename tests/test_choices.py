"""Losses, norms and solvers as text: what prints can be typed back, and nothing is ever run."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelweave import InputError, MKLClassifier, MKLRegressor
from kernelweave.choices import MAX_LENGTH, from_text, name_of
from kernelweave.dual import DUAL_SOLVERS
from kernelweave.losses import LOSSES, EpsilonInsensitive, SmoothHinge, as_loss
from kernelweave.mkl import SOLVERS, TwoStage
from kernelweave.norms import NORMS, Fixed, LpNorm, as_norm

KINDS = [(kind, kinds) for kinds in (LOSSES, NORMS, SOLVERS, DUAL_SOLVERS) for kind in kinds]
WANTED = "it must be one of those"


@pytest.mark.parametrize(("kind", "kinds"), KINDS, ids=lambda value: getattr(value, "__name__", ""))
def test_names_and_what_prints_can_be_typed(kind, kinds):
    made = kind()
    for text in (name_of(kind), kind.__name__, f"{name_of(kind)}()", f" {kind.__name__}( ) ", repr(made)):
        found = from_text(text, kinds, WANTED)
        assert type(found) is kind
        assert repr(found) == repr(made)


def test_parameters():
    assert from_text("smooth_hinge(3)", LOSSES, WANTED) == SmoothHinge(3.0)
    assert from_text("SmoothHinge(sigma=1e-3)", LOSSES, WANTED) == SmoothHinge(1e-3)
    solver = from_text("two_stage('alignment', power=2, ridge=None, diagonal=True)", SOLVERS, WANTED)
    assert repr(solver) == repr(TwoStage("alignment", power=2, ridge=None, diagonal=True))
    assert as_norm("Fixed(weights=[1, 0.5, -0.0])").weights == [1, 0.5, -0.0]
    assert isinstance(as_norm("fixed"), Fixed)
    assert as_norm("lp(p=1.5)").p == LpNorm(1.5).p


def test_defaults_of_the_estimator_are_for_losses_that_have_them():
    assert as_loss("epsilon_insensitive", ("numbers",), epsilon=0.3) == EpsilonInsensitive(0.3)
    assert as_loss("epsilon_insensitive(epsilon=0.7)", ("numbers",), epsilon=0.3) == EpsilonInsensitive(0.7)
    assert as_loss("EpsilonInsensitive(0.7)", ("numbers",), epsilon=0.3) == EpsilonInsensitive(0.7)
    as_loss("squared", ("numbers",), epsilon=0.3)
    with pytest.raises(InputError, match=r"one of \['epsilon_insensitive', 'squared'\]"):
        as_loss("hinge()", ("numbers",), epsilon=0.3)


def test_estimators_take_text():
    X, y = [[0.0], [0.2], [1.0], [1.3]], [0, 0, 1, 1]
    text = MKLClassifier("RBF(0.5) + Linear()", loss="logistic()", norm="lp(p=2)", dual="newton()").fit(X, y)
    plain = MKLClassifier("RBF(0.5) + Linear()", loss="logistic", norm=2, dual="newton").fit(X, y)
    assert text.objective_ == plain.objective_
    assert text.predict_proba(X).tolist() == plain.predict_proba(X).tolist()
    assert not hasattr(MKLClassifier(loss="hinge()"), "predict_proba")
    assert not hasattr(MKLClassifier(loss="logistic("), "predict_proba")
    wide = MKLRegressor("Linear()", loss="epsilon_insensitive(epsilon=9)").fit(X, y)
    assert wide.objective_ == 0.0
    for name, value in (("solver", "silp(1)"), ("dual", "smo(x=1)"), ("norm", "lp(p=1)"), ("norm", "fixed('a')")):
        with pytest.raises(InputError):
            MKLClassifier("RBF(0.5) + Linear()", **{name: value}).fit(X, y)


ODD = ["", "(", "hinge(", "1", "hinge.x", "hinge()()", "lambda: 1", "hinge(sigma)", "hinge(*[1])", "[hinge]", "a:b"]
ODD += ["\0", "h\ud800", "hinge(" * 2000, "-" * 100_000 + "1", "hinge(x='" + "a" * MAX_LENGTH + "')"]
ODD += [None, 3, b"hinge", ["hinge"]]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_texts_are_refused(text):
    with pytest.raises(InputError):
        from_text(text, LOSSES, WANTED)


@given(st.text(alphabet="hinge(sigma=1.5,)[]'\"-{}*:_ \\\n#", max_size=30))
@settings(deadline=None, max_examples=300)
def test_any_text_is_a_loss_or_an_error(text):
    for start in ("", "smooth_hinge", "smooth_hinge("):
        with suppress(InputError):
            assert isinstance(from_text(start + text, LOSSES, WANTED), LOSSES)
