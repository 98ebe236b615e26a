"""A server of S3 on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "bucket"
SECRET = "s3cr3t"


@contextmanager
def running_s3() -> Iterator[str]:
    """Run a server with a bucket in a block, and yield the options that follow the path in an address there."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        keys = {"aws_access_key_id": "user", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
        boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys).create_bucket(Bucket=BUCKET)
        yield f"?scheme=http&endpoint_override={host}:{port}&region=us-east-1"
    finally:
        server.stop()


def address_of(path: str, options: str) -> str:
    """Return the address of a path in the bucket."""
    return f"s3://user:{SECRET}@{BUCKET}/{path}{options}"
