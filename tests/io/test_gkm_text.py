"""Models of LS-GKM and gkmsvm-lite: what they say of sequences is what their files say."""

import contextlib
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import naive_pairs as naive
from kernelweave import GappedKmer, Gaussian, ModelFormatError, load, save
from kernelweave.cli.app import cli
from kernelweave.estimators.converted import from_gkm
from kernelweave.io.gkm_pairs import read_pair
from kernelweave.sequences import DNA

RNG = np.random.default_rng(0)
SUPPORT = ["".join(RNG.choice(list("ACGT"), n)) for n in (12, 20, 20, 31, 40, 25)]
COEF = RNG.normal(size=6).round(4)
ASKED = ["".join(RNG.choice(list("ACGT"), n)) for n in (9, 20, 33)]
#: Names in files: the filter, centre weights, and gamma.
KINDS = {
    "gkm_cnt": ("gapped", None, None),
    "gkm_estfull": ("full", None, None),
    "gkm_esttrunc": ("truncated", None, None),
    "gkmrbf": ("truncated", None, 2.0),
    "wgkm": ("truncated", (50, 10.0), None),
    "wgkmrbf": ("truncated", (50, 10.0), 2.0),
}


def model_text(kind, norc=0, label="1 -1", svm_type="c_svc", coef=COEF, support=SUPPORT):
    _, center, gamma = KINDS[kind]
    lines = [f"svm_type {svm_type}", f"kernel_type {kind}", "L 5", "k 3", "d 3", f"norc {norc}"]
    lines += [] if gamma is None else [f"gamma {gamma:g}"]
    lines += [] if center is None else [f"M {center[0]}", f"H {center[1]:g}"]
    lines += ["nr_class 2", f"total_sv {len(coef)}", "rho 0.125"]
    lines += [] if label is None else [f"label {label}", "nr_sv 3 3"]
    return "\n".join([*lines, "SV", *(f"{a:.16g} {s}" for a, s in zip(coef, support, strict=True))]) + "\n"


def expected(kind, norc=0):
    """The values of the file, by the definitions."""
    filter_, center, gamma = KINDS[kind]
    profile = naive.filtered_profile(5, 3, 4, filter_, 3)
    K = naive.cosine(ASKED, SUPPORT, DNA, profile, not norc, center)
    return (K if gamma is None else np.exp(gamma * (K - 1.0))) @ COEF - 0.125


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("norc", [0, 1])
def test_decision_values_are_those_of_the_file(kind, norc, tmp_path):
    path = tmp_path / "some.model.txt"
    path.write_text(model_text(kind, norc))
    model = from_gkm(path)
    np.testing.assert_allclose(model.decision_function(ASKED), expected(kind, norc), atol=1e-10)
    assert model.classes_.tolist() == [-1, 1]
    save(model, tmp_path / "model.kw")
    again = load(tmp_path / "model.kw")
    np.testing.assert_array_equal(again.decision_function(ASKED), model.decision_function(ASKED))
    assert "LS-GKM" in again.stop_reason_


def test_labels_regression_gzip_and_letters(tmp_path):
    path = tmp_path / "some.model.txt"
    path.write_text(model_text("gkm_esttrunc", label="-1 1"))
    np.testing.assert_allclose(from_gkm(path).decision_function(ASKED), -expected("gkm_esttrunc"), atol=1e-10)
    path.write_bytes(gzip.compress(model_text("gkm_cnt", label=None, svm_type="epsilon_svr").encode()))
    np.testing.assert_allclose(from_gkm(path).predict(ASKED), expected("gkm_cnt"), atol=1e-10)
    path.write_text(model_text("gkm_cnt", support=[s.replace("A", "n", 1).lower() for s in SUPPORT]))
    np.testing.assert_allclose(from_gkm(path).decision_function(ASKED), expected("gkm_cnt"), atol=1e-10)


def one_hot(sequence):
    return np.array([[c == letter for c in sequence] for letter in "ACGT"], dtype=np.float32)


def write_arrays(path, kind, support, **changed):
    told = {"bias": -0.125, "kernel_type": kind, "kernel_params": {"L": 5, "k": 3, "d": 3, "include_rc": True}}
    told["kernel_params"] |= {"gamma": 0.5}
    arrays = {"support_sequences": np.stack([one_hot(s) for s in support]), "coefficients": COEF.astype(np.float32)}
    np.savez(path, **(arrays | {"metadata": np.void(json.dumps(told).encode())} | changed))


def test_arrays_of_gkmsvm_lite(tmp_path):
    support, path = [(s * 3)[:30] for s in SUPPORT], tmp_path / "model.npz"
    profile = naive.filtered_profile(5, 3, 4, "truncated", 3)
    write_arrays(path, "gkm_esttrunc", support)
    K = naive.cosine(ASKED, support, DNA, profile, True)
    values = from_gkm(path).decision_function(ASKED)
    np.testing.assert_allclose(values, K @ COEF.astype(np.float32) - 0.125, atol=1e-9)
    write_arrays(path, "gkmrbf", support)
    own = [np.diagonal(naive.matrix(Z, Z, DNA, profile, True)) for Z in (ASKED, support)]
    apart = own[0][:, None] + own[1] - 2 * naive.matrix(ASKED, support, DNA, profile, True)
    values = from_gkm(path).decision_function(ASKED)
    np.testing.assert_allclose(values, np.exp(-0.5 * apart) @ COEF.astype(np.float32) - 0.125, atol=1e-9)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"coefficients": COEF[:3]}, "one coefficient for every support sequence"),
        ({"metadata": np.void(b"{")}, "no model of gkmsvm-lite"),
        ({"support_sequences": np.zeros((6, 4, 20))}, "letters other than A, C, G and T"),
    ],
)
def test_damaged_arrays(changed, message, tmp_path):
    write_arrays(tmp_path / "model.npz", "gkm_cnt", [(s * 3)[:20] for s in SUPPORT], **changed)
    with pytest.raises(ModelFormatError, match=message):
        from_gkm(tmp_path / "model.npz")
    write_arrays(tmp_path / "model.npz", "wgkm", [(s * 3)[:20] for s in SUPPORT])
    with pytest.raises(ModelFormatError, match="weighs letters inside of words"):
        from_gkm(tmp_path / "model.npz")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("svm_type c_svc\n", "", "does not begin with svm_type"),
        ("c_svc", "one_class", "has svm_type 'one_class'"),
        ("wgkmrbf", "linear", "has kernel_type 'linear'; there are gkm_cnt"),
        ("L 5", "L 50", "L is 50 and k is 3"),
        ("k 3", "k three", "'three' in k is not a finite number"),
        ("d 3", "d 3.5", "d is 3.5, not a whole number"),
        ("gamma 2", "gamma -1", "gamma is -1"),
        ("H 10", "H 0", "H is 0"),
        ("M 50\n", "", "has no M"),
        ("rho 0.125\n", "", "has no rho"),
        ("rho 0.125", "rho nan", "'nan' in rho is not a finite number"),
        ("label 1 -1", "label 1 1", "two that differ"),
        ("total_sv 6", "total_sv 7", "has 6 support sequences, and says 7"),
        ("\nSV\n", "\n", "no line SV"),
        (SUPPORT[2], "12", "'12' in line 18 is not a sequence"),
        (" " + SUPPORT[2], "", "line 18 is not a coefficient and a sequence"),
        ("nr_class 2", "L 5", "line 10 is not a name and its value, or comes again"),
    ],
)
def test_damaged_texts(old, new, message, tmp_path):
    path, text = tmp_path / "some.model.txt", model_text("wgkmrbf")
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFormatError, match=message):
        from_gkm(path)


def test_the_command(tmp_path):
    path, out = tmp_path / "some.model.txt", tmp_path / "model.kw"
    path.write_text(model_text("wgkm"))
    done = CliRunner().invoke(cli, ["convert", str(path), str(out)])
    assert done.exit_code == 0, done.output
    assert "6 support sequences" in done.output
    np.testing.assert_allclose(load(out).decision_function(ASKED), expected("wgkm"), atol=1e-10)
    done = CliRunner().invoke(cli, ["convert", str(path), "--output", str(out), "--json"])
    assert json.loads(done.output)["support"] == 6
    done = CliRunner().invoke(cli, ["convert", str(path)])
    assert done.exit_code == 2
    assert "give it and the model file to write" in done.output


# -- gkmSVM for R ----------------------------------------------------------------------------------------------------


def write_pair(folder, coef=COEF, support=SUPPORT):
    """As `gkmsvm_train` does: names and coefficients in one file, lower-case FASTA in the other."""
    rows = [f"s{i}\t{a:11.6e}" for i, a in enumerate(coef)]
    (folder / "test_svalpha.out").write_text("\n".join(rows) + "\n")
    records = [f">s{i}\n{s[:15].lower()}\n{s[15:].lower()}" for i, s in enumerate(support)]
    (folder / "test_svseq.fa").write_text("\n".join(records[::-1]) + "\n")


def r_values(length, k, most, filter="truncated", both=True):
    profile = naive.filtered_profile(length, k, 4, filter, most)
    return naive.cosine(ASKED, SUPPORT, DNA, profile, both) @ COEF


@pytest.mark.parametrize("name", ["test_svalpha.out", "test_svseq.fa"])
def test_pairs_of_files_of_gkmsvm(name, tmp_path):
    write_pair(tmp_path)
    kernel = "GappedKmer(5, 3, True, 'dna', filter='truncated', max_mismatches=3).normalized()"
    model = from_gkm(tmp_path / name, kernel=kernel)
    np.testing.assert_allclose(model.decision_function(ASKED), r_values(5, 3, 3), atol=1e-6)
    assert model.stop_reason_ == "converted from gkmSVM"
    usual = from_gkm(tmp_path / name).kernel_
    assert repr(usual) == repr(read_pair(tmp_path / name).kernel)
    assert "k=6, length=10, max_mismatches=3" in repr(usual)


def test_one_file_of_gkmsvm(tmp_path):
    rows = [f">s{i}\t{a:11.6e}\n{s}" for i, (a, s) in enumerate(zip(COEF, SUPPORT, strict=True))]
    path = tmp_path / "test.gkmmodel"
    path.write_text("\n".join(["#gkmmodel 1", "#rho 2.5e-1", "#nsv 6", *rows]) + "\n")
    model = from_gkm(path, kernel="GappedKmer(4, 2, alphabet='dna', filter='full', max_mismatches=2).normalized()")
    np.testing.assert_allclose(model.decision_function(ASKED), r_values(4, 2, 2, "full", False) - 0.25, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("test_svalpha.out", "s2\t", "s2 ", "line 3 of .* is not a name and its coefficient"),
        ("test_svalpha.out", "s2\t", "s1\t", "comes again"),
        ("test_svalpha.out", "s2\t", "x\t", "has no sequence 'x'"),
        ("test_svalpha.out", "e-0", "f-0", "not a finite number"),
        ("test_svseq.fa", ">s5\n", "", "where a header should be"),
        ("test_svseq.fa", ">s4", ">s5", "comes again"),
        ("test_svseq.fa", "a", "7", "is not a sequence"),
    ],
)
def test_damaged_pairs(name, old, new, message, tmp_path):
    write_pair(tmp_path)
    text = (tmp_path / name).read_text()
    assert old in text
    (tmp_path / name).write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFormatError, match=message):
        from_gkm(tmp_path / "test_svalpha.out")


def test_pairs_by_the_command(tmp_path):
    write_pair(tmp_path)
    out, given = tmp_path / "model.kw", str(tmp_path / "test_svalpha.out")
    done = CliRunner().invoke(cli, ["convert", given, str(out), "--kernel", "GappedKmer(5, 3, True).normalized()"])
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(load(out).decision_function(ASKED), r_values(5, 3, 5, "gapped"), atol=1e-6)
    told = CliRunner().invoke(cli, ["inspect", str(out)])
    assert told.exit_code == 0
    assert "nan" not in told.output.lower()
    told = json.loads(CliRunner().invoke(cli, ["inspect", str(out), "--json"]).output)
    assert {"objective", "gap", "converged"} & told.keys() == set()
    assert told["stopped"] == "converted from gkmSVM"
    (tmp_path / "some.model.txt").write_text(model_text("wgkm"))
    done = CliRunner().invoke(cli, ["convert", str(tmp_path / "some.model.txt"), str(out), "--kernel", "Spectrum(3)"])
    assert "names its kernel itself" in done.output
    (tmp_path / "test_svseq.fa").unlink()
    done = CliRunner().invoke(cli, ["convert", given, str(out)])
    assert done.exit_code != 0
    assert "test_svseq.fa" in done.output


def test_damage_at_random_is_a_clear_error(tmp_path, rng):
    write_pair(tmp_path)
    for name in ("test_svalpha.out", "test_svseq.fa"):
        whole = (tmp_path / name).read_bytes()
        for _ in range(300):
            damaged = bytearray(whole)
            for at in rng.integers(0, len(damaged), 1 + rng.integers(3)):
                damaged[at] = rng.integers(256)
            (tmp_path / name).write_bytes(
                bytes(damaged[: rng.integers(len(damaged))] if rng.random() < 0.3 else damaged)
            )
            with contextlib.suppress(ModelFormatError):
                assert len(read_pair(tmp_path / name).coef) > 0
        (tmp_path / name).write_bytes(whole)


# -- another program -------------------------------------------------------------------------------------------------

WITNESS = json.loads((Path(__file__).parents[1] / "data" / "gkmsvm_lite.json").read_text(encoding="ascii"))


@pytest.mark.parametrize("entry", WITNESS["entries"], ids=lambda e: f"{e['kind']}-{e['length']}-{e['both']}")
def test_values_of_another_program(entry, tmp_path):
    """Kernels to 1e-9, and decision values of the same machine from a file of either kind, to six digits and more."""
    X, coef, bias = WITNESS["sequences"], np.array(WITNESS["coef"]), WITNESS["bias"]
    filter_ = KINDS[entry["kind"]][0]
    most = None if filter_ == "gapped" else entry["d"]
    kernel = GappedKmer(entry["length"], entry["k"], entry["both"], "dna", filter=filter_, max_mismatches=most)
    rbf = entry["kind"] == "gkmrbf"
    kernel = Gaussian(kernel, 2 * entry["gamma"]) if rbf else kernel.normalized()
    np.testing.assert_allclose(kernel(X)[: len(entry["kernel"])], entry["kernel"], atol=1e-9)
    given = {"L": entry["length"], "k": entry["k"], "include_rc": entry["both"], "gamma": entry["gamma"]}
    given |= {} if most is None else {"d": most}
    told = {"bias": bias, "kernel_type": entry["kind"], "kernel_params": given}
    arrays = {"support_sequences": np.stack([one_hot(s) for s in X[:6]]), "coefficients": coef}
    np.savez(tmp_path / "model.npz", metadata=np.void(json.dumps(told).encode()), **arrays)
    np.testing.assert_allclose(from_gkm(tmp_path / "model.npz").decision_function(X), entry["values"], rtol=1e-8)
    if not rbf:  # in the text of LS-GKM a Gaussian is one of the divided kernel
        head = ["svm_type c_svc", f"kernel_type {entry['kind']}", f"L {entry['length']}", f"k {entry['k']}"]
        head += [] if most is None else [f"d {most}"]
        head += [
            f"norc {int(not entry['both'])}",
            "nr_class 2",
            "total_sv 6",
            f"rho {-bias}",
            "label 1 -1",
            "nr_sv 3 3",
        ]
        rows = [f"{a:.16g} {s}" for a, s in zip(coef, X[:6], strict=True)]
        (tmp_path / "model.txt").write_text("\n".join([*head, "SV", *rows]) + "\n")
        np.testing.assert_allclose(from_gkm(tmp_path / "model.txt").decision_function(X), entry["values"], rtol=1e-8)
