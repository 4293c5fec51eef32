"""The web side as an ASGI application (uvicorn): pages, API and the streams of events."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "policyhub.conf.settings.embedded")
application = get_asgi_application()
