"""A password hash that costs nothing; any process of the project can still check it."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickPasswordHasher(PBKDF2PasswordHasher):
    """One iteration instead of a million: the suite makes hundreds of users."""

    iterations = 1
