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

const endless = await client.chat.completions.create({ model, messages, stream: true, ignore_eos: true });
for await (const _ of endless) break; // leaves, which cancels

await assert.rejects(client.chat.completions.create({ model: "gpt-9", messages }), OpenAI.NotFoundError);
await assert.rejects(client.chat.completions.create({ model, messages, temperature: -1 }), OpenAI.BadRequestError);
console.log("all good");
