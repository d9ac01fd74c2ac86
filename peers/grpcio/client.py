"""A grpcio client that calls xds:///greeter without a pause and prints what its calls met with (see the README of
examples/grpc). It ends with its standard input.

    client.py [the pause between two calls, in milliseconds]
"""

import collections
import json
import os
import sys
import threading
import time

import grpc

pause = float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.001
lock = threading.Lock()
answers = collections.Counter()
failures = collections.Counter()


def report():
    while True:
        time.sleep(0.02)
        with lock:
            line = json.dumps({"answers": answers, "failures": failures})
        print(line, flush=True)


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


for work in (report, end_with_input):
    threading.Thread(target=work, daemon=True).start()

# Bytes in, bytes out: the service has no messages.
greet = grpc.insecure_channel("xds:///greeter").unary_unary("/example.Greeter/Greet")
while True:
    try:
        answer = greet(b"", timeout=20)
        with lock:
            answers[answer.decode()] += 1
    except grpc.RpcError as error:
        with lock:
            failures[f"{error.code().name}: {error.details()}"] += 1
    time.sleep(pause)
