"""What stands at the head of a JSON document: its schema, and what wrote it on which day."""

import os
from datetime import UTC, date, datetime

from fastcalc import __version__


def today() -> date:
    """Return the date that an answer bears: that of ``SOURCE_DATE_EPOCH`` where it is set.

    Source: reproducible-builds.org/specs/source-date-epoch, which matplotlib follows, too.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return datetime.fromtimestamp(int(epoch), UTC).date() if epoch.isdigit() else date.today()


def envelope(schema: str) -> dict[str, str]:
    """Keys that a JSON document begins with, the same for the same request on one day."""
    return {"schema": schema, "version": __version__, "generated": today().isoformat()}
