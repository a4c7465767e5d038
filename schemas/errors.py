"""Every error that the package raises for a person to read. Its message names file, record and remedy."""


class KiltetlError(Exception):
    """The kind of them all.

    >>> issubclass(InputError, KiltetlError), issubclass(DamagedDump, DumpError), issubclass(DumpError, KiltetlError)
    (True, True, True)
    """


class InputError(KiltetlError):
    """Something the user gave cannot be used; the message names it and says what to do."""


class RunFailed(KiltetlError):
    """A job did not end well; the message says why."""


class RecordError(KiltetlError, ValueError):
    """A value does not fit its column. The message names the column, the value and the record."""


class DumpError(KiltetlError, ValueError):
    """The input is not a complete dump."""


class DamagedDump(DumpError):
    """The input is a dump of which something is missing or destroyed: to be fetched again."""


class EvaluationError(KiltetlError, ValueError):
    """Gold or predictions cannot be scored; the message names the ids and says what to do."""


class MalformedRecord(EvaluationError):
    """One record breaks the format; it is the last one that was read."""


class MalformedRow(KiltetlError):
    """Raised by a dataset's ``read`` for a row that is not what its format says; it becomes a reject."""
