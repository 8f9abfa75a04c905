"""The libraries of the live page are the named ones, and what is fetched otherwise is refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tools import vendor_web
from tools.vendor_web import FILES, FOLDER, LICENCES, PACKAGES, Package, Vendored, VendorError

SMALL = Package("small", "1.0.0", "MIT", "https://example.org", "")


def _tarball(folder: Path, text: bytes = b"let a = 1;") -> Path:
    path = folder / "small-1.0.0.tgz"
    with tarfile.open(path, "w:gz") as files:
        for name in ("LICENSE", "dist/a.js"):
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(text)
            files.addfile(info, io.BytesIO(text))
    return path


def test_the_committed_files_have_the_hashes_of_the_list() -> None:
    found = {path.name: vendor_web.digest(path.read_bytes()) for path in FOLDER.iterdir()}
    readme = found.pop("README.md")
    assert found == {file.name: file.sha256 for file in FILES}
    assert readme == vendor_web.digest(vendor_web.readme().encode())


def test_every_package_has_its_licence() -> None:
    for package in PACKAGES:
        text = (LICENCES / f"{package.name}.txt").read_text()
        assert text.startswith(f"{package.name} {package.version} ({package.home})")
        assert len(text) > 1000


def test_no_file_loads_or_evaluates_code_from_elsewhere() -> None:
    for file in FILES:
        text = (FOLDER / file.name).read_text()
        assert "sourceMappingURL" not in text
        assert "eval(" not in text
        assert "new Function" not in text
        assert 'from"preact"' not in text


def test_another_tarball_than_the_named_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tarball(tmp_path)
    done = type("Done", (), {"returncode": 0, "stderr": ""})
    monkeypatch.setattr("subprocess.run", lambda *_, **__: done)
    with pytest.raises(VendorError, match=r"small@1\.0\.0: SHA-256 of the tarball is \w+, expected "):
        vendor_web.fetch(SMALL, tmp_path)


def test_files_that_are_not_there_or_too_large_are_refused(tmp_path: Path) -> None:
    assert vendor_web.member(_tarball(tmp_path), "dist/a.js") == "let a = 1;"
    with pytest.raises(VendorError, match=r"no file dist/b\.js"):
        vendor_web.member(_tarball(tmp_path), "dist/b.js")
    with pytest.raises(VendorError, match="no file of at most"):
        vendor_web.member(_tarball(tmp_path, b" " * ((1 << 20) + 1)), "dist/a.js")


def test_a_text_to_change_occurs_once() -> None:
    file = Vendored("small", "a.js", "a.mjs", "", (("one", "two"), ("", "export default a;\n")))
    assert vendor_web.changed("one\n", file) == "two\nexport default a;\n"
    for text in ("no", "one one"):
        with pytest.raises(VendorError, match="times, expected 1"):
            vendor_web.changed(text, file)
