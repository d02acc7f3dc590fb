"""What model files keep beside the support, samples of expectations and counts of words: refused where it is wrong."""

import numpy as np
import pytest

import kernelweave as kw
from kernelweave.errors import ModelFormatError
from kernelweave.io import archive

TEXTS = ["win a prize", "win now", "home now", "are you home", "a prize for you", "you are home now"]

TWICE = b"a\0a\0b\0c\0d\0e"


@pytest.fixture
def model(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(6, 2))
    numbers[1] = np.nan
    kernel = kw.parse("RBF(0.1).if_missing('expected').on('n') + BagOfWords(idf=True).on('t')")
    X = {"n": numbers, "t": np.array(TEXTS, dtype=object)}
    fitted = kw.MKLClassifier(kernel, norm="fixed").fit(X, [1, 1, 0, 0, 1, 0])
    kw.save(fitted, tmp_path / "model.kw")
    return fitted, X, tmp_path / "model.kw"


def changed(path, change):
    """Write the file anew, sealed as it should be, with other contents."""
    with open(path, "rb") as file:
        manifest, arrays = archive.read_archive(file, 10**8)
    change(manifest, arrays)
    with open(path, "w+b") as file:
        archive.write_archive(file, manifest, arrays)


def test_what_was_written_is_read(model):
    fitted, X, path = model
    changed(path, lambda manifest, arrays: None)
    np.testing.assert_array_equal(kw.load(path).decision_function(X), fitted.decision_function(X))


def array_of(manifest, arrays, part, name, change):
    arrays[manifest[part][0][name]] = change(arrays[manifest[part][0][name]])


CONTENTS = {
    "no list": lambda m, a: m.update(references={}),
    "no references": lambda m, a: [a.pop(m["references"][0]["share"]), m.update(references=[])],
    "of another term": lambda m, a: m["references"][0].update(term=1),
    "shares below zero": lambda m, a: array_of(m, a, "references", "share", lambda s: s - 1.0),
    "shares of two": lambda m, a: array_of(m, a, "references", "share", lambda s: 2.0 * s),
    "shares unlike data": lambda m, a: array_of(m, a, "references", "share", lambda s: np.full(3, 1 / 3)),
    "references missing": lambda m, a: m["references"][0]["data"].update(kind="unread"),
    "two of one term": lambda m, a: m["references"].append(dict(m["references"][0])),
    "words no list": lambda m, a: m.update(words="none"),
    "words of another term": lambda m, a: m["words"][0].update(term=0),
    "no words": lambda m, a: m.update(words=[]),
    "one count too few": lambda m, a: array_of(m, a, "words", "counts", lambda c: c[:-1]),
    "more than texts": lambda m, a: array_of(m, a, "words", "counts", lambda c: c + 100),
    "no texts": lambda m, a: m["words"][0].update(texts=0),
    "texts are text": lambda m, a: m["words"][0].update(texts="6"),
    "wide letters": lambda m, a: array_of(m, a, "words", "words", lambda w: w.astype(np.uint16)),
    "a word twice": lambda m, a: array_of(m, a, "words", "words", lambda w: np.frombuffer(TWICE, np.uint8)),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_wrong_contents_are_refused(model, name):
    _, _, path = model
    changed(path, CONTENTS[name])
    with pytest.raises(ModelFormatError, match="is damaged"):
        kw.load(path)
