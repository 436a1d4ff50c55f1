"""The warnings of studies."""


class StudyWarning(UserWarning):
    """A warning about the results of a study."""


class ChangedModulesWarning(StudyWarning):
    """Cells are kept although a module that they were computed with has changed."""


class MixedProvenanceWarning(StudyWarning):
    """The cells of a study were computed with different versions or on different processors."""


class FailedCellsWarning(StudyWarning):
    """Cells failed, and are missing from the results."""
