"""Found by its name: https://docs.djangoproject.com/en/5.2/topics/i18n/formatting/."""
