/** Runs what the pages and the example say for Python, against a server with the offline model. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { promisify } from "node:util";
import { blocksOf } from "../repo/markdown.ts";
import { root } from "../repo/source.ts";
import { startServer, type ServerChild } from "../server/server-child.ts";
import { needsPython, python, pythonEnv } from "./python.ts";

/** The blocks of a page as one program for this server. */
const programIn = (path: string, url: string): string =>
  blocksOf({ path, text: readFileSync(join(root, path), "utf8") })
    .filter(({ marks }) => marks[0] === "python" && !marks.includes("nocheck"))
    .map(({ code }) => code.replaceAll("http://127.0.0.1:7717", url))
    .join("\n");

suite("Python in the pages", needsPython, () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-python-pages-"));
  let server: ServerChild;
  let url = "";

  before(async () => {
    server = await startServer(join(folder, "skein.db"));
    url = `http://127.0.0.1:${server.port}`;
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const run = async (path: string, env: NodeJS.ProcessEnv = {}): Promise<string> => {
    // Programs on pages leave files open.
    const all = { ...pythonEnv(), PYTHONWARNINGS: "default::SyntaxWarning", ...env };
    const options = { cwd: folder, env: all, timeout: 60_000 };
    const { stdout, stderr } = await promisify(execFile)(python ?? "python3", [path], options);
    assert.equal(stderr, "");
    return stdout;
  };

  for (const [page, said] of [
    ["docs/python.md", /turn\.ended[^]*invalid 400 budget\.tokens/],
    ["clients/python/README.md", /model\.responded[^]*4\.1\n$/],
  ] as const) {
    test(`${page} works`, async () => {
      const path = join(folder, "page.py");
      writeFileSync(path, programIn(page, url));
      assert.match(await run(path), said);
    });
  }

  test("examples/python runs", async () => {
    const stdout = await run(join(root, "examples/python/main.py"), {
      SKEIN_URL: url,
      SKEIN_TOKEN: server.token,
    });
    assert.match(stdout, /duplicate: False\nduplicate: True\n/);
    assert.match(stdout, /session \{.*4\.1.*\}\nbranch \{.*5.*\}\nrefused: \w+/);
  });
});
