"""The stock Python client against a running server: python3 chat.py URL"""
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
model = client.models.list().data[0].id
question = [{"role": "user", "content": "What is the capital of France? Answer in one word."}]

whole = client.chat.completions.create(model=model, messages=question, temperature=0, max_tokens=8)
assert "Paris" in whole.choices[0].message.content, whole
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, whole

text, usage = "", None
for chunk in client.chat.completions.create(
        model=model, messages=question, temperature=0, max_tokens=8, stream=True, stream_options={"include_usage": True}):
    text += "".join(c.delta.content or "" for c in chunk.choices)
    usage = chunk.usage or usage
assert text == whole.choices[0].message.content, text
assert usage.completion_tokens == whole.usage.completion_tokens, usage

# Two choices, streamed: each is whole, and they differ by their seeds.
both = ["", ""]
for chunk in client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": "Say something odd."}], n=2, temperature=2, seed=1, max_tokens=16, stream=True):
    for c in chunk.choices:
        both[c.index] += c.delta.content or ""
assert both[0] and both[1] and both[0] != both[1], both

# Logprobs: greedy tokens are the likeliest, and their bytes are the text.
logged = client.chat.completions.create(model=model, messages=question, temperature=0, max_tokens=8, logprobs=True, top_logprobs=3)
tokens = logged.choices[0].logprobs.content
assert len(tokens) >= 1 and all(len(t.top_logprobs) == 3 and t.top_logprobs[0].token == t.token and t.logprob <= 0 for t in tokens), tokens
assert b"".join(bytes(t.bytes) for t in tokens).decode() == logged.choices[0].message.content, tokens

# A banned token does not come; a text completion echoes, takes lists and ids.
raw = client.completions.create(model=model, prompt="The capital of France is", max_tokens=4, temperature=0, echo=True)
assert raw.choices[0].text.startswith("The capital of France is") and "Paris" in raw.choices[0].text, raw
ids = client.post("/tokenize", cast_to=object, body={"model": model, "content": " Paris"})["tokens"]
banned = client.completions.create(model=model, prompt="The capital of France is", max_tokens=4, temperature=0, logit_bias={str(ids[0]): -100})
assert "Paris" not in banned.choices[0].text, banned
many = client.completions.create(model=model, prompt=["1, 2, 3,", "a, b, c,"], n=2, max_tokens=3, temperature=0, logprobs=2)
assert [c.index for c in many.choices] == [0, 1, 2, 3] and many.choices[0].text == many.choices[1].text != many.choices[2].text, many
assert many.choices[0].logprobs.text_offset[0] == 0 and "".join(many.choices[0].logprobs.tokens) == many.choices[0].text, many
listed = client.completions.create(model=model, prompt=ids, max_tokens=2, temperature=0, stream=True)
assert "".join(c.text for chunk in listed for c in chunk.choices), ids
assert client.post("/detokenize", cast_to=object, body={"model": model, "tokens": ids})["content"] == " Paris"
prompt = client.post("/apply-template", cast_to=object, body={"model": model, "messages": question})["prompt"]
assert "capital of France" in prompt and prompt.rstrip().endswith("assistant"), prompt
assert client.models.retrieve(model).id == model

stream = client.chat.completions.create(model=model, messages=question, stream=True, extra_body={"ignore_eos": True})
next(iter(stream))
stream.close()

for call, error in (
        (dict(model="gpt-9", messages=question), openai.NotFoundError),
        (dict(model=model, messages=[{"role": "user", "content": "word " * 9000}]), openai.BadRequestError),
        (dict(model=model, messages=question, temperature=-1), openai.BadRequestError),
        (dict(model=model, messages=question, logit_bias={"999999": 1}), openai.BadRequestError),
        (dict(model=model, messages=question, top_logprobs=21, logprobs=True), openai.BadRequestError)):
    try:
        client.chat.completions.create(**call)
    except error as e:
        assert str(e), e
    else:
        raise AssertionError("%s was not raised" % error)
print("all good")
