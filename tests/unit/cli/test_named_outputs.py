"""A device or a pipe that a person names for an output stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ludus.cli.commands.replay import write_whole
from ludus.cli.errors import UserError


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "page.html"
    os.mkfifo(pipe)
    with pytest.raises(UserError, match="not a regular file"):
        write_whole(pipe, b"x")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.parametrize("to", ["/dev/full", "/dev/null", "/dev/zero"])
def test_a_link_to_a_device_stays(to: str, tmp_path: Path) -> None:
    link = tmp_path / "page.html"
    link.symlink_to(to)
    with pytest.raises(UserError, match="not a regular file"):
        write_whole(link, b"x")
    assert link.is_symlink()
