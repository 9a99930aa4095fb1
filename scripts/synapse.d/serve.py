"""Starts Synapse with its database in a folder, on a port of its own choice, and registers whom it is told.

Usage: serve.py FOLDER NAME…  Everybody's password is their name. Prints its address when it is ready; ends when its standard input does.
"""

import hashlib
import hmac
import json
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SHARED = "for registrations of the tests"


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def settings(folder: Path, port: int) -> dict:
    limitless = {"per_second": 10_000, "burst_count": 10_000}
    by_account = {"address": limitless, "account": limitless, "failed_attempts": limitless}
    return {
        "server_name": "house.test",
        "pid_file": str(folder / "pid"),
        "listeners": [
            {
                "port": port,
                "bind_addresses": ["127.0.0.1"],
                "type": "http",
                "tls": False,
                "resources": [{"names": ["client"]}],
            }
        ],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "synapse.db")}},
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "signing.key"),
        "log_config": str(folder / "log.yaml"),
        "registration_shared_secret": SHARED,
        "macaroon_secret_key": secrets.token_hex(16),
        "form_secret": secrets.token_hex(16),
        "report_stats": False,
        "trusted_key_servers": [],
        "enable_registration": False,
        "bcrypt_rounds": 4,
        "rc_message": limitless,
        "rc_registration": limitless,
        "rc_login": by_account,
        "rc_joins": {"local": limitless, "remote": limitless},
        "rc_joins_per_room": limitless,
        "rc_invites": {"per_room": limitless, "per_user": limitless, "per_issuer": limitless},
        "rc_room_creation": limitless,
    }


LOG = {
    "version": 1,
    "formatters": {"plain": {"format": "%(asctime)s %(name)s %(levelname)s %(message)s"}},
    "handlers": {"file": {"class": "logging.FileHandler", "formatter": "plain", "filename": ""}},
    "root": {"level": "INFO", "handlers": ["file"]},
    "disable_existing_loggers": False,
}


def asked(address: str, body: dict | None = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data=data, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def register(address: str, name: str) -> None:
    there = f"{address}/_synapse/admin/v1/register"
    nonce = asked(there)["nonce"]
    said = "\0".join([nonce, name, name, "notadmin"])
    mac = hmac.new(SHARED.encode(), said.encode(), hashlib.sha1).hexdigest()
    asked(there, {"nonce": nonce, "username": name, "password": name, "admin": False, "mac": mac})


def main() -> None:
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    port = free_port()
    log = json.loads(json.dumps(LOG))
    log["handlers"]["file"]["filename"] = str(folder / "synapse.log")
    # JSON is YAML.
    (folder / "log.yaml").write_text(json.dumps(log))
    (folder / "homeserver.yaml").write_text(json.dumps(settings(folder, port)))
    run = [sys.executable, "-m", "synapse.app.homeserver", "-c", str(folder / "homeserver.yaml")]
    subprocess.run([*run, "--generate-keys"], check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(run, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        while True:
            if server.poll() is not None:
                raise SystemExit(f"Synapse ended: {(folder / 'synapse.log').read_text()[-4000:]}")
            try:
                asked(f"{address}/_matrix/client/versions")
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        for name in names:
            register(address, name)
        print(json.dumps({"address": address}), flush=True)
        sys.stdin.read()
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


main()
