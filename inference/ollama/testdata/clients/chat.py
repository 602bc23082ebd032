"""The stock Python client against a server with a scripted model: python3 chat.py URL"""
import asyncio
import datetime
import json
import sys

import ollama

URL = sys.argv[1]
GREETING = "Hello, 이 사람!"
KEY = {"Authorization": "Bearer secret"}
client = ollama.Client(host=URL, headers=KEY)


def ask(content, **more):
    return {"model": "small", "messages": [{"role": "user", "content": content}], **more}


def talk():
    whole = client.chat(**ask("hi", options={"temperature": 0, "num_ctx": 1024}, keep_alive="5m"))
    assert whole.message.content == GREETING and whole.done_reason == "stop" and whole.eval_count == 3, whole
    pieces = [p.message.content for p in client.chat(**ask("hi", stream=True))]
    assert pieces == ["Hello, ", "이 사람!", ""], pieces
    thought = client.chat(**ask("hi", think=True))
    assert thought.message.thinking == "Let me think." and thought.message.content == GREETING, thought
    formed = client.chat(**ask("what?", format={"type": "object", "properties": {"answer": {"type": "integer"}}}))
    assert json.loads(formed.message.content) == {"answer": 42}
    assert client.generate(model="small", prompt="hi", system="Be kind.").response == GREETING


def weather(city: str) -> str:
    """Tells it.

    Args:
      city: where
    """
    return "sun in " + city


def use_tools():
    messages = [{"role": "user", "content": "How is it in Paris?"}]
    call = client.chat(model="small", messages=messages, tools=[weather])
    (use,) = call.message.tool_calls
    assert use.function.name == "weather", use
    messages += [call.message, {"role": "tool", "tool_name": "weather", "content": weather(**use.function.arguments)}]
    answer = client.chat(model="small", messages=messages, tools=[weather])
    assert answer.message.content == "weather says: sun in Paris", answer


def look():
    assert client.embed(model="org/large", input=["a", "bcd"], dimensions=2).embeddings == [[0, 1], [1, 3]]
    assert [m.model for m in client.list().models] == ["small:latest"]
    (running,) = client.ps().models
    assert running.expires_at > datetime.datetime.now(datetime.timezone.utc), running
    shown = client.show("small")
    assert shown.capabilities == ["completion", "tools"] and shown.modelinfo["llama.context_length"] == 2048, shown
    assert [p.status for p in client.pull("small", stream=True)] == ["pulling manifest", "download", "success"]
    assert client.copy("small", "b").status == "success"
    assert client.delete("small").status == "success"


def fails(status, call, needle):
    try:
        call()
    except ollama.ResponseError as e:
        assert needle in str(e) and (status is None or e.status_code == status), (e, e.status_code)
    else:
        raise AssertionError("no error")


def fail():
    fails(400, lambda: client.chat(**ask("hi", options={"temperature": -1})), "options.temperature")
    fails(401, lambda: ollama.Client(host=URL).chat(**ask("hi")), "key")
    fails(404, lambda: client.chat(**{**ask("hi"), "model": "llama"}), "model 'llama' not found")
    fails(429, lambda: client.chat(**ask("be busy")), "taken")
    fails(429, lambda: list(client.chat(**ask("be busy", stream=True))), "taken")
    fails(None, lambda: list(client.chat(**ask("break", stream=True))), "process died")


def leave():
    for _ in client.chat(**ask("go on", stream=True)):
        break

    async def cancelled():
        c = ollama.AsyncClient(host=URL, headers=KEY)
        try:
            await asyncio.wait_for(c.chat(**ask("go on")), 0.2)
        except TimeoutError:
            return
        raise AssertionError("it ended")

    asyncio.run(cancelled())


for part in (talk, use_tools, look, fail, leave):
    part()
print("all good")
