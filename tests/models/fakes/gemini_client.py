"""Talks to the fake through Google's own package; prints what it understood."""

import sys

from google import genai
from google.genai import errors, types

options = types.HttpOptions(base_url=sys.argv[1], api_version="v1beta", retry_options=types.HttpRetryOptions(attempts=1))
client = genai.Client(api_key="AIza-test", http_options=options)
model = "gemini-3-flash-preview"
schema = {"type": "object", "properties": {"at": {"type": "string"}}}
look = types.FunctionDeclaration(name="look", description="x", parameters_json_schema=schema)
manual = types.AutomaticFunctionCallingConfig(disable=True)
history = [types.Content(role="user", parts=[types.Part(text="Hi")])]


def ask(model=model, **more):
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[look])], automatic_function_calling=manual, **more
    )
    chunks = list(client.models.generate_content_stream(model=model, contents=history, config=config))
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts], chunks[-1]


def refused(**more):
    try:
        ask(**more)
    except errors.APIError as error:
        print(type(error).__name__, error.code, error.status)


parts, last = ask()
text = "".join(part.text for part in parts if part.text)
calls = [part for part in parts if part.function_call]
usage = last.usage_metadata
print(repr(text), last.candidates[0].finish_reason, usage.prompt_token_count, usage.thoughts_token_count)
print([(part.function_call.name, part.function_call.args, part.thought_signature) for part in calls])
history.append(types.Content(role="model", parts=[types.Part(text=text), *calls]))
refused()
seen = [types.Part.from_function_response(name="look", response={"output": "seen"}) for _ in calls]
history.append(types.Content(role="user", parts=seen))
level = types.ThinkingConfig(thinking_level="low")
parts, last = ask(thinking_config=level, system_instruction="Be brief.")
print(repr("".join(part.text for part in parts)), last.candidates[0].finish_reason)
refused(thinking_config=types.ThinkingConfig(thinking_budget=1024))
refused()
refused(model="gemini-0")
about = client.models.get(model=model)
print(about.input_token_limit, about.output_token_limit)


def show(kind, data):
    history[:] = [types.Content(role="user", parts=[types.Part.from_bytes(data=data, mime_type=kind), types.Part(text="?")])]
    try:
        print(repr("".join(part.text for part in ask()[0])))
    except errors.APIError as error:
        print(error.code, error.message)


show("image/png", b"\x89PNG\r\n\x1a\n")
show("image/gif", b"GIF89a")
show("image/webp", b"GIF89a")
