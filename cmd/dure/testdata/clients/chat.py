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

stream = client.chat.completions.create(model=model, messages=question, stream=True, extra_body={"ignore_eos": True})
next(iter(stream))
stream.close()

for call, error in (
        (dict(model="gpt-9", messages=question), openai.NotFoundError),
        (dict(model=model, messages=[{"role": "user", "content": "word " * 9000}]), openai.BadRequestError),
        (dict(model=model, messages=question, temperature=-1), openai.BadRequestError)):
    try:
        client.chat.completions.create(**call)
    except error as e:
        assert str(e), e
    else:
        raise AssertionError("%s was not raised" % error)
print("all good")
