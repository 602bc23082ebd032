// The stock npm client against a server with a scripted model: node chat.mjs URL FOLDER_OF_THE_PACKAGE
import assert from "node:assert";

const { Ollama } = await import(process.argv[3] + "/dist/index.mjs");
const open = (key) => new Ollama({ host: process.argv[2], headers: { Authorization: "Bearer " + key } });
const client = open("secret");
const model = "small";
const ask = (content, more = {}) => ({ model, messages: [{ role: "user", content }], ...more });
const greeting = "Hello, 이 사람!";

const whole = await client.chat(ask("hi", { options: { temperature: 0, num_ctx: 1024, stop: ["so"] }, keep_alive: "5m" }));
assert.strictEqual(whole.message.content, greeting);
assert.deepStrictEqual([whole.done, whole.done_reason, whole.prompt_eval_count, whole.eval_count], [true, "stop", 7, 3]);
const pieces = [];
let last;
for await (const part of await client.chat(ask("hi", { stream: true }))) pieces.push((last = part).message.content);
assert.deepStrictEqual(pieces, ["Hello, ", "이 사람!", ""]);
assert.deepStrictEqual([last.done, last.eval_count, last.eval_duration], [true, 3, 3500000]);

// Thinking is apart from the answer.
const thought = await client.chat(ask("hi", { think: true }));
assert.deepStrictEqual([thought.message.thinking, thought.message.content], ["Let me think.", greeting]);
let heard = "", said = "";
for await (const { message } of await client.chat(ask("hi", { think: "low", stream: true }))) {
  heard += message.thinking ?? "";
  said += message.content;
}
assert.deepStrictEqual([heard, said], ["Let me think.", greeting]);

// A loop with a tool, whole and streamed.
const tools = [{ type: "function", function: { name: "weather", description: "tells it",
  parameters: { type: "object", required: ["city"], properties: { city: { type: "string", description: "where" } } } } }];
const together = async (request) => {
  const message = { role: "assistant", content: "", tool_calls: [] };
  for await (const part of await client.chat({ ...request, stream: true })) {
    message.content += part.message.content;
    message.tool_calls.push(...(part.message.tool_calls ?? []));
  }
  return { message };
};
for (const say of [(r) => client.chat(r), together]) {
  const messages = [{ role: "user", content: "How is it in Paris?" }];
  const { message } = await say({ model, messages, tools });
  assert.strictEqual(message.content, "I look.");
  assert.deepStrictEqual(message.tool_calls.map((c) => [c.function.name, c.function.arguments]), [["weather", { city: "Paris" }]]);
  messages.push(message, { role: "tool", tool_name: "weather", content: "rain" });
  assert.strictEqual((await say({ model, messages, tools })).message.content, "weather says: rain");
}

const format = { type: "object", properties: { answer: { type: "integer" } }, required: ["answer"] };
for (const form of ["json", format]) assert.deepStrictEqual(JSON.parse((await client.chat(ask("what?", { format: form }))).message.content), { answer: 42 });

assert.strictEqual((await client.generate({ model, prompt: "hi", system: "Be kind." })).response, greeting);
assert.strictEqual((await client.generate({ model, prompt: "hi", raw: true })).response, greeting);
let text = "";
for await (const part of await client.generate({ model, prompt: "hi", stream: true })) text += part.response;
assert.strictEqual(text, greeting);

const vectors = await client.embed({ model: "org/large", input: ["a", "bcd"], dimensions: 2 });
assert.deepStrictEqual([vectors.embeddings, vectors.prompt_eval_count], [[[0, 1], [1, 3]], 7]);
assert.deepStrictEqual((await client.embeddings({ model: "org/large", prompt: "ab" })).embedding, [0, 2]);

// What is here, what is loaded, what can be fetched and removed.
assert.deepStrictEqual((await client.list()).models.map((m) => m.name), ["small:latest"]);
const [running] = (await client.ps()).models;
assert.deepStrictEqual([running.model, running.size, running.size_vram], ["small:latest", 120, 100]);
assert.ok(new Date(running.expires_at) > new Date());
const shown = await client.show({ model });
assert.deepStrictEqual([shown.details.family, shown.capabilities, shown.model_info["llama.context_length"]], ["llama", ["completion", "tools"], 2048]);
const progress = [];
for await (const p of await client.pull({ model, stream: true })) progress.push(p);
assert.deepStrictEqual(progress.map((p) => p.status), ["pulling manifest", "download", "success"]);
assert.deepStrictEqual([progress[1].total, progress[1].completed], [10, 5]);
assert.strictEqual((await client.pull({ model })).status, "success");
assert.strictEqual((await client.delete({ model })).status, "success");
assert.strictEqual((await client.version()).version, "1.2.3");

// Errors have a status and say what is wrong; those inside a stream too.
const fails = (promise, status_code, message) => assert.rejects(promise, (e) => {
  assert.deepStrictEqual([e.name, e.status_code], ["ResponseError", status_code]);
  assert.match(e.message, message);
  return true;
});
await fails(client.chat(ask("hi", { options: { temperature: -1 } })), 400, /options.temperature/);
await fails(client.chat(ask("hi", { options: { num_ctx: 1e6 } })), 400, /num_ctx/);
await fails(client.chat({ model, messages: [{ role: "user", content: "what is it?", images: [new Uint8Array([1, 2])] }] }), 400, /images are not supported/);
await fails(open("wrong").chat(ask("hi")), 401, /key/);
await fails(open("narrow").chat(ask("hi")), 403, /may not/);
await fails(client.chat({ ...ask("hi"), model: "llama" }), 404, /model 'llama' not found/);
await fails(client.show({ model: "llama" }), 404, /model 'llama' not found/);
await fails(client.chat(ask("be busy")), 429, /taken/);
await fails(client.chat(ask("be busy", { stream: true })), 429, /taken/);
assert.equal((await client.copy({ source: model, destination: "b" })).status, "success");
await assert.rejects(async () => {
  for await (const _ of await client.chat(ask("break", { stream: true })));
}, /process died/);

// Leaving, in both ways.
await assert.rejects(async () => {
  let n = 0;
  for await (const _ of await client.chat(ask("go on", { stream: true }))) if (++n === 3) client.abort();
}, { name: "AbortError" });
const one = await client.generate({ model, prompt: "go on", raw: true, stream: true });
await assert.rejects(async () => {
  for await (const _ of one) one.abort();
}, { name: "AbortError" });
console.log("all good");
