"""The two errors that a reader of this project meets."""


class _OneLineError(Exception):
    """An error that a notebook shows as one line, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython prints instead of a traceback."""
        return [f"{type(self).__name__}: {self}"]


class InputError(_OneLineError, ValueError):
    """A file, a parameter or a registry entry that cannot be used.

    Its message is one line: where (file, line or column), what was found, what was
    expected, and what to do. The command line prints it and exits with status 2.
    """


class EvidenceError(_OneLineError, TypeError):
    """A number was about to claim more than its evidence allows.

    Its message says which rule was broken, what was passed and what is allowed.
    """
