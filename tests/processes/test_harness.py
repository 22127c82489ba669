"""The harness itself: if these hold, a failing process test speaks of the product."""


from django.contrib.auth import get_user_model

from tests.processes.harness import Run


def test_a_command_sees_what_the_test_has_written(run: Run) -> None:
    get_user_model().objects.create_user("known-to-both")

    seen = run.manage("shell", "-v0", "-c", _PRINT_USERS)

    assert seen.stdout.split() == ["known-to-both"], seen.stderr


_PRINT_USERS = """
from django.contrib.auth import get_user_model
print(*get_user_model().objects.values_list("username", flat=True))
"""
