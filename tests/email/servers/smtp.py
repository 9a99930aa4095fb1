"""An SMTP server of Debian's aiosmtpd for the tests: it asks for a password, and delivers into Maildirs.

Usage: smtp.py MAILDIRS CERTIFICATE KEY PORT (0: any free one). Its port is the first line of its output.

What it does with a letter, the recipient says: `refused@` 550, `busy@` 451 until the file `calm` lies beside the Maildirs,
`lost@` takes the letter and hangs up without an answer, `held@` takes it, puts a copy into Ada's folder for what was sent, as some
providers do, and never answers. All others have their letter in MAILDIRS/LOCAL-PART.
"""

import asyncio
import mailbox
import os
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Maildirs:
    def __init__(self, root):
        self.root = root

    async def handle_RCPT(self, server, session, envelope, address, options):
        local = address.split("@")[0].lower()
        if local == "refused":
            return "550 5.1.1 nobody of that name here"
        if local == "busy" and not os.path.exists(os.path.join(self.root, "calm")):
            return "451 4.7.1 come back later"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 fine"

    async def handle_DATA(self, server, session, envelope):
        lost = False
        for address in envelope.rcpt_tos:
            local = address.split("@")[0].lower()
            lost = lost or local == "lost"
            folder = mailbox.Maildir(os.path.join(self.root, local), create=True)
            folder.add(envelope.original_content)
        if lost:
            server.transport.abort()
        if any(address.lower().startswith("held@") for address in envelope.rcpt_tos):
            keep_copy(os.path.join(self.root, "ada", "Maildir"), envelope.original_content)
            await asyncio.Event().wait()
        return "250 2.0.0 taken"


def keep_copy(home, letter):
    place = os.path.join(home, ".Gesendet")
    mailbox.Maildir(place, create=True).add(letter)
    owner = os.stat(home)
    for folder, _, files in os.walk(place):
        for path in [folder, *(os.path.join(folder, file) for file in files)]:
            os.chown(path, owner.st_uid, owner.st_gid)


def authenticate(server, session, envelope, mechanism, data):
    return AuthResult(success=data.login in (b"hob", b"ada", b"ben") and data.password == b"secret")


async def main():
    root, certificate, key, port = sys.argv[1:]
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()

    def serve():
        return SMTP(
            Maildirs(root),
            authenticator=authenticate,
            auth_required=True,
            auth_require_tls=False,
            data_size_limit=None,
        )

    server = await loop.create_server(serve, "127.0.0.1", int(port), ssl=tls)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
