"""OpenAI's library for agents against a running server with a small model: python3 agents.py URL

What the model says is not looked at. What is: that its calls keep to the schema, that the
tool is run and its result goes back, and that the events come in order.
"""
import asyncio
import sys
import typing

sys.path.pop(0)  # where this file lies, whose name is the library's
import agents
import openai
import pydantic

agents.set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
asked = []


class Place(pydantic.BaseModel):
    city: typing.Literal["Paris", "Rome"]
    people: int


# Small models call a tool for ever: this one is there until it was called.
@agents.function_tool(is_enabled=lambda context, agent: len(asked) == context.context)
def weather(city: typing.Literal["Paris", "Rome"]) -> str:
    """The weather in a city."""
    asked.append(city)
    return "It is sunny."


async def use(model):
    settings = agents.ModelSettings(temperature=0, max_tokens=200, tool_choice="required", parallel_tool_calls=False)
    agent = agents.Agent(name="a", instructions="Answer in one sentence.", tools=[weather], model=model, model_settings=settings)
    before = len(asked)
    whole = await agents.Runner.run(agent, "How is the weather in Paris?", context=before)
    kinds = [item.type for item in whole.new_items]
    assert kinds == ["tool_call_item", "tool_call_output_item", "message_output_item"], kinds
    assert isinstance(whole.final_output, str) and whole.final_output, whole
    assert whole.context_wrapper.usage.requests == 2 and whole.context_wrapper.usage.output_tokens > 0, whole.context_wrapper.usage
    streamed = agents.Runner.run_streamed(agent, "How is the weather in Paris?", context=before + 1)
    names = [e.name async for e in streamed.stream_events() if e.type == "run_item_stream_event"]
    assert names == ["tool_called", "tool_output", "message_output_created"], names
    assert streamed.final_output == whole.final_output, (streamed.final_output, whole.final_output)
    assert len(asked) == before + 2 and set(asked) <= {"Paris", "Rome"}, asked

    typed = agents.Agent(name="b", instructions="Name a city.", output_type=Place, model=model,
                         model_settings=agents.ModelSettings(temperature=0, max_tokens=200))
    assert isinstance((await agents.Runner.run(typed, "Which?")).final_output, Place)


async def main():
    model = (await client.models.list()).data[0].id
    await use(agents.OpenAIChatCompletionsModel(model, client))
    await use(agents.OpenAIResponsesModel(model, client))
    print("all good")


asyncio.run(main())
