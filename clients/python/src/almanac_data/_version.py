"""The version of this package, also sent as `User-Agent`."""

__version__ = "0.1.0"
