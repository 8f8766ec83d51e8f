/** The command line hands off: the document, the next session, and a talk that goes on in it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { makeFolder, parseLines, skeinIn } from "./skein.ts";

describe("handoff", () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const openOne = async (): Promise<string> => {
    const id = (await skein.here("open", "Fix login", "--label", "team=web")).stdout.trim();
    await skein.here("record", id, "decision", "storage", "SQLite", "--because", "it is one file");
    await skein.here("record", id, "task", "tests", "Write tests");
    return id;
  };

  test("prints Markdown, names its position, and has JSON for programs", async () => {
    const id = await openOne();
    const short = id.slice(-8);
    const { code, stdout, stderr } = await skein.here("handoff", id);
    assert.equal(code, 0);
    assert.ok(stdout.includes(`- [${short}@3] storage: SQLite; because it is one file\n`), stdout);
    assert.ok(stdout.includes(`- [${short}@4] tests: Write tests\n`));
    assert.match(stderr, new RegExp(`^\\d+ tokens, kept at 5 of ${id}\n$`));
    const [answer] = await skein.look("handoff", id);
    assert.partialDeepStrictEqual(answer, { session: id, seq: 5, toSeq: 4, model: null });
    assert.equal(answer?.["text"], stdout);
    const pointed = await skein.here("log", `${short}@3`);
    assert.match(pointed.stdout, /^ +3 .* item\.recorded +Recorded decision storage = SQLite/);
    assert.equal((await skein.here("log", `${short}@3`, "--from", "1")).code, 2);
  });

  test("writes a file, or keeps nothing at all", async () => {
    const id = await openOne();
    const file = join(folder, "HANDOFF.md");
    const dry = await skein.look("handoff", id, "--dry-run");
    assert.partialDeepStrictEqual(dry, [{ seq: null, toSeq: 4 }]);
    const written = await skein.here("handoff", id, "--out", file);
    assert.match(written.stdout, /^wrote .*HANDOFF\.md: \d+ tokens, kept at 5 of ses_/);
    assert.ok(readFileSync(file, "utf8").startsWith(`# Handoff of ${id}\n`));
    const refused = await skein.here("handoff", id, "--out", join(folder, "nowhere", "x"));
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /cannot be written\n +hint: the handoff is in the log; use another path/);
    assert.ok(!existsSync(join(folder, "nowhere")));
    assert.equal((await skein.here("handoff", id, "--tokens", "5")).code, 2);
  });

  test("open --from starts the next session with it, for the same objective or another", async () => {
    const id = await openOne();
    const [same] = await skein.look("open", "--from", id.slice(-8));
    assert.partialDeepStrictEqual(same, { headSeq: 3, objective: "Fix login" });
    const [other] = await skein.look("open", "Test login", "--from", id, "--label", "team=qa");
    assert.partialDeepStrictEqual(other, { objective: "Test login" });
    const [state] = await skein.look("state", String(other?.["id"]));
    assert.partialDeepStrictEqual(state, { labels: { team: "qa" }, objective: "Test login" });
    const { stdout } = await skein.here("context", String(same?.["id"]));
    assert.ok(stdout.includes(`Document ${id}@5 (handoff)`) && stdout.includes("tests: Write tests"), stdout);
    const unknown = await skein.here("open", "--from", "nobody");
    assert.deepEqual([unknown.code, unknown.stdout], [3, ""]);
    assert.match(unknown.stderr, /no session id ends in "nobody"/);
    const both = await skein.here("open", "--from", id, "--from", String(same?.["id"]));
    assert.deepEqual([both.code, both.stdout], [2, ""]);
    assert.match(both.stderr, /--from: given more than once\n +hint: .*skein merge/);
    const neither = await skein.here("open");
    assert.match(neither.stderr, /open: OBJECTIVE is required\n +hint: .*skein open/);
  });

  test("/handoff closes the session of a chat and continues in the next", async () => {
    const id = await openOne();
    const input = "hello\n/handoff Test login\nhello again\n";
    const { code, stdout } = await skein.run(["chat", id], { input });
    assert.equal(code, 0);
    const next = /opened (ses_\w{26}); (ses_\w{26}) is closed/.exec(stdout);
    assert.equal(next?.[2], id, stdout);
    const types = (await skein.look("log", String(next?.[1]))).map(({ type }) => type);
    assert.deepEqual(types.slice(0, 2), ["session.opened", "document.loaded"]);
    assert.ok(types.includes("input.received"), "the talk went on there");
    const [state] = await skein.look("state", String(next?.[1]));
    assert.partialDeepStrictEqual(state, { objective: "Test login", labels: { team: "web" } });
    const [before] = await skein.look("state", id);
    assert.partialDeepStrictEqual(before, {
      status: "closed",
      why: { by: "completed", reason: "handed off" },
    });
    const prose = await skein.here("handoff", id, "--prose");
    assert.equal(prose.code, 0);
    assert.match(prose.stdout, /Its last answer: I am the offline model/);
  });

  test("the model writes an introduction to the lists on request", async () => {
    const id = await openOne();
    const { stdout } = await skein.run(["handoff", id, "--prose", "--json"]);
    const [answer] = parseLines(stdout);
    assert.equal(answer?.["model"], "offline/offline");
    assert.match(String(answer?.["text"]), /> The objective: Fix login .* 1 decided, 1 still to do\./);
    const [cost] = await skein.look("cost", id);
    assert.ok(JSON.stringify(cost).includes('"calls":1'), JSON.stringify(cost));
  });
});
