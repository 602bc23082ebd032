"""The stock Python client and the Responses API: python3 responses.py URL FILE

At first it tries all that the API has, and leaves in FILE the id of a conversation to go
on with. Once FILE is there it goes on, against a server that was started anew meanwhile.
"""
import json
import os
import sys
import time
import typing

import openai
import pydantic

client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
model = client.models.list().data[0].id
question = "What is the capital of France? Answer in one word."


class Place(pydantic.BaseModel):
    city: typing.Literal["Paris", "Rome"]
    people: int


weather = openai.pydantic_function_tool(Place)["function"] | {"type": "function", "name": "weather", "description": "The weather in a city."}


def fails(error, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except error as e:
        return str(e)
    raise AssertionError("%s was not raised" % error)


def streams():
    kinds, text = [], ""
    with client.responses.stream(model=model, input=question, temperature=0, max_output_tokens=16) as events:
        for e in events:
            kinds.append(e.type)
            text += e.delta if e.type == "response.output_text.delta" else ""
        whole = events.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds
    assert whole.output_text == text and "Paris" in text, text
    kept = client.responses.retrieve(whole.id)
    assert kept.output_text == text and kept.usage == whole.usage, kept
    assert client.responses.input_items.list(whole.id).data[0].content[0].text == question
    return whole


def forms():
    parsed = client.responses.parse(model=model, input="Name a city.", text_format=Place, max_output_tokens=200, temperature=0)
    assert isinstance(parsed.output_parsed, Place), parsed
    loose = client.responses.create(model=model, input="Name a city as JSON.", text={"format": {"type": "json_object"}}, max_output_tokens=200, temperature=0)
    assert loose.status == "incomplete" or isinstance(json.loads(loose.output_text), dict), loose
    message = fails(openai.BadRequestError, client.responses.create, model=model, input="x",
                    text={"format": {"type": "json_schema", "name": "x", "schema": {"type": "string", "format": "frob"}}})
    assert "frob" in message and "text.format" in message, message


def tools():
    ask = dict(model=model, tools=[weather], parallel_tool_calls=False, temperature=0, max_output_tokens=200)
    first = client.responses.create(input="How is the weather?", tool_choice="required", **ask)
    call = first.output[-1]
    assert call.type == "function_call" and call.name == "weather" and Place.model_validate_json(call.arguments), first
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    kept = client.responses.create(previous_response_id=first.id, input=[result], tool_choice="none", **ask)
    sent = client.responses.create(input=[{"role": "user", "content": "How is the weather?"}, *first.output, result], tool_choice="none", **ask)
    assert kept.output_text and kept.output_text == sent.output_text, (kept, sent)
    assert kept.usage.input_tokens == sent.usage.input_tokens, (kept.usage, sent.usage)
    arguments, done = "", None
    for e in client.responses.create(input="How is the weather?", tool_choice={"type": "function", "name": "weather"}, stream=True, **ask):
        arguments += e.delta if e.type == "response.function_call_arguments.delta" else ""
        done = e.arguments if e.type == "response.function_call_arguments.done" else done
    assert Place.model_validate_json(arguments) and arguments == done, (arguments, done)
    fails(openai.BadRequestError, client.responses.create, input=[result], **ask)


def background():
    later = client.responses.create(model=model, input=question, temperature=0, max_output_tokens=16, background=True)
    while later.status in ("queued", "in_progress"):
        time.sleep(0.02)
        later = client.responses.retrieve(later.id)
    assert later.status == "completed" and "Paris" in later.output_text, later
    client.responses.delete(later.id)
    fails(openai.NotFoundError, client.responses.retrieve, later.id)

    endless = client.responses.create(model=model, input="Go on.", max_output_tokens=100000, background=True, stream=True, extra_body={"ignore_eos": True})
    first = next(iter(endless))
    endless.close()
    seen = 0
    for e in client.responses.retrieve(first.response.id, stream=True, starting_after=1):
        seen += 1
        assert e.sequence_number > 1, e
        if seen == 5:
            break
    assert client.responses.cancel(first.response.id).status == "cancelled"
    assert client.responses.retrieve(first.response.id).status == "cancelled"
    fails(openai.BadRequestError, client.responses.create, model=model, input="x", previous_response_id=first.response.id)
    client.responses.delete(first.response.id)


def again(last):
    kept = client.responses.retrieve(last)
    assert "Paris" in kept.output_text, kept
    more = client.responses.create(model=model, previous_response_id=last, input="Answer again.", temperature=0, max_output_tokens=16)
    assert more.output_text and more.usage.input_tokens > kept.usage.input_tokens + kept.usage.output_tokens, more
    client.responses.delete(last)
    for gone in (last, more.id):
        assert last in fails(openai.BadRequestError, client.responses.create, model=model, input="x", previous_response_id=gone)
    unkept = client.responses.create(model=model, input=question, max_output_tokens=4, store=False)
    fails(openai.NotFoundError, client.responses.retrieve, unkept.id)


if os.path.exists(sys.argv[2]):
    again(open(sys.argv[2]).read())
else:
    whole = streams()
    forms()
    tools()
    background()
    with open(sys.argv[2], "w") as f:
        f.write(whole.id)
print("all good")
