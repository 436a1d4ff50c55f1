"""All errors that Crossbandit raises on purpose.

::

    CrossbanditError
    ├── InvalidInputError (a ValueError)
    │   ├── InvalidParameterError   a number, name or choice outside its domain
    │   ├── InvalidGraphError       a malformed graph, or one that an algorithm cannot play on
    │   ├── InvalidContextError     a context that the problem does not have
    │   └── InvalidLossesError      losses of the wrong shape, not finite, or outside [0, 1]; or an
    │                               outcome that is incomplete or contradicts itself
    ├── DecisionError               a decision that cannot be learned from
    │   ├── LearnedBeforeError      its feedback was learned from before
    │   ├── ExpiredDecisionError    it is older than what is remembered
    │   ├── ForeignDecisionError    another learner made it
    │   └── DamagedTokenError       its token is damaged or forged
    ├── MissingOutcomesError        outcomes are missing in a way that would mislead the learner
    ├── GraphNumberError            an exact number of a graph takes too long
    │   └── IndependenceNumberError the independence number does
    ├── MissingPackageError         a package of an optional extra is not installed
    ├── OutdatedCoreError           compiled code is of another version than its source
    ├── OutOfMemoryError            estimates that would not fit into memory
    ├── CheckpointError             a file is damaged, not a checkpoint, or of another version
    ├── LogError (a ValueError)     a log that is missing, unreadable or too faulty to replay
    ├── StudyError
    │   ├── StudyFileError          a mistake in a study file, with its line and key
    │   ├── ResultsError            results that are missing, in use, damaged or not writable
    │   └── BackendError            an engine that does not answer
    ├── ClientError                 a client of the service cannot do what it was asked to do
    │   ├── ServiceAwayError        the service does not answer
    │   ├── RefusedError            the service has refused a request; its code says why
    │   ├── OutboxFullError         there is no room for more outcomes
    │   └── UnsentOutcomesError     the service did not acknowledge outcomes; the error carries them
    └── CheckFailedError            an algorithm or environment breaks a rule of `checks`

    CrossbanditWarning (a UserWarning)
    ├── LogWarning                  a log looks as if results computed from it will be wrong
    └── MissingFeedbackWarning      feedback is missing more often after some arms than after others

A bad argument raises before anything has changed.
"""

__all__ = [
    "BackendError",
    "CheckFailedError",
    "CheckpointError",
    "ClientError",
    "CrossbanditError",
    "CrossbanditWarning",
    "DamagedTokenError",
    "DecisionError",
    "ExpiredDecisionError",
    "ForeignDecisionError",
    "GraphNumberError",
    "IndependenceNumberError",
    "InvalidContextError",
    "InvalidGraphError",
    "InvalidInputError",
    "InvalidLossesError",
    "InvalidParameterError",
    "LearnedBeforeError",
    "LogError",
    "LogWarning",
    "MissingFeedbackWarning",
    "MissingOutcomesError",
    "MissingPackageError",
    "OutOfMemoryError",
    "OutboxFullError",
    "OutdatedCoreError",
    "RefusedError",
    "ResultsError",
    "ServiceAwayError",
    "StudyError",
    "StudyFileError",
    "UnsentOutcomesError",
]


class CrossbanditError(Exception):
    """Base class of all errors that the package raises on purpose.

    Attributes:
        rows: If a batch was refused because of some of its rows: the numbers of all these rows,
            ascending, so that the rest can be sent again. Otherwise empty.
    """

    rows: tuple[int, ...] = ()


class InvalidInputError(CrossbanditError, ValueError):
    """An argument is not valid."""


class InvalidParameterError(InvalidInputError):
    """A number, name or choice is outside its domain."""


class InvalidGraphError(InvalidInputError):
    """A graph is malformed, or the algorithm cannot play on it."""


class InvalidContextError(InvalidInputError):
    """The problem has no such context."""


class InvalidLossesError(InvalidInputError):
    """Losses are not valid, or an outcome is incomplete or contradicts itself.

    Valid losses have the right shape, are finite, and are in [0, 1].
    """


class DecisionError(CrossbanditError):
    """A decision cannot be learned from. Its subclasses say why."""


class LearnedBeforeError(DecisionError):
    """The feedback of a decision was learned from before. Each decision counts once."""


class ExpiredDecisionError(DecisionError):
    """A decision is older than the learner remembers, or is dated in the future."""


class ForeignDecisionError(DecisionError):
    """Another learner made a decision, or this one did after the checkpoint it was loaded from."""


class DamagedTokenError(DecisionError):
    """A token is damaged, forged, or not a token at all."""


class MissingOutcomesError(CrossbanditError):
    """Outcomes are missing, or come late, in a way that would mislead the learner."""


class GraphNumberError(CrossbanditError):
    """An exact number of a graph cannot be computed in time. Its bounds can."""


class IndependenceNumberError(GraphNumberError):
    """The exact independence number cannot be computed in time. Its bounds can."""


class MissingPackageError(CrossbanditError, ModuleNotFoundError):
    """A package is not installed; the message has the command that installs it."""


class OutdatedCoreError(CrossbanditError, ImportError):
    """Compiled code was built from another version of its source; the message says how to build."""


class OutOfMemoryError(CrossbanditError, MemoryError):
    """A learner's estimates would not fit into memory."""


class CheckpointError(CrossbanditError):
    """A file is not a checkpoint, is damaged, or was written by another version."""


class LogError(CrossbanditError, ValueError):
    """A log is missing, cannot be read, has a missing column, or has too many bad lines."""


class StudyError(CrossbanditError):
    """A study cannot be planned, executed or read."""


class StudyFileError(StudyError, ValueError):
    """A study file has a mistake; the message names the line and the key."""


class ResultsError(StudyError):
    """Results are missing, in use by another process, damaged, or cannot be written."""


class BackendError(StudyError):
    """The engine that should execute a study does not answer."""


class ClientError(CrossbanditError):
    """A client of the service cannot do what it was asked to do."""


class ServiceAwayError(ClientError):
    """The service does not answer, or has not sent a first snapshot yet."""


class RefusedError(ClientError):
    """The service has refused a request.

    Args:
        message: What the service says.
        code: The reason, as a word that does not change between versions, such as "paused".
        status: The HTTP status.
    """

    def __init__(self, message: str, *, code: str, status: int) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class OutboxFullError(ClientError):
    """Too many outcomes wait to be acknowledged. None was added."""


class UnsentOutcomesError(ClientError):
    """The service has not acknowledged outcomes.

    Args:
        message: The reason.
        outcomes: The outcomes, in the form that the service takes as JSON.
    """

    def __init__(self, message: str, outcomes: list[dict[str, object]]) -> None:
        super().__init__(message)
        self.outcomes = outcomes


class CheckFailedError(CrossbanditError, AssertionError):
    """An algorithm or an environment broke a rule that `crossbandit.verify.checks` tests."""


# The errors that content of unknown origin may cause: a file, a token, settings.
IMPOSSIBLE_CONTENT: tuple[type[Exception], ...] = (
    ArithmeticError,
    AttributeError,
    CrossbanditError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


class CrossbanditWarning(UserWarning):
    """Base class of all warnings that the package gives."""


class MissingFeedbackWarning(CrossbanditWarning):
    """Feedback is missing more often after some arms than after others."""


class LogWarning(CrossbanditWarning):
    """A log looks as if results computed from it will be wrong."""
