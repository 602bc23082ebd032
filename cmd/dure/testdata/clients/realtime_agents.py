"""OpenAI's library for voice agents talks: python3 realtime_agents.py URL. Speech is made by
the server itself; what the model says is not looked at, that it says something is."""
import asyncio
import sys

sys.path.pop(0)
import agents
import openai
from agents.realtime import RealtimeAgent, RealtimeRunner

URL = sys.argv[1]
agents.set_tracing_disabled(True)
client = openai.AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)


async def main():
    question = (await client.audio.speech.create(model="tts-1", voice="alloy", input="What is the capital of France?", response_format="pcm")).content
    runner = RealtimeRunner(RealtimeAgent(name="a", instructions="Answer in one sentence."), config={
        "model_settings": {"model_name": "gpt-realtime", "turn_detection": {"type": "server_vad"}}})
    seen, sound = [], 0
    async with await runner.run(model_config={"api_key": "none", "url": URL.replace("http", "ws", 1) + "/realtime?model=gpt-realtime"}) as session:
        async def mic():
            for i in range(0, len(question) + 48000 * 2, 3840):
                await session.send_audio((question[i:i + 3840] + bytes(3840))[:3840])
        speaking = asyncio.create_task(mic())

        async def turns(n):
            nonlocal sound
            async for event in session:
                seen.append(event.type)
                assert event.type != "error", event
                if event.type == "audio":
                    sound += len(event.audio.data)
                if event.type == "agent_end":
                    n -= 1
                    if n == 0:
                        return
        await asyncio.wait_for(turns(1), 120)
        await speaking
        await session.send_message("Say hello.")
        await asyncio.wait_for(turns(1), 120)
    assert sound > 4800, seen
    print("all good")

asyncio.run(main())
