/** Keeps docs/http.md true: every snippet of it is run against a server. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { problemStatuses } from "../../src/protocol/problem.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve } from "../../src/server/http/server.ts";
import { openLocalToken } from "../../src/server/auth/local-token.ts";
import { oneTenant } from "../../src/server/http/tenants.ts";
import { runCommand } from "../repo/command.ts";
import { blocksOf } from "../repo/markdown.ts";
import { root } from "../repo/source.ts";

const text = readFileSync(join(root, "docs/http.md"), "utf8");
const blocks = blocksOf({ path: "docs/http.md", text });
const usual = "http://127.0.0.1:7717";

/** All snippets of a language, as one program for the server of this test. */
const programOf = (language: string, url: string): string =>
  blocks
    .filter(({ marks }) => marks[0] === language)
    .map(({ code }) => code.replaceAll(usual, url))
    .join("\n");
const isMissing = (...programs: readonly string[]): string | false => {
  const missing = programs.filter((name) => spawnSync(name, ["--version"]).status !== 0);
  return missing.length > 0 && `this machine has no ${missing.join(", no ")}`;
};

suite("docs/http.md", () => {
  const stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "skein-http-"));
  let url = "";

  before(async () => {
    stack.defer(() => rmSync(folder, { recursive: true }));
    const store = join(folder, "skein.db");
    const world = realWorld();
    const engine = stack.use(await openEngine({ store }));
    await openLocalToken(engine, { world, path: `${store}.token` });
    const server = await serve({
      world,
      version: "0.0.0",
      authorizer: (bound) => makeAuthorizer({ ...bound, world, tenants: oneTenant(engine) }),
    });
    stack.use(server);
    stack.use(await engine.work());
    ({ url } = server);
  });
  after(() => stack.disposeAsync());

  test("the shell commands of the page run", { skip: isMissing("curl", "jq") }, async () => {
    const path = join(folder, "all.sh");
    writeFileSync(path, `set -eu\n${programOf("sh", url)}`);
    const { code, stdout, stderr } = await runCommand("sh", [path], { cwd: folder });
    // Two of them are shown to fail; whatever else did would be told here too.
    const failed = [...stderr.matchAll(/error: (\d+)/g)].map(([, status]) => status);
    assert.deepEqual([code, failed], [0, ["412", "400"]], stdout.slice(-2_000) + stderr);
    for (const said of ["event: ran", '"value":4.1', '"value":"EUR"', '"headSeq":'])
      assert.ok(stdout.includes(said), `${said} is not in ${stdout.slice(-2_000)}`);
  });

  test("the Python code of the page runs", { skip: isMissing("python3") }, async () => {
    const path = join(folder, "all.py");
    writeFileSync(path, programOf("python", url));
    const { code, stdout, stderr } = await runCommand("python3", [path], { cwd: folder });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /'value': 4\.1/);
    assert.match(stdout, /^409 |^400 |^404 /m);
  });

  test("it lists every code, with its status", () => {
    const rows = [...text.matchAll(/^\| ([\d, ]+) \| (.+?) \|/gm)];
    const told = rows.flatMap(([, statuses = "", codes = ""]) =>
      [...codes.matchAll(/`([\w-]+)`/g)].map(
        ([, code = ""]) => [code, statuses.split(", ").map(Number)] as const,
      ),
    );
    assert.deepEqual(told.map(([code]) => code).toSorted(), Object.keys(problemStatuses).toSorted());
    for (const [code, statuses] of told)
      assert.ok(statuses.includes(problemStatuses[code as keyof typeof problemStatuses]), code);
  });
});
