"""Every setting of a method has an effect (``test_settings.py`` has those of the default method)."""

from __future__ import annotations

import pytest

from .settings_effects import cases, has_an_effect


@pytest.mark.parametrize(("struct", "name"), cases(of_methods=True))
def test_a_setting_has_an_effect(struct: str, name: str) -> None:
    assert has_an_effect(struct, name)
