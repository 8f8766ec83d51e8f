/** What was built is read whole; what was not is no console. */
import assert from "node:assert/strict";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isOlder, readPageFiles } from "../../src/cli/open/console-files.ts";
import { newPath } from "../path.ts";

test("the files of the page are known by path, with type, etag and whether they ever change", async () => {
  const { path: folder, remove } = newPath();
  try {
    mkdirSync(join(folder, "assets"), { recursive: true });
    writeFileSync(join(folder, "icon.svg"), "<svg/>");
    writeFileSync(join(folder, "assets/app-1.js"), "1;");
    writeFileSync(join(folder, "assets/app-1.js.map"), "{}");
    assert.equal(await readPageFiles(folder), null);
    writeFileSync(join(folder, "index.html"), "<p>");
    const files = await readPageFiles(folder);
    const shown = [...(files ?? [])].map(([path, { type, bytes, immutable }]) => {
      return [path, type, Buffer.from(bytes).toString(), immutable];
    });
    assert.deepEqual(
      shown.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      [
        ["/assets/app-1.js", "text/javascript; charset=utf-8", "1;", true],
        ["/icon.svg", "image/svg+xml", "<svg/>", false],
        ["/index.html", "text/html; charset=utf-8", "<p>", false],
      ],
    );
    const etags = [...(files ?? [])].map(([, { etag }]) => etag);
    assert.equal(new Set(etags).size, 3);
    writeFileSync(join(folder, "index.html"), "<b>");
    assert.notEqual((await readPageFiles(folder))?.get("/index.html")?.etag, files?.get("/index.html")?.etag);
  } finally {
    remove();
  }
});

test("a missing folder holds no console", async () => {
  const { path, remove } = newPath();
  assert.equal(await readPageFiles(path), null);
  remove();
});

test("a page is old once a file of its sources changed after it was built", async () => {
  const { path: folder, remove } = newPath();
  try {
    const page = join(folder, "dist/console");
    mkdirSync(page, { recursive: true });
    mkdirSync(join(folder, "src/console/view"), { recursive: true });
    const source = join(folder, "src/console/view/a.tsx");
    writeFileSync(source, "1;");
    const check = (): Promise<boolean> => isOlder(page, join(folder, "src"), ["console", "missing"]);
    assert.equal(await check(), false, "no page, no old page");
    writeFileSync(join(page, "index.html"), "<p>");
    utimesSync(source, 1_700_000_000, 1_700_000_000);
    assert.equal(await check(), false);
    utimesSync(source, 2_700_000_000, 2_700_000_000);
    assert.equal(await check(), true);
  } finally {
    remove();
  }
});
