#!/usr/bin/env python3
"""A command for todoctl work --stream: a todo comes as a line, and a line answers it."""
import json
import sys


def handle(payload):
    return {"length": len(payload["text"])}


for line in sys.stdin:
    todo = json.loads(line)
    answer = {"receipt": todo["receipt"]}
    try:
        answer["result"] = handle(todo["payload"])
    except Exception as e:
        answer["error"] = repr(e)
    print(json.dumps(answer), flush=True)  # unflushed, the answer would wait for the next 8 KiB
