"""What Django's own format of this language does not tell: the second, and the same order."""

DATETIME_FORMAT = "Y-m-d H:i:s"
