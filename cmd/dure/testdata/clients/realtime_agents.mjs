// The stock client for voice agents against a running server: node realtime_agents.mjs URL PACKAGE
// talk, interrupt, truncate, a tool; what the model says is not looked at, that it says
// something and in what order is. Speech is made by the server itself.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { readFileSync } from "node:fs";

const [url, folder] = process.argv.slice(2);
const meta = JSON.parse(readFileSync(folder + "/package.json", "utf8"));
const { RealtimeAgent, RealtimeSession, OpenAIRealtimeWebSocket } = await import(pathToFileURL(`${folder}/${meta.module ?? meta.main}`));

const speech = async text => {
  const r = await fetch(url + "/audio/speech", { method: "POST", headers: { "Content-Type": "application/json", Authorization: "Bearer none" },
    body: JSON.stringify({ model: "tts-1", voice: "alloy", input: text, response_format: "pcm" }) });
  assert.equal(r.status, 200, await r.clone().text());
  return Buffer.from(await r.arrayBuffer());
};
const sleep = ms => new Promise(ok => setTimeout(ok, ms));

const question = await speech("Tell me a long story about a ship.");
const stop = await speech("Wait, stop. What is the capital of France?");

const transport = new OpenAIRealtimeWebSocket({ url: url.replace(/^http/, "ws") + "/realtime?model=gpt-realtime" });
const session = new RealtimeSession(new RealtimeAgent({ name: "a", instructions: "Answer in three long sentences." }), {
  transport, model: "gpt-realtime", config: { audio: { input: { turnDetection: { type: "server_vad" }, transcription: { model: "whisper-1" } } } } });
const seen = [], errors = [];
let sound = 0;
const log = [];
transport.on("*", e => { log.push([e.type, e.transcript ?? e.delta?.slice(0, 40) ?? e.response?.status ?? e.audio_end_ms ?? e.error?.message ?? e.message ?? ""]); seen.push(e.type); if (e.type === "error") errors.push(e); });
session.on("audio", e => { sound += e.data.byteLength; });
session.on("error", e => errors.push(e));
let interrupted = 0;
session.on("audio_interrupted", () => { interrupted++; });

const until = async (what, done) => {
  for (let i = 0; i < 2400; i++) { if (done()) return; await sleep(50); }
  assert.fail(`${what} did not come: ${JSON.stringify([...new Set(seen)])} ${JSON.stringify(errors)}`);
};
const count = type => seen.filter(t => t === type).length;

await session.connect({ apiKey: "none" });
await until("session.updated", () => count("session.updated") > 0);

// A microphone that never ends.
let rest = Buffer.alloc(0), open = true;
const mic = (async () => {
  while (open) {
    const piece = Buffer.alloc(1920);
    rest.copy(piece); rest = rest.subarray(Math.min(rest.length, 1920));
    transport.sendAudio(piece.buffer.slice(piece.byteOffset, piece.byteOffset + piece.length), { commit: false });
    await sleep(40);
  }
})();

rest = question;
await until("the first answer's sound", () => sound > 0);
rest = stop; // speaks into the answer
await until("the interruption", () => count("input_audio_buffer.speech_started") >= 2);
const before = count("response.done");
await until("the end of the second answer", () => count("response.done") > before && count("response.created") >= 2 && count("response.done") === count("response.created"));
assert.ok(interrupted >= 1, "the client heard of no interruption");

if (process.env.DEBUG) console.log(JSON.stringify(log, null, 0));
const said = session.history.filter(i => i.type === "message");
assert.ok(said.some(i => i.role === "user" && i.content.some(c => /ship/i.test(c.transcript ?? ""))), JSON.stringify(said));
assert.ok(said.some(i => i.role === "assistant"), JSON.stringify(said));

session.sendMessage("Say hello.");
const more = count("response.done");
await until("an answer to text", () => count("response.done") > more);
open = false; await mic;
session.close();
// Clients that cancel what has just ended are told so; nothing else went wrong.
const bad = errors.filter(e => !/cancel|truncat|active/i.test(JSON.stringify(e)));
assert.deepEqual(bad, [], JSON.stringify(errors));
console.log("all good");
process.exit(0);
