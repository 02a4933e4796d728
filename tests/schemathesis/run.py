"""Runs schemathesis against a server of its own, on a directory of its own, as a user who has written something.

    run.py BINARY EXAMPLES SEED

Ends with 0 if at least EXAMPLES requests were made, none found a fault, the server then stopped as it should, and
`onehop verify` finds its data clean.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).parent
# So many posts, some of which are deleted as the run goes on.
POSTS = 30
USERNAMES = 200
# What is asked shall be done, also when one caller asks all of it.
UNLIMITED = {
    "ONEHOP_CALLER_RU_PER_SECOND": "0",
    "ONEHOP_SIGN_INS_PER_ADDRESS": "0",
    "ONEHOP_SIGN_INS_PER_USERNAME": "0",
    "ONEHOP_SIGN_UPS_PER_ADDRESS": "0",
    "ONEHOP_DRAIN_SECONDS": "0",
    "ONEHOP_WRITE_LIMITS_PERCENT": "0",
}
PASSWORD = "a long password"
STOP_SECONDS = 30
# Examples of each operation beyond its share: some operations have few that differ.
SPARE = 5


def main(binary: str, examples: int, seed: str) -> None:
    with tempfile.TemporaryDirectory(prefix="onehop-schemathesis-") as scratch:
        data = Path(scratch, "data")
        server = subprocess.Popen(
            [binary, "serve", "--listen", "127.0.0.1:0", "--data", data],
            stdout=subprocess.PIPE,
            env={**os.environ, **UNLIMITED},
            text=True,
        )
        try:
            endpoint = ready_url(server) + "/graphql"
            token = write_something(endpoint, Path(scratch))
            made = run(endpoint, token, examples, seed, Path(scratch))
            server.terminate()
            status = server.wait(STOP_SECONDS)
        finally:
            server.kill()
            server.wait()
        if status != 0:
            sys.exit(f"the server ended with {status}")
        subprocess.run([binary, "verify", "--data", data], check=True)
        if made < examples:
            sys.exit(f"only {made} of {examples} requests were made")
        print(f"{made} requests, no fault, clean data")


def ready_url(server: subprocess.Popen) -> str:
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    sys.exit("the server ended before it was ready")


def write_something(endpoint: str, scratch: Path) -> str:
    """Signs up and writes, leaves dictionaries of what there is now, and says the token."""
    author = ask(endpoint, 'createUser(input: { username: "author", password: "%s" }) { user { id } accessToken }' % PASSWORD)
    token = author["accessToken"]
    posts, comments = [], []
    for number in range(POSTS):
        post = ask(endpoint, f'createPost(input: {{ title: "Post {number}", content: "To be read." }}) {{ post {{ id }} }}', token)
        posts.append(post["post"]["id"])
        comment = ask(endpoint, f'createComment(input: {{ postId: "{posts[-1]}", content: "First." }}) {{ comment {{ id }} }}', token)
        comments.append(comment["comment"]["id"])
    users = [author["user"]["id"]]
    feed = ask(endpoint, "feed(first: 10) { edges { cursor } }", operation="query")
    dictionaries = {
        "posts": posts,
        "comments": comments,
        "users": users,
        "nodes": posts + comments + users,
        "usernames": ["author"] + [f"reader.{number}" for number in range(USERNAMES)],
        "passwords": [PASSWORD],
        "cursors": [edge["cursor"] for edge in feed["edges"]] or ["none"],
    }
    for name, entries in dictionaries.items():
        Path(scratch, f"{name}.dict").write_text("".join(f'"{entry}"\n' for entry in entries))
    return token


def ask(endpoint: str, field: str, token: str | None = None, operation: str = "mutation") -> dict:
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    body = json.dumps({"query": f"{operation} {{ {field} }}"}).encode()
    with urllib.request.urlopen(urllib.request.Request(endpoint, body, headers)) as response:
        answer = json.load(response)
    if "errors" in answer:
        sys.exit(f"{field}: {answer['errors']}")
    return next(iter(answer["data"].values()))


def run(endpoint: str, token: str, examples: int, seed: str, scratch: Path) -> int:
    """How many requests schemathesis made. Ends the program when it found something."""
    for name in ("schemathesis.toml", "checks.py"):
        shutil.copy(HERE / name, scratch)
    report = Path(scratch, "report.json")
    operations = ask(endpoint, "__schema { queryType { fields { name } } mutationType { fields { name } } }", operation="query")
    count = sum(len(root["fields"]) for root in operations.values())
    command = [
        Path(sys.executable).with_name("schemathesis"),
        "--config-file=schemathesis.toml",
        "run",
        endpoint,
        f"--header=Authorization: Bearer {token}",
        f"--max-examples={-(-examples // count) + SPARE}",
        "--checks=no_fault",
        "--continue-on-failure",
        f"--seed={seed}",
        f"--report-json-path={report}",
    ]
    found = subprocess.run(command, cwd=scratch).returncode
    if found != 0:
        sys.exit(found)
    told = json.loads(report.read_text())
    accepted = sum(phase["accepted"] for rates in told["valid_rates"].values() for phase in rates.values())
    print(f"{accepted} requests were answered with data")
    return told["test_cases"]["generated"]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
