"""The examples of README.md, as they stand."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from .conftest import KEY, URL

PACKAGE = Path(__file__).parents[2]
PROJECT = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    printed = capsys.readouterr().out
    assert "max_credits_exceeded This answer costs 14226 credits" in printed
    assert "The row or its path was altered" in printed
    assert "58 rows" in printed
    assert printed.endswith("True\n")
    assert (tmp_path / "almanac.lock").exists()


def test_shell(tmp_path: Path) -> None:
    *installs, commands = blocks("sh")
    environment = {**os.environ, "ALMANAC_URL": URL, "ALMANAC_KEY": KEY}
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", commands],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for expected in ("Life expectancy at birth", "Somalia", "rounded", "verified: signed by", "33845617"):
        assert expected in done.stdout
    [extras] = re.findall(r"\[project\.optional-dependencies\]\n(.*?)\n\n", PROJECT, re.DOTALL)
    assert set(re.findall(r"\[(\w+)\]", "".join(installs))) == set(re.findall(r"^\w+", extras, re.MULTILINE))


def test_is_short() -> None:
    assert len(README.splitlines()) <= 120
