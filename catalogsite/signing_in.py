"""Where somebody who signs in begins, unless a page had sent them to the form."""

from django.contrib.auth.views import LoginView
from django.urls import reverse

_WRITES = ("materials.add_material", "materials.change_material", "materials.publish_material")
_OPERATES = "messaging.view_deadletter"


class SignIn(LoginView):
    """Operators who write nothing begin in their console, everybody else with the materials."""

    def get_default_redirect_url(self) -> str:
        user = self.request.user
        writes = any(user.has_perm(right) for right in _WRITES)
        if user.is_staff and user.has_perm(_OPERATES) and not writes:
            return reverse("admin:messaging_deadletter_changelist")
        return super().get_default_redirect_url()
