"""A missing label is known by the class of its error, and the command reads nothing private of an estimator."""

import ast
from pathlib import Path

import pytest

import kernelweave.cli
from kernelweave.errors import InputError, MissingLabelError
from kernelweave.io import header_labels, match_labels

HINT = "Give two files"


def test_a_label_that_is_missing_has_an_error_of_its_own():
    with pytest.raises(MissingLabelError, match="has no label"):
        header_labels()("seq1 kind=3")
    with pytest.raises(MissingLabelError, match="have no label"):
        match_labels(["a", "b"], ["a"], [1])
    with pytest.raises(InputError) as caught:
        match_labels(["a"], ["a", "a"], [1, 2])
    assert not isinstance(caught.value, MissingLabelError)


def test_advice_about_labels_is_for_missing_labels_alone(folder, kw):
    """The name of a file may hold the words of any message."""
    (folder / "this has no label.fa").write_text(">a\nACGT\n>b\nAC*T\n")
    said = kw("fit", "this has no label.fa", "--label-field", "(.)", "--alphabet", "dna", code=3).stderr
    assert "'*'" in said
    assert HINT not in said
    assert HINT in kw("fit", "pos.fa", code=3).stderr


def test_inspect_reads_a_damaged_file_once(folder, kw):
    (folder / "this has no label.fa").write_bytes(b">a label=1\nAC\0T\n")
    assert "NUL" in kw("inspect", "this has no label.fa", code=3).stderr
    assert "labels in headers" not in kw("inspect", "pos.fa").stdout


def private_reads(path):
    """`x._name` of anything but self and modules of Python, and getattr(x, "_name")."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner not in ("self", "cls", "os"):
                yield f"{path.name}:{node.lineno} {node.attr}"
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("getattr", "hasattr", "setattr"):
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
            if name.startswith("_"):
                yield f"{path.name}:{node.lineno} {name}"


def test_commands_read_nothing_private():
    files = sorted(Path(kernelweave.cli.__file__).parent.glob("*.py"))
    assert len(files) > 15
    assert [read for path in files for read in private_reads(path)] == []
