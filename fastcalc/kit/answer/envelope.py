"""What stands at the head of a JSON document: its schema, and what wrote it on which day."""

import os
from datetime import UTC, date, datetime

from fastcalc import __version__
from fastcalc.errors import InputError
from fastcalc.written import shown


def today() -> date:
    """Date that an answer bears: that of ``SOURCE_DATE_EPOCH`` where it is set.

    Raises InputError if that is no time. Source: reproducible-builds.org/specs/source-date-epoch,
    which matplotlib follows, too.
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
    """Keys that a JSON document begins with, the same for the same request on one day."""
    return {"schema": schema, "version": __version__, "generated": today().isoformat()}
