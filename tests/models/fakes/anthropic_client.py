"""Talks to the fake through Anthropic's own package; prints what it understood."""

import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1], api_key="sk-ant-test", max_retries=0)
tools = [{"name": "look", "description": "x", "input_schema": {"type": "object"}}]
history = [{"role": "user", "content": "Hi"}]


def ask(**options):
    options = {"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024}} | options
    with client.messages.stream(model="claude-haiku-4-5", messages=history, tools=tools, **options) as stream:
        text = "".join(stream.text_stream)
        return text, stream.get_final_message()


def refused(**options):
    try:
        ask(**options)
    except anthropic.APIStatusError as error:
        print(type(error).__name__, error.body["error"]["type"])


text, first = ask()
print([block.type for block in first.content], repr(text), first.stop_reason)
call = first.content[-1]
print(call.name, call.input, first.usage.input_tokens, first.usage.output_tokens)
history.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in first.content]})
history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "seen"}]})
text, second = ask()
print(repr(text), second.content[0].text, second.stop_reason)
refused(max_tokens=1024)
for _ in range(3):
    refused()
print(client.models.retrieve("claude-haiku-4-5").max_input_tokens)


def show(kind, data):
    source = {"type": "base64", "media_type": kind, "data": data}
    history[:] = [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "What is it?"}]}]
    try:
        print(repr(ask()[0]))
    except anthropic.APIStatusError as error:
        print(error.body["error"]["message"])


show("image/png", "iVBORw0KGgo=")
show("image/gif", "iVBORw0KGgo=")
