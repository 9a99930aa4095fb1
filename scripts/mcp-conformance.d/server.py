"""Hob as an MCP server for scenarios that show no key: starts it, puts the key before it, runs a command with its address.

server.py HOB COMMAND...
"""

import http.client
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

HOB, COMMAND = sys.argv[1], sys.argv[2:]
LISTENING = re.compile(r"server\.listening.*address=(127\.0\.0\.1:\d+)")


class KeyProxy(http.server.BaseHTTPRequestHandler):
    """Passes requests on with the key, and answers as they come."""

    def pass_on(self):
        own, there = f"127.0.0.1:{self.server.server_port}", self.server.hob
        # A scenario's own claims of where it comes from stay as they are.
        named = {own: there, f"localhost:{self.server.server_port}": there}
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        for name in headers:
            if name.lower() in ("host", "origin"):
                scheme, _, host = headers[name].rpartition("://")
                headers[name] = f"{scheme}://{named.get(host, host)}" if scheme else named.get(host, host)
        headers["Authorization"] = f"Bearer {self.server.key}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(there)
        connection.request(self.command, self.path, body or None, headers)
        answer = connection.getresponse()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := answer.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()
        self.close_connection = True

    do_GET = do_POST = do_DELETE = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


def address(hob):
    for line in hob.stderr:
        if found := LISTENING.search(line):
            return found.group(1)
    sys.exit("Hob does not listen")


with tempfile.TemporaryDirectory() as folder:
    home = pathlib.Path(folder)
    config = home / "config.toml"
    config.write_text("[server]\nlisten = '127.0.0.1:0'\n")
    config.chmod(0o600)
    environment = os.environ | {"HOB_HOME": str(home / "data"), "HOME": folder, "NO_COLOR": "1"}
    base = [HOB, "--config", config]
    hob = subprocess.Popen([*base, "run"], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        there = address(hob)
        threading.Thread(target=hob.stderr.read, daemon=True).start()
        added = subprocess.run(
            [*base, "web", "token", "add", "conformance"], env=environment, capture_output=True, text=True, check=True
        )
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), KeyProxy)
        proxy.hob, proxy.key = there, added.stdout.splitlines()[0]
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{proxy.server_port}/mcp"
        sys.exit(subprocess.run([*COMMAND, "--url", url], check=False).returncode)
    finally:
        hob.terminate()
        hob.wait()
