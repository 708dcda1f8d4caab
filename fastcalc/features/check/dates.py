"""Parse dates in YAML files."""

import re
from datetime import date


def day(text: str) -> date | None:
    """Return the first day of a year, month or day given as text, or None for anything else.

    >>> day("2026-05"), day("2026-13")
    (datetime.date(2026, 5, 1), None)
    """
    match = re.fullmatch(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    if not match:
        return None
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None
