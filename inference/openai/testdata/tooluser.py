"""OpenAI's library for agents against a running server: python3 tooluser.py URL"""
import asyncio
import sys

import agents
import openai

agents.set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=sys.argv[1], api_key="none", max_retries=0)
asked = []


@agents.function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    asked.append(city)
    return "sunny"


async def main():
    for model in (agents.OpenAIChatCompletionsModel("small", client), agents.OpenAIResponsesModel("small", client)):
        agent = agents.Agent(name="a", instructions="Help.", tools=[weather], model=model)
        whole = await agents.Runner.run(agent, "How is the weather in Paris?")
        assert whole.final_output.endswith("says: sunny"), whole.final_output
        streamed = agents.Runner.run_streamed(agent, "How is the weather in Paris?")
        async for _ in streamed.stream_events():
            pass
        assert streamed.final_output.endswith("says: sunny"), streamed.final_output
    # The server keeps the conversation.
    kept = await agents.Runner.run(agent, "How is the weather in Paris?")
    more = await agents.Runner.run(agent, "And now?", previous_response_id=kept.last_response_id)
    assert more.final_output.endswith("says: sunny"), more.final_output
    assert asked == ["Paris"] * 6, asked
    print("all good")


asyncio.run(main())
