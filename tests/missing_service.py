"""What becomes of a test whose service is not installed: skipped at home, failed in CI."""

import os
from typing import NoReturn

import pytest


def missing(service: str) -> NoReturn:
    """Ends the test. With CI set a missing service is a failure, never a skip."""
    text = f"{service} is not installed"
    if os.environ.get("CI"):
        pytest.fail(text, pytrace=False)
    pytest.skip(text)
