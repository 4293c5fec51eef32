"""One machine, nothing to install: SQLite and a Redis child in the data folder (POLICYHUB_DATA, default ./data)."""

from cryptography.fernet import Fernet

from policyhub.conf import environment, places
from policyhub.conf.logs import logging_settings
from policyhub.conf.settings.base import *  # noqa: F403
from policyhub.conf.settings.base import secure_transport
from policyhub.conf.settings.broker import celery_settings

POLICYHUB_DATA_DIR = places.data_dir()
_SECRETS = POLICYHUB_DATA_DIR / "secrets"
SECRET_KEY = environment.secret_file(_SECRETS / "secret-key")
# First line encrypts, all of them decrypt: a new key is put on top, the old ones stay until `rotate` has run.
POLICYHUB_CREDENTIAL_KEYS = environment.secret_file(_SECRETS / "credential-keys", lambda: Fernet.generate_key().decode()).split()

DATABASES = {"default": environment.sqlite(POLICYHUB_DATA_DIR / "policyhub.sqlite3")}
globals().update(celery_settings(places.broker_url(POLICYHUB_DATA_DIR)))

# By default the supervisor listens on 127.0.0.1. A browser that reaches another name is refused until the name is listed.
ALLOWED_HOSTS = environment.words("POLICYHUB_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
# Plain HTTP on this machine, so cookies cannot be marked secure unless a TLS proxy stands in front.
globals().update(secure_transport(environment.flag("POLICYHUB_TLS", False)))
WHITENOISE_USE_FINDERS = True  # serves the packages' files as they are; there is no collectstatic step
LOGGING = logging_settings(environment.text("POLICYHUB_LOG_LEVEL", "INFO"))
