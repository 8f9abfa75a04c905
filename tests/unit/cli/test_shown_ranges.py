"""``ludus games show``: the range of a parameter stays narrow; many choices are part of its meaning."""

from __future__ import annotations

from ludus.cli.commands.games import MAX_RANGE, describe
from ludus.flow.spec import HeadSpec, ParamSpec
from ludus.games.python_game import declare, tensor


def test_many_choices_stand_in_the_meaning() -> None:
    sizes = tuple(f"{n}x{n}" for n in range(100, 130))
    spec = declare(
        "ranges",
        observation=[tensor("seen", (1,))],
        heads=[HeadSpec("act", 2)],
        params=(
            ParamSpec("size", "text", "100x100", choices=sizes, meaning="of the picture"),
            ParamSpec("bare", "text", "100x100", choices=sizes),
            ParamSpec("switch", "text", "on", choices=("on", "off"), meaning="of the light"),
            ParamSpec("name", "text", "", meaning="of the map"),
            ParamSpec("skill", "integer", "1", 0, 5, meaning="of the bots"),
        ),
    )
    lines = {line.split()[0]: line for line in describe(spec).splitlines() if line.startswith("  ")}
    assert lines["size"].endswith(f"choice  of the picture: {', '.join(sizes)}")
    assert lines["bare"].endswith(f"choice  {', '.join(sizes)}")
    assert lines["switch"].split() == ["switch", "on", "on|off", "of", "the", "light"]
    assert lines["name"].split() == ["name", "text", "of", "the", "map"]
    assert lines["skill"].split() == ["skill", "1", "0..5", "of", "the", "bots"]
    assert lines["skill"].index("of the bots") < 30 + MAX_RANGE
