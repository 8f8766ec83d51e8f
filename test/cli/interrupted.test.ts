/** Interrupted text in the log, in the transcript and in exports: it is there, and marked. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { makeFolder, skeinIn } from "./skein.ts";

test("interrupted text is in log, Markdown and HTML, marked as interrupted", async () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const id = await skein.open("Write a poem");
  const engine = await openEngine({ store: join(folder, "skein.db"), env: {} });
  try {
    const session = await engine.session(id);
    await session.append("go");
    await using drive = await session.drive();
    await drive.begin();
    await drive.request({ model: "acme/large", reserve: { tokens: 10 } });
    await drive.fail({ error: "interrupted", partial: "Roses are half" });
    await drive.end();
  } finally {
    await engine.close();
  }
  const read = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await skein.here(...words);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  assert.match(await read("log", id), /interrupted, 14 characters kept/);
  const markdown = await read("export", id, "--format", "markdown");
  assert.match(markdown, /acme\/large \(interrupted\)\n\n_[^\n]*_\n\n(> )?Roses are half/);
  const html = await read("export", id, "--format", "html");
  assert.match(html, /acme\/large \(interrupted\)[^]{0,200}Roses are half/);
});
