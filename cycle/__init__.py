"""Choosing Your Collaborators Wisely: a thin, runnable implementation of the CYCle protocol."""

__version__ = "0.1.0"
