"""Pages of every kind of model: what is on them, what cannot get into them, what they say where data are missing."""

import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kernelweave as kw
from kernelweave import report
from kernelweave.explain.kmers import kmer_table
from kernelweave.report.markup import number, source_hash

VOID = {"br", "input", "link", "meta"}
KERNEL = kw.RBF(0.3) + kw.Linear()
SECTIONS = ["data", "terms", "certificate", "quality", "words", "examples", "notes", "reproduce"]


class Page(HTMLParser):
    """A page as a browser reads it: text by section, attributes, and whether all elements are closed in order."""

    def __init__(self, markup):
        super().__init__()
        self.elements, self.open, self.texts, self.section = [], [], {"": ""}, ""
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        found = dict(attributes)
        assert len(found) == len(attributes), f"an attribute twice in {name}"
        self.elements.append((name, found))
        if name not in VOID:
            self.open.append(name)
        if name == "section":
            self.section = found["id"]
            self.texts[self.section] = ""

    def handle_endtag(self, name):
        assert self.open.pop() == name
        self.section = "" if name == "section" else self.section

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts[self.section] += data

    def all(self, name, **wanted):
        wanted = {key.rstrip("_"): value for key, value in wanted.items()}
        return [a for n, a in self.elements if n == name and wanted.items() <= a.items()]


def build(model, **data):
    """The page of a model, checked for all that holds for any page."""
    markup = report.build(model, **data)
    page = Page(markup)
    check_sealed(markup, page)
    found = [a["id"] for n, a in page.elements if n == "section"]
    assert [a["href"] for a in page.all("a")] == [f"#{name}" for name in found]
    assert [name for name in SECTIONS if name in found] == found
    assert {"data", "terms", "certificate", "quality", "notes", "reproduce"} <= set(found)
    assert len(markup.encode()) < 600_000
    assert "nan" not in re.findall(r"[a-z]+", " ".join(page.texts.values()).lower())
    return page


def check_sealed(markup, page):
    """Nothing is loaded, and only the page's own style and script may run."""
    (policy,) = (a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    style, script = re.search("<style>(.*?)</style>", markup, re.S), re.search("<script>(.*?)</script>", markup, re.S)
    assert markup.count("<script") == markup.count("<style") == 1
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == source_hash(style[1])
    assert rules["script-src"] == source_hash(script[1])
    assert set(re.findall(r"https?://[^\s\"'<>]*", markup)) <= {"http://www.w3.org/2000/svg"}
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    for _, attributes in page.elements:
        assert "style" not in attributes  # the policy would forbid it
        assert not [key for key in attributes if key.startswith("on") or key in ("src", "srcset", "xlink:href")]
        assert attributes.get("href", "#").startswith("#")


# -- every kind of model -----------------------------------------------------------------------------------------------


def test_sequences(motifs):
    model, data = motifs
    page = build(model, **data, title="A <title> & more")
    assert "A <title> & more" in page.texts[""]
    assert page.all("section", id="words")
    decision = model.decision_function(data["X_test"])
    assert f"{roc_auc_score(data['y_test'], decision):.3f}" in page.texts[""]
    assert f"{average_precision_score(data['y_test'], decision):.4f}" in page.texts["quality"]
    first = next(iter(kmer_table(model, top=1)))
    assert f"{first['kmer']}{first['position']}{number(first['weight'])}" in page.texts["words"]
    assert "DNA" in page.texts["data"]
    for row in (decision.argmax(), decision.argmin(), np.abs(decision).argmin()):
        assert data["names_test"][row] in page.texts["examples"]
        assert data["X_test"][row] in page.texts["examples"]
    assert "<script>alert(1)</script>" in page.texts["examples"]
    assert model.term_names_[0] in page.texts["terms"]
    assert "kernelweave" in page.texts["reproduce"]


def test_the_threshold_starts_at_zero_with_the_counts_of_predict(table):
    model, data = table
    page = build(model, **data)
    (panel,) = page.all("div", class_="cutting")
    cuts = json.loads(panel["data-cuts"])
    (slider,) = page.all("input", type="range")
    zero = int(slider["value"])
    assert cuts["thresholds"][zero] == 0
    predicted, y = model.predict(data["X_test"]), data["y_test"]
    naive = [
        np.sum((predicted == c) & (y == t)) for t, c in (("yes", "yes"), ("no", "yes"), ("yes", "no"), ("no", "no"))
    ]
    assert cuts["sets"][1]["counts"][zero] == naive
    assert len(page.all("table", class_="confusion")) == 2


def test_regression(numbers):
    X, y = numbers
    model = kw.MKLRegressor(KERNEL).fit(X[:40], y[:40])
    page = build(model, X=X[:40], y=y[:40], X_test=X[40:], y_test=y[40:])
    assert number(model.score(X[40:], y[40:]), 4) in page.texts["quality"]
    assert len([a for a in page.all("path") if a.get("class", "").startswith("dots")]) == 4
    assert "furthest off" in page.texts["examples"]


@pytest.mark.parametrize("weights", ["shared", "per_class"])
def test_several_classes(numbers, weights):
    X, y = numbers
    labels = np.array(["<b>low</b>", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]
    model = kw.MKLClassifier(KERNEL, weights=weights).fit(X[:45], labels[:45])
    page = build(model, X=X[:45], y=labels[:45], X_test=X[45:], y_test=labels[45:])
    assert number(model.score(X[45:], labels[45:]), 4) in page.texts["quality"]
    assert "<b>low</b>" in page.texts["quality"]
    squares = [a["data-tip"] for a in page.all("rect") if "called" in a.get("data-tip", "")]
    assert len(squares) == 9
    right = sum(int(re.search(r"(\d+) samples", tip)[1]) for tip in squares if re.search(r"is (.*), called \1\n", tip))
    assert right == np.sum(model.predict(X[45:]) == labels[45:])


def test_many_classes_of_sequences_show_some_of_them(rng):
    X = ["".join(row) for row in np.array(list("ACGT"))[rng.integers(0, 4, (40, 12))]]
    y = np.arange(40) % 8
    page = build(kw.MKLClassifier(kw.WeightedDegree(degree=2)).fit(X, y), X=X, y=y, top=5)
    assert "The first 6 of 8 classes" in page.texts["words"]
    assert len(page.all("details")) == 2 + 6


def test_one_class(numbers):
    X, y = numbers
    model = kw.MKLOneClass(KERNEL, nu=0.2).fit(X)
    assert "No targets came with the samples" in build(model, X=X).texts["quality"]
    page = build(model, X=X, X_test=X, y_test=np.where(y > 0, 1, -1))
    (panel,) = page.all("div", class_="cutting")
    cuts = json.loads(panel["data-cuts"])
    inside = np.sum(model.predict(X) == 1)
    assert sum(cuts["sets"][0]["counts"][cuts["thresholds"].index(0)][:2]) == inside


def test_precomputed(numbers):
    X, y = numbers
    kernel = kw.Precomputed(X @ X.T, name="all") + kw.Precomputed(X[:, :1] @ X[:, :1].T, name="first")
    ids, labels = np.arange(60), y > 0
    page = build(kw.MKLClassifier(kernel).fit(ids[:40], labels[:40]), X=ids[:40], y=labels[:40])
    assert "Precomputed(name='first')" in page.texts["terms"]
    assert "may have learned from these samples" in page.texts["quality"]


def test_a_table_with_sequences_and_numbers(motifs, numbers):
    X = pd.DataFrame({"dna": motifs[1]["X"], "a": numbers[0][:50, 0], "<i>": numbers[0][:50, 1]})
    kernel = kw.Spectrum(k=2).on("dna") + kw.RBF(0.5).on(["a", "<i>"]) + kw.WeightedDegree(degree=2).on("dna")
    page = build(kw.MKLClassifier(kernel, norm=2).fit(X, motifs[1]["y"]), X=X, y=motifs[1]["y"])
    assert ".on(['a', '<i>'])" in page.texts["terms"]
    assert "column 'dna'" in page.texts["words"]


def test_many_terms_are_folded_below_a_map(motifs):
    X, y = motifs[1]["X"], motifs[1]["y"]
    model = kw.MKLClassifier(kw.WeightedDegree(degree=3).split("position", "degree")).fit(X, y)
    page = build(model, X=X, y=y)
    assert "Weights by position and degree" in page.texts["terms"]
    (folded,) = (a for a in page.all("table") if a.get("aria-label") == "terms" and "data-fold" in a)
    assert int(folded["data-fold"]) < len(model.term_names_)
    assert "more)" in page.texts["terms"] or (model.weights_ > 0).sum() <= 8


def test_many_terms_without_places_are_drawn_in_their_order(numbers):
    X, y = numbers
    model = kw.MKLClassifier(sum(kw.RBF(g) for g in np.geomspace(0.01, 10, 30))).fit(X, y > 0)
    page = build(model)
    tips = [a["data-tip"] for a in page.all("rect") if "weight" in a.get("data-tip", "")]
    assert len(tips) == np.sum(model.weights_ > 0)


@pytest.mark.parametrize(
    "model",
    [
        kw.MKLClassifier(kw.RBF("learn"), random_state=0),
        kw.MKLClassifier(KERNEL, solver="two_stage"),
        kw.MKLClassifier(KERNEL, loss="squared_hinge", learn_C=True),
        kw.MKLClassifier(KERNEL, norm="fixed"),
        make_pipeline(StandardScaler(), kw.MKLClassifier(KERNEL)),
        GridSearchCV(kw.MKLClassifier(KERNEL), {"C": [1.0, 2.0]}, cv=2),
    ],
    ids=["widths", "two_stage", "learn_C", "fixed", "pipeline", "search"],
)
def test_variants(numbers, model):
    X, y = numbers
    page = build(model.fit(X, y > 0), X=X, y=y > 0)
    decision = model.decision_function(X)
    assert f"{roc_auc_score(y > 0, decision):.4f}" in page.texts["quality"]


def test_a_fit_that_did_not_converge_says_so(numbers):
    X, y = numbers
    with pytest.warns(ConvergenceWarning):
        model = kw.MKLClassifier(KERNEL, max_iter=1, tol=1e-9).fit(X, y > 0)
    page = build(model, X=X, y=y > 0)
    assert page.all("div", class_="card poor")
    assert "not converged (max_iter)" in page.texts[""]
    assert "raise max_iter" in page.texts["notes"]


def test_notes_of_the_fit_are_shown(numbers):
    X, y = numbers
    model = kw.MKLClassifier(kw.Linear() + kw.Linear() + kw.RBF(0.5)).fit(X, y > 0)
    assert model.notes_
    page = build(model)
    assert all(note in page.texts["notes"] for note in model.notes_)


def test_warnings_on_the_way_are_shown(motifs):
    X = [sequence[:-3] + "NNN" for sequence in motifs[1]["X_test"]]  # unknown letters earn a warning
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # they go to the page, not to the caller
        page = build(motifs[0], X_test=X)
    assert "unknown" in page.texts["notes"] or "ambiguous" in page.texts["notes"]


# -- without data ------------------------------------------------------------------------------------------------------


def test_a_loaded_model_shows_what_it_knows(motifs, tmp_path):
    model, data = motifs
    kw.save(model, tmp_path / "model.kw")
    loaded = kw.load(tmp_path / "model.kw")
    page = build(loaded)
    assert "training samples50" in page.texts["data"]
    assert "No samples came with the model" in page.texts["quality"]
    assert "No samples came with the model" in page.texts["examples"]
    assert next(iter(kmer_table(model, top=1)))["kmer"] in page.texts["words"]
    held_out = {name: data[name] for name in ("X_test", "y_test", "names_test")}
    assert build(loaded, **held_out).texts["quality"] == build(model, **held_out).texts["quality"]


def test_one_sample_of_one_class_is_enough(table):
    model, data = table
    page = build(model, X_test=data["X_test"][:1], y_test=data["y_test"][:1])
    assert "–" in page.texts["quality"]  # there is no area under a curve of one class


def test_samples_and_words_can_be_left_out(motifs):
    model, data = motifs
    markup = report.build(model, **data, top=0, n_examples=0)
    page = Page(markup)
    assert not page.all("section", id="examples")
    assert "No words were asked for" in page.texts["words"]
    assert not [text for text in (*data["X"], *data["X_test"]) if text in markup]
    assert "alert(1)" not in markup


# -- names, files, errors ----------------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.lists(st.text(), min_size=20, max_size=20), st.text())
@example(["<script>alert(1)</script>"] * 20, "</title><script>alert(1)</script>")
@example(["\ud800\x00]]>--><!--{0}$title"] * 20, "${style}")
def test_row_79_names_are_only_names(table, names, title):
    model, data = table
    page = build(model, X_test=data["X_test"], y_test=data["y_test"], names_test=names, title=title)
    assert [n for n, _ in page.elements].count("script") == 1
    assert page.all("title")


def test_the_page_is_written_as_it_is_returned(table, tmp_path):
    model, data = table
    path = report.build(model, **data, path=tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8") == report.build(model, **data)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X": "X_test", "y": "y"}, "20 training samples, but their targets have the shape"),
        ({"y": "y"}, "came without samples"),
        ({"X": "X", "y": ["maybe"] * 40}, "hold 'maybe', which the model does not know; it knows 'no', 'yes'"),
        ({"X": "X", "names": ["a"]}, "40 training samples, but names for 1"),
        ({"top": -1}, "top must be a whole number"),
        ({"n_examples": 1.5}, "n_examples must be a whole number"),
        ({"path": "nowhere/report.html"}, "does not exist"),
    ],
)
def test_errors_teach(table, wrong, message):
    model, data = table
    given_ = {key: data[value] if isinstance(value, str) and value in data else value for key, value in wrong.items()}
    with pytest.raises(kw.InputError, match=re.escape(message)):
        report.build(model, **given_)


def test_only_fitted_machines_have_a_report():
    with pytest.raises(kw.InputError, match="StandardScaler"):
        report.build(StandardScaler())
    with pytest.raises(NotFittedError):
        report.build(kw.MKLClassifier())
