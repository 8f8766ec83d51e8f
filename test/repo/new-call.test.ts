/** A call is two files: added to a copy of the tree, it is everywhere. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "./command.ts";

const root = join(import.meta.dirname, "../..");

/** Its description. */
const description = `
  "session.praise": change("session", "praise", {
    title: "Praise it",
    summary: "Says that the session did well.",
    args: ["word"],
    params: () => ({
      word: field.Key,
      stars: z.int().min(1).max(5).describe("from 1 to 5; by default 5").exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group: "Sessions",
      line: "Praise a session.",
      done: "praised as {word}",
      examples: ["skein praise 4x8kz1 tidy --stars 4  # with four of five stars"],
    },
  }),
`;

/** Its function. */
const method = `
  async praise(word: string, options: { readonly stars?: number } = {}): Promise<AppendResult> {
    checkCall("session.praise", options, { word });
    return this.score(\`praise-\${word}\`, options.stars ?? 5);
  }
`;

/** Run inside the copy: prints a fact a line. */
const program = `
import { connect } from "./src/client/connect.ts";
import { commandOf } from "./src/console/palette/commands.ts";
import { fieldsOf } from "./src/console/palette/form.ts";
import { operationOf } from "./src/call/operations.ts";
import { openEngine } from "./src/index.ts";
import { describeApi } from "./src/protocol/openapi.ts";
import { realWorld } from "./src/runtime/world.ts";
import { makeAuthorizer } from "./src/server/auth/authorize.ts";
import { serve } from "./src/server/http/server.ts";
import { runWords } from "./src/cli/command/run.ts";
import { collectingSurface } from "./src/cli/command/screen.ts";

const say = (name, value) => console.log(JSON.stringify([name, value]));
const store = "./new-call.db";
const engine = await openEngine({ store, create: true });
const session = await engine.open({ objective: "Be praised" });
say("library", (await session.praise("kind")).seq > 0);
for (const [options, name] of [[{ star: 3 }, "unknown"], [{ stars: 9 }, "wrong"]])
  say(name, await session.praise("kind", options).then(() => null, ({ message, hint }) => [message, hint]));
const { token } = await engine.addToken({ scopes: ["admin"] });
const world = realWorld();
const rate = { perSecond: 1000, burst: 1000 };
const authorizer = (bound) => makeAuthorizer({ ...bound, world, rate, tenants: async () => engine });
const server = await serve({ world, version: "0", authorizer });
const remote = await connect(server.url, { token });
const answer = await fetch(server.url + "/v1/sessions/" + session.id + "/praise", {
  method: "POST",
  headers: { authorization: "Bearer " + token, "content-type": "application/json" },
  body: JSON.stringify({ word: "http", stars: 2 }),
});
say("http", [answer.status, (await answer.json()).duplicate]);
say("client", (await (await remote.session(session.id)).praise("client", { stars: 1 })).duplicate);
say("openapi", describeApi({ version: "0", cookie: "c" }).paths["/v1/sessions/{id}/praise"].post.operationId);
const fields = fieldsOf(operationOf("session.praise"));
say("palette", [commandOf("session.praise"), fields.map(({ name }) => name)]);
await remote.close();
await server.stop();
await engine.close();
const run = async (...words) => {
  const surface = collectingSurface(null);
  const code = await runWords(words, { surface, untilStopped: () => new AbortController().signal });
  return [code, surface.collected.stdout + surface.collected.stderr];
};
say("help", await run("help", "praise"));
say("verb", await run("praise", session.id, "neat", "--stars", "4", "--store", store));
say("refused", await run("praise", session.id, "neat", "--starz", "4", "--store", store));
`;

function insert(file: string, mark: string, text: string): void {
  const before = readFileSync(file, "utf8");
  assert.ok(before.includes(mark), `${file} has no ${mark}`);
  writeFileSync(
    file,
    before.replace(mark, () => `${mark}${text}`),
  );
}

test("a call added in two files is in library, HTTP, client, OpenAPI, CLI, palette and docs", async () => {
  const copy = mkdtempSync(join(tmpdir(), "skein-new-call-"));
  try {
    for (const name of ["src", "docs", "bin", "package.json", "tsconfig.json"])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    insert(join(copy, "src/call/session-standing.ts"), "export const sessionStanding = {", description);
    insert(
      join(copy, "src/runtime/engine/session.ts"),
      "export class Session extends SessionChecks {",
      method,
    );
    writeFileSync(join(copy, "program.ts"), program);
    const run = await runCommand(process.execPath, ["program.ts"], { cwd: copy });
    assert.equal(run.code, 0, run.stderr);
    const facts = Object.fromEntries(
      run.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as [string, unknown]),
    );
    const { help, verb, refused, ...rest } = facts as Record<string, unknown> &
      Record<"help" | "verb" | "refused", [number, string]>;
    assert.deepEqual(rest, {
      library: true,
      unknown: ['praise: unknown option "star"', 'did you mean "stars"?'],
      wrong: ["praise: stars: expected at most 5, got 9", null],
      http: [200, false],
      client: false,
      openapi: "session.praise",
      palette: [{ title: "Praise it", does: { how: "form" } }, ["word", "stars"]],
    });
    assert.equal(help[0], 0);
    assert.match(
      help[1],
      /^Praise a session\.[^]*skein praise ID WORD \[options\][^]*--stars COUNT +from 1 to 5/,
    );
    assert.match(help[1], /skein praise 4x8kz1 tidy --stars 4/);
    assert.deepEqual([verb[0], /^praised as neat at \d+ of ses_/.test(verb[1])], [0, true]);
    assert.deepEqual([refused[0], /did you mean --stars/.test(refused[1])], [2, true]);
    const describe = 'process.stdout.write(await (await import("./docs/describe-calls.ts")).describeCalls())';
    const { stdout: page, ...docs } = await runCommand(process.execPath, ["-e", describe], { cwd: copy });
    assert.equal(docs.code, 0, docs.stderr);
    assert.match(page, /### session\.praise\n\nSays that the session did well\./);
    assert.match(page, /\| `stars` \| integer from 1 to 5 \|  \| from 1 to 5; by default 5 \|/);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
