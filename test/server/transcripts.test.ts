/** Sessions of other tools over HTTP: who may find, preview, import and upload them, and what they become. */
// Process of its own: it moves the temporary folder.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  engineAt,
  type TranscriptPreview,
  type TranscriptResult,
  type TranscriptsFound,
} from "../../src/client/connect.ts";
import { makeRedactor } from "../../src/core/secret/redactor.ts";
import { fine, served } from "./served.ts";
import { claudeText, makeTranscriptHome, transcriptId } from "./transcript-home.ts";

type Found = TranscriptsFound;
type Results = readonly TranscriptResult[];

test("they are found with counts and projects, filtered, previewed and imported once", async () => {
  using home = makeTranscriptHome();
  await using place = await served({ transcripts: home.transcripts });
  const found = fine(await place.call("engine.findTranscripts")) as Found;
  assert.deepEqual(
    found.tools.map(({ tool, title, sessions }) => [tool, title, sessions]),
    [["claude-code", "Claude Code", 3]],
  );
  // The links out of the home are not followed.
  assert.deepEqual(found.sessions.map(({ project }) => String(project)).toSorted(), [
    "/home/ann/checkout",
    "/home/ann/payroll",
    "/home/ann/payroll",
  ]);
  const filtered = async (params: object): Promise<number> =>
    (fine(await place.call("engine.findTranscripts", { params: { ...params } })) as Found).sessions.length;
  assert.equal(await filtered({ project: "CHECKOUT" }), 1);
  assert.equal(await filtered({ text: "month 2" }), 1);
  assert.equal(await filtered({ tool: "codex" }), 0);
  assert.equal(await filtered({ since: Date.now() + 60_000 }), 0);
  const [first] = found.sessions;
  const key = first?.key ?? "";
  const preview = fine(
    await place.call("engine.previewTranscript", { params: { key } }),
  ) as TranscriptPreview;
  assert.equal(preview.isWhole, true);
  assert.deepEqual(
    preview.entries.map(({ kind, calls = [] }) => [kind, ...calls.map(({ name }) => name)]),
    [["input"], ["answer", "Bash"], ["answer"]],
  );
  const again = async (): Promise<Results> =>
    fine(await place.call("engine.importTranscripts", { params: { keys: [key] } })) as Results;
  const [made] = await again();
  assert.deepEqual([made?.status, made?.added, made?.key], ["new", 3, key]);
  const [same] = await again();
  assert.deepEqual([same?.status, same?.session], ["same", made?.session]);
  const state = await (await place.engine.session(made?.session ?? "")).state();
  assert.equal(state.status, "suspended");
});

test("titles, projects and previews of found transcripts show no secrets", async () => {
  using home = makeTranscriptHome();
  const token = `ghp_${"k3Jd8sQ2".repeat(4)}Zx91`;
  const registered = "tangerine-harbour-7741";
  const id = transcriptId(7);
  const text = claudeText(id, `/home/ann/${registered}`, `Push with ${token} and ${registered}`);
  const folder = join(home.folder, ".claude", "projects", "-home-ann-keys");
  mkdirSync(folder);
  writeFileSync(join(folder, `${id}.jsonl`), text.replace("cat rates.json", `echo ${token}`));
  const redactor = makeRedactor();
  await using place = await served({ transcripts: home.transcripts, redactor });
  const listed = async (): Promise<Found> => fine(await place.call("engine.findTranscripts")) as Found;
  const before = JSON.stringify(await listed());
  assert.doesNotMatch(before, new RegExp(token));
  assert.match(before, new RegExp(registered));
  redactor.register("HARBOUR", registered);
  const found = await listed();
  assert.doesNotMatch(JSON.stringify(found), new RegExp(`${token}|${registered}`));
  const key = found.sessions.find(({ sourceId }) => sourceId === id)?.key ?? "";
  const preview = fine(
    await place.call("engine.previewTranscript", { params: { key } }),
  ) as TranscriptPreview;
  assert.match(preview.entries[0]?.text ?? "", /^Push with \[redacted: .*\] and \[redacted: HARBOUR\]$/);
  assert.doesNotMatch(JSON.stringify(preview), new RegExp(`${token}|${registered}`));
  const results = fine(await place.call("engine.importTranscripts", { params: { keys: [key] } })) as Results;
  assert.doesNotMatch(JSON.stringify(results), new RegExp(`${token}|${registered}`));
});

test("an import counts redacted secrets, unknown kinds and damaged records", async () => {
  using home = makeTranscriptHome();
  await using place = await served({ transcripts: home.transcripts });
  const client = engineAt(place.server.url, { token: place.token });
  const token = `ghp_${"k3Jd8sQ2".repeat(4)}Zx91`;
  const lines = claudeText(transcriptId(6), "/home/ann/x", `Push with ${token}`);
  const text = `${lines}{"type":"hologram","note":"h"}\n{"type":"hologram"}\n{"torn\n`;
  const [made] = await client.uploadTranscript(new Blob([text]), { tool: "claude-code" });
  assert.deepEqual(
    [made?.status, made?.redacted, made?.unknown, made?.damaged, made?.tooLarge],
    ["new", 1, 2, 1, 0],
  );
  assert.equal(Object.values(made?.redactedKinds ?? {})[0], 1);
  const [same] = await client.uploadTranscript(new Blob([text]), { tool: "claude-code" });
  assert.deepEqual([same?.status, same?.redacted], ["same", null]);
  await client.close();
});

test("a caller names keys, never paths, and needs the scope operate", async () => {
  using home = makeTranscriptHome();
  await using place = await served({ transcripts: home.transcripts });
  const { token } = await place.engine.addToken({ scopes: ["read", "write"] });
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await place.call("engine.findTranscripts", { headers })).status, 403);
  const bad = ["../../etc/passwd", "0".repeat(31), `${"0".repeat(31)}/`];
  for (const key of bad)
    assert.equal((await place.call("engine.previewTranscript", { params: { key } })).status, 400);
  const unknown = "0".repeat(32);
  assert.equal((await place.call("engine.previewTranscript", { params: { key: unknown } })).status, 404);
  const keys = [unknown];
  assert.equal((await place.call("engine.importTranscripts", { params: { keys } })).status, 404);
});

test("by default a server reads nothing of its machine, and takes uploads", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-own-tmp-"));
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder;
  after(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    rmSync(folder, { recursive: true });
  });
  await using place = await served();
  const denied = await place.call("engine.findTranscripts");
  assert.ok([403, 409].includes(denied.status), String(denied.status));
  assert.match(JSON.stringify(denied.body), /--import-from/);
  const { token } = await place.engine.addToken({ scopes: ["write"] });
  const client = engineAt(place.server.url, { token });
  const text = claudeText(transcriptId(5), "/home/ann/x", "Which rate?");
  const results = await client.uploadTranscript(new Blob([text]), { name: "../../x.jsonl" });
  assert.deepEqual(
    results.map(({ status, tool, title }) => [status, tool, title]),
    [["new", "claude-code", "Which rate?"]],
  );
  const named = await client.uploadTranscript(new Blob([text]), { tool: "claude-code" });
  assert.equal(named[0]?.tool, "claude-code");
  await assert.rejects(client.uploadTranscript(new Blob(["{}\n"]), { name: "x.jsonl" }), /no transcript/);
  await assert.rejects(client.uploadTranscript(new Blob([text]), { name: "x.exe" }), /\.jsonl/);
  await assert.rejects(client.uploadTranscript(new Blob(["PK"]), { name: "x.zip" }));
  await client.close();
  assert.equal(tmpdir(), folder);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith("skein-upload-")),
    [],
  );
  assert.deepEqual(place.troubles, []);
});
