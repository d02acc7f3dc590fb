"""What prints can be typed back, and nothing else is read."""

import contextlib
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strategies
from kernelweave import RBF, Frozen, InputError, Laplacian, Linear, Precomputed, parse, per_feature


@given(strategies.expressions)
@example(Linear().on("a\\") + Linear().on(")+("))
@example(Linear().on("'\\'") + Linear().on('"\\"'))
@example((Linear() + RBF()) * Laplacian())
@example(RBF() * (2.0 * Linear()) + 1e300 * RBF(1e-300))
@example(Linear().on("\n\t\0 é 字 {} # + *"))
@example(2.0 * RBF() * (Linear() + Linear()).normalized())
def test_parse_reads_what_repr_prints(kernel):
    matrices = {leaf.label: leaf.K for leaf in kernel.leaves() if isinstance(leaf, Precomputed)}
    same_names = len(matrices) == len({(leaf.label, id(leaf.K)) for leaf in kernel.leaves() if hasattr(leaf, "K")})
    again = parse(repr(kernel), matrices)
    assert repr(again) == repr(kernel)
    if same_names:
        assert again == kernel
        assert hash(again) == hash(kernel)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("RBF(0.5)", RBF(0.5)),
        (" RBF( gamma = 5e-1 )\n+ Linear( ) ", RBF(0.5) + Linear()),
        ("RBF(1e+3)+Linear()", RBF(1e3) + Linear()),
        ("1e+1*RBF()+Linear()", 10.0 * RBF() + Linear()),
        ("Linear() * 2", 2 * Linear()),
        ("(RBF() + Linear()) * Laplacian()", (RBF() + Linear()) * Laplacian()),
        ("RBF() * (Linear() + Linear())", RBF() * (Linear() + Linear())),
        ("(RBF() + Linear()).on(['a', 'b'])", RBF().on(["a", "b"]) + Linear().on(["a", "b"])),
        ("Frozen(RBF() + Linear()).on(('a', 1))", Frozen(RBF() + Linear()).on(("a", 1))),
        ("per_feature(RBF(0.5) + Linear())", per_feature(RBF(0.5) + Linear())),
        ("Linear().on(-1)", Linear().on(-1)),
        ("Linear().on(slice(None, 3))", Linear().on(slice(3))),
        ("Linear().normalized().on('x')", Linear().normalized().on("x")),
    ],
)
def test_texts_people_type(text, kernel):
    assert parse(text) == kernel


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "RBF(",
        "RBF()) + (RBF()",
        "RBF() - Linear()",
        "RBF() / 2",
        "RBF() ** 2",
        "2",
        "'RBF()'",
        "2 + 3",
        "2 * 3",
        "RBF() + 1",
        "-RBF()",
        "-1 * RBF()",
        "RBF",
        "RBF()()",
        "RBF().__class__",
        "RBF().__class__()",
        "RBF().__init__(1)",
        "RBF().get_params()",
        "RBF().set_params(gamma=1)",
        "RBF().compute(1, 2)",
        "RBF().on.__func__(1)",
        "().__class__.__bases__[0]",
        "__import__('os').system('true')",
        "eval('1')",
        "open('/etc/passwd')",
        "exec('x=1')",
        "getattr(RBF(), 'on')('x')",
        "(lambda: RBF())()",
        "[RBF() for _ in range(3)]",
        "{RBF(): 1}",
        "{1}",
        "RBF() if True else Linear()",
        "RBF() and Linear()",
        "(x := RBF())",
        "RBF(*[1])",
        "RBF(**{'gamma': 1})",
        "RBF(gamma=__name__)",
        "RBF(wide=1)",
        "RBF(1, 2)",
        "RBF(gamma=1j)",
        "RBF(gamma=b'x')",
        "f'{RBF()}'",
        "RBF(); RBF()",
        "RBF()\nRBF()",
        "await RBF()",
        "Sum((RBF(),))",
        "Function(print)",
        "Precomputed('x')",
        "Precomputed(K=[[1]])",
        "Frozen()",
        "Frozen(1)",
        "per_feature('x')",
        "slice(1)",
        "RBF().on()",
        "RBF().split('position')",
        "\x00",
        "RBF()\x00",
    ],
)
def test_anything_else_is_refused(text):
    with pytest.raises(InputError):
        parse(text)


@pytest.mark.parametrize("value", [None, 3, b"RBF()", RBF()])
def test_only_text_is_read(value):
    with pytest.raises(InputError, match="parse reads text"):
        parse(value)


@given(st.text(max_size=30))
def test_random_text_is_a_kernel_or_an_input_error(text):
    with contextlib.suppress(InputError):
        assert repr(parse(text))


@pytest.mark.parametrize(
    "deep", ["(" * 5000 + "RBF()" + ")" * 5000, "Frozen(" * 3000 + "RBF()" + ")" * 3000, "-" * 9999]
)
def test_deep_nesting_is_refused(deep):
    with pytest.raises(InputError):
        parse(deep)


def test_long_sums_are_read_quickly():
    text = " + ".join(f"{i}.5 * RBF(gamma=0.25).on('column {i}')" for i in range(20_000))
    started = time.perf_counter()
    kernel = parse(text)
    assert time.perf_counter() - started < 20.0, "reading must not be quadratic in the number of terms"
    assert len(kernel.kernels) == 20_000
    assert repr(kernel) == text


def test_errors_teach():
    with pytest.raises(InputError, match="did you mean Laplacian"):
        parse("Laplace(0.5)")
    with pytest.raises(InputError, match=r"there are .*Polynomial"):
        parse("Qwertz()")
    with pytest.raises(InputError, match=r"only \+ and \* join kernels"):
        parse("RBF() - Linear()")
    with pytest.raises(InputError, match="matrices="):
        parse("Precomputed(name='mine')")([0])


def test_matrices_come_by_name():
    K = np.eye(3)
    assert parse("2.0 * Precomputed(name='mine')", {"mine": K}) == 2.0 * Precomputed(K, name="mine")
