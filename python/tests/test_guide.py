"""The guide's session prints what the guide shows."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "python.md"


def test_the_guide_shows_what_its_session_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # For doctest, a fence would be the last line of the output; an empty line ends it.
    text = GUIDE.read_text().replace("\n```\n", "\n\n")
    session = doctest.DocTestParser().get_doctest(text, {}, GUIDE.name, str(GUIDE), 0)
    # pandas pads the line of an index's name with spaces.
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(session)
    assert result.attempted > 0
    assert result.failed == 0
