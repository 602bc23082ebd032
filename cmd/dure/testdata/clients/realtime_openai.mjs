// OpenAI's own client, which wants wss: node realtime_openai.mjs URL PACKAGE (https, its
// certificate in NODE_EXTRA_CA_CERTS).
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const [url, folder] = process.argv.slice(2);
createRequire(folder + "/package.json")("ws"); // a clear error where it is missing
const { default: OpenAI } = await import(pathToFileURL(folder + "/index.mjs"));
const { OpenAIRealtimeWS } = await import(pathToFileURL(folder + "/realtime/ws.mjs"));

const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 });
const rt = new OpenAIRealtimeWS({ model: "gpt-realtime" }, client);
const seen = [];
rt.on("event", e => seen.push(e));
rt.on("error", e => { throw e; });
const next = kind => new Promise((ok, no) => {
  const late = setTimeout(() => no(new Error(`no ${kind}: ${seen.map(e => e.type)}`)), 120_000);
  rt.once(kind, e => { clearTimeout(late); ok(e); });
});

await next("session.created");
rt.send({ type: "session.update", session: { type: "realtime", output_modalities: ["audio"] } });
await next("session.updated");
rt.send({ type: "conversation.item.create", item: { type: "message", role: "user", content: [{ type: "input_text", text: "Say hello." }] } });
rt.send({ type: "response.create" });
const done = await next("response.done");
assert.equal(done.response.status, "completed", JSON.stringify(done));
assert.ok(seen.some(e => e.type === "response.output_audio.delta"));
rt.close();
console.log("all good");
process.exit(0);
