"""Talks to Hob through OpenAI's own package, as any program does that expects a model; prints what it understood."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
print([model.id for model in client.models.list()], client.models.retrieve("hob").owned_by)

history = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When is tea?"}]
whole = client.chat.completions.create(model="hob", messages=history, temperature=0.2)
choice = whole.choices[0]
print(choice.message.role, repr(choice.message.content), choice.finish_reason, whole.usage.total_tokens)

history += [{"role": "assistant", "content": choice.message.content}, {"role": "user", "content": "And cake?"}]
options = {"include_usage": True}
with client.chat.completions.stream(model="hob", messages=history, stream_options=options) as stream:
    pieces = [event.delta for event in stream if event.type == "content.delta"]
    final = stream.get_final_completion()
print(repr("".join(pieces)), final.choices[0].finish_reason, final.usage.total_tokens)

dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91Jpz"
parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": dot}}]
shown = client.chat.completions.create(model="hob", messages=[{"role": "user", "content": parts}])
print(shown.choices[0].message.content)


def refused(**more):
    try:
        client.chat.completions.create(**{"model": "hob", "messages": history, **more})
    except openai.APIStatusError as error:
        print(type(error).__name__, error.code, error.param)


refused(model="gpt-5")
refused(n=2)
refused(messages=[{"role": "assistant", "content": "Hi"}])
refused(response_format={"type": "json_object"})
client.api_key = "wrong"
refused()
