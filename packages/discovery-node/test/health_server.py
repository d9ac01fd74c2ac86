"""A grpcio server of grpc.health.v1.Health on loopback. It prints its port, and ends with its standard input.

Each service is as its name says: "up" and "" serve, "down" does not, of others it does not know.
"""

import concurrent.futures
import os
import sys

import grpc


def check(request, context):
    # Bytes in, bytes out: a message of one field with a text, and one of one field with a number.
    service = request[2:].decode()
    if service not in ("", "up", "down"):
        context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
    return bytes([8, 2 if service == "down" else 1])


handlers = {"Check": grpc.unary_unary_rpc_method_handler(check)}
server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=1))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", handlers),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
sys.stdin.buffer.read()
os._exit(0)
