/** What a session starts with: AGENTS.md from the bound directory upwards, and initial files. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const root = mkdtempSync(join(tmpdir(), "skein-bootstrap-"));
after(() => rmSync(root, { recursive: true }));
const inner = join(root, "repo", "packages", "one");
mkdirSync(inner, { recursive: true });
mkdirSync(join(root, "repo", ".git"));
writeFileSync(join(root, "AGENTS.md"), "Outside of the repository.");
writeFileSync(join(root, "repo", "AGENTS.md"), "Of the whole repository.");
writeFileSync(join(inner, "AGENTS.md"), "Of this package.");
writeFileSync(join(root, "rates.txt"), "base 4.1");

/** What the model is told before anybody says anything. */
async function toldOf(options: object): Promise<string[]> {
  const script = scripted(["Fine."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Look", ...options });
  for await (const _ of session.ask("Go"));
  return script.calls[0]!.parts.flatMap((part) => (part.part === "system" ? [part.text] : []));
}

test("AGENTS.md is read up to the root of the repository, the nearest last", async () => {
  const told = (await toldOf({ bind: [{ kind: "directory", path: inner }] })).join("\n");
  const places = ["Of the whole repository.", "Of this package."].map((text) => told.indexOf(text));
  assert.ok(places[0]! > 0 && places[0]! < places[1]!, told);
  assert.ok(!told.includes("Outside of the repository."));
});

test("outside a repository only the directory's own AGENTS.md counts", async () => {
  const told = (await toldOf({ bind: [{ kind: "directory", path: root }] })).join("\n");
  assert.ok(told.includes("Outside of the repository."));
});

test("of several instruction files a folder's first counts, or the named ones, and stay so", async () => {
  const folder = mkdtempSync(join(root, "kin-"));
  for (const name of [".cursor/rules", ".github"]) mkdirSync(join(folder, name), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write(".cursorrules", "Old rules.");
  write(".cursor/rules/b.mdc", "---\nalwaysApply: true\n---\nAlways.");
  write(".cursor/rules/a.mdc", "---\nglobs: *.ts\nalwaysApply: false\n---\nSometimes.");
  write(".github/copilot-instructions.md", "For Copilot.");
  const bind = [{ kind: "directory", path: folder }];
  const told = async (more: object = {}): Promise<string> => (await toldOf({ bind, ...more })).join("\n");
  const kinOf = (text: string): string[] =>
    ["Claude's.", "Old rules.", "Always.", "Sometimes.", "For Copilot."].filter((one) => text.includes(one));
  assert.deepEqual(kinOf(await told()), ["Always."]);
  write("CLAUDE.md", "Claude's.");
  assert.deepEqual(kinOf(await told()), ["Claude's."]);
  assert.deepEqual(kinOf(await told({ instructionFiles: [] })), []);
  const named = ["CLAUDE.md", ".cursorrules", ".github/copilot-instructions.md"] as const;
  assert.deepEqual(kinOf(await told({ instructionFiles: named })), [
    "Claude's.",
    "Old rules.",
    "For Copilot.",
  ]);
  await using engine = engineWith(scripted(["Fine."]));
  await assert.rejects(engine.open({ objective: "Look", instructionFiles: ["README.md"] as never }), {
    code: "invalid",
    message: /instructionFiles/,
  });
  const session = await engine.open({ objective: "Look", bind: bind as never, instructionFiles: [] });
  const next = await session.clear();
  assert.equal((await next.fold()).mind.documents.size, 0, "the next session keeps to the choice");
});

test("initial files appear once, as they were when the session was opened", async () => {
  const path = join(root, "rates.txt");
  const told = (await toldOf({ files: [path, path] })).join("\n");
  assert.equal(told.split("base 4.1").length, 2);
});

test("a file that is missing, too large or no text is refused, and no session is opened", async () => {
  writeFileSync(join(root, "large.txt"), "x".repeat(limit.documentBytesMax + 1));
  writeFileSync(join(root, "binary"), Buffer.from([0, 1, 2, 255]));
  writeFileSync(join(root, "live.db"), "");
  writeFileSync(join(root, "live.db-shm"), "");
  await using engine = engineWith(scripted(["Fine."]));
  for (const [name, code] of [
    ["absent.txt", "not-found"],
    ["large.txt", "invalid"],
    ["binary", "invalid"],
    ["live.db", "invalid"],
  ] as const) {
    await assert.rejects(engine.open({ objective: "Look", files: [join(root, name)] }), { code }, name);
  }
  // A device has no end: it must not be read at all.
  for (const path of ["/dev/zero", root]) {
    const opening = engine.open({ objective: "Look", files: [path] });
    await assert.rejects(opening, { code: "invalid", message: /expected a file/ }, path);
  }
  assert.equal((await engine.sessions()).rows.length, 0);
});
