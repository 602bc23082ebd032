"""OpenAI's Python client talks: python3 realtime.py URL. Speech is made by the server itself."""
import asyncio
import base64
import sys

sys.path.pop(0)
import openai

URL = sys.argv[1]
client = openai.AsyncOpenAI(base_url=URL, websocket_base_url=URL.replace("http", "ws", 1), api_key="none", max_retries=0)


async def speech(text):
    made = await client.audio.speech.create(model="tts-1", voice="alloy", input=text, response_format="pcm")
    return made.content


async def until(conn, kind, seen):
    async def read():
        async for e in conn:
            seen.append(e)
            assert e.type != "error" or kind == "error", e
            if e.type == kind:
                return e
    return await asyncio.wait_for(read(), 120)


async def say(conn, pcm):
    pcm += bytes(48000 * 2)
    for i in range(0, len(pcm), 3840):
        await conn.input_audio_buffer.append(audio=base64.b64encode(pcm[i:i + 3840]).decode())


async def talk():
    question = await speech("What is the capital of France?")
    async with client.realtime.connect(model="gpt-realtime") as conn:
        seen = []
        await until(conn, "session.created", seen)
        await conn.session.update(session={"type": "realtime", "instructions": "Answer in one word.",
                                           "audio": {"input": {"transcription": {"model": "whisper-1"}}}})
        await say(conn, question)
        done = await until(conn, "response.done", seen)
        assert done.response.status == "completed", done
        heard = [e.transcript for e in seen if e.type == "conversation.item.input_audio_transcription.completed"]
        assert heard and "France" in heard[0], heard
        assert any(e.type == "response.output_audio.delta" and base64.b64decode(e.delta) for e in seen)

        # Cut the answer to what was heard, and remove the question.
        item = next(e.item for e in reversed(seen) if e.type == "response.output_item.done")
        await conn.conversation.item.truncate(item_id=item.id, content_index=0, audio_end_ms=100)
        await until(conn, "conversation.item.truncated", seen)
        question_id = next(e.item_id for e in seen if e.type == "input_audio_buffer.committed")
        await conn.conversation.item.delete(item_id=question_id)
        await until(conn, "conversation.item.deleted", seen)

        # In writing, out of band.
        await conn.response.create(response={"conversation": "none", "output_modalities": ["text"],
                                             "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Say hello."}]}]})
        aside = await until(conn, "response.done", seen)
        assert aside.response.conversation_id is None and aside.response.output[0].content[0].text, aside

        await conn.conversation.item.retrieve(item_id="nobody")
        wrong = await until(conn, "error", seen)
        assert wrong.error.code == "item_not_found", wrong


async def secret():
    made = await client.realtime.client_secrets.create(session={"type": "realtime", "instructions": "Be brief."})
    one = openai.AsyncOpenAI(base_url=URL, websocket_base_url=URL.replace("http", "ws", 1), api_key=made.value, max_retries=0)
    async with one.realtime.connect(model="gpt-realtime") as conn:
        created = await until(conn, "session.created", [])
        assert created.session.instructions == "Be brief.", created


async def files():
    said = await client.audio.speech.create(model="tts-1", voice="alloy", input="The tests have passed.", response_format="wav")
    text = await client.audio.transcriptions.create(model="whisper-1", file=("a.wav", said.content))
    assert "tests" in text.text.lower(), text


async def main():
    await talk()
    await secret()
    await files()
    print("all good")

asyncio.run(main())
