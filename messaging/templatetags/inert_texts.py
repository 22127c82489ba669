"""`{{ text|inert }}`: what messages, brokers and people at a shell have written, in a page.

Django escapes markup; this escapes what would turn the reading direction, or not be seen.
"""

from django import template

from messaging.running.inert_text import inert

register = template.Library()

register.filter("inert", inert)
