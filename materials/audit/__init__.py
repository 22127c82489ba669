"""The audit projection: every fact as it was received, in order of arrival."""
