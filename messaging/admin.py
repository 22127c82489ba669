"""Delivery in the admin: which record has which of the console's pages."""

from django.contrib import admin

from messaging.console.attempts import FailedAttemptAdmin
from messaging.console.batches import BatchAdmin
from messaging.console.letters import LetterAdmin
from messaging.console.lists import ConsoleList
from messaging.console.log_pages import DecisionAdmin
from messaging.console.outbox import OutboxMessageAdmin
from messaging.console.queues import QueueAdmin
from messaging.console.receipts import InboxReceiptAdmin
from messaging.models import (
    DeadLetter,
    FailedAttempt,
    InboxReceipt,
    OperatorBatch,
    OperatorDecision,
    OutboxMessage,
    Pause,
    RelayLease,
)
from messaging.read_only_admin import ReadOnlyAdmin


@admin.register(RelayLease)
class RelayLeaseAdmin(ConsoleList, ReadOnlyAdmin):
    here = "queues"
    list_display = ("name", "owner", "expires_at")


admin.site.register(OutboxMessage, OutboxMessageAdmin)
admin.site.register(InboxReceipt, InboxReceiptAdmin)
admin.site.register(FailedAttempt, FailedAttemptAdmin)
admin.site.register(DeadLetter, LetterAdmin)
admin.site.register(Pause, QueueAdmin)
admin.site.register(OperatorDecision, DecisionAdmin)
admin.site.register(OperatorBatch, BatchAdmin)
