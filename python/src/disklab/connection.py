"""Connects to a Ray cluster by its address. Checks first that a cluster answers there, and that it
is the one that is meant.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from collections.abc import Iterator

from disklab import program

# Timeout of a connection in seconds. A running cluster answers at once.
PATIENCE = 10.0
START = "`ray start --head` starts one on a machine, `ray start --address=...` adds others"


@contextlib.contextmanager
def connected(address: str) -> Iterator[None]:
    """Connects this process to a cluster, and restores its earlier state afterwards."""
    try:
        import ray
        from ray.exceptions import RayError
    except ImportError as error:
        raise program.Error(
            f"cannot join {address}: Ray is not installed; pip install 'disklab[ray]'"
        ) from error
    if ray.is_initialized():
        _check_same(address, ray.get_runtime_context().gcs_address)
        yield
        return
    _check_there(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise program.Error(f"cannot join a Ray cluster at {address!r}: {_why(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _why(error: BaseException) -> str:
    """Returns the reason of an error with its innermost cause, which Ray's own text leaves out, and
    what to do.
    """
    cause = error
    while below := cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__):
        cause = below
    # The cause may quote a trace, whose last line has the reason.
    reason = f"{type(cause).__name__}: {cause}".strip().splitlines()[-1]
    said = str(error) if cause is error else f"{error}: {reason}"
    if "AuthenticationError" not in reason:
        return f"{said}; {START}"
    is_set = os.environ.get("RAY_AUTH_MODE") == "token"
    return f"{said}{'' if is_set else '; the cluster needs a token: set RAY_AUTH_MODE=token'}"


def _check_there(address: str) -> None:
    """Checks that a cluster answers. Ray itself would try for long, and end with an unclear
    message.
    """
    place = _place(address)
    if place is None:
        return
    try:
        socket.create_connection(place, PATIENCE).close()
    except OSError as error:
        why = error.strerror or error
        raise program.Error(f"no Ray cluster answers at {address}: {why}; {START}") from error


def _check_same(address: str, here: str) -> None:
    asked = os.environ.get("RAY_ADDRESS", "auto") if address == "auto" else address
    place = _place(asked)
    if place is None or asked == here or _same(place, _place(here)):
        return
    raise program.Error(
        f"cannot join the Ray cluster at {address}: this process is on the one at {here} already; "
        'call ray.shutdown() first, or give address="auto" for that one'
    )


def _place(address: str) -> tuple[str, int] | None:
    """Returns the host and port of an address; None if it has no port."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    return (host.strip("[]"), int(port)) if colon and port.isdigit() else None


def _same(one: tuple[str, int], other: tuple[str, int] | None) -> bool:
    if other is None or one[1] != other[1]:
        return False
    own = {"127.0.0.1", *_addresses(socket.gethostname())}
    both = [_addresses(one[0]), _addresses(other[0])]
    return bool(both[0] & both[1]) or all(numbers & own for numbers in both)


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except OSError:
        return {host}
