"""A scenario's client: the person at the terminal, with a browser, and Hob's own commands. client.py HOB URL."""

import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

HOB, URL = sys.argv[1:3]
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
# Where a household would have put a document about its Hob, for servers that ask for one instead of registering it.
if os.environ.get("MCP_CONFORMANCE_SCENARIO") == "auth/basic-cimd":
    CONTEXT["client_id"] = "https://conformance-test.local/client-metadata.json"
# What the tools of the scenarios are called with.
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
# As often a person would try before giving up.
LOGINS_MAX = 2


def quoted(value):
    return json.dumps(value)


class House:
    def __init__(self, folder):
        self.config = folder / "config.toml"
        self.environment = os.environ | {"HOB_HOME": str(folder / "data"), "HOME": str(folder)}
        lines = ['[web]', "allow = ['localhost', '127.0.0.0/8', '::1']", "[mcp.c]", f"url = {quoted(URL)}"]
        lines += [f"{key} = {quoted(CONTEXT[key])}" for key in ("client_id", "client_secret") if key in CONTEXT]
        self.config.write_text("\n".join(lines) + "\n")
        self.config.chmod(0o600)

    def hob(self, *arguments):
        ran = subprocess.run(
            [HOB, "--config", self.config, "mcp", *arguments],
            # What a scenario asks, it has an answer to by default.
            env=self.environment, input="\n" * 3, capture_output=True, text=True, check=False,
        )
        print("hob mcp", *arguments, "\n", ran.stdout, ran.stderr, sep=" ")
        return ran

    def log_in(self):
        hob = subprocess.Popen(
            [HOB, "--config", self.config, "mcp", "login", "c"],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        links = (line.strip() for line in hob.stdout if line.startswith("http"))
        link = next(links, None)
        told, _ = hob.communicate(f"{where_it_ends(link)}\n" if link else "")
        print("login", link, told)
        return hob.returncode == 0

    def until_logged_in(self, *arguments):
        """Runs a command, and logs in when it asks for that."""
        for _ in range(LOGINS_MAX + 1):
            ran = self.hob(*arguments)
            if "needs a login" not in ran.stdout + ran.stderr or not self.log_in():
                break
        return ran


def where_it_ends(link):
    """Where the browser is sent by whoever issues the tokens: they ask nothing here."""
    url = urllib.parse.urlsplit(link)
    connection = http.client.HTTPConnection(url.hostname, url.port)
    connection.request("GET", urllib.parse.urlunsplit(("", "", url.path, url.query, "")))
    return connection.getresponse().getheader("Location", "")


with tempfile.TemporaryDirectory() as folder:
    house = House(pathlib.Path(folder))
    tested = house.until_logged_in("test", "c")
    tools = [line.split(":")[0].strip().removeprefix("c__") for line in tested.stdout.splitlines() if line.startswith("  c__")]
    called = [house.until_logged_in("call", "c", tool, json.dumps(ARGUMENTS.get(tool, {}))) for tool in tools]
    sys.exit(max(ran.returncode for ran in [tested, *called]))
