"""Habits of the house: functions are short, private names stay in their files, and nobody asks for a class by name."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "src" / "kernelweave"
#: Most lines of code of a function, without its docstring, comments and empty lines.
MAX_CODE = 60
#: Folders whose classes others do not ask for, and what they may ask for all the same: it has no code of its own.
CLOSED = {"kernels": {"Kernel"}, "gram": {"Gram"}}
#: Private names of other packages, for which these have no public one.
FOREIGN = {"_replace", "_mmap", "_exit", "_cache", "_cache_file", "_index_name", "_cache_path", "_source_stamp"}


def trees(root):
    """Yield (folder, name of the file, its syntax, its lines) of every file below `root`."""
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(root)
        yield name.parts[0] if len(name.parts) > 1 else "", str(name), ast.parse(text), text.splitlines()


def code_lines(function, lines):
    """Return how many lines of code a function has."""
    first = function.body[0]
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    doc = range(first.lineno, first.end_lineno + 1) if told else ()
    body = (n for n in range(function.lineno, function.end_lineno + 1) if n not in doc)
    return sum(bool(lines[n - 1].strip()) and not lines[n - 1].strip().startswith("#") for n in body)


def long_functions(root):
    """Return every function with too much code."""
    return [
        f"{name}: {node.name} has {code_lines(node, lines)} lines of code"
        for _, name, tree, lines in trees(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and code_lines(node, lines) > MAX_CODE
    ]


def classes_asked_for(root):
    """Return every `isinstance` on a class of a closed folder, in files outside of it."""
    defined = {
        node.name: folder
        for folder, _, tree, _ in trees(root)
        if folder in CLOSED
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name not in CLOSED[folder]
    }
    found = []
    for folder, name, tree, _ in trees(root):
        own = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                asked = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)} & own
                found += [f"{name}, line {node.lineno}: {n}" for n in asked if defined.get(n, folder) != folder]
    return found


def private_reads(root):
    """Return every private name that a file reads of another one."""
    found = []
    for _, name, tree, _ in trees(root):
        own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        kept = [n for n in ast.walk(tree) if isinstance(getattr(n, "ctx", None), ast.Store)]
        own |= {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in kept}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id == "self"):
                names = [] if node.attr in own or ast.unparse(node.value) in ("cls", "super()") else [node.attr]
            elif isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("kernelweave")):
                names = [alias.name for alias in node.names if alias.name != "_fast"]
            else:
                continue
            private = (n for n in names if n.startswith("_") and not n.startswith("__") and n not in FOREIGN)
            found += [f"{name}, line {node.lineno}: {n}" for n in private]
    return found


@pytest.mark.parametrize("look", [long_functions, classes_asked_for, private_reads])
def test_the_house_keeps_its_habits(look):
    assert not look(ROOT)


@pytest.mark.parametrize(
    ("look", "text"),
    [
        (long_functions, "def f():\n    '''A.'''\n    # b\n" + "    x = 1\n" * MAX_CODE),
        (classes_asked_for, "from ..kernels import RBF\nisinstance(k, (int, RBF))"),
        (private_reads, "from ..kernels import _some"),
        (private_reads, "def f(k):\n    return k._terms"),
    ],
)
def test_what_breaks_them_is_found(look, text, tmp_path):
    for folder, file in (
        ("kernels", "class RBF:\n    def f(self):\n        return self._terms"),
        ("mkl", "import numpy"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(file)
    assert not look(tmp_path)
    (tmp_path / "mkl" / "b.py").write_text(text)
    assert len(look(tmp_path)) == 1
