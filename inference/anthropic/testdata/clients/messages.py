"""The stock Python client against a server with a scripted model: python3 messages.py URL"""
import asyncio
import sys

import anthropic

URL = sys.argv[1]
GREETING = "Hello, 이 사람!"


def connect(key):
    return anthropic.Anthropic(base_url=URL, api_key=key, max_retries=0)


client = connect("secret")


def ask(content, **more):
    return {"model": "small", "max_tokens": 2000, "messages": [{"role": "user", "content": content}], **more}


def rejects(kind, call, needle=""):
    try:
        call()
    except kind as e:
        assert needle in str(e), e
        return e
    raise AssertionError(f"no {kind.__name__}")


def talk():
    whole = client.messages.create(**ask("hi", system="Be kind."))
    assert whole.content[0].text == GREETING and whole.stop_reason == "end_turn", whole
    assert (whole.usage.input_tokens, whole.usage.cache_read_input_tokens, whole.usage.output_tokens) == (5, 2, 3)
    assert whole._request_id
    with client.messages.stream(**ask("hi")) as stream:
        assert list(stream.text_stream) == ["Hello, ", "이 사람!"]
        final = stream.get_final_message()
    assert final.content[0].text == GREETING and final.usage.output_tokens == 3, final
    kinds = [e.type for e in client.messages.create(stream=True, **ask("hi"))]
    assert kinds[0] == "message_start" and kinds[-1] == "message_stop", kinds
    ended = client.messages.create(**ask("stop early", stop_sequences=["so"]))
    assert (ended.stop_reason, ended.stop_sequence) == ("stop_sequence", "so")


def think():
    thinking = {"type": "enabled", "budget_tokens": 1024}
    whole = client.messages.create(**ask("hi", thinking=thinking))
    assert [b.type for b in whole.content] == ["thinking", "text"]
    with client.messages.stream(**ask("hi", thinking=thinking)) as stream:
        final = stream.get_final_message()
    assert final.content[0].thinking == whole.content[0].thinking == "Let me think."
    assert final.content[0].signature == whole.content[0].signature


TOOL = {"name": "weather", "description": "tells it", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


def streamed(**asked):
    with client.messages.stream(**asked) as stream:
        return stream.get_final_message()


def use_tools():
    for say in (client.messages.create, streamed):
        asked = ask("How is it in Paris?", tools=[TOOL], thinking={"type": "adaptive"})
        call = say(**asked)
        assert call.stop_reason == "tool_use", call
        use = call.content[-1]
        assert (use.name, use.input) == ("weather", {"city": "Paris"}), use
        asked["messages"] += [
            {"role": "assistant", "content": call.content},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "no", "is_error": True}]},
        ]
        answer = say(**asked)
        assert answer.content[-1].text == "weather says: Error: no", answer

    @anthropic.beta_tool
    def weather(city: str) -> str:
        """Tells it.

        Args:
            city: where
        """
        return "sun in " + city

    last = client.beta.messages.tool_runner(**ask("How is it in Paris?", tools=[weather])).until_done()
    assert last.content[0].text == "weather says: sun in Paris", last


def look():
    assert client.messages.count_tokens(model="small", messages=[{"role": "user", "content": "hi"}]).input_tokens > 2
    assert [m.id for m in client.models.list(limit=1)] == ["small", "org/large"]
    assert client.models.retrieve("org/large").display_name == "org/large"


def fail():
    e = rejects(anthropic.BadRequestError, lambda: client.messages.create(**ask("hi", extra_body={"temperature": -1})), "temperature")
    assert e.body["error"]["type"] == "invalid_request_error" and e.request_id, e.body
    rejects(anthropic.AuthenticationError, lambda: connect("wrong").messages.create(**ask("hi")))
    rejects(anthropic.PermissionDeniedError, lambda: connect("narrow").messages.create(**ask("hi")))
    rejects(anthropic.NotFoundError, lambda: client.messages.create(**{**ask("hi"), "model": "claude"}))
    busy = rejects(anthropic.RateLimitError, lambda: client.messages.create(**ask("be busy")))
    assert busy.response.headers["retry-after"] == "2"
    rejects(anthropic.InternalServerError, lambda: client.messages.create(**ask("break")))
    rejects(anthropic.APIStatusError, lambda: streamed(**ask("break")), "process died")


def leave():
    with client.messages.stream(**ask("go on")) as stream:
        for _ in stream.text_stream:
            break

    async def cancelled():
        async with anthropic.AsyncAnthropic(base_url=URL, api_key="secret", max_retries=0) as c:
            try:
                await asyncio.wait_for(c.messages.create(**ask("go on")), 0.2)
            except TimeoutError:
                return
            raise AssertionError("it ended")

    asyncio.run(cancelled())


for part in (talk, think, use_tools, look, fail, leave):
    part()
print("all good")
