"""Models of LS-GKM and gkmsvm-lite: what they say of sequences is what their files say."""

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner

import naive_pairs as naive
from kernelweave import ModelFormatError, load, save
from kernelweave.cli.app import cli
from kernelweave.estimators.converted import from_gkm
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
