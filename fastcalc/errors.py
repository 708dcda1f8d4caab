"""The one exception that a person's input can raise."""


class InputError(Exception):
    """The request or a file is wrong: a sentence says what, where, and what to write.

    Several faults of a file are several arguments, each a line.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))
