// The stock npm client and the Responses API: node responses.mjs URL PATH_OF_OPENAI FILE
//
// At first it tries all that the API has, and leaves in FILE the id of a conversation to go
// on with. Once FILE is there it goes on, against a server that was started anew meanwhile.
import assert from "node:assert";
import fs from "node:fs";
import timers from "node:timers/promises";

const { default: OpenAI } = await import(process.argv[3]);
const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const file = process.argv[4];
const model = (await client.models.list()).data[0].id;
const question = "What is the capital of France? Answer in one word.";
const short = { model, temperature: 0, max_output_tokens: 200, parallel_tool_calls: false };
const place = {
  type: "object", required: ["city", "people"], additionalProperties: false,
  properties: { city: { type: "string", enum: ["Paris", "Rome"] }, people: { type: "integer", minimum: 1, maximum: 99999999 } },
};
const isPlace = (text) => {
  const { city, people, ...rest } = JSON.parse(text);
  assert.ok(["Paris", "Rome"].includes(city) && Number.isInteger(people) && Object.keys(rest).length === 0, text);
};

async function streams() {
  const kinds = [];
  let text = "";
  const stream = client.responses.stream({ ...short, input: question });
  for await (const e of stream) {
    kinds.push(e.type);
    if (e.type === "response.output_text.delta") text += e.delta;
  }
  const whole = await stream.finalResponse();
  assert.deepStrictEqual([kinds[0], kinds.at(-1)], ["response.created", "response.completed"]);
  assert.strictEqual(whole.output_text, text);
  assert.match(text, /Paris/);
  assert.strictEqual((await client.responses.retrieve(whole.id)).usage.total_tokens, whole.usage.total_tokens);
  for await (const it of client.responses.inputItems.list(whole.id)) assert.strictEqual(it.content[0].text, question);
  return whole.id;
}

async function formsAndTools() {
  const format = { type: "json_schema", name: "place", strict: true, schema: place };
  isPlace((await client.responses.create({ ...short, input: "Name a city.", text: { format } })).output_text);
  const tools = [{ type: "function", name: "weather", description: "The weather in a city.", parameters: place, strict: true }];
  const first = await client.responses.create({ ...short, tools, input: "How is the weather?", tool_choice: "required" });
  const call = first.output.at(-1);
  assert.deepStrictEqual([call.type, call.name], ["function_call", "weather"]);
  isPlace(call.arguments);
  const told = await client.responses.create({ ...short, tools, tool_choice: "none", previous_response_id: first.id,
    input: [{ type: "function_call_output", call_id: call.call_id, output: "sunny" }] });
  assert.ok(told.output_text);
  let streamed = "";
  for await (const e of await client.responses.create({ ...short, tools, input: "How is the weather?", tool_choice: "required", stream: true })) {
    if (e.type === "response.function_call_arguments.delta") streamed += e.delta;
    if (e.type === "response.function_call_arguments.done") assert.strictEqual(e.arguments, streamed);
  }
  isPlace(streamed);
}

async function background() {
  let later = await client.responses.create({ ...short, input: question, background: true });
  while (["queued", "in_progress"].includes(later.status)) {
    await timers.setTimeout(20);
    later = await client.responses.retrieve(later.id);
  }
  assert.match(later.output_text, /Paris/);
  await client.responses.delete(later.id);
  await assert.rejects(client.responses.retrieve(later.id), OpenAI.NotFoundError);
  const endless = await client.responses.create({ model, input: "Go on.", max_output_tokens: 100000, background: true, ignore_eos: true });
  assert.strictEqual((await client.responses.cancel(endless.id)).status, "cancelled");
  await client.responses.delete(endless.id);
}

async function again(last) {
  assert.match((await client.responses.retrieve(last)).output_text, /Paris/);
  const more = await client.responses.create({ ...short, previous_response_id: last, input: "Answer again." });
  assert.ok(more.output_text);
  await client.responses.delete(last);
  await assert.rejects(client.responses.create({ ...short, previous_response_id: more.id, input: "x" }), OpenAI.BadRequestError);
}

if (fs.existsSync(file)) {
  await again(fs.readFileSync(file, "utf8"));
} else {
  const id = await streams();
  await formsAndTools();
  await background();
  fs.writeFileSync(file, id);
}
console.log("all good");
