"""The web side as an ASGI application (uvicorn): pages, API and the streams of events."""

import os

from django.core.asgi import get_asgi_application

from policyhub.conf.body_limit import BodyLimit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "policyhub.conf.settings.embedded")
application = BodyLimit(get_asgi_application())
