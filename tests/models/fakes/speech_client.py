"""Has words spoken by the fake through OpenAI's own package; prints what it understood."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-test", max_retries=0)


def say(words="Guten Tag", model="tts-1", voice="alloy", **more):
    try:
        spoken = client.audio.speech.create(model=model, voice=voice, input=words, **more)
        print(spoken.response.headers["content-type"], spoken.content[:4], b"OpusHead" in spoken.content)
    except openai.APIStatusError as error:
        print(type(error).__name__, error.code, error.body["message"])


say(response_format="opus")
say(model="gpt-4o-mini-tts", instructions="Softly", response_format="opus", speed=1.5)
say(response_format="mp3")
say(model="tts-9")
say(voice="nobody")
say(words="")
say(words="a" * 4097)
say(response_format="ogg")
say()
client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-other", max_retries=0)
say()
