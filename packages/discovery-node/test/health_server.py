"""grpcio servers of grpc.health.v1.Health on loopback, which end with the standard input.

Without an argument: one at a free port, which is printed. Each service is as its name says: "up" and "" serve, "down" does
not, of others it does not know.

With --ask: one for each line "open ADDRESS" that is read. Each probe is printed as "NUMBER ADDRESS USER-AGENT", and ends as
the line "NUMBER RESULT" says: "ok", "unavailable" or another.
"""

import concurrent.futures
import itertools
import os
import sys
import threading

import grpc


def check(request, context):
    # Bytes in, bytes out: a message of one field with a text, and one of one field with a number.
    service = request[2:].decode()
    if service not in ("", "up", "down"):
        context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
    return bytes([8, 2 if service == "down" else 1])


def serve(handler, address, threads):
    handlers = {"Check": grpc.unary_unary_rpc_method_handler(handler)}
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=threads))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc.health.v1.Health", handlers),))
    port = server.add_insecure_port(address)
    server.start()
    return server, port


numbers = itertools.count()
answers = {}
printing = threading.Lock()


def say(line):
    with printing:
        print(line, flush=True)


def asking(address):
    def ask(_, context):
        number = str(next(numbers))
        answer = answers[number] = concurrent.futures.Future()
        agent = dict(context.invocation_metadata()).get("user-agent", "")
        say(f"{number} {address} {agent}")
        result = answer.result()
        if result not in ("ok", "unavailable"):
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        return bytes([8, 1 if result == "ok" else 2])

    return ask


servers = []
if sys.argv[1:] == ["--ask"]:
    for line in sys.stdin:
        what, value = line.split()
        if what == "open":
            servers.append(serve(asking(value), value, 8))
            say(f"opened {value}")
        else:
            answers.pop(what).set_result(value)
else:
    servers.append(serve(check, "127.0.0.1:0", 1))
    print(servers[0][1], flush=True)
    sys.stdin.buffer.read()
os._exit(0)
