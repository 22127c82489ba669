"""One relay leads, others stand by: a lease in the database, by the database's clock.

A leader that wakes late does no harm: what it marks it marks conditionally, and what it sends
twice changes nothing.
"""

import os
import secrets
import socket
import time
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from messaging.models import RelayLease

LEASE = timedelta(seconds=9)
RENEW_SECONDS = 3.0
STANDBY_SECONDS = 1.0  # between two looks whether the lease is free


class Leadership:
    """This process's claim to one lease. Every method is one short database turn."""

    def __init__(self, name: str, *, using: str) -> None:
        self._name = name
        self._leases = RelayLease.objects.using(using)
        self.owner = f"{socket.gethostname()[:32]}:{os.getpid()}:{secrets.token_hex(4)}"
        self._renew_at: float | None = None

    def hold(self) -> bool:
        """Whether this process leads now; takes the lease where it is free, renews it in time."""
        now = time.monotonic()
        if self._renew_at is not None and now < self._renew_at:
            return True
        # On SQLite a transaction has its turn at the lock; a statement by itself has none.
        with transaction.atomic(using=self._leases.db):
            held = self._take() or (self._make() and self._take())
        self._renew_at = now + RENEW_SECONDS if held else None
        return held

    def release(self) -> None:
        """Let a standby take over at once."""
        if self._renew_at is not None:
            self._renew_at = None
            with transaction.atomic(using=self._leases.db):
                self._leases.filter(name=self._name, owner=self.owner).update(expires_at=Now())

    def _take(self) -> bool:
        free = (
            Q(owner=self.owner)
            | Q(expires_at__lte=Now())
            # No renewal reaches as far: the clock was set back, and would block everybody.
            | Q(expires_at__gt=Now() + 2 * LEASE)
        )
        taken = self._leases.filter(free, name=self._name).update(
            owner=self.owner, expires_at=Now() + LEASE
        )
        return bool(taken)

    def _make(self) -> bool:
        """Make the row where there is none; whether that was so."""
        if self._leases.filter(name=self._name).exists():
            return False
        self._leases.bulk_create([RelayLease(name=self._name)], ignore_conflicts=True)
        return True
