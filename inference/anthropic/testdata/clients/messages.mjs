// The stock npm client against a server with a scripted model: node messages.mjs URL FOLDER_OF_THE_PACKAGE
import assert from "node:assert";

const { default: Anthropic } = await import(process.argv[3] + "/index.mjs");
const open = (apiKey) => new Anthropic({ baseURL: process.argv[2], apiKey, maxRetries: 0 });
const client = open("secret");
const ask = (content, more = {}) => ({ model: "small", max_tokens: 2000, messages: [{ role: "user", content }], ...more });
const greeting = "Hello, 이 사람!";

const whole = await client.messages.create(ask("hi", { system: [{ type: "text", text: "Be kind.", cache_control: { type: "ephemeral" } }] }));
assert.strictEqual(whole.content[0].text, greeting);
assert.strictEqual(whole.stop_reason, "end_turn");
assert.deepStrictEqual([whole.usage.input_tokens, whole.usage.cache_read_input_tokens, whole.usage.output_tokens], [5, 2, 3]);
assert.ok(whole._request_id);

// Plain events, and the helper that puts them together.
const kinds = [];
for await (const e of await client.messages.create(ask("hi", { stream: true }))) kinds.push(e.type);
assert.deepStrictEqual(kinds, ["message_start", "content_block_start", "content_block_delta", "content_block_delta",
  "content_block_stop", "message_delta", "message_stop"]);
const texts = [];
const stream = client.messages.stream(ask("hi")).on("text", (t) => texts.push(t));
const final = await stream.finalMessage();
assert.deepStrictEqual(texts, ["Hello, ", "이 사람!"]);
assert.deepStrictEqual(final.content.map((b) => b.text), [greeting]);
assert.strictEqual(final.usage.output_tokens, 3);
assert.strictEqual((await client.messages.create(ask("stop early", { stop_sequences: ["so"] }))).stop_sequence, "so");

// Thinking, whole and in pieces; what was thought goes back as it came.
const thinking = { type: "enabled", budget_tokens: 1024 };
const thought = await client.messages.create(ask("hi", { thinking }));
assert.deepStrictEqual(thought.content.map((b) => b.type), ["thinking", "text"]);
const pieces = client.messages.stream(ask("hi", { thinking }));
let heard = "", signed = "";
pieces.on("thinking", (t) => (heard += t)).on("signature", (s) => (signed = s));
const both = await pieces.finalMessage();
assert.strictEqual(heard, "Let me think.");
assert.strictEqual(both.content[0].signature, signed);
assert.deepStrictEqual(both.content, thought.content);

// A loop with a tool: asked, called, answered. Whole and streamed.
const tools = [{ name: "weather", description: "tells it", input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } }];
for (const say of [(p) => client.messages.create(p), (p) => client.messages.stream(p).finalMessage()]) {
  const messages = [{ role: "user", content: "How is it in Paris?" }];
  const call = await say({ ...ask(""), messages, tools, thinking });
  assert.strictEqual(call.stop_reason, "tool_use");
  const use = call.content.find((b) => b.type === "tool_use");
  assert.deepStrictEqual([use.name, use.input, use.id], ["weather", { city: "Paris" }, "call_1"]);
  messages.push({ role: "assistant", content: call.content },
    { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: [{ type: "text", text: "rain" }] }] });
  const answer = await say({ ...ask(""), messages, tools });
  assert.strictEqual(answer.content[0].text, "weather says: rain");
}
// The client's own runner of tools.
const { betaTool } = await import(process.argv[3] + "/helpers/beta/json-schema.mjs");
const seen = [];
const tool = betaTool({ name: "weather", description: "tells it", inputSchema: tools[0].input_schema, run: ({ city }) => (seen.push(city), "sun") });
const ran = await client.beta.messages.toolRunner(ask("How is it in Paris?", { tools: [tool] }));
assert.strictEqual(ran.content[0].text, "weather says: sun");
assert.deepStrictEqual(seen, ["Paris"]);

// A form for the answer.
const format = { type: "json_schema", schema: { type: "object", properties: { answer: { type: "integer" } }, required: ["answer"], additionalProperties: false } };
const formed = await client.messages.parse(ask("what is it?", { output_config: { format } }));
assert.deepStrictEqual(JSON.parse(formed.content[0].text), { answer: 42 });

const { input_tokens } = await client.messages.countTokens({ model: "small", messages: [{ role: "user", content: "hi" }] });
assert.ok(input_tokens > 2);

const models = [];
for await (const m of client.models.list({ limit: 1 })) models.push(m.id);
assert.deepStrictEqual(models, ["small", "org/large"]);
const one = await client.models.retrieve("org/large");
assert.deepStrictEqual([one.type, one.display_name], ["model", "org/large"]);

// Errors are those of the client's classes.
await assert.rejects(client.messages.create(ask("hi", { temperature: -1 })), (e) => e instanceof Anthropic.BadRequestError && e.error.error.type === "invalid_request_error" && e.requestID.startsWith("req-"));
await assert.rejects(open("wrong").messages.create(ask("hi")), Anthropic.AuthenticationError);
await assert.rejects(open("narrow").messages.create(ask("hi")), Anthropic.PermissionDeniedError);
await assert.rejects(client.messages.create({ ...ask("hi"), model: "claude" }), Anthropic.NotFoundError);
await assert.rejects(client.models.retrieve("claude"), Anthropic.NotFoundError);
await assert.rejects(client.messages.create(ask("be busy")), (e) => e instanceof Anthropic.RateLimitError && e.headers.get("retry-after") === "2");
await assert.rejects(client.messages.stream(ask("be busy")).finalMessage(), Anthropic.RateLimitError);
await assert.rejects(client.messages.create(ask("break")), Anthropic.InternalServerError);
await assert.rejects(client.messages.stream(ask("break")).finalMessage(), /process died/);

// Leaving.
const endless = client.messages.stream(ask("go on"));
let count = 0;
endless.on("text", () => ++count === 3 && endless.abort());
await assert.rejects(endless.done(), Anthropic.APIUserAbortError);
for await (const e of await client.messages.create(ask("go on", { stream: true }))) if (e.type === "content_block_delta") break;
console.log("all good");
