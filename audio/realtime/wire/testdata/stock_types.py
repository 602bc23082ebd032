"""Reads server events, one JSON a line, with the types of OpenAI's client, strictly."""
import json
import sys

from openai._models import BaseModel
from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter

# Where the client's types are unions, pydantic picks; extra fields are kept as extras.
adapter = TypeAdapter(RealtimeServerEvent)
# What the API sends beside its own types, and what is ours.
OURS = {"dure_unverified"}
SENT = {"session.id", "session.object", "session.expires_at"}


def extras(value, path):
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            if name not in OURS and not f"{path}.{name}".endswith(tuple(SENT)):
                yield f"{path}.{name}"
        for name in type(value).model_fields:
            yield from extras(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for i, element in enumerate(value):
            yield from extras(element, f"{path}[{i}]")


failed = False
for line in sys.stdin:
    raw = json.loads(line)
    try:
        event = adapter.validate_python(raw)
        if event.type != raw["type"]:
            raise ValueError(f"read as {event.type}")
        unknown = list(extras(event, raw["type"]))
        if unknown:
            raise ValueError(f"unknown to the client: {unknown}")
        print("ok", raw["type"])
    except Exception as error:
        failed = True
        print("FAILED", raw["type"], error)
sys.exit(failed)
