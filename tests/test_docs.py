"""The documentation is true: snippets run, links lead somewhere, words are spelt, pages are not too long."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
if not DOCS.exists():
    pytest.skip("there are no pages here", allow_module_level=True)


def load(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


snippets = load("snippets")
PAGES = snippets.PAGES
TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}
#: Written before Sphinx reads the pages, or while it does.
MADE = ("reference/choices.md", "reference/commands.md", "reference/errors.md", "gallery/", "notebooks/")
OTHERS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")]
MOST_WORDS = 1600
DOORS = ("tutorials", "howto", "explanation", "reference")


def name_of(page):
    return str(page.relative_to(ROOT))


def is_made(page):
    return page.is_relative_to(DOCS) and page.relative_to(DOCS).as_posix().startswith(MADE)


WRITTEN = [page for page in PAGES if not is_made(page)]
#: Pages whose commands run in test_readme.py, where they share one demonstration.
ELSEWHERE = ("command_line.md", "genomes.md")
RUN = [page for page in WRITTEN if snippets.snippets(page) and page.name not in ELSEWHERE]


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_snippets_of_a_page_run_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    snippets.run([one for one in snippets.snippets(page) if not one.slow])


def test_what_is_not_run_says_why():
    for page, text in TEXTS.items():
        for reason in re.findall(r"^<!-- not run\b(.*?)-->", text, re.MULTILINE | re.DOTALL):
            assert len(reason.strip(" :").split()) >= 3, page.name


def plain(text):
    """The page without code, comments and formulas."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^---\n.*?^---\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(`{3,}|:{3,}).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)


def prose(text):
    return "\n".join(line for line in plain(text).splitlines() if not line.startswith("|"))


@pytest.mark.parametrize("page", [p for p in WRITTEN if p.parent.name not in ("reference", "papers")], ids=name_of)
def test_no_page_is_longer_than_a_person_reads(page):
    assert len(prose(TEXTS[page]).split()) <= MOST_WORDS


@pytest.mark.parametrize("page", [page for page in WRITTEN if page.parent.name in DOORS], ids=name_of)
def test_a_page_says_first_who_needs_it(page):
    """A title, and then for whom it is: not a table, not code, not the next heading."""
    title, first, *_ = [part for part in re.split(r"\n\s*\n", TEXTS[page]) if part.strip()]
    assert title.startswith("# ")
    assert re.search(r"\b[Ff]or (any|every|those|people|programs|readers|whom)", first), f"{page.name}: {first[:80]}"


def anchors(text):
    """The anchors of headings, as MyST makes them, and those that are set by hand."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    heads = [re.sub(r"[`*]", "", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    made = {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}
    return made | set(re.findall(r"^\((\S+)\)=$", text, re.MULTILINE))


def links():
    for page in [*PAGES, *[path for path in OTHERS if path.exists()]]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if not re.match(r"https?://|mailto:", target):
                yield page, target


def test_links_lead_somewhere():
    lost = []
    for page, target in links():
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if is_made(there):
            continue  # Sphinx looks at these
        if not there.exists():
            lost.append(f"{name_of(page)}: {target}")
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text(encoding="utf-8")):
            lost.append(f"{name_of(page)}: {target} (no such heading)")
    assert not lost, "\n".join(lost)
    assert len(list(links())) > 100


def test_every_page_is_behind_a_door():
    """Every page is in the table of contents of the index above it."""
    for page in WRITTEN:
        if page.name == "index.md":
            continue
        index = page.parent / "index.md"
        toctree = "\n".join(re.findall(r"```\{toctree\}(.*?)```", TEXTS[index], re.DOTALL)).split()
        if page.parent == DOCS:  # pages beside the doors are listed in a door, by their absolute names
            toctree += [one.strip("/*") for door in DOCS.glob("*/index.md") for one in TEXTS[door].split()]
        assert page.stem in toctree or "*" in toctree, f"{name_of(page)} is in no table of contents"


#: An address that leads somewhere: https, a host with a domain, none that stands for another.
WHOLE = re.compile(r"https://(?!(?:www\.)?example\.)[\w-]+(\.[\w-]+)*\.[a-z]{2,}(/\S*)?")


def test_addresses_are_whole_ones():
    """Those of the project, which has none yet, and all that pages lead to."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*TEXTS.values(), *(path.read_text(encoding="utf-8") for path in OTHERS if path.exists())]
    linked = [one for text in texts for one in re.findall(r"\]\((https?:[^)\s]*)\)", text)]
    assert linked
    stated = [*project.get("urls", {}).values(), *linked]
    assert [one for one in stated if not WHOLE.fullmatch(one)] == []
    for wrong in (
        "http://kernelweave.org",
        "https://kernelweave",
        "https://example.org/docs",
        "kernelweave.org",
        "https://",
    ):
        assert not WHOLE.fullmatch(wrong)


def words(text):
    """The words of a page that a dictionary should know."""
    text = re.sub(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|https?://\S+", " ", plain(text))
    text = re.sub(r"[*_]", " ", text)
    return {word.lower() for word in re.findall(r"(?<![\w/.\-&@])[A-Za-z][a-z]{2,}(?:'[a-z]+)?(?![\w/@]|\.\w)", text)}


def slips(word):
    """What a word may have been meant to be: one letter more, less, other, or two swapped, not at its ends."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    for i in range(1, len(word) - 2):
        yield word[:i] + word[i + 1 :]
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        for letter in letters:
            yield word[:i] + letter + word[i:]
            yield word[:i] + letter + word[i + 1 :]


def test_words_are_spelt_as_in_the_dictionary():
    """A word that docs/words.txt does not know, one slip away from one that it knows, is probably misspelt."""
    known = set((DOCS / "words.txt").read_text(encoding="utf-8").split())
    pages = {**{page: TEXTS[page] for page in WRITTEN}, ROOT / "README.md": (ROOT / "README.md").read_text("utf-8")}
    doubtful = {}
    for page, text in pages.items():
        for word in words(text) - known:
            meant = sorted({slip for slip in slips(word) if len(word) > 5 and slip in known})
            if meant:
                doubtful[word] = f"{page.name}: {word} (meant: {', '.join(meant)}?)"
    assert not doubtful, "misspelt, or missing in docs/words.txt (python docs/spelling.py):\n" + "\n".join(
        doubtful.values()
    )


def test_slips_are_found():
    known = set((DOCS / "words.txt").read_text(encoding="utf-8").split())
    for wrong, right in {"kenrel": "kernel", "seqeunce": "sequence", "certficate": "certificate"}.items():
        assert wrong not in known
        assert right in set(slips(wrong)) & known


def test_the_dictionary_is_in_order():
    known = (DOCS / "words.txt").read_text(encoding="utf-8").split()
    assert known == sorted(set(known))
    wrong = "teh recieve seperate occured definately accomodate wich untill lenght weigth heigth"
    assert not set(wrong.split()) & set(known)


def test_the_picture_of_the_certificate_is_true():
    """Every proven line lies below every point of the objective, and touches its own."""
    import json

    text = (DOCS / "explanation" / "certificate.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r"const data = (\[\[.*?\]\]);", text)[1])
    assert len(data) == 81
    for weight, objective, slope in data:
        assert all(objective + slope * (w - weight) <= other + 2e-4 for w, other, _ in data)
    best = min(objective for _, objective, _ in data)
    assert best < data[0][1]
    assert best < data[-1][1], "neither kernel alone is best"
    assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), "the picture loads nothing"


def test_the_commands_describe_themselves():
    from kernelweave.cli.app import cli

    page = load("make_commands").commands_page()
    for name, command in cli.commands.items():
        assert f"\n## {name}\n" in page
        for option in command.params:
            if option.param_type_name == "option":
                assert f"`{option.opts[0]}`" in page


def test_every_error_is_listed():
    from kernelweave import errors

    page = load("make_commands").errors_page()
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and kind.__module__ == errors.__name__:
            assert f"| `{name}` |" in page


def test_formulas_are_read_as_they_are_meant():
    pytest.importorskip("docutils", reason="the build of the documentation has it")
    converted = load("mathml").converted
    for short, long in {
        r"\frac12 x": r"\frac{1}{2} x",
        r"\tfrac1n x": r"\frac{1}{n} x",
        r"\frac1{2C}": r"\frac{1}{2C}",
        r"\lVert w\rVert": r"\|w\|",
        r"\Big(x\Big)": "(x)",
    }.items():
        assert converted(short, True) == converted(long, True)
    assert "<mn>12</mn>" not in converted(r"\frac12", True)
