"""The set-up page with trained players, in a browser: first in the list, with their words and parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch")
pytest.importorskip("starlette")

from ludus.flow.weights import Provenance
from ludus.policies.weights import load_weights, save_weights
from ludus.storage import zoo
from tests.web.browser import Browser
from tests.web.live import LivePage, make_run
from tests.web.serving import Client, served

READY = "!!document.querySelector('#start:not(:disabled)')"
CARD = """
title = "{title}"
game = "connect_four"
level = {level}
sha256 = "{sha256}"
strength = "Words of {title}."
"""


@pytest.fixture(scope="module")
def page(session_browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivePage]:
    folder = tmp_path_factory.mktemp("zoo")
    run = make_run(tmp_path_factory.mktemp("runs") / "run", "connect_four", [3], features="parity")
    weights = load_weights(run.checkpoints.weights_path("last"))
    weights.meta = msgspec.structs.replace(weights.meta, provenance=Provenance({"features": "parity"}))
    for name, level in (("hard", 3), ("soft", 1)):
        save_weights(weights, folder / f"{name}.safetensors")
        digest = hashlib.sha256((folder / f"{name}.safetensors").read_bytes()).hexdigest()
        (folder / f"{name}.toml").write_text(CARD.format(title=name, level=level, sha256=digest))
    empty: Path = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch, served(empty) as client:
        patch.setattr(zoo, "FOLDER", folder)
        assert isinstance(client, Client)
        yield LivePage(session_browser, client)


def test_a_trained_player_is_the_first_opponent(page: LivePage) -> None:
    page.go("/play", READY)
    value = page.browser.evaluate
    assert value("document.querySelector('#game').value") == "connect_four"
    assert value("document.querySelector('#seat-1').value") == "zoo:soft"
    groups = value("[...document.querySelectorAll('#seat-1 optgroup')].map((one) => one.label)")
    assert groups[0] == "Trained players, from easy to hard"
    options = "[...document.querySelectorAll('#seat-1 optgroup')[0].children].map((one) => one.textContent)"
    assert value(options) == ["beginner: soft", "strong: hard"]
    assert value("document.querySelector('#words-1').textContent") == "Words of soft."
    assert value("document.querySelector('#param-features').value") == "parity"


def test_the_parameters_follow_the_opponent(page: LivePage) -> None:
    page.go("/play", READY)
    choose = (
        "(name) => { const box = document.querySelector('#seat-1'); box.value = name;"
        " box.dispatchEvent(new Event('change', { bubbles: true })); }"
    )
    page.browser.evaluate(f"({choose})('tactical')")
    page.browser.wait("document.querySelector('#param-features').value !== 'parity'")
    assert page.browser.evaluate("document.querySelector('#words-1')") is None
    page.browser.evaluate(f"({choose})('zoo:hard')")
    page.browser.wait("document.querySelector('#param-features').value === 'parity'")
    page.browser.wait(READY)
    page.browser.evaluate("document.querySelector('#start').click()")
    page.browser.wait("location.pathname.startsWith('/play/') && document.body?.classList.contains('ready')")
    assert "zoo:hard" in page.browser.evaluate("ludus.game.hello.seats[1].name")
    page.check()


def test_a_phone_has_no_sideways_scroll(page: LivePage) -> None:
    page.go("/play", READY, width=390, height=844)
    assert page.browser.evaluate("document.documentElement.scrollWidth") == 390
