"""Settings of a repository: which tables count, and what is no table."""

import pytest

from fastcalc.errors import InputError
from fastcalc.kit.request import repository
from fastcalc.kit.request.repository import _table
from tests.helpers import every


@every(
    "name,content,table",
    [
        (".fastcalc.toml", b'ignore = ["HW"]', {"ignore": ["HW"]}), (".fastcalc.toml", b"", {}),
        ("pyproject.toml", b'[tool.fastcalc]\nignore = ["HW"]', {"ignore": ["HW"]}),
        ("pyproject.toml", b'[project]\nname = "x"', None), ("pyproject.toml", b"x = 'tool.fastcalc'", None),
        ("pyproject.toml", b"tool.fastcalc = 3", {"": 3}),
    ],
)  # fmt: skip
def test_tables_of_settings(name, content, table, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert _table(tmp_path / name) == table


@every("content", [b"[", b"a = ", b"\xff = 1", b"a = " + b"[" * 5000])
def test_settings_that_are_no_toml(content, tmp_path):
    (tmp_path / ".fastcalc.toml").write_bytes(content)
    with pytest.raises(InputError, match=r"\.fastcalc\.toml: not readable as TOML: [^A-Z]"):
        _table(tmp_path / ".fastcalc.toml")


def test_settings_that_cannot_be_read(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / ".fastcalc.toml").touch()
    monkeypatch.setattr(repository, "read_bytes", refuse)
    with pytest.raises(InputError, match=r"\.fastcalc\.toml: cannot be read: permission denied$"):
        _table(tmp_path / ".fastcalc.toml")
    assert _table(tmp_path / "none.toml") is None
    assert _table(tmp_path) is None
