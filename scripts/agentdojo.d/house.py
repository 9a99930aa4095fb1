"""A Hob of its own, in a home of its own, and its API."""

import http.client
import json
import re
import subprocess
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

from served import MODEL

CONFIG = """
[provider]
kind = "openai_compatible"
base_url = "{model}/v1"
api_key = "none"
context_tokens = 1000000
[provider.models]
primary = "{name}"
[agent]
iterations_max = 25
tool_output_chars_max = 200000
[quotas]
tool_calls_per_minute = 10000
[memory]
extract = false
max_facts = 0
fragments_max = 0
[memory.embedding]
kind = "none"
[approvals]
expire_secs = {expires}
[server]
listen = "127.0.0.1:0"
[mcp.{suite}]
url = "{model}/mcp/{suite}"
{undo}
"""
# What the owner knows of these servers: what takes back what they do. Rescheduling, money, messages and deletion have no inverse.
UNDO = {
    "workspace": '''
undo.create_calendar_event = { tool = "cancel_calendar_event", with = { event_id = "$.id_" } }
undo.create_file = { tool = "delete_file", with = { file_id = "$.id_" } }
''',
}

class Refused(RuntimeError):
    """Hob does not do what it was asked for."""


class House:
    """It runs as long as this is open."""

    def __init__(self, binary, suite, address, *, expires, believed):
        self.home = tempfile.TemporaryDirectory(prefix="hob-dojo-")
        self.binary, self.local = binary, threading.local()
        text = CONFIG.format(model=address, name=MODEL, suite=suite, expires=expires, undo=UNDO.get(suite, ""))
        (Path(self.home.name) / "config.toml").write_text(text)
        self.hob("mcp", "test", suite)
        # The owner says once that the tools do what their server says. What they answer is a stranger's word as before.
        if believed:
            self.hob("mcp", "class", suite, "--as-it-says")

    def command(self, *arguments):
        return [self.binary, "--config", f"{self.home.name}/config.toml", *arguments]

    def environment(self):
        return {"HOME": self.home.name, "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def hob(self, *arguments):
        ran = subprocess.run(self.command(*arguments), env=self.environment(), cwd=self.home.name, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"hob {' '.join(arguments)}: {ran.stderr.strip() or ran.stdout.strip()}")
        return ran.stdout

    def __enter__(self):
        log = open(f"{self.home.name}/log", "wb")
        command = self.command("run")
        self.process = subprocess.Popen(command, env=self.environment(), cwd=self.home.name, stdout=log, stderr=log)
        self.at = self.until_served()
        self.key = self.hob("web", "token", "add", "dojo").split()[0]
        return self

    def until_served(self):
        for _ in range(600):
            if self.process.poll() is not None:
                raise RuntimeError(f"Hob did not start: {Path(self.home.name, 'log').read_text()[-2000:]}")
            try:
                return re.search(r"http://([^/]+)/", self.hob("web"))[1]
            except RuntimeError:
                time.sleep(0.1)
        raise RuntimeError("Hob serves no page")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.home.cleanup()

    def ask(self, method, path, body=None, kind="application/json"):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPConnection(self.at, timeout=120)
        headers = {"authorization": f"Bearer {self.key}", "content-type": kind}
        self.local.connection.request(method, path, body, headers)
        answer = self.local.connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            raise Refused(f"{method} {path}: {answer.status} {data[:300]!r}")
        return json.loads(data or "null")

    def say(self, chat, text):
        parts = {"id": "first", "text": text}
        form = "".join(f'--part\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{part}\r\n' for name, part in parts.items())
        self.ask("POST", f"/api/chats/{chat}/messages", f"{form}--part--\r\n".encode(), "multipart/form-data; boundary=part")

    def run_of(self, chat):
        return self.ask("GET", f"/api/runs?session={urllib.parse.quote('web:' + chat)}")["runs"][0]

    def answer(self, run, yes):
        """Answers what a run asks, if it asks something; its number and its words."""
        question = self.ask("GET", f"/api/runs/{run}")["question"]
        if question is None:
            return {}
        wanted = [choice for choice in question["choices"] if choice.startswith("approve" if yes else "deny")]
        body = {"question": question["number"], "text": max(wanted, key=len, default="deny")}
        try:
            self.ask("POST", f"/api/runs/{run}/answers", json.dumps(body))
        except Refused as refused:
            # The answer of before was taken meanwhile.
            if "no longer open" not in str(refused):
                raise
        return {question["number"]: question["text"]["text"]}

    def asked(self, run):
        """How many questions a run asked."""
        after, count = 0, 0
        while True:
            events = self.ask("GET", f"/api/runs/{run}/events?after={after}")["events"]
            if not events:
                return count
            count += sum(event["kind"] == "human.asked" for event in events)
            after = events[-1]["seq"]

    def play(self, case, says):
        """Says a case's words and waits for the end; the questions that were asked. `says` is a person's yes or no; none: nobody's."""
        self.say(case.code, case.words)
        while True:
            case.finished.wait(0.2 if says else 1)
            run = self.run_of(case.code)
            if run["ended_at"] is not None:
                return self.asked(run["run"])
            if says and run["state"] == "waiting":
                case.asked.update(self.answer(run["run"], says(case)))
            elif case.finished.is_set():
                time.sleep(0.1)
