"""Static files under names that hold a hash of their content, so that browsers keep them."""

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """Takes the plain name where `collectstatic` has not run, or not since a file was added:
    a page without long caching is better than no page. Whitenoise serves both names."""

    def stored_name(self, name: str) -> str:
        try:
            return str(super().stored_name(name))
        except ValueError:
            return str(self.clean_name(name))
