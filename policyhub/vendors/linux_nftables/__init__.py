"""Linux routers and firewalls that are configured with nftables."""
