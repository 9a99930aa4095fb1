"""Talks to the fake through Ollama's own package; prints what it understood."""

import sys

import ollama

client = ollama.Client(host=sys.argv[1])
look = {"type": "function", "function": {"name": "look", "description": "x", "parameters": {"type": "object"}}}
history = [{"role": "user", "content": "Hi"}]


def ask(model="qwen3", options={"num_ctx": 4096}, **more):
    chunks = list(client.chat(model=model, messages=history, tools=[look], stream=True, options=options, **more))
    content = "".join(chunk.message.content for chunk in chunks)
    thinking = "".join(chunk.message.thinking or "" for chunk in chunks)
    calls = [call for chunk in chunks for call in chunk.message.tool_calls or []]
    return content, thinking, calls, chunks[-1]


def refused(**more):
    try:
        ask(**more)
    except ollama.ResponseError as error:
        print(error.status_code, error.error)


content, thinking, calls, last = ask(think=True)
print(repr(content), repr(thinking), last.done_reason, last.prompt_eval_count, last.eval_count)
print([(call.function.name, call.function.arguments) for call in calls])
history.append({"role": "assistant", "content": content, "thinking": thinking, "tool_calls": calls})
refused()
history.append({"role": "tool", "content": "seen", "tool_name": "look"})
print(repr(ask()[0]))
refused(options={})
refused(model="llama9")
refused()
about = client.show("qwen3")
print(about.modelinfo["qwen3.context_length"], about.capabilities)


def show(picture):
    history[:] = [{"role": "user", "content": "What is it?", "images": [picture]}]
    try:
        print(repr(ask()[0]))
    except ollama.ResponseError as error:
        print(error.status_code, error.error)


show(b"\x89PNG\r\n\x1a\n")
show(b"GIF89a")
