"""The one exception that a person's input can raise."""


class InputError(Exception):
    """The request or a file is wrong: one sentence says what, where, and what to write."""
