"""Fixture `sign_in`: people before the console, each with exactly the rights that are named."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.messaging.console_pages import SignIn


@pytest.fixture
def sign_in() -> SignIn:
    """A client of a member of staff with these rights of the messaging app."""

    def client_of(*rights: str, name: str = "", staff: bool = True) -> Client:
        user = User.objects.create_user(name or f"user-{uuid4().hex[:8]}", is_staff=staff)
        granted = Permission.objects.filter(
            content_type__app_label="messaging", codename__in=rights
        )
        assert len(granted) == len(rights)
        user.user_permissions.set(granted)
        client = Client()
        client.force_login(user)
        return client

    return client_of
