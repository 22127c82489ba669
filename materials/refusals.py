"""Why an editor's act did not happen. Each carries one sentence for the person who tried.

Nothing was changed and no event exists when one of these is raised.
"""

from collections.abc import Mapping, Sequence


class ActionRefused(Exception):
    """The act is not possible now; the sentence says why and what to do."""


class UnknownMaterial(ActionRefused):
    """There is no material of that id."""


class UnknownRevision(ActionRefused):
    """There is no such revision of the material, or it published nothing."""


class NothingChanged(ActionRefused):
    """Exactly this content is published already."""


class NotPublished(ActionRefused):
    """It is not public: so it cannot be withdrawn, nor published where it is not to come back."""


class NotScheduled(ActionRefused):
    """The planned act is done, failed or cancelled, or whoever planned it may not do it."""


class DraftChanged(ActionRefused):
    """Somebody saved another draft since this one was opened; theirs stands."""


class TryAgain(ActionRefused):
    """The database was busy with others for too long. The same act may work now."""


class InvalidMaterial(ActionRefused):
    """Fields that the contract does not allow: sentences by field in `errors`."""

    def __init__(self, errors: Mapping[str, Sequence[str]]) -> None:
        self.errors = {field: list(sentences) for field, sentences in errors.items()}
        super().__init__(
            " ".join(
                f"{field.removeprefix('material_')}: {' '.join(sentences)}"
                for field, sentences in self.errors.items()
            )
        )
