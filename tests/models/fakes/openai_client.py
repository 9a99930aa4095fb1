"""Talks to the fake through OpenAI's own package; prints what it understood."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-test", max_retries=0)
tools = [{"type": "function", "function": {"name": "look", "description": "x", "parameters": {"type": "object"}}}]


def ask(messages):
    options = {"include_usage": True}
    with client.chat.completions.stream(model="m", messages=messages, tools=tools, stream_options=options) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


history = [{"role": "user", "content": "Hi"}]
call = ask(history).choices[0].message.tool_calls[0]
print(call.function.name, call.function.arguments)
called = {"id": call.id, "type": "function", "function": {"name": "look", "arguments": call.function.arguments}}
history += [{"role": "assistant", "content": None, "tool_calls": [called]}]
try:
    ask(history)
except openai.BadRequestError as error:
    print("refused:", error.type)
history += [{"role": "tool", "tool_call_id": call.id, "content": "seen"}]
final = ask(history)
print(final.choices[0].message.content, final.usage.total_tokens, final.choices[0].finish_reason)
for _ in range(2):
    try:
        ask(history)
    except openai.APIStatusError as error:
        print(type(error).__name__, error.code)


def show(kind, data, role="user"):
    picture = {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
    try:
        print(ask([{"role": role, "content": [{"type": "text", "text": "What is it?"}, picture]}]).choices[0].message.content)
    except openai.BadRequestError as error:
        print("refused:", error.message)


show("image/png", "iVBORw0KGgo=")
show("image/jpeg", "iVBORw0KGgo=")
show("image/bmp", "Qk0=")
