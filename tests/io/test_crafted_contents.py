"""Model files and checkpoints whose digests are right and whose contents are not: one error, and it names the part."""

import hashlib
import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kernelweave as kw
from kernelweave.errors import CheckpointError, InputError, ModelFormatError
from kernelweave.io import archive
from kernelweave.io.checkpoint import Checkpoint
from kernelweave.io.intervals import read_regions
from kernelweave.io.plain import grows
from kernelweave.io.support import Unpacker
from kernelweave.norms import Fixed, LpNorm, Simplex, WeightNorm

FIRST = -(2**63)


# -- checkpoints -------------------------------------------------------------------------------------------------------


@pytest.fixture
def half_done(tmp_path, blobs):
    """A fit, and the checkpoint that it left when it was stopped."""
    X, y = blobs
    model, path = kw.MKLClassifier("RBF(0.2) + Linear() + RBF(2.0)", solver="silp"), tmp_path / "run.checkpoint"
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_iter=2, tol=1e-6).fit(X, y, checkpoint=path)
    return model.set_params(max_iter=1000), X, y, path


def rows_of(arrays, change):
    arrays["rows/0.npy"] = change(arrays["rows/0.npy"])


CONTENTS = {
    "weights outside": lambda m, a: a.update({"weights/0.npy": np.array([1.0, 1.0, 1.0])}),
    "weights inside": lambda m, a: a.update({"weights/0.npy": np.array([0.1, 0.1, 0.1])}),
    "weights zero": lambda m, a: a.update({"weights/0.npy": np.zeros(3)}),
    "weights negative": lambda m, a: a.update({"weights/0.npy": np.array([2.0, -1.0, 0.0])}),
    "weights nan": lambda m, a: a.update({"weights/0.npy": np.array([np.nan, 1.0, 0.0])}),
    "weights float16": lambda m, a: a.update({"weights/0.npy": np.array([0.5, 0.25, 0.25], np.float16)}),
    "weights of seven": lambda m, a: a.update({"weights/0.npy": np.ones(7) / 7}),
    "weights matrix": lambda m, a: a.update({"weights/0.npy": np.ones((1, 3)) / 3}),
    "values nan": lambda m, a: a.update({"values/0.npy": np.full_like(a["values/0.npy"], np.nan)}),
    "values infinite": lambda m, a: a.update({"values/0.npy": np.full_like(a["values/0.npy"], np.inf)}),
    "values float16": lambda m, a: a.update({"values/0.npy": a["values/0.npy"].astype(np.float16)}),
    "values short": lambda m, a: a.update({"values/0.npy": a["values/0.npy"][:1]}),
    "rows negative": lambda m, a: rows_of(a, lambda rows: rows - 1 - rows[0]),
    "rows beyond": lambda m, a: rows_of(a, lambda rows: rows + 60),
    "rows twice": lambda m, a: rows_of(a, lambda rows: np.repeat(rows, 2)[: len(rows)]),
    "rows backwards": lambda m, a: rows_of(a, lambda rows: rows[::-1].copy()),
    "rows that wrap": lambda m, a: rows_of(a, lambda rows: np.r_[rows[:1], FIRST, -1, rows[3:]]),
    "rows as numbers": lambda m, a: rows_of(a, lambda rows: rows.astype(float)),
    "cuts nan": lambda m, a: a.update({"cut_values/0.npy": a["cut_values/0.npy"] * np.nan}),
    "cuts of two machines": lambda m, a: a.update({"cut_values/0.npy": np.repeat(a["cut_values/0.npy"], 2, axis=1)}),
    "cuts beyond": lambda m, a: a.update({"cut_rows/0.npy": a["cut_rows/0.npy"] + 60}),
    "cuts that end early": lambda m, a: a.update({"cut_ends/0.npy": a["cut_ends/0.npy"] - 1}),
    "cuts that run backwards": lambda m, a: a.update({"cut_ends/0.npy": np.r_[FIRST, a["cut_ends/0.npy"]]}),
    "cuts without values": lambda m, a: a.pop("cut_values/0.npy"),
    "an array too many": lambda m, a: a.update({"rows/7.npy": np.arange(3)}),
    "a bound that is believed": lambda m, a: m["problems"][0].update(lower=1e9),
    "two machines": lambda m, a: m["problems"][0].update(machines=[0, None]),
    "machines text": lambda m, a: m["problems"][0].update(machines="0"),
    "machine of a list": lambda m, a: m["problems"][0].update(machines=[[0]]),
    "the same twice": lambda m, a: m.update(problems=m["problems"] * 2),
    "problem negative": lambda m, a: m["problems"][0].update(number=-1),
    "problem true": lambda m, a: m["problems"][0].update(number=False),
    "problems object": lambda m, a: m.update(problems={"0": m["problems"][0]}),
    "an entry too many": lambda m, a: m.update(code="import os"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_checkpoint_that_no_fit_has_written_is_refused(name, half_done):
    model, X, y, path = half_done
    manifest, arrays = Checkpoint(path).read()
    CONTENTS[name](manifest, arrays)
    Checkpoint(path).write(manifest, arrays, replaces=False)
    with pytest.raises(CheckpointError, match=r"does not hold what a checkpoint holds.*restart=True"):
        model.fit(X, y, checkpoint=path)
    assert model.fit(X, y, checkpoint=Checkpoint(path, restart=True)).converged_


class Halves(WeightNorm):
    """No weight above one half, and no way to scale weights into the set."""

    def dual_norm(self, quad):
        return 0.5 * float(np.maximum(quad, 0.0).sum())


@pytest.mark.parametrize(
    ("norm", "weights", "inside"),
    [
        (Simplex(), [0.25, 0.75], True),
        (Simplex(), [0.25, 0.7], False),
        (Simplex(), [0.0, 0.0], False),
        (LpNorm(2.0), [0.6, 0.8], True),
        (LpNorm(2.0), [0.5, 0.5], False),
        (Fixed(), [1.0, 1.0], True),
        (Fixed(), [1.0, 2.0], False),
        (Fixed(np.array([0.0, 3.0])), [0.0, 3.0], True),
        (Halves(), [0.5, 0.1], True),
        (Halves(), [0.6, 0.1], False),
    ],
)
def test_weights_lie_in_the_set_of_their_norm(norm, weights, inside):
    assert norm.holds(np.array(weights)) is inside


# -- models ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    """The parts of a small model file."""
    y = np.arange(12) % 2
    X = np.random.default_rng(0).normal(size=(12, 2)) + y[:, None]
    path = tmp_path_factory.mktemp("model") / "model.kw"
    kw.save(kw.MKLClassifier("RBF(0.5) + Linear()").fit(X, y), path)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def sealed(data):
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def packed(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        file.comment = archive._SEAL + b"0" * 64
    return sealed(out.getvalue())


def with_array(members, name, array):
    raw = io.BytesIO()
    np.lib.format.write_array(raw, array, version=(1, 0))
    manifest = json.loads(members["model.json"])
    said = {"dtype": array.dtype.str, "shape": list(array.shape), "order": "C"}
    manifest["arrays"][name] = said | {"sha256": hashlib.sha256(raw.getvalue()).hexdigest()}
    return packed(members | {name: raw.getvalue(), "model.json": json.dumps(manifest).encode()})


def array_of(members, name):
    return np.lib.format.read_array(io.BytesIO(members[name]))


@pytest.mark.parametrize("name", ["dual_coef.npy", "intercept.npy"])
@pytest.mark.parametrize("dtype", ["<f2", "<f4"])
def test_coefficients_are_float64(name, dtype, members, tmp_path):
    path, array = tmp_path / "model.kw", array_of(members, name)
    path.write_bytes(with_array(members, name, array))
    kw.load(path)
    path.write_bytes(with_array(members, name, array.astype(dtype)))
    with pytest.raises(ModelFormatError, match="coefficients are float64"):
        kw.load(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["dual_coef.npy", "intercept.npy", "support/0.npy"])
def test_numbers_that_are_not_finite_are_refused(name, value, members, tmp_path):
    array = array_of(members, name)
    array.reshape(-1)[0] = value
    (tmp_path / "model.kw").write_bytes(with_array(members, name, array))
    with pytest.raises(ModelFormatError, match="NaN or infinity"):
        kw.load(tmp_path / "model.kw")


def test_a_small_file_does_not_unpack_to_a_large_model(members, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "SMALL_ARRAYS", 1 << 20)
    n = array_of(members, "support/0.npy").shape[0]
    (tmp_path / "model.kw").write_bytes(with_array(members, "support/0.npy", np.zeros((n, 1 << 16))))
    assert (tmp_path / "model.kw").stat().st_size < 20_000
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError, match=r"the budget is .*load\(path, memory="):
            kw.load(tmp_path / "model.kw")
        assert tracemalloc.get_traced_memory()[1] < 1 << 21
    finally:
        tracemalloc.stop()
    with pytest.raises(ModelFormatError, match="features"):  # read now, and compared with the rest
        kw.load(tmp_path / "model.kw", memory="100MB")


def test_budgets_follow_the_size_of_the_file():
    assert archive.arrays_budget(0) == archive.SMALL_ARRAYS < 512 << 20
    assert archive.arrays_budget(10**6) == archive.SMALL_ARRAYS + 10**8
    assert archive.arrays_budget(10**15) < 10**15


def test_json_text_and_strings_that_unpack_to_too_much_are_refused(members, tmp_path):
    manifest = json.loads(members["model.json"])
    long = manifest | {"library_version": "x" * (archive.SMALL_MANIFEST + 10**6)}
    wide = {"array": "str", "values": ["a" * 5000, *map(str, range(1000))]}
    many = manifest | {"attributes": manifest["attributes"] | {f"x{i}_": wide for i in range(3)}}
    for one, match in ((long, "at most"), (many, "arrays of strings are too large")):
        (tmp_path / "model.kw").write_bytes(packed(members | {"model.json": json.dumps(one).encode()}))
        with pytest.raises(ModelFormatError, match=match):
            kw.load(tmp_path / "model.kw")


def moved(data, where, value):
    """The file with another number in the last record of the zip, which says where the directory is."""
    end = data.rindex(b"PK\5\6")
    return sealed(data[: end + where] + struct.pack("<I", value) + data[end + where + 4 :])


@pytest.mark.parametrize("where", [12, 16], ids=["size of the directory", "offset of the directory"])
@pytest.mark.parametrize("shift", [-1, 1, 46, 10**6, 2**31])
def test_places_outside_of_the_file_are_not_an_error_of_the_disk(where, shift, members, tmp_path):
    data, path = packed(members), tmp_path / "model.kw"
    end = data.rindex(b"PK\5\6")
    value = (struct.unpack_from("<I", data, end + where)[0] + shift) % 2**32
    path.write_bytes(moved(data, where, value))
    with pytest.raises(ModelFormatError, match="is damaged"):
        kw.load(path)
    with pytest.raises(ModelFormatError, match="is damaged"):
        archive.read_archive(io.BytesIO(path.read_bytes()), None, only_manifest=True)


def test_errors_of_the_disk_stay_what_they_are(members):
    class Broken(io.BytesIO):
        def read(self, size=-1):
            if 0 < size < 1000 and self.tell() > 100:
                raise OSError(5, "Input/output error")
            return super().read(size)

    with pytest.raises(OSError, match="Input/output error"):
        archive.read_archive(Broken(packed(members)), None)


def test_numbers_that_wrap_around_are_out_of_order():
    assert grows(np.array([1, 1, 2]))
    assert not grows(np.array([1, 1, 2]), strictly=True)
    assert grows(np.empty(0, np.int64), strictly=True)
    assert not grows(np.array([5, FIRST, -1, 7]), strictly=True)
    node = {
        "alphabet": "dna", "asked": [], "length": 8, "packed": False, "letters": "l", "offsets": None, "unknown": "u",
        "notes": dict.fromkeys(["n_letters", "n_lower", "n_ambiguous", "n_u", "n_short"], 0),
    }  # fmt: skip
    column = {"position": 0, "values": None, "sequences": [node]}
    arrays = {"l": np.zeros(2, np.uint8), "u": np.array([5, FIRST, -1, 7])}
    with pytest.raises(ModelFormatError, match="outside of the sequences"):
        Unpacker(arrays, 1, 10**6).unpack({"kind": "columns", "labels": 1, "columns": [column], "order": "C"})


@pytest.mark.parametrize("start", ["9" * 5000, "9" * 19, "²", "٣", "-1", ""])
def test_places_in_bed_files_are_plain_digits(start, tmp_path):
    (tmp_path / "a.bed").write_text(f"chr1\t{start}\t{'9' * 18}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 1: a BED row"):
        read_regions(tmp_path / "a.bed")


@pytest.mark.parametrize("offset", [None, [], [0.0], {"array": "float64", "values": []}, "0", 1e300])
def test_an_offset_that_is_not_that_of_the_machine_is_refused(offset, tmp_path):
    model = kw.MKLOneClass("RBF(0.5)").fit(np.random.default_rng(0).normal(size=(20, 2)))
    kw.save(model, tmp_path / "m.kw")
    with zipfile.ZipFile(tmp_path / "m.kw") as file:
        found = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(found["model.json"])
    assert "offset_" in manifest["attributes"]
    manifest["attributes"]["offset_"] = offset
    (tmp_path / "crafted.kw").write_bytes(packed(found | {"model.json": json.dumps(manifest).encode()}))
    with pytest.raises(ModelFormatError, match="damaged"):
        kw.load(tmp_path / "crafted.kw")
