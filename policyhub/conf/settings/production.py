"""Real servers by URL: POLICYHUB_DATABASE_URL, POLICYHUB_REDIS_URL, secrets by variable or by NAME_FILE."""

from policyhub.conf import environment, places
from policyhub.conf.logs import logging_settings
from policyhub.conf.settings.base import *  # noqa: F403
from policyhub.conf.settings.base import secure_transport
from policyhub.conf.settings.broker import celery_settings

POLICYHUB_DATA_DIR = places.data_dir()
SECRET_KEY = environment.text("POLICYHUB_SECRET_KEY")
# White space between keys; the first encrypts, all of them decrypt.
POLICYHUB_CREDENTIAL_KEYS = environment.text("POLICYHUB_CREDENTIAL_KEY").split()

DATABASES = {"default": environment.database(environment.text("POLICYHUB_DATABASE_URL"))}
globals().update(celery_settings(environment.text("POLICYHUB_REDIS_URL")))

ALLOWED_HOSTS = environment.words("POLICYHUB_ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = environment.words("POLICYHUB_TRUSTED_ORIGINS")
globals().update(secure_transport(environment.flag("POLICYHUB_TLS", True)))
# Only behind a proxy that sets this header itself and drops it from clients; otherwise anybody could claim TLS.
if environment.flag("POLICYHUB_BEHIND_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
STATIC_ROOT = environment.text("POLICYHUB_STATIC_ROOT", str(ROOT / "build" / "static"))  # noqa: F405
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
LOGGING = logging_settings(environment.text("POLICYHUB_LOG_LEVEL", "INFO"))
