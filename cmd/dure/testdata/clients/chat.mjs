// The stock npm client against a running server: node chat.mjs URL PATH_OF_OPENAI
import assert from "node:assert";

const { default: OpenAI } = await import(process.argv[3]);
const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const model = (await client.models.list()).data[0].id;
const messages = [{ role: "user", content: "What is the capital of France? Answer in one word." }];

const whole = await client.chat.completions.create({ model, messages, temperature: 0, max_tokens: 8 });
assert.match(whole.choices[0].message.content, /Paris/);

let text = "", usage;
const stream = await client.chat.completions.create(
  { model, messages, temperature: 0, max_tokens: 8, stream: true, stream_options: { include_usage: true } });
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
assert.strictEqual(text, whole.choices[0].message.content);
assert.strictEqual(usage.completion_tokens, whole.usage.completion_tokens);

const both = ["", ""];
for await (const chunk of await client.chat.completions.create(
  { model, messages, n: 2, temperature: 2, seed: 3, max_tokens: 12, stream: true, ignore_eos: true })) {
  for (const c of chunk.choices) both[c.index] += c.delta.content ?? "";
}
assert.ok(both[0] && both[1] && both[0] !== both[1], both.join("|"));

const logged = await client.chat.completions.create({ model, messages, temperature: 0, max_tokens: 8, logprobs: true, top_logprobs: 2 });
assert.strictEqual(logged.choices[0].logprobs.content.map((t) => t.token).join(""), logged.choices[0].message.content);

const raw = await client.completions.create({ model, prompt: ["The capital of France is"], max_tokens: 4, temperature: 0, echo: true });
assert.match(raw.choices[0].text, /^The capital of France is.*Paris/s);

const endless = await client.chat.completions.create({ model, messages, stream: true, ignore_eos: true });
for await (const _ of endless) break; // leaves, which cancels

await assert.rejects(client.chat.completions.create({ model: "gpt-9", messages }), OpenAI.NotFoundError);
await assert.rejects(client.chat.completions.create({ model, messages, temperature: -1 }), OpenAI.BadRequestError);
console.log("all good");
