"""A page in a real browser: it is quiet, keeps to itself, and what can be touched works."""

import sys

import pytest

from browser import Browser, find_browser
from kernelweave import report

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser():
    path = find_browser()
    if path is None or sys.platform == "win32":
        pytest.skip("no Chromium is installed")
    try:
        started = Browser(path)
    except (OSError, RuntimeError, TimeoutError) as error:
        pytest.skip(f"{path} does not start: {error}")
    with started:
        yield started


@pytest.fixture(scope="module")
def address(motifs, tmp_path_factory):
    model, data = motifs
    path = tmp_path_factory.mktemp("report") / "report.html"
    return report.build(model, **data, title=SCRIPT, path=path).as_uri()


@pytest.mark.parametrize("width", [400, 1000, 1600])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_quiet_and_fits(browser, address, width, dark):
    browser.open(address, width=width, dark=dark)
    assert browser.problems() == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    colour = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (int(colour[4:-1].split(",")[0]) < 128) == dark


def test_row_79_names_are_shown_as_text(browser, address):
    browser.open(address)
    assert browser.run("document.title") == SCRIPT
    assert browser.run("document.querySelector('h1').textContent") == SCRIPT
    assert browser.run("document.scripts.length") == 1
    assert browser.run("document.querySelector('.sample h3').innerText").startswith(SCRIPT)


def test_row_79_a_script_that_got_in_would_not_run(browser, address, tmp_path):
    """The policy itself works: the same page with a foreign script and a foreign picture refuses both."""
    browser.open(address)
    page = browser.run("document.documentElement.outerHTML")
    foreign = "<script>document.title = 'taken'</script><img src='http://127.0.0.1:9/x.png'>"
    (tmp_path / "taken.html").write_text(page.replace("<footer>", foreign + "<footer>"), encoding="utf-8")
    browser.open((tmp_path / "taken.html").as_uri())
    assert browser.run("document.title") == SCRIPT
    said = " ".join(browser.problems())
    assert "script-src" in said
    assert "Refused to load" in said or "violates" in said


def tip(browser):
    return browser.run("document.getElementById('tip').hidden ? null : document.getElementById('tip').textContent")


def test_marks_tell_their_values(browser, address):
    browser.open(address)
    assert tip(browser) is None
    browser.point(".histogram .bar", 0.5, 0.9)
    assert "decision value" in tip(browser)
    browser.point(".roc .area", 0.03, 0.03)
    assert "true positive rate" in tip(browser)
    assert browser.run("document.querySelectorAll('.ring').length") == 1
    browser.point("#words .area", 0.5, 0.5)  # the logo
    assert tip(browser).startswith("position 12\n")
    browser.point("h1")
    assert tip(browser) is None


def column(browser, number):
    rows = "[...document.querySelectorAll('#words table tbody tr')]"
    return browser.run(f"{rows}.map(row => row.cells[{number}].dataset.sort ?? row.cells[{number}].textContent)")


def test_tables_sort_fold_and_are_searched(browser, address):
    browser.open(address)
    before = column(browser, 0)
    browser.click("#words th:nth-child(3) button")
    weights = [float(value) for value in column(browser, 2)]
    assert weights == sorted(weights, reverse=True)
    browser.click("#words th:nth-child(3) button")
    assert [float(value) for value in column(browser, 2)] == weights[::-1]
    assert browser.run("document.querySelector('#words th:nth-child(3)').ariaSort") == "ascending"
    browser.click("#words th:nth-child(1) button")
    assert column(browser, 0) == sorted(before, key=str.lower)
    shown = (
        "[...document.querySelectorAll('#words table tbody tr')].filter(row => !row.hidden).map(row => row.innerText)"
    )
    assert len(browser.run(shown)) == 15
    browser.click("#words .tools button")
    assert len(browser.run(shown)) == len(before)
    browser.run(
        "f = document.querySelector('#words .tools input'); f.value = 'ta'; f.dispatchEvent(new Event('input'))"
    )
    found = browser.run(shown)
    assert found
    assert all("ta" in row.lower() for row in found)


def test_the_threshold_moves_counts_rates_and_marks(browser, address):
    browser.open(address)
    shown = "[...document.querySelectorAll('[data-set=\"1\"] [data-count]')].map(cell => Number(cell.textContent))"
    mark = "document.querySelector('.roc .marker.test').getAttribute('d')"
    before, at = browser.run(shown), browser.run(mark)
    browser.run("s = document.querySelector('.cutting input'); s.value = s.max; s.dispatchEvent(new Event('input'))")
    tp, fn, fp, tn = browser.run(shown)
    assert (tp, fp) == (0, 0)
    assert fn + tn == sum(before)
    rates = browser.run(
        "Object.fromEntries([...document.querySelectorAll('[data-set=\"1\"] [data-figure]')]"
        ".map(cell => [cell.dataset.figure, cell.textContent]))"
    )
    assert rates["recall"] == "0.00\u202f%"
    assert rates["precision"] == "–"
    assert browser.run(mark) != at
    browser.click(".control button")
    assert browser.run(shown) == before
    assert browser.run(mark) == at
    assert browser.run("document.querySelector('.cutting output').textContent") == "0"


def test_a_part_of_a_plot_can_be_chosen(browser, address):
    browser.open(address)
    seen = "document.querySelector('.roc svg.clip').getAttribute('viewBox')"
    ticks = "document.querySelector('.roc .ticks').innerHTML"
    before, drawn = browser.run(seen), browser.run(ticks)
    browser.point(".roc .area", 0.1, 0.1, kind="mousePressed", button="left", buttons=1, clickCount=1)
    browser.point(".roc .area", 0.4, 0.6, buttons=1)
    browser.point(".roc .area", 0.4, 0.6, kind="mouseReleased", button="left", clickCount=1)
    whole, part = ([float(v) for v in text.split()] for text in (before, browser.run(seen)))
    assert part[2] == pytest.approx(0.3 * whole[2], rel=0.02)
    assert part[3] == pytest.approx(0.5 * whole[3], rel=0.02)
    assert browser.run(ticks) != drawn
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            browser.point(".roc .area", 0.5, 0.5, kind=kind, button="left", clickCount=count)
    assert browser.run(seen) == before
    assert browser.run(ticks) == drawn
    assert browser.problems() == []


def test_it_can_be_printed(browser, address, tmp_path):
    browser.open(address, dark=True)
    browser.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 20_000
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.querySelector('nav')).display") == "none"
