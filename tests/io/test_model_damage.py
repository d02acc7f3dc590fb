"""Model files that are damaged, or made to do harm: refused with a clear error, before memory is taken."""

import hashlib
import io
import json
import pickle
import tempfile
import tracemalloc
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelweave as kw
from kernelweave.errors import KernelweaveError, ModelFormatError
from kernelweave.io import archive
from kernelweave.io.model_file import _manifest
from kernelweave.io.support import Unpacker


@cache
def stored():
    """The bytes of a small model file."""
    y = np.arange(12) % 2
    X = np.random.default_rng(0).normal(size=(12, 2)) + y[:, None]
    model = kw.MKLClassifier("RBF(0.5).on(0) + Linear()", norm=2).fit(X, y)
    out = io.BytesIO()
    archive.write_archive(out, *_manifest(model))
    return out.getvalue()


# -- damaged files -----------------------------------------------------------------------------------------------------


def read(data, **options):
    """Load a model from bytes, as `load` does from a file."""
    with tempfile.NamedTemporaryFile(suffix=".kw") as file:
        file.write(data)
        file.flush()
        return kw.load(file.name, **options)


def refused(data, match="is not a model file|is damaged", **options):
    with pytest.raises(ModelFormatError, match=match) as caught:
        read(data, **options)
    assert isinstance(caught.value, KernelweaveError)


def test_row_21_a_file_cut_anywhere_is_refused():
    data = stored()
    for size in range(len(data)):
        refused(data[:size])
    refused(data + b"\0")
    refused(b"\0" + data)
    assert read(data) is not None


@settings(max_examples=300)
@given(st.integers(0, 8 * len(stored()) - 1))
def test_row_22_a_flipped_bit_anywhere_is_found(bit):
    data = bytearray(stored())
    data[bit // 8] ^= 1 << bit % 8
    refused(bytes(data))


def resealed(data):
    """The bytes with a digest that fits them, as a forger would write it."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


@settings(max_examples=400)
@given(st.lists(st.tuples(st.integers(0, len(stored()) - 65), st.integers(0, 255)), min_size=1, max_size=3))
def test_a_forged_digest_helps_nobody(changes):
    data = bytearray(stored())
    for at, value in changes:
        data[at] = value
    with suppress(ModelFormatError):
        read(resealed(bytes(data)))


class Payload:
    """Writes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return Path.touch, (Path(self.marker),)


def test_row_23_a_pickle_is_refused_without_running_it(tmp_path):
    import joblib

    marker, payload = tmp_path / "marker", Payload(tmp_path / "marker")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(pickle.dumps(payload, protocol), "is not a model file")
    refused(pickle.dumps(payload), "a pickle, which is never opened")
    for compress in (0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)):
        joblib.dump(payload, tmp_path / "model.joblib", compress=compress)
        refused((tmp_path / "model.joblib").read_bytes(), "is not a model file")
    out = io.BytesIO()
    np.savez(out, **{"model": np.array([payload], dtype=object)})
    refused(out.getvalue(), "is not a model file")
    assert not marker.exists()
    pickle.loads(pickle.dumps(payload))
    assert marker.exists()


def test_other_files_are_refused(tmp_path):
    refused(b"", "it is empty")
    refused(b">seq\nACGT\n", "a FASTA file")
    refused(json.dumps({"format": "kernelweave model"}).encode(), "is not a model file")
    with pytest.raises(FileNotFoundError):
        kw.load(tmp_path / "none.kw")


# -- crafted files -----------------------------------------------------------------------------------------------------


def contents():
    with zipfile.ZipFile(io.BytesIO(stored())) as file:
        return [(name, file.read(name)) for name in file.namelist()]


def packed(members, *, method=zipfile.ZIP_DEFLATED):
    """A sealed zip of any members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in members:
            file.writestr(zipfile.ZipInfo(name), data, method)
        file.comment = archive._SEAL + b"0" * 64
    archive.seal(out)
    return out.getvalue()


def edited(change):
    """The small model with its JSON changed by a function."""
    members = dict(contents())
    manifest = json.loads(members["model.json"])
    found = change(manifest)
    members["model.json"] = json.dumps(manifest if found is None else found).encode()
    return packed(members.items())


def with_array(name, array, **spec):
    """The small model with one array changed, in the zip and in the JSON."""
    raw = io.BytesIO()
    np.lib.format.write_array(raw, array, version=(1, 0), allow_pickle=True)
    members = dict(contents()) | {name: raw.getvalue()}
    manifest = json.loads(members["model.json"])
    said = {"dtype": array.dtype.str, "shape": list(array.shape), "order": "C"}
    manifest["arrays"][name] = said | {"sha256": hashlib.sha256(raw.getvalue()).hexdigest()} | spec
    members["model.json"] = json.dumps(manifest).encode()
    return packed(members.items())


def test_the_helpers_make_files_that_load():
    assert read(packed(contents())).n_features_in_ == 2
    assert read(edited(lambda m: None)).n_features_in_ == 2
    assert read(with_array("dual_coef.npy", np.ones((1, n_support())))).dual_coef_.sum() == n_support()


def n_support():
    return json.loads(dict(contents())["model.json"])["n_support"]


EDITS = {
    "unknown key": (lambda m: m.update(code="import os"), "'code' that is not known"),
    "missing key": (lambda m: m.pop("terms") and None, "no entry 'terms'"),
    "no format": (lambda m: m.pop("format") and None, "does not say that it is one"),
    "version 0": (lambda m: m.update(format_version=0), "format version"),
    "version true": (lambda m: m.update(format_version=True), "format version"),
    "version text": (lambda m: m.update(format_version="1"), "format version"),
    "not an object": (lambda m: [m], "does not say that it is one"),
    "estimator": (lambda m: m.update(estimator="Pipeline"), "no estimator 'Pipeline'"),
    "parameter": (lambda m: m["parameters"].update(gamma=1), "no parameter 'gamma'"),
    "kernel parameter": (lambda m: m["parameters"].update(kernel="RBF()"), "no parameter 'kernel'"),
    "made": (lambda m: m["parameters"].update(loss={"made": "Popen", "with": {}}), "not a value"),
    "made with": (lambda m: m["parameters"].update(loss={"made": "Hinge", "with": {"x": 1}}), "is damaged"),
    "kernel": (lambda m: m.update(kernel="__import__('os').system('true')"), "kernel cannot be read"),
    "kernel NUL": (lambda m: m.update(kernel="RBF()\0"), "kernel cannot be read"),
    "kernel list": (lambda m: m.update(kernel=[]), "wrong type"),
    "other kernel": (lambda m: m.update(kernel="RBF(2.0).on(0) + Linear()"), "terms are not those of its kernel"),
    "other columns": (lambda m: m.update(kernel="RBF(0.5).on(7) + Linear()"), "does not fit its data"),
    "no terms": (lambda m: m.update(terms=[]), "terms are not"),
    "term types": (lambda m: m.update(terms=[1, 2]), "terms are not"),
    "negative weight": (lambda m: m.update(weights=[-1.0, 1.0]), "below 0"),
    "weights count": (lambda m: m.update(weights=[1.0]), "finite numbers"),
    "weights infinite": (lambda m: m.update(weights=[{"number": "inf"}, 1.0]), "finite numbers"),
    "weights text": (lambda m: m.update(weights=["1", "2"]), "is damaged"),
    "weights ragged": (lambda m: m.update(weights=[[1.0], 2.0]), "is damaged"),
    "weights over scales": (lambda m: m.update(weights=[1e300, 1.0], scales=[1e-300, 1.0]), "too large for its scale"),
    "threads": (lambda m: m["parameters"].update(n_jobs="all"), "n_jobs"),
    "scales zero": (lambda m: m.update(scales=[0.0, 1.0]), "not above"),
    "n_support negative": (lambda m: m.update(n_support=-1), "n_support is -1"),
    "n_support huge": (lambda m: m.update(n_support=2**60), "shape"),
    "n_support other": (lambda m: m.update(n_support=m["n_support"] + 1), "shape"),
    "n_support true": (lambda m: m.update(n_support=True), "wrong type"),
    "n_support float": (lambda m: m.update(n_support=1.5), "wrong type"),
    "features": (lambda m: m.update(n_features_in=3), "3 features"),
    "feature names": (lambda m: m.update(feature_names_in=["a"]), "features"),
    "classes three": (lambda m: m.update(classes={"array": "int64", "values": [0, 1, 2]}), "shape"),
    "classes one": (lambda m: m.update(classes={"array": "int64", "values": [0]}), "at least two"),
    "classes twice": (lambda m: m.update(classes={"array": "int64", "values": [1, 1]}), "at least two"),
    "classes none": (lambda m: m.update(classes=None), "a classifier has classes"),
    "classes type": (lambda m: m.update(classes={"array": "int8", "values": [0, 1000]}), "is damaged"),
    "classes nested": (lambda m: m.update(classes={"array": "object", "values": [[1], [2]]}), "at least two"),
    "classes wide": (
        lambda m: m.update(classes={"array": "str", "values": ["a" * 10**5] + [str(i) for i in range(10**4)]}),
        "too large",
    ),
    "attribute": (lambda m: m["attributes"].update(predict=1), "not an attribute"),
    "attribute hidden": (lambda m: m["attributes"].update(__class__=1), "not an attribute"),
    "attribute placed": (lambda m: m["attributes"].update(dual_coef_=1), "not an attribute"),
    "training": (lambda m: m["training"].update(gap="small"), "wrong type"),
    "data kind": (lambda m: m.update(data={"kind": "pickle"}), "no data of kind 'pickle'"),
    "data loop": (lambda m: m.update(data={"kind": "views", "names": 1, "parts": [m["data"]] * 2}), "2 views"),
    "data twice": (lambda m: m.update(data={"kind": "views", "names": 2, "parts": [m["data"]] * 2}), "used twice"),
    "data unread": (lambda m: m.update(data={"kind": "unread"}), "nothing uses its array"),
    "data deep": (lambda m: m.update(data=nested(400)), "is damaged"),
    "array shape": (lambda m: m["arrays"]["support/0.npy"].update(shape=[2**60, 2]), "does not fit its shape"),
    "array negative": (lambda m: m["arrays"]["support/0.npy"].update(shape=[-1, 2]), "is said to be of shape"),
    "array order": (lambda m: m["arrays"]["support/0.npy"].update(order="F"), "header"),
    "array turned": (lambda m: m["arrays"]["support/0.npy"]["shape"].reverse(), "header"),
    "array object": (lambda m: m["arrays"]["support/0.npy"].update(dtype="|O"), "is said to be of"),
    "array digest": (lambda m: m["arrays"]["support/0.npy"].update(sha256="0" * 64), "digest of support/0.npy"),
    "array missing": (lambda m: m["arrays"].pop("support/0.npy") and None, "not of both"),
    "array extra": (lambda m: m["arrays"].update({"support/9.npy": m["arrays"]["support/0.npy"]}), "not of both"),
}


def nested(depth):
    node = {"kind": "unread"}
    for _ in range(depth):
        node = {"kind": "views", "names": 1, "parts": [node]}
    return node


@pytest.mark.parametrize("name", EDITS)
def test_row_24_crafted_json_is_refused_before_memory_is_taken(name):
    change, match = EDITS[name]
    data = edited(change)
    tracemalloc.start()
    try:
        refused(data, match)
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
    finally:
        tracemalloc.stop()


def test_row_25_json_that_is_not_plain_is_refused():
    text = dict(contents())["model.json"].decode()
    twice = text.replace('"n_support":', '"n_support": 3, "n_support":', 1)
    for broken, match in (
        (twice, "two entries 'n_support'"),
        (text.replace('"scales": [', '"scales": [NaN, ', 1), "holds NaN"),
        (text[:-1], "cannot be read"),
        ("[" * 100_000, "is damaged"),
        ('{"format": ' + "1" * 5000 + "}", "cannot be read"),
    ):
        assert broken != text
        refused(packed((dict(contents()) | {"model.json": broken.encode()}).items()), match)
    refused(packed((dict(contents()) | {"model.json": b"\xff\xfe"}).items()), "cannot be read")


def test_row_27_a_newer_version_says_what_is_needed():
    data = edited(lambda m: m.update(format_version=4, library_version="7.1", new_things=[]))
    refused(data, r"format version 4, and this kernelweave reads up to 3.*kernelweave 7\.1: install that version")


ARRAYS = {
    "NaN": ("dual_coef.npy", lambda n: np.full((1, n), np.nan), "NaN or infinity"),
    "infinity": ("intercept.npy", lambda n: np.array([np.inf]), "NaN or infinity"),
    "machines": ("dual_coef.npy", lambda n: np.ones((2, n)), "shape"),
    "samples": ("dual_coef.npy", lambda n: np.ones((1, n + 1)), "shape"),
    "whole numbers": ("dual_coef.npy", lambda n: np.ones((1, n), int), "type"),
    "numbers of samples": ("support.npy", lambda n: np.zeros(n, np.uint8), "do not grow"),
    "overflow": ("support.npy", lambda n: np.arange(n, dtype=np.uint64) + np.uint64(2**63), "do not grow"),
    "vector": ("support/0.npy", lambda n: np.ones(n), "shape"),
    "data NaN": ("support/0.npy", lambda n: np.full((n, 2), np.nan), "NaN or infinity"),
    "columns": ("support/0.npy", lambda n: np.ones((n, 3)), "features"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_row_24_crafted_arrays_are_refused(name):
    member, make, match = ARRAYS[name]
    refused(with_array(member, make(n_support())), match)


def test_arrays_of_objects_are_refused_without_running_them(tmp_path):
    array = np.array([Payload(tmp_path / "marker")] * n_support(), dtype=object)
    refused(with_array("support/0.npy", array), "is said to be of")
    refused(with_array("support/0.npy", array, dtype="<f8", shape=[n_support()]), "does not fit|header", memory=10**6)
    assert not (tmp_path / "marker").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_row_25_crafted_zips_are_refused(tmp_path):
    members = contents()
    refused(packed([*members, members[0]]), "two members")
    refused(packed([*members, ("model.json", b"{}")]), "two members")
    for name in ("../evil.npy", "/etc/passwd", "support/../x.npy", "support\\0.npy", "extra.txt", "model.pickle", "a/"):
        refused(packed([*members, (name, b"x")]), "not part of a model")
    refused(packed([*members, ("extra.npy", b"x")]), "not of both")
    refused(packed(members[:-1]), "without 'model.json'")
    refused(packed(members, method=zipfile.ZIP_BZIP2), "unusual way")
    assert read(packed(members, method=zipfile.ZIP_STORED)) is not None


def bomb(name, size, change=None):
    """A model file one member of which unpacks to as many zeros; it is made a piece at a time."""
    members, piece = dict(contents()), bytes(1 << 20)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        with file.open(name, "w") as member:
            if change is not None:
                head = io.BytesIO()
                np.lib.format.write_array_header_1_0(
                    head, {"descr": "<f8", "fortran_order": False, "shape": (n_support(), size // 8 // n_support())}
                )
                member.write(head.getvalue())
            for _ in range(size >> 20):
                member.write(piece)
        if change is not None:
            manifest = json.loads(members["model.json"])
            change(manifest)
            members["model.json"] = json.dumps(manifest).encode()
        for other, data in members.items():
            if other != name:
                file.writestr(other, data)
        file.comment = archive._SEAL + b"0" * 64
    archive.seal(out)
    return out.getvalue()


def test_row_26_zip_bombs_are_refused_before_memory_is_taken():
    size = 1 << 30
    size -= size % (n_support() << 20)

    def agree(manifest):
        manifest["arrays"]["support/0.npy"]["shape"] = [n_support(), size // 8 // n_support()]

    for data, match in (
        (bomb("model.json", size >> 3), "at most"),
        (bomb("support/0.npy", size >> 3), "does not fit its shape"),
        (bomb("support/0.npy", size, agree), "the budget is 500 MB"),
    ):
        assert len(data) < 10_000_000
        tracemalloc.start()
        try:
            refused(data, match, memory="500MB")
            assert tracemalloc.get_traced_memory()[1] < 1 << 25
        finally:
            tracemalloc.stop()


# -- crafted data of every kind ----------------------------------------------------------------------------------------


def unpacked(node, arrays, n):
    return Unpacker(arrays, n, 10**6).unpack(node)


CSR = {"kind": "csr", "width": 3, "data": "d", "indices": "i", "indptr": "p"}


@pytest.mark.parametrize(
    ("change", "indices", "indptr"),
    [
        ({}, [0, 3], [0, 1, 2]),
        ({}, [0, -1], [0, 1, 2]),
        ({}, [0, 1], [0, 2, 1]),
        ({}, [0, 1], [1, 1, 2]),
        ({}, [0, 1], [0, 1, 3]),
        ({}, [0, 1, 2], [0, 1, 3]),
        ({"width": -1}, [0, 1], [0, 1, 2]),
        ({"width": 2**60}, [0, 1], [0, 1, 2]),
        ({"width": "3"}, [0, 1], [0, 1, 2]),
    ],
)
def test_row_24_crafted_sparse_matrices_are_refused(change, indices, indptr):
    arrays = {"d": np.ones(2), "i": np.array([0, 2]), "p": np.array([0, 1, 2])}
    assert unpacked(CSR, arrays, 2).matrix().toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
    with pytest.raises(ModelFormatError):
        unpacked(CSR | change, arrays | {"i": np.array(indices), "p": np.array(indptr)}, 2)


SEQUENCES = {
    "alphabet": "dna", "asked": ["auto"], "length": None, "packed": False, "letters": "l", "offsets": "o",
    "unknown": "u", "notes": dict.fromkeys(["n_letters", "n_lower", "n_ambiguous", "n_u", "n_short"], 0),
}  # fmt: skip
ALPHABET = {"letters": "ABCD", "name": "c", "complement": None, "ambiguous": "", "aliases": ""}
PROTEIN = SEQUENCES | {"alphabet": "protein", "unknown": None}
LETTERS = {"l": np.array([0b00011011, 0b11000000], np.uint8), "o": np.array([0, 4, 5]), "u": np.array([1])}


def sequences_of(node, arrays, n=2):
    column = {"position": 0, "values": None, "sequences": [node]}
    return unpacked({"kind": "columns", "labels": 1, "columns": [column], "order": "C"}, arrays, n).sequences()


@pytest.mark.parametrize(
    ("node", "arrays"),
    [
        (SEQUENCES | {"alphabet": "klingon"}, {}),
        (SEQUENCES | {"alphabet": {"letters": "A"}}, {}),
        (SEQUENCES | {"length": 4}, {}),
        (SEQUENCES | {"offsets": None}, {}),
        (SEQUENCES | {"offsets": None, "length": -8}, {}),
        (SEQUENCES | {"offsets": None, "length": 2**60}, {}),
        (SEQUENCES | {"asked": [1]}, {}),
        (SEQUENCES | {"notes": {}}, {}),
        (SEQUENCES, {"o": np.array([0, 5, 4])}),
        (SEQUENCES, {"o": np.array([1, 4, 5])}),
        (SEQUENCES, {"o": np.array([0, 4, 9])}),
        (SEQUENCES, {"o": np.array([0, 4, 2**62])}),
        (SEQUENCES, {"o": np.array([0, 5])}),
        (SEQUENCES, {"u": np.array([5])}),
        (SEQUENCES, {"u": np.array([-1])}),
        (SEQUENCES, {"u": np.array([2, 1])}),
        (SEQUENCES, {"l": np.zeros(3, np.uint8)}),
        (SEQUENCES, {"l": np.zeros(2, np.uint16)}),
        (SEQUENCES | {"alphabet": ALPHABET | {"letters": "ABC"}}, {}),
        (SEQUENCES | {"alphabet": ALPHABET | {"aliases": "X"}}, {}),
        (PROTEIN, {"l": np.array([0, 1, 2, 3, 20], np.uint8)}),
    ],
)
def test_row_24_crafted_sequences_are_refused(node, arrays):
    assert list(sequences_of(SEQUENCES, LETTERS)) == ["ANGT", "T"]
    assert list(sequences_of(PROTEIN, LETTERS | {"l": np.array([0, 1, 2, 3, 255], np.uint8)})) == ["ACDE", "X"]
    with pytest.raises(ModelFormatError):
        sequences_of(node, LETTERS | arrays)


@pytest.mark.parametrize(
    "change",
    [
        {"labels": 2**50},
        {"labels": -1},
        {"labels": ["a", "a"]},
        {"labels": [["a"], "b"]},
        {"labels": 1},
        {"columns": [{"position": 1, "values": "v", "sequences": []}] * 2},
        {"columns": [{"position": -1, "values": "v", "sequences": []}]},
        {"columns": [{"position": 1, "values": 7, "sequences": []}]},
        {"columns": [{"position": 1, "values": "w", "sequences": []}]},
        {"columns": [1]},
    ],
)
def test_row_24_crafted_columns_are_refused(change):
    node = {"kind": "columns", "labels": ["a", "b"], "order": "C"}
    node |= {"columns": [{"position": 1, "values": "v", "sequences": []}]}
    assert unpacked(node, {"v": np.arange(3)}, 3).select("b").ids().tolist() == [0, 1, 2]
    with pytest.raises(ModelFormatError):
        unpacked(node | change, {"v": np.arange(3)}, 3)
