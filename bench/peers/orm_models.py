"""The product's tables as models of no app: read and written, never migrated."""

from django.db import connection, models
from django.db.models.functions import Now

on_postgresql = connection.vendor == "postgresql"


class InboxReceipt(models.Model):
    consumer = models.CharField(max_length=64)
    event_id = models.UUIDField()
    type = models.CharField(max_length=100)
    material_id = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    outcome = models.CharField(max_length=8)
    fingerprint = models.BinaryField()
    content_fingerprint = models.BinaryField()
    names_revision = models.BooleanField()
    duplicates = models.PositiveIntegerField()
    handled_at = models.DateTimeField(db_default=Now())

    class Meta:
        managed = False
        app_label = "naive"
        db_table = "messaging_inboxreceipt"

    def __str__(self):
        return str(self.event_id)


class CatalogEntry(models.Model):
    material_id = models.CharField(max_length=64, primary_key=True)
    revision = models.BigIntegerField()
    replaced_revision = models.BigIntegerField(default=0)
    visible = models.BooleanField()
    title = models.CharField(max_length=200)
    summary = models.CharField(max_length=500)
    body = models.TextField()
    language = models.CharField(max_length=35, default="")
    tags = models.JSONField(default=list)
    published_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)
    withdrawn_reason = models.CharField(max_length=500, default="")
    event_id = models.UUIDField()
    applied_at = models.DateTimeField(db_default=Now())
    if on_postgresql:  # elsewhere they stand in a table of their own, and are left out
        words = models.TextField()

    class Meta:
        managed = False
        app_label = "naive"
        db_table = "catalog_entry"

    def __str__(self):
        return self.material_id


class AuditRecord(models.Model):
    event_id = models.UUIDField()
    type = models.CharField(max_length=100)
    material_id = models.CharField(max_length=64)
    revision = models.BigIntegerField()
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField(db_default=Now())
    actor = models.CharField(max_length=150)
    envelope = models.TextField()

    class Meta:
        managed = False
        app_label = "naive"
        db_table = "audit_record"

    def __str__(self):
        return str(self.event_id)
