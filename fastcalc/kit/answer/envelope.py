"""The first keys of every JSON document: schema, program version and date."""

import os
from datetime import UTC, date, datetime

from fastcalc import __version__
from fastcalc.errors import InputError
from fastcalc.written import shown


def today() -> date:
    """Return the date for output: today, or ``SOURCE_DATE_EPOCH`` if it is set.

    Raises InputError if its value is not a time. Source:
    reproducible-builds.org/specs/source-date-epoch, which matplotlib also follows.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return date.today()
    try:
        return datetime.fromtimestamp(int(epoch), UTC).date()
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"SOURCE_DATE_EPOCH: {shown(epoch)} is not a time in seconds since 1970; write for "
            "example 1767225600, or unset it"
        ) from error


def envelope(schema: str) -> dict[str, str]:
    """Build the first keys of a JSON document, identical for a request repeated on the same day."""
    return {"schema": schema, "version": __version__, "generated": today().isoformat()}
