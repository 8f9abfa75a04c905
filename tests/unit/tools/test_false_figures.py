"""Figures that are false in a consistent way are refused by the check, or by the replay of their lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")

from tests.unit.tools.synthetic import LEAGUE, MATCHES, NAIVE, Clone
from tools.figures import figure_of
from tools.raw_lines import Line, packed, unpacked
from tools.records import Figure, Wanted
from tools.replay_line import main as replay


@pytest.fixture(scope="module")
def true_clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Return the clone whose figures are true."""
    return Clone.make(tmp_path_factory.mktemp("true") / "clone")


@pytest.fixture
def clone(true_clone: Clone, tmp_path: Path) -> Clone:
    """Return a copy to change."""
    return true_clone.copy(tmp_path / "clone")


def test_true_figures_pass(true_clone: Clone, capsys: pytest.CaptureFixture[str]) -> None:
    assert true_clone.check() == 0, capsys.readouterr().err
    page = (true_clone.root / "docs" / "results.md").read_text()
    assert "MOBA: wanted at least 1 M ticks/s, missed." in page
    assert "bot perfect" in page


def with_figure(clone: Clone, label: str, name: str = "ttt", **fields: object) -> None:
    """Change one figure of a record."""
    figures = [
        msgspec.structs.replace(f, **fields) if f.label == label else f for f in clone.record(name).figures
    ]
    clone.change(name, figures=tuple(figures))


def won_more(line: Line, more: int = 30, pack: bool = False) -> Line:
    """Return a line with more wins; with ``pack`` its single outcomes say so too."""
    outcomes = unpacked(line.outcomes, line.matches or 0)
    for _ in range(more):
        outcomes = outcomes.replace("l", "w", 1)
    counts = {"won": outcomes.count("w"), "lost": outcomes.count("l"), "drawn": outcomes.count("d")}
    return msgspec.structs.replace(line, **counts, outcomes=packed(outcomes) if pack else line.outcomes)


def is_league(line: Line) -> bool:
    return line.label == LEAGUE


def first(line: Line) -> bool:
    return is_league(line) and line.seed == 1


def copied(clone: Clone, *keys: str) -> None:
    """Copy these fields of the first seed's line to the others."""
    (source,) = (line for line in clone.lines() if first(line))
    fields = {key: getattr(source, key) for key in keys}
    clone.relined(lambda x: msgspec.structs.replace(x, **fields) if is_league(x) else x)


COUNTS = ("won", "drawn", "lost", "matches")


def refloored(clone: Clone, floor: str, **setting: object) -> None:
    """Give the lines of a floor another setting."""

    def change(line: Line) -> Line:
        if not line.label.startswith(floor) or line.setting is None:
            return line
        return msgspec.structs.replace(line, setting=msgspec.structs.replace(line.setting, **setting))

    clone.relined(change)


def reunited(clone: Clone, unit: str) -> None:
    """Show the figure in another unit, with no floors."""
    record = clone.record()
    figures = [
        figure_of(clone.lines(), f.label, unit, f.kind, f.seed) if f.kind == "seeds" else f
        for f in record.figures
    ]
    clone.change(figures=tuple(figures), floors=())


def as_values(clone: Clone) -> None:
    """Put numbers in the place of counts, and leave the floors out."""
    rates = {line.seed: 100.0 * (line.won or 0) / MATCHES for line in clone.lines() if is_league(line)}
    empty = dict.fromkeys(COUNTS)
    lines = [
        msgspec.structs.replace(x, **empty, outcomes="", samples=(rates[x.seed],)) if is_league(x) else x
        for x in clone.lines()
    ]
    figures = [figure_of(lines, f.label, f.unit, f.kind, f.seed, f.of) for f in clone.record().figures[:2]]
    clone.write(msgspec.structs.replace(clone.record(), figures=tuple(figures), floors=()), lines)


def without_line(clone: Clone, which: Callable[[Line], bool], **fields: object) -> None:
    """Leave a line out and compute the figures again."""
    clone.relined(lambda x: None if which(x) else x)
    if fields:
        clone.change("ttt", **fields)


def without_seed(clone: Clone, everywhere: bool) -> None:
    """Leave seed 1 out: of the league's runs, or of all runs and of ``seeds``."""
    record = clone.record()
    gone = {run.id for run in record.runs if run.seed == 1 and (everywhere or run.cell == "league")}
    clone.relined(lambda x: None if x.run in gone else x)
    runs = tuple(run for run in record.runs if run.id not in gone)
    seeds = (2, 3) if everywhere else record.seeds
    clone.change(runs=runs, seeds=seeds)


def in_readme(clone: Clone, old: str, new: str) -> None:
    """Change README."""
    path = clone.root / "README.md"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def exchanged(clone: Clone, ties: bool) -> None:
    """Exchange what the two cells of README's first row say; with ``ties`` those too."""
    a, b = (f"{f.value:g}" for f in clone.record().figures[:2])
    in_readme(
        clone,
        f"by a league, against random | {a}% won | {b}% by naive self-play",
        f"by naive self-play, against random | {a}% won | {b}% by a league",
    )
    if ties:
        in_readme(clone, f"{LEAGUE}; {NAIVE}", f"{NAIVE}; {LEAGUE}")


def borrowed(clone: Clone, floor: str) -> None:
    """Put a floor in the place of naive self-play's figure, with its own tie."""
    found = next(f for f in clone.record().floors if f.floor == floor and f.floor_of == NAIVE)
    naive = clone.record().figures[1]
    in_readme(clone, f"{naive.value:g}% by naive", f"{found.value:g}% by naive")
    in_readme(clone, f"; {NAIVE}", f"; floor {floor}: {NAIVE}")


def command(clone: Clone, more: str) -> None:
    """Add words to the commands of the record and its runs."""
    record = clone.record()
    runs = tuple(msgspec.structs.replace(r, command=f"{r.command} {more}") for r in record.runs)
    clone.change(runs=runs, commands=tuple(dict.fromkeys(r.command for r in runs)))


def preset(clone: Clone, **fields: object) -> None:
    """Change the preset and some fields of the record."""
    path = clone.root / "presets" / "tic_tac_toe.toml"
    path.write_text(path.read_text() + "\n# changed\n")
    clone.change("ttt", **fields)


def today(clone: Clone) -> dict[str, str]:
    """Return the hash of the preset as it is now."""
    from tools.records import sha256_of

    path = "presets/tic_tac_toe.toml"
    (clone.root / path).write_text((clone.root / path).read_text() + "\n# other\n")
    return {path: sha256_of(clone.root / path)}


def docs(clone: Clone, new: str) -> None:
    """Change the number of a page."""
    path = clone.root / "docs" / "games" / "rts.md"
    path.write_text(path.read_text().replace("98.7%", new))


def faster(line: Line) -> Line:
    return (
        msgspec.structs.replace(line, samples=tuple(s * 1.4 for s in line.samples))
        if line.label == "MOBA"
        else line
    )


def without_weights(clone: Clone, measure: str) -> None:
    """Give the league's lines no weights, as measures of another kind have none."""

    def change(line: Line) -> Line:
        if LEAGUE not in line.label or line.setting is None:
            return line
        setting = msgspec.structs.replace(line.setting, measure=measure)
        return msgspec.structs.replace(line, weights="", eval_seed=None, setting=setting)

    clone.relined(change)


def derived(clone: Clone) -> None:
    """Give the difference a raw line."""
    line = Line("league minus naive", samples=(0.2,))
    figures = [
        Figure(f.label, f.unit, "exact", 0.2) if f.kind == "difference" else f for f in clone.record().figures
    ]
    clone.write(msgspec.structs.replace(clone.record(), figures=tuple(figures)), [*clone.lines(), line])


def in_both(clone: Clone) -> None:
    """Change a figure and README with it."""
    with_figure(clone, LEAGUE, value=99.0, high=99.9)
    clone.write_readme()


def weights(clone: Clone, change: Callable[[Path], object]) -> None:
    """Change a kept file."""
    change(next(iter(sorted((clone.results / "weights").iterdir()))))


Case = tuple[str, Callable[[Clone], object], str]
CASES: list[Case] = [
    ("1 figure alone", lambda c: with_figure(c, LEAGUE, value=95.1, high=99.0), "the raw lines give"),
    ("1b interval alone", lambda c: with_figure(c, LEAGUE, low=60.0), "the raw lines give"),
    (
        "1c one seed's number",
        lambda c: with_figure(c, LEAGUE, values=(90.0, 91.0, 92.0)),
        "the raw lines give",
    ),
    ("1d count", lambda c: with_figure(c, LEAGUE, count=10), "the raw lines give"),
    ("2 readme", lambda c: in_readme(c, "% won", ".5% won"), "README.md"),
    ("2b readme speed", lambda c: in_readme(c, "million", "billion"), "README.md"),
    ("2c readme prose", lambda c: in_readme(c, "Nine steps", "Wins 83.5% of all"), "'83.5%': not tied"),
    (
        "2d readme prose",
        lambda c: in_readme(c, "Nine", "Wins 77 of 100 matches, nine"),
        "'77 of 100': not tied",
    ),
    ("3 more wins", lambda c: c.relined(lambda x: won_more(x) if is_league(x) else x), "its outcomes have"),
    ("4 worst seed", lambda c: without_line(c, first), f"{LEAGUE!r}: no line of seed 1"),
    (
        "4b and its run",
        lambda c: without_seed(c, everywhere=False),
        "are of seeds [2, 3], expected [1, 2, 3]",
    ),
    ("4c and everywhere", lambda c: without_seed(c, everywhere=True), "'three seeds': the record has 2"),
    (
        "4d twice",
        lambda c: c.write(c.record(), [*c.lines(), c.lines()[0]]),
        "2 lines of seed 1, expected one",
    ),
    ("5 one line", lambda c: c.relined(lambda x: won_more(x, 50) if first(x) else x), "its outcomes have"),
    ("6 copied counts", lambda c: copied(c, *COUNTS), "its outcomes have"),
    ("6b and outcomes", lambda c: copied(c, *COUNTS, "outcomes"), "have the same matches, one by one"),
    ("6c and weights", lambda c: copied(c, *COUNTS, "outcomes", "weights"), "lines of the weights"),
    ("6d whole lines", lambda c: copied(c, *COUNTS, "outcomes", "weights", "run"), "is of seed 1"),
    ("7 frame skip", lambda c: refloored(c, "uniform", against_frame_skip=600), "against_frame_skip 600"),
    ("7b another game", lambda c: refloored(c, "initial weights", game="gomoku"), "game 'gomoku'"),
    ("7c opponent", lambda c: refloored(c, "bot perfect", opponent="perfect"), "opponent 'perfect'"),
    ("7d params", lambda c: refloored(c, "uniform", params={"x": "1"}), "params {'x': '1'}"),
    ("7e left out", lambda c: c.change(floors=c.record().floors[2:]), "has no floor"),
    ("8 unit", lambda c: reunited(c, "% won"), "has no floor 'initial weights'"),
    ("8b shares", lambda c: reunited(c, "of 100"), "has no floor 'bot perfect'"),
    ("8c a cost", lambda c: reunited(c, "minutes"), "a cost is measured while training"),
    ("8d values", as_values, "1 matches, its setting has 120"),
    ("9 throughput", lambda c: with_figure(c, "MOBA", "speed", value=1.21, high=1.3), "the raw lines give"),
    (
        "9b ratio",
        lambda c: with_figure(c, "MOBA in parts of Flag", "speed", value=0.9, high=1.0),
        "raw lines give",
    ),
    (
        "10 hash of lines",
        lambda c: c.raw("speed", lambda d: d.update(lines="0" * 64)),
        "another file",
    ),
    (
        "10b lines without figures",
        lambda c: c.write(c.record("speed"), [faster(x) for x in c.lines("speed")], "speed"),
        "raw lines give",
    ),
    (
        "11 unknown commit",
        lambda c: preset(c, commit="1234567" * 5 + "00000", files=today(c)),
        "git knows no commit",
    ),
    ("11b another hash", lambda c: preset(c, files=today(c)), "has another presets/tic_tac_toe.toml"),
    ("11c no commit", lambda c: c.change(commit="soon"), "hexadecimal"),
    ("12 preset emptied", lambda c: preset(c, files={}), "presets/tic_tac_toe.toml is missing"),
    (
        "12b another preset",
        lambda c: c.change(files={"presets/pong.toml": "0"}),
        "no command needs presets/pong.toml",
    ),
    ("12c runs emptied", lambda c: c.change(runs=(), seeds=()), "no runs"),
    (
        "13 false claim",
        lambda c: borrowed(c, "initial weights"),
        "its cell does not say so",
    ),
    ("13b uniform", lambda c: borrowed(c, "uniform"), "its cell does not say so"),
    ("13c a bot", lambda c: borrowed(c, "bot perfect"), "its cell does not say so"),
    ("14 exchanged", lambda c: exchanged(c, ties=False), "is in the other cell"),
    ("14b with ties", lambda c: exchanged(c, ties=True), "README.md"),
    ("14c no tie", lambda c: in_readme(c, "<!-- speed: MOBA -->", ""), "no tie"),
    ("14d borrowed", lambda c: in_readme(c, "speed: MOBA", "speed: Flag"), "speed has Flag"),
    (
        "15 with readme",
        in_both,
        "raw lines give",
    ),
    ("16 an old schema", lambda c: c.raw("ttt", lambda d: d.update(schema=1)), "ttt.json"),
    ("16b schema 2", lambda c: c.raw("ttt", lambda d: d.update(schema=2)), "ttt.json"),
    ("16c typed in", lambda c: c.raw("ttt", lambda d: d.update(transcribed=True)), "transcribed"),
    (
        "17 derived",
        lambda c: with_figure(c, "league minus naive", value=0.2, low=-20.0, high=30.0),
        "raw lines give",
    ),
    ("17b as a line", derived, "no setting"),
    ("18 an option", lambda c: command(c, "--run.no-such-option 7"), "unknown key run.no_such_option"),
    ("18b of the command", lambda c: command(c, "--no-such"), "unknown option --no-such"),
    ("18c a value", lambda c: command(c, "--run.max-minutes soon"), "run.max_minutes"),
    (
        "18d of a program",
        lambda c: c.change("speed", commands=("python -m benchmarks.throughput.simulation go --no-such 1",)),
        "--no-such",
    ),
    ("18e of make", lambda c: c.change("speed", commands=("make bench NO_SUCH=1",)), "no setting NO_SUCH"),
    (
        "18f of gamectl",
        lambda c: c.change("speed", commands=("gamectl bench moba --no-such 1",)),
        "no option --no-such",
    ),
    (
        "18g a seed",
        lambda c: c.change(
            runs=(
                msgspec.structs.replace(c.record().runs[0], command=c.record().runs[1].command),
                *c.record().runs[1:],
            )
        ),
        "seed 1, its command has [2]",
    ),
    ("19 docs", lambda c: docs(c, "99.9%"), "docs/games/rts.md: '99.9%'"),
    ("19b docs", lambda c: docs(c, "97%"), "docs/games/rts.md: '97%'"),
    ("19c docs", lambda c: docs(c, "987 of 1000, 98.7%"), "docs/games/rts.md: '987 of 1000'"),
    ("22 no weights", lambda c: without_weights(c, "matches"), "played by no kept weights"),
    ("22b exact", lambda c: without_weights(c, "exact"), "a rate or return of no kept weights"),
    ("22c training", lambda c: without_weights(c, "training"), "expected a label that has the word"),
    (
        "20 weights changed",
        lambda c: weights(c, lambda p: p.write_bytes(p.read_bytes() + b" ")),
        "another SHA-256",
    ),
    ("20b weights gone", lambda c: weights(c, Path.unlink), "no file weights/"),
    (
        "20c weights of no record",
        lambda c: weights(c, lambda p: p.with_name("0.safetensors").write_bytes(b"")),
        "no record names",
    ),
    (
        "21 wanted",
        lambda c: c.change("speed", wanted=(Wanted("X", least=1.0),)),
        "wanted: no figure 'X'",
    ),
]


@pytest.mark.parametrize(
    ("make_false", "fault"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_false_figure_is_refused(
    make_false: Callable[[Clone], object], fault: str, clone: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    make_false(clone)
    capsys.readouterr()
    assert clone.check() == 3
    assert fault in capsys.readouterr().err


def forged(clone: Clone, label: str, seed: int | None, more: int = 30) -> None:
    """Change counts and outcomes of one line, all figures and README with it."""
    clone.relined(lambda x: won_more(x, more, pack=True) if (x.label, x.seed) == (label, seed) else x)


@pytest.mark.parametrize(
    ("label", "seed", "more"),
    [(LEAGUE, 1, 30), (NAIVE, 3, 1), (f"initial weights, {LEAGUE}", 2, 10), (f"uniform, {NAIVE}", None, 20)],
)
def test_a_line_that_was_forged_with_its_outcomes_is_found_by_its_replay(
    label: str, seed: int | None, more: int, clone: Clone, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--results", str(clone.results), "--record", "ttt", "--label", label, "--tolerance", "0"]
    words += [] if seed is None else ["--of-seed", str(seed)]
    assert replay(words) == 0
    assert f"equal, {MATCHES} matches" in capsys.readouterr().out
    forged(clone, label, seed, more)
    assert replay(words) == 3
    assert f"{more} of {MATCHES}" in capsys.readouterr().err


def test_a_commit_that_a_shallow_clone_lacks_is_told(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clone.change(commit="1234567" * 5 + "00000")
    monkeypatch.setattr("tools.checkout.Checkout.partial", True)
    monkeypatch.delenv("CI", raising=False)
    assert clone.check() == 0
    assert "cannot check: this clone lacks commits" in capsys.readouterr().out
    monkeypatch.setenv("CI", "true")
    assert clone.check() == 3


def test_a_preset_that_changed_since_is_told_on_the_page(clone: Clone) -> None:
    preset(clone)
    assert clone.check() == 0
    assert "Changed since: presets/tic_tac_toe.toml." in (clone.root / "docs" / "results.md").read_text()
