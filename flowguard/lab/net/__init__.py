"""Network namespaces: real routers, real packets, real sshd. Needs root."""
