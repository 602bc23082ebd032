"""Renders chat templates with jinja2, set up as Hugging Face's transformers does.

Usage: oracle.py NOW < cases.json > results.json

cases.json is a list of {"template": source, "variables": {...}}; the results
are a list, in the same order, of {"text": ...} or {"refused": why}. NOW is the
time that strftime_now prints, in ISO form.
"""

import datetime
import functools
import json
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    """{% generation %}: a block whose text is marked for training."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_text")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _text(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


NOW = datetime.datetime.fromisoformat(sys.argv[1])

env = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
)
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = lambda format: NOW.strftime(format)
compiled = functools.cache(env.from_string)


def render(case):
    try:
        return {"text": compiled(case["template"]).render(**case["variables"])}
    except Exception as e:
        return {"refused": f"{type(e).__name__}: {e}"}


json.dump([render(case) for case in json.load(sys.stdin)], sys.stdout)
