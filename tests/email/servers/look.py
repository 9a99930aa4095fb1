"""Another mail program: prints what lies in a folder, a line of JSON a letter.

Usage: look.py PORT USER FOLDER [SUBJECT]. With SUBJECT it marks the letters of that subject as deleted, and prints nothing.
"""

import email
import email.policy
import imaplib
import json
import re
import ssl
import sys

port, user, folder, *subject = sys.argv[1:]
context = ssl.create_default_context()
context.check_hostname = False
context.verify_mode = ssl.CERT_NONE
box = imaplib.IMAP4_SSL("localhost", int(port), ssl_context=context)
box.login(user, "secret")
assert box.select(folder, readonly=not subject)[0] == "OK", folder
validity = box.response("UIDVALIDITY")[1][0].decode()
for number in box.search(None, "ALL")[1][0].split():
    answer = box.fetch(number, "(UID FLAGS BODY.PEEK[])")[1]
    head = b" ".join(part if isinstance(part, bytes) else part[0] for part in answer)
    letter = email.message_from_bytes(answer[0][1], policy=email.policy.default)
    if subject:
        if letter["Subject"] == subject[0]:
            box.store(number, "+FLAGS", "\\Deleted")
        continue
    flags = sorted(flag.decode() for flag in imaplib.ParseFlags(head) if flag != b"\\Recent")
    uid = re.search(rb"UID (\d+)", head)[1].decode()
    body = letter.get_body(("plain",))
    told = {name: letter[name] for name in ("From", "To", "Cc", "Subject", "Message-ID", "In-Reply-To", "References")}
    print(json.dumps({"place": f"{validity}/{uid}", "flags": flags, **told, "text": body and body.get_content().replace("\r\n", "\n")}, ensure_ascii=False))
