"""Has recordings put into words by the fake through OpenAI's own package; prints what it understood."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-test", max_retries=0)


def hear(name="voice.ogg", content=b"OggS spoken", model="whisper-1", **more):
    try:
        heard = client.audio.transcriptions.create(model=model, file=(name, content), **more)
        print(repr(heard.text), heard.usage.type)
    except openai.APIStatusError as error:
        print(type(error).__name__, error.code, error.body["message"])


hear(language="de", response_format="json")
hear(model="gpt-4o-mini-transcribe")
hear(name="voice.txt")
hear(content=b"no sound")
hear(model="whisper-9")
hear(language="German")
hear(model="gpt-4o-transcribe", response_format="text")
hear(content=b"OggS" + bytes(26_214_400))
hear()
client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-other", max_retries=0)
hear()
