"""Somebody on Matrix, with a client that is not Hob's: matrix-nio, with its own keys.

Usage: person.py ADDRESS NAME FOLDER. Takes a command a line as JSON on standard input, answers each with a line {"did": …}, and
tells of whatever it sees in its rooms with lines {"saw": …}.
"""

import asyncio
import json
import sys
from io import BytesIO
from pathlib import Path

import nio
from nio.crypto.attachments import decrypt_attachment
from nio.events.room_events import BadEvent, UnknownBadEvent


def tell(line: dict) -> None:
    print(json.dumps(line), flush=True)


def checked(answer):
    if isinstance(answer, nio.ErrorResponse):
        raise RuntimeError(str(answer))
    return answer


class Client(nio.AsyncClient):
    """A client whose round of syncs goes on where a command has asked for the keys that it wanted to ask for."""

    async def keys_query(self):
        return await super().keys_query() if self.should_query_keys else None


class Person:
    def __init__(self, address: str, name: str, folder: str):
        self.me = f"@{name}:house.test"
        config = nio.AsyncClientConfig(encryption_enabled=True, store_sync_tokens=False)
        self.client = Client(address, self.me, store_path=folder, config=config)
        self.password = name
        self.begun = None
        self.is_forged = False

    async def begin(self) -> None:
        checked(await self.client.login(self.password, device_name="nio"))
        checked(await self.client.sync(timeout=0, full_state=True))
        if self.client.should_upload_keys:
            checked(await self.client.keys_upload())
        self.client.add_event_callback(self.saw, nio.Event)
        self.client.add_event_callback(self.invited, nio.InviteMemberEvent)
        self.client.add_to_device_callback(self.device, nio.KeyVerificationEvent)
        tell({"did": self.client.device_id})

    async def saw(self, room: nio.MatrixRoom, event: nio.Event) -> None:
        source = event.source
        content = source.get("content", {})
        if isinstance(event, (BadEvent, UnknownBadEvent)):
            return
        told = {
            "room": room.room_id,
            "id": event.event_id,
            "sender": event.sender,
            "type": source.get("type"),
            "content": content,
            "sealed": bool(getattr(event, "decrypted", False)),
        }
        if isinstance(event, nio.MegolmEvent):
            told["unreadable"] = True
        if isinstance(event, nio.RedactionEvent):
            told["redacts"] = event.redacts
        if "file" in content or "url" in content:
            told["bytes"] = await self.fetched(content)
        tell({"saw": told})

    async def fetched(self, content: dict) -> str:
        sealed = content.get("file")
        url = sealed["url"] if sealed else content["url"]
        got = checked(await self.client.download(url)).body
        if sealed:
            got = decrypt_attachment(got, sealed["key"]["k"], sealed["hashes"]["sha256"], sealed["iv"])
        return got.decode("utf-8", "replace")

    async def invited(self, room: nio.MatrixInvitedRoom, event: nio.InviteMemberEvent) -> None:
        if event.state_key == self.me and event.membership == "invite":
            await self.client.join(room.room_id)

    async def device(self, event: nio.KeyVerificationEvent) -> None:
        """Goes through a comparison of codes, and says yes to whatever code it is."""
        if isinstance(event, nio.KeyVerificationAccept):
            # Its key waits for the client's next round otherwise.
            await self.client.send_to_device_messages()
            return
        if isinstance(event, nio.KeyVerificationKey):
            sas = self.client.key_verifications[event.transaction_id]
            tell({"saw": {"type": "code", "pictures": [picture for picture, _ in sas.get_emoji()]}})
            if self.is_forged:
                await self.forge(sas)
            else:
                checked(await self.client.confirm_short_auth_string(event.transaction_id))
        elif isinstance(event, nio.KeyVerificationMac):
            sas = self.client.key_verifications[event.transaction_id]
            tell({"saw": {"type": "verified", "devices": sas.verified_devices}})
        elif isinstance(event, nio.KeyVerificationCancel) and event.transaction_id == self.begun:
            tell({"saw": {"type": "cancelled", "why": event.reason}})

    async def forge(self, sas) -> None:
        """Says yes with a code over a key that is not this device's, as whoever sits between two would."""
        device, mac = sas.other_olm_device, {f"ed25519:{self.client.device_id}": "AAAA"}
        content = {"transaction_id": sas.transaction_id, "mac": mac, "keys": "AAAA"}
        message = nio.ToDeviceMessage("m.key.verification.mac", device.user_id, device.id, content)
        checked(await self.client.to_device(message))

    async def do_room(self, invite, sealed=True, direct=False, name=None):
        state = []
        if sealed:
            state.append(nio.EnableEncryptionBuilder().as_dict())
        answer = await self.client.room_create(invite=invite, is_direct=direct, initial_state=state, name=name)
        return checked(answer).room_id

    async def send(self, room, content, kind="m.room.message"):
        while room not in self.client.rooms or not self.client.rooms[room].members_synced:
            if room in self.client.rooms:
                checked(await self.client.joined_members(room))
            else:
                await asyncio.sleep(0.05)
        answer = await self.client.room_send(room, kind, content, ignore_unverified_devices=True)
        return checked(answer).event_id

    async def do_say(self, room, text, **more):
        return await self.send(room, {"msgtype": "m.text", "body": text, **more})

    async def do_file(self, room, name, text):
        data = text.encode()
        sealed = self.client.rooms[room].encrypted
        answer, keys = await self.client.upload(
            lambda *_: BytesIO(data), content_type="text/plain", filename=name, encrypt=sealed, filesize=len(data)
        )
        url = checked(answer).content_uri
        content = {"msgtype": "m.file", "body": name, "info": {"size": len(data), "mimetype": "text/plain"}}
        if sealed:
            content["file"] = {"url": url, "mimetype": "text/plain", **keys}
        else:
            content["url"] = url
        return await self.send(room, content)

    async def do_edit(self, room, event, text):
        new = {"msgtype": "m.text", "body": text}
        relation = {"rel_type": "m.replace", "event_id": event}
        return await self.send(room, {"msgtype": "m.text", "body": f"* {text}", "m.new_content": new, "m.relates_to": relation})

    async def do_redact(self, room, event):
        return checked(await self.client.room_redact(room, event)).event_id

    async def do_redact_sealed(self, room, event):
        """As no client does: the server does not see what it is, and lets it through."""
        return await self.send(room, {"redacts": event}, "m.room.redaction")

    async def do_keep_key(self, room):
        """From now on nobody else gets this room's key: what is said is for this device alone."""
        self.client.invalidate_outbound_session(room)
        self.client.share_group_session = self.shares_nothing
        session = self.client.olm.create_outbound_group_session(room)
        del session
        self.client.olm.outbound_group_sessions[room].shared = True
        return None

    async def shares_nothing(self, *_, **__):
        return None

    async def do_messages(self, room):
        """Whoever said what in the room, by the server's own list, oldest first: what nobody can make up."""
        answer = checked(await self.client.room_messages(room, limit=200, direction=nio.MessageDirection.front))
        return [{"sender": event.sender, "id": event.event_id, "type": event.source.get("type")} for event in answer.chunk]

    async def do_verify(self, user, device, is_closed=False, is_forged=False):
        """Begins to compare codes; a client that is closed then knows nothing of it any more."""
        self.is_forged = is_forged
        known = self.client.device_store[user][device]
        message = self.client.create_key_verification(known)
        self.begun = message.content["transaction_id"]
        checked(await self.client.to_device(message))
        if is_closed:
            self.client.key_verifications.clear()
        return None

    async def do_devices(self, user):
        self.client.olm.users_for_key_query.add(user)
        checked(await self.client.keys_query())
        return [device.id for device in self.client.device_store.active_user_devices(user)]

    async def listen(self) -> None:
        try:
            await self.client.sync_forever(timeout=10_000)
        except Exception as error:
            # Who waits for something to be seen sees why it does not come.
            tell({"saw": {"type": "deaf", "why": repr(error)}})

    async def commands(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=1 << 22)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            command = json.loads(line)
            try:
                did = await getattr(self, f"do_{command.pop('do')}")(**command)
                tell({"did": did})
            except Exception as error:
                tell({"failed": repr(error)})


async def main() -> None:
    address, name, folder = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    person = Person(address, name, folder)
    await person.begin()
    sync = asyncio.create_task(person.listen())
    await person.commands()
    sync.cancel()
    await person.client.close()


asyncio.run(main())
