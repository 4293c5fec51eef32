"""The web process: uvicorn with our application. `python -m policyhub.conf.web [--host H] [--port P] [--fd N]`."""

from __future__ import annotations

import argparse
import os
import socket

import uvicorn

from policyhub.conf import environment, patience
from policyhub.conf.setup import choose_settings

GRACE_S = 5  # streams of events never end by themselves
MAX_CONNECTIONS = 500
MAX_OF_ONE = 250


def main() -> None:
    parser = argparse.ArgumentParser(prog="policyhub.conf.web")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--fd", type=int, help="listening socket made by the supervisor: no port is lost while we restart")
    args = parser.parse_args()
    choose_settings()
    proxied = environment.flag("POLICYHUB_BEHIND_PROXY", False)
    config = uvicorn.Config(
        "policyhub.conf.asgi:application",
        host=args.host,
        port=args.port,
        log_config=None,  # Django's LOGGING stands: JSON, redacted
        access_log=False,
        server_header=False,
        lifespan="off",  # Django does not speak it
        timeout_graceful_shutdown=GRACE_S,
        limit_concurrency=MAX_CONNECTIONS,
        http=patience.protocol(None if proxied else MAX_OF_ONE),
        proxy_headers=proxied,
        ssl_certfile=environment.text("POLICYHUB_TLS_CERTIFICATE", "") or None,
        ssl_keyfile=environment.text("POLICYHUB_TLS_KEY", "") or None,
        forwarded_allow_ips=os.environ.get("POLICYHUB_PROXY_ADDRESSES", "127.0.0.1"),
    )
    sockets = [socket.socket(fileno=args.fd)] if args.fd is not None else None
    uvicorn.Server(config).run(sockets=sockets)


if __name__ == "__main__":
    main()
