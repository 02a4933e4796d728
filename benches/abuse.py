#!/usr/bin/env python3
"""What clients that mean harm take of a running server: memory by unfinished bodies, CPU by refused requests, memory by documents.

    target/release/onehop serve --demo --data /tmp/abused --listen 127.0.0.1:8099 &
    benches/abuse.py $! bodies       # unfinished bodies of a MiB on 900 connections
    benches/abuse.py $! documents    # CPU for each refused or introspecting request
    benches/abuse.py $! plans        # memory taken by documents whose compiled plans are large

Needs Linux (it reads /proc) and Python 3.10, and nothing else.
"""

import argparse
import json
import os
import socket
import time

HOST = ("127.0.0.1", 8099)
BODY_BYTES = 1_048_576
SENT_BYTES = 1_048_000
TICKS = os.sysconf("SC_CLK_TCK")


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def head(length, address=None):
    forwarded = f"X-Forwarded-For: {address}\r\n" if address else ""
    return (
        "POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"{forwarded}Content-Length: {length}\r\n\r\n"
    ).encode()


def exchange(connection, body, address=None):
    """Sends one request, and returns the status of its response."""
    connection.sendall(head(len(body), address) + body)
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    start, rest = received.split(b"\r\n\r\n", 1)
    lower = start.lower()
    if b"content-length:" in lower:
        length = int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(rest) < length:
            rest += connection.recv(65536)
    return int(start.split(b" ")[1]), rest


def bodies(pid, connections, networks):
    """Sends all but the end of a MiB on each connection. With networks, behind a proxy that names that many."""
    before = resident_mib(pid)
    opened, answers = [], {}
    for number in range(connections):
        connection = socket.create_connection(HOST)
        connection.settimeout(0.05)
        address = f"10.{number % networks}.0.1" if networks else None
        try:
            connection.sendall(head(BODY_BYTES, address))
            connection.sendall(b" " * SENT_BYTES)
        except OSError:
            pass
        opened.append(connection)
    highest = max(resident_mib(pid) for _ in range(20) if not time.sleep(0.1))
    for connection in opened:
        try:
            status = connection.recv(64).split(b" ")[1].decode()
        except (OSError, IndexError):
            status = "none"
        answers[status] = answers.get(status, 0) + 1
    print(f"{connections} connections: {before:.0f} MiB before, {highest:.0f} MiB at most; answers {answers}")


def measure(pid, name, make_body, requests):
    connection = socket.create_connection(HOST)
    statuses, before, sent = {}, cpu_seconds(pid), 0
    for number in range(requests):
        body = make_body(number)
        status, _ = exchange(connection, body)
        statuses[status] = statuses.get(status, 0) + 1
        sent += 1
        if status == 429:
            break
    cpu = (cpu_seconds(pid) - before) / sent
    print(f"{name}: {cpu * 1000:.2f} ms CPU a request, {sent} requests until refused for quota; {statuses}")


def documents(pid):
    def unknown(number):
        fields = " ".join(f"unknown{number}x{field}" for field in range(990))
        return json.dumps({"query": "{ " + fields + " }"}).encode()

    def introspection(number):
        types = "{ types { name fields { name type { name ofType { name ofType { name } } } } } }"
        return json.dumps({"query": f"query Q{number} {{ __schema {types} }}"}).encode()

    def large(number):
        return json.dumps({"query": f"query Q{number} {{ __typename }}", "extensions": {"a": "x" * 3_000}}).encode()

    measure(pid, "990 unknown names", unknown, 2_000)
    time.sleep(12)
    measure(pid, "introspection", introspection, 2_000)
    time.sleep(12)
    measure(pid, "a small query with 3 KB of extensions", large, 2_000)


def plans(pid, seconds):
    before, end, sent, statuses = resident_mib(pid), time.monotonic() + seconds, 0, {}
    connection = socket.create_connection(HOST)
    names = ["a", "b", "c", "d"]
    while time.monotonic() < end:
        fields = " ".join(
            f"f{sent}x{number}: feed(first: 1) @skip(if: ${names[number % 4]}) {{ nodes {{ id title }} }}"
            for number in range(12)
        )
        declared = ", ".join(f"${name}: Boolean!" for name in names)
        for bits in range(16):
            variables = {name: bool(bits >> place & 1) for place, name in enumerate(names)}
            body = json.dumps({"query": f"query({declared}) {{ {fields} }}", "variables": variables})
            status, _ = exchange(connection, body.encode())
            statuses[status] = statuses.get(status, 0) + 1
        sent += 1
    after = resident_mib(pid)
    print(f"{sent} documents with 16 sets of conditions in {seconds} s: {before:.0f} MiB before, {after:.0f} MiB after; {statuses}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pid", type=int, help="process of the server, which listens at 127.0.0.1:8099")
    arguments.add_argument("what", choices=["bodies", "documents", "plans"])
    arguments.add_argument("--connections", type=int, default=900)
    arguments.add_argument("--networks", type=int, default=0, help="as a proxy names them; 0 for no proxy")
    arguments.add_argument("--seconds", type=int, default=12)
    given = arguments.parse_args()
    if given.what == "bodies":
        bodies(given.pid, given.connections, given.networks)
    elif given.what == "documents":
        documents(given.pid)
    else:
        plans(given.pid, given.seconds)


if __name__ == "__main__":
    main()
