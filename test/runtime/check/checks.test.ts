/** Accept checks of living sessions: what runs, what counts, and what does not. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { limit } from "../../../src/core/limit.ts";
import type { Binding } from "../../../src/core/tool/commands.ts";
import { noBubblewrap } from "../../tool/bubblewrap.ts";
import { all } from "../place.ts";
import { engineWith, scripted, type Line } from "../turn/scripted.ts";

interface Folder extends Disposable {
  readonly path: string;
  /** A shell that a person bound without a sandbox. */
  readonly bind: readonly Binding[];
}

function newFolder(): Folder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "skein-checks-")));
  const bind: Binding[] = [
    { kind: "directory", name: ".", path, mode: "write" },
    { kind: "shell", name: "shell", path },
  ];
  return { path, bind, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

const engineSaying = (...lines: readonly Line[]) => engineWith(scripted(lines));

async function ask(session: Session, text: string): Promise<void> {
  for await (const _ of session.ask(text));
}

const ranOf = async (session: Session): Promise<string[]> =>
  (await all(session.events({ types: ["check.ran"] }))).map(({ body }) => {
    const { check, status, try: tried } = body as { check: string; status: string; try: number };
    return `${check} ${status} ${tried}`;
  });

test("checks run once for a state, and a session is completed only when all have passed", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  const session = await engine.open({
    objective: "Make a",
    bind: folder.bind,
    accept: ["command (a): test -f a && echo yes", "file (b): b.txt contains grün", "person (looks): Nice?"],
  });
  await assert.rejects(session.close(), { code: "refused", message: /a, b, looks/ });
  const first = await session.check();
  assert.equal(first.passed, false);
  assert.deepEqual(
    first.checks.map(({ check, status, reason, exitCode }) => [check, status, reason, exitCode]),
    [
      ["a", "failed", "exit code 1", 1],
      ["b", "failed", "b.txt does not exist", undefined],
      ["looks", "waiting", null, undefined],
    ],
  );
  const { seq } = await session.head();
  assert.equal((await session.check()).seq, seq, "a failed check is an answer: it does not run again");
  writeFileSync(join(folder.path, "a"), "");
  writeFileSync(join(folder.path, "b.txt"), "alles grün\n");
  await ask(session, "Do it");
  const second = await session.check();
  assert.deepEqual(
    second.checks.map(({ check, status, output }) => [check, status, output]),
    [
      ["a", "passed", "yes"],
      ["b", "passed", null],
      ["looks", "waiting", null],
    ],
  );
  await assert.rejects(session.close(), { message: /this check has not passed since the last turn: looks/ });
  await session.check({ fail: "looks", because: "the colour" });
  await assert.rejects(session.close(), { code: "refused" });
  const last = await session.check({ pass: "looks", because: "better" });
  assert.equal(last.passed, true);
  assert.equal(last.checks.at(-1)?.reason, "better");
  assert.deepEqual(await ranOf(session), [
    "a failed 1",
    "b failed 1",
    "a passed 2",
    "b passed 2",
    "looks failed 1",
    "looks passed 2",
  ]);
  await session.close();
  assert.equal((await session.state()).status, "closed");
});

test("a turn makes the results stale, and so does a rewind", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  const session = await engine.open({ objective: "x", bind: folder.bind, accept: ["command: true"] });
  assert.equal((await session.check()).passed, true);
  const { seq } = await session.head();
  await ask(session, "More");
  await assert.rejects(session.close(), { code: "refused" });
  assert.equal((await session.check()).passed, true);
  await session.rewind(seq);
  await assert.rejects(session.close(), { code: "refused" });
  await session.check({ only: ["command"], again: true });
  await session.close();
});

test("a result is dropped when something was written while its check ran", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  const session = await engine.open({
    objective: "x",
    bind: folder.bind,
    accept: ["command: echo run >> runs; while ! test -f go; do sleep 0.02; done"],
  });
  const running = session.check();
  for (let count = 0; count < 500; count++) {
    const { found } = await foundIn(folder.path, "runs");
    if (found) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await session.label({ changed: "meanwhile" });
  writeFileSync(join(folder.path, "go"), "");
  assert.equal((await running).passed, true);
  assert.deepEqual(await ranOf(session), ["command passed 1"]);
  const { lines } = await foundIn(folder.path, "runs");
  assert.equal(lines, 2, "it ran again, on the later state");
});

async function foundIn(path: string, name: string): Promise<{ found: boolean; lines: number }> {
  const { readFile } = await import("node:fs/promises");
  const text = await readFile(join(path, name), "utf8").catch(() => "");
  return { found: text !== "", lines: text.split("\n").length - 1 };
}

test("no turn begins while a check runs, and none is checked while it runs", async () => {
  using folder = newFolder();
  await using engine = engineSaying(async () => {
    await assert.rejects(session.check(), { code: "refused" });
    return "Done.";
  });
  const session = await engine.open({ objective: "x", bind: folder.bind, accept: ["command: true"] });
  await ask(session, "Go");
  assert.equal((await session.check()).passed, true);
});

test("a check that never ends is ended, and its output of any size is cut and harmless", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  const session = await engine.open({
    objective: "x",
    bind: folder.bind,
    accept: [
      "command (endless, within 1s): echo begun; sleep 1000 & sleep 1000",
      "command (loud): head -c 10485760 /dev/zero | tr '\\0' 'x'; exit 3",
      "command (escapes): printf '\\033[31mred\\033[0m \\033]0;title\\007 \\001\\r\\n\\377'; exit 1",
    ],
  });
  const [endless, escapes, loud] = (await session.check()).checks;
  assert.equal(endless?.status, "failed");
  assert.equal(endless?.reason, "it took longer than 1 s and was ended");
  assert.match(endless?.output ?? "", /^begun\n/);
  assert.equal(loud?.exitCode, 3);
  assert.ok((loud?.output ?? "").length < limit.acceptOutputCharsMax);
  assert.match(loud?.output ?? "", /left out/);
  assert.doesNotMatch(escapes?.output ?? "", /[\p{Cc}--[\n]]/v);
  assert.match(escapes?.output ?? "", /^red/);
});

test(
  "without a shell, a command runs in a sandbox in the bound directory",
  { skip: await noBubblewrap() },
  async () => {
    using folder = newFolder();
    await using engine = engineSaying("Done.");
    const session = await engine.open({
      objective: "x",
      bind: folder.bind.slice(0, 1),
      accept: [
        `command: test "$PWD" = "${folder.path}" && test ! -e /etc/hostname && test ! -e ${process.cwd()}`,
      ],
    });
    const { checks } = await session.check();
    assert.equal(checks[0]?.status, "passed", JSON.stringify(checks));
  },
);

test("a check that cannot run says why, and is tried again", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  const session = await engine.open({ objective: "x", accept: ["command: true", "file: a"] });
  const { checks, passed } = await session.check();
  assert.equal(passed, false);
  assert.deepEqual(
    checks.map(({ status }) => status),
    ["error", "error"],
  );
  assert.match(checks[0]?.reason ?? "", /no directory and no shell is bound.*skein bind ID directory/);
  for (const one of folder.bind) await session.bind(one);
  writeFileSync(join(folder.path, "a"), "");
  assert.equal((await session.check()).passed, true);
});

test("a file outside the bound directory is none, by whatever way", async () => {
  using folder = newFolder();
  using other = newFolder();
  writeFileSync(join(other.path, "secret"), "x");
  symlinkSync(join(other.path, "secret"), join(folder.path, "link"));
  symlinkSync(other.path, join(folder.path, "away"));
  mkdirSync(join(folder.path, "sub"));
  await using engine = engineSaying("Done.");
  const session = await engine.open({
    objective: "x",
    bind: folder.bind,
    accept: [
      `file (link): link`,
      "file (above): away/secret",
      "file (sub): sub",
      "file (text): sub contains x",
    ],
  });
  const { checks } = await session.check();
  assert.deepEqual(
    checks.map(({ check, status, reason }) => [check, status, reason]),
    [
      ["above", "failed", "away/secret is outside the bound directory"],
      ["link", "failed", "link is outside the bound directory"],
      ["sub", "passed", null],
      ["text", "failed", "sub is not a file"],
    ],
  );
});

test("a file check that names a place outside its directory cannot be set", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  for (const path of ["/etc/passwd", "../x", "a/../../x", "C:/x", String.raw`\\host\x`]) {
    const refusal = { code: "invalid", message: /path: expected a path relative to the bound directory/ };
    const asked = { objective: "x", bind: folder.bind, accept: [`file: ${path}`] };
    await assert.rejects(engine.open(asked), refusal, path);
  }
});

test("a successor inherits the checks, unless it is given others", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  const accept = ["command (tests): false", "person: Nice?"];
  const session = await engine.open({ objective: "x", bind: folder.bind, accept });
  const names = async (one: Session) =>
    (await one.state()).checks.map(({ check, status }) => `${check} ${status}`);
  assert.deepEqual(await names(session), ["person waiting", "tests waiting"]);
  const second = await session.clear();
  assert.equal((await session.state()).status, "closed");
  assert.deepEqual(await names(second), ["person waiting", "tests waiting"]);
  assert.equal((await second.check()).checks[1]?.exitCode, 1, "with its definition");
  const third = await engine.open({ from: second.id });
  assert.deepEqual(await names(third), ["person waiting", "tests waiting"]);
  const fourth = await engine.open({ from: second.id, accept: [] });
  assert.deepEqual(await names(fourth), []);
  assert.deepEqual(await names(await second.fork()), []);
});

test("checks are set later, replaced and removed, and erased ones fail", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  const session = await engine.open({ objective: "x", bind: folder.bind });
  assert.deepEqual((await session.check()).checks, []);
  await session.setChecks(["command: true", { kind: "file", name: "b", path: "b" }], { reason: "needed" });
  assert.equal((await session.check()).checks.length, 2);
  await session.setChecks(["command: true"]);
  const kept = await session.check();
  assert.deepEqual([kept.passed, kept.checks[0]?.tries], [true, 1], "the same check keeps its result");
  const [, set] = await all(session.events({ types: ["checks.set"] }));
  await session.erase({ ranges: [[set?.seq ?? 0, set?.seq ?? 0]] });
  assert.equal((await session.check({ again: true })).checks[0]?.reason, "its definition was erased");
  await assert.rejects(session.clear(), { code: "refused", message: /erased/ });
  await session.setChecks([]);
  await session.close();
});

test("invalid calls are refused", async () => {
  using folder = newFolder();
  await using engine = engineSaying("Done.");
  await assert.rejects(engine.open({ objective: "x", accept: ["npm test"] }), { code: "invalid" });
  await assert.rejects(engine.open({ objective: "x", accept: ["file (a): b", "file (a): c"] }), {
    code: "invalid",
  });
  const session = await engine.open({ objective: "x", bind: folder.bind, accept: ["command: true"] });
  await assert.rejects(session.check({ only: ["other"] }), { code: "not-found" });
  await assert.rejects(session.check({ pass: "command" }), { code: "refused" });
  await assert.rejects(session.check({ pass: "a", fail: "b" }), { code: "invalid" });
  await assert.rejects(session.check({ because: "so" }), { code: "invalid" });
  await assert.rejects(session.check({ commit: "HEAD" }), { code: "invalid" });
  await session.close({ outcome: "failed" });
  await assert.rejects(session.check(), { code: "refused" });
});

test("an agent's handle sets no checks", async () => {
  await using engine = engineSaying("Done.");
  const agent = engine.as("agent:coder@1");
  await assert.rejects(agent.open({ objective: "x", accept: ["person: ok?"] }), { code: "refused" });
  const session = await engine.open({ objective: "x", accept: ["person: ok?"] });
  const own = await agent.session(session.id);
  await assert.rejects(own.setChecks([]), { code: "refused" });
  await assert.rejects(own.check({ pass: "person" }), { code: "refused" });
});

test("a reviewer scores the work in a separate session", async () => {
  using folder = newFolder();
  const said = ["Done.", "Weak.\nSCORE: 0.4", "Done again.", "Good.\n**SCORE:** 0.85", "Done.", "No idea."];
  const script = scripted(said);
  await using engine = engineWith(script);
  const session = await engine.open({
    objective: "x",
    bind: folder.bind,
    accept: ["review (quality): Is it clear?"],
  });
  await ask(session, "Go");
  const [weak] = (await session.check()).checks;
  assert.deepEqual(
    [weak?.status, weak?.score, weak?.reason],
    ["failed", 0.4, "score 0.4, at least 0.8 is needed"],
  );
  const asked = JSON.stringify(script.calls[1]?.parts);
  assert.match(asked, /Is it clear\?/);
  assert.doesNotMatch(asked, /"write_file"/);
  const reviewer = await (await engine.session(weak?.by ?? "")).state();
  assert.equal(reviewer.status, "closed");
  await ask(session, "Again");
  const [good] = (await session.check()).checks;
  assert.deepEqual([good?.status, good?.score], ["passed", 0.85]);
  await ask(session, "Again");
  const [none] = (await session.check()).checks;
  assert.equal(none?.status, "error");
  assert.match(none?.reason ?? "", /named no score/);
});
