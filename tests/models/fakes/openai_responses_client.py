"""Talks to the fake of the Responses API through OpenAI's own package; prints what it understood."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-test", max_retries=0)
tools = [{"type": "function", "name": "look", "description": "x", "parameters": {"type": "object"}, "strict": False}]
common = {"model": "gpt-6-luna", "tools": tools, "store": False, "include": ["reasoning.encrypted_content"]}


def ask(items):
    with client.responses.stream(input=items, **common) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


history = [{"role": "user", "content": "Hi"}]
first = ask(history)
print([item.type for item in first.output], first.status, first.usage.total_tokens)
call = first.output[1]
print(call.name, call.arguments)
thought = {"type": "reasoning", "id": first.output[0].id, "summary": [], "encrypted_content": first.output[0].encrypted_content}
called = {"type": "function_call", "call_id": call.call_id, "name": call.name, "arguments": call.arguments}
result = {"type": "function_call_output", "call_id": call.call_id, "output": "seen"}


def refused(items):
    try:
        ask(items)
    except openai.BadRequestError as error:
        print("refused:", error.body["message"])


refused(history + [thought, called])
refused(history + [{**thought, "encrypted_content": "forged"}, called, result])
refused(history + [thought])
print(ask(history + [thought, called, result]).output_text)
