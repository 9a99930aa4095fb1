"""Talks to the fake through Slack's own package; prints what it understood."""

import sys
import threading
import warnings

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse

warnings.simplefilter("ignore")
base, bot_token, app_token = sys.argv[1] + "/", sys.argv[2], sys.argv[3]
web = WebClient(token=bot_token, base_url=base)


def refused(call):
    try:
        call()
        print("taken")
    except SlackApiError as error:
        print(error.response["error"], error.response.status_code, error.response.headers.get("Retry-After"))


me = web.auth_test()
print(me["user_id"], me["bot_id"])
refused(lambda: WebClient(token="xoxb-no", base_url=base).auth_test())
heard, done = [], threading.Event()


def listen(client, request):
    client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
    event = request.payload.get("event", {})
    heard.append((request.type, event.get("type") or request.payload.get("command") or request.payload.get("type"), event.get("text")))
    if len(heard) == 4:
        done.set()


socket = SocketModeClient(app_token=app_token, web_client=WebClient(base_url=base))
socket.socket_mode_request_listeners.append(listen)
socket.connect()
print("connected", socket.is_connected())
posted = web.chat_postMessage(
    channel="C0HALL",
    text="Choose",
    blocks=[
        {"type": "section", "text": {"type": "mrkdwn", "text": "*Choose*"}},
        {"type": "actions", "elements": [{"type": "button", "action_id": "a", "value": "1", "text": {"type": "plain_text", "text": "One"}}]},
    ],
    metadata={"event_type": "x", "event_payload": {"id": "1"}},
)
done.wait(15)
print(sorted(map(str, heard)))
socket.close()
ts = posted["ts"]
print(posted["message"]["bot_id"], web.chat_update(channel="C0HALL", ts=ts, text="Chosen", blocks=[])["text"])
reply = web.chat_postMessage(channel="C0HALL", text="in a thread", thread_ts=ts)["ts"]
found = web.conversations_replies(channel="C0HALL", ts=ts, include_all_metadata=True)["messages"]
print([message["text"] for message in found], found[0]["metadata"]["event_payload"])
web.chat_postMessage(channel="C0HALL", text="more")
pages = [len(page["messages"]) for page in web.conversations_history(channel="C0HALL", limit=1)]
print("pages", pages, [channel["id"] for channel in web.users_conversations(types="public_channel,im")["channels"]])
print(web.users_info(user="U0ADA")["user"]["profile"]["display_name"])
web.reactions_add(channel="C0HALL", timestamp=ts, name="eyes")
refused(lambda: web.reactions_add(channel="C0HALL", timestamp=ts, name="eyes"))
refused(lambda: web.reactions_remove(channel="C0HALL", timestamp=ts, name="x"))
refused(lambda: web.assistant_threads_setStatus(channel_id="C0HALL", thread_ts=ts, status="thinks"))
refused(lambda: web.assistant_threads_setStatus(channel_id="C0HALL", thread_ts=ts, status="thinks"))
refused(lambda: web.chat_postMessage(channel="C0HALL", text="x", blocks=[{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}]))
refused(lambda: web.chat_postMessage(channel="C0HALL", text="x" * 40001))
refused(lambda: web.chat_postMessage(channel="C0NONE", text="x"))
refused(lambda: web.chat_postMessage(channel="C0HALL", text="", blocks=[]))
file = web.files_upload_v2(channel="C0HALL", filename="a.txt", content="milk", initial_comment="list")["file"]
print(web.files_info(file=file["id"])["file"]["size"])
web.chat_delete(channel="C0HALL", ts=reply)
refused(lambda: web.chat_delete(channel="C0HALL", ts=reply))
