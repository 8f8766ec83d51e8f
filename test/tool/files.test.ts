/** File tools: reading, writing, editing, and never outside of what is bound. */
import type { Binding } from "../../src/core/tool/commands.ts";
import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileTools } from "../../src/tool/files.ts";
import type { StoredBinding, OuterTool } from "../../src/tool/port.ts";
import { openRoot } from "../../src/tool/root.ts";
import { callTool, failure, key, openFolder, outerTool } from "./calling.ts";
import { modeOf } from "../file-mode.ts";
import { sliced } from "../slice.ts";

interface Place extends AsyncDisposable {
  readonly root: string;
  readonly outside: string;
  readonly tools: readonly OuterTool[];
}

/** A folder with a bound directory `root` and, beside it, a secret that is not bound. */
async function openPlace(
  files: Readonly<Record<string, string>>,
  mode: "read" | "write" = "write",
): Promise<Place> {
  const folder = await openFolder();
  const root = join(folder.path, "root");
  const outside = join(folder.path, "outside");
  await mkdir(root);
  await mkdir(outside);
  await writeFile(join(outside, "secret.txt"), "do not tell");
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const tools = await toolsOf([{ kind: "directory", name: "root", mode, path: root }]);
  return { root, outside, tools, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

async function toolsOf(bound: readonly (Binding & { readonly name: string })[]): Promise<OuterTool[]> {
  const whole = bound.map((one): StoredBinding => ({ mode: "read", ...one }));
  return fileTools(await Promise.all(whole.map((one) => openRoot(one))));
}

describe("reading", () => {
  test("a file is read by lines, and says when there is more", async () => {
    await using place = await openPlace({ "a.txt": "one\ntwo\nthree\nfour", "empty.txt": "" });
    const read = (input: object) => callTool(place.tools, "read_file", { path: "a.txt", ...input });
    assert.deepEqual(await read({}), { text: "one\ntwo\nthree\nfour" });
    assert.deepEqual(await read({ lines: 2 }), {
      text: "one\ntwo\n[lines 1 to 2; there is more: continue with fromLine 3]",
    });
    assert.deepEqual(await read({ fromLine: 3 }), { text: "three\nfour" });
    assert.deepEqual(await read({ fromLine: 4, lines: 1 }), { text: "four" });
    assert.equal(await failure(read({ fromLine: 5 })), "invalid: a.txt has only 4 lines");
    assert.deepEqual(await read({ path: "empty.txt" }), { text: "[the file is empty]" });
    assert.equal(await failure(read({ path: "b.txt" })), "not-found: b.txt does not exist");
    assert.equal(await failure(read({ path: "." })), "invalid: . is a directory");
  });

  test("every way to page through a file gives all of it, once", async () => {
    const text = Array.from({ length: 3_000 }, (_, n) => `${"é".repeat(n % 90)}${n}`).join("\n");
    await using place = await openPlace({ "long.txt": `${text}\n` });
    let whole = "";
    for (let fromLine = 1, pages = 0; ; pages++) {
      assert.ok(pages < 100);
      const page = await callTool(place.tools, "read_file", { path: "long.txt", fromLine, lines: 2_500 });
      const more = /\n\[lines \d+ to \d+; there is more: continue with fromLine (\d+)\]$/.exec(page.text);
      whole += page.text.slice(0, more === null ? undefined : more.index + 1);
      if (more === null) break;
      fromLine = Number(more[1]);
    }
    assert.equal(whole, `${text}\n`);
  });

  test("a line longer than the read limit is cut, and marked", async () => {
    await using place = await openPlace({ "one.json": `${"€".repeat(100_000)}\nnext` });
    const { text } = await callTool(place.tools, "read_file", { path: "one.json" });
    assert.match(text, /^€{43690}\n\[line 1 was cut; continue with fromLine 2\]$/);
    assert.deepEqual(await callTool(place.tools, "read_file", { path: "one.json", fromLine: 2 }), {
      text: "next",
    });
  });

  test("images are shown, other bytes are refused, pipes and devices are not waited for", async () => {
    await using place = await openPlace({ "a.bin": "x\0y" });
    const png = Buffer.from("89504e470d0a1a0a0000", "hex");
    await writeFile(join(place.root, "a.png"), png);
    assert.deepEqual(await callTool(place.tools, "read_file", { path: "a.png" }), {
      text: "a.png: an image, 10 bytes",
      images: ["image/png"],
    });
    assert.equal(
      await failure(callTool(place.tools, "read_file", { path: "a.bin" })),
      "invalid: a.bin is a binary file (3 bytes)",
    );
    const devices = await toolsOf([{ kind: "directory", name: "dev", path: "/dev" }]);
    assert.equal(
      await failure(callTool(devices, "read_file", { path: "zero" })),
      "invalid: zero is not a regular file",
    );
  });
});

describe("writing", () => {
  test("a file is written whole, with its directories, and keeps its permissions", async () => {
    await using place = await openPlace({ "run.sh": "old" });
    await chmod(join(place.root, "run.sh"), 0o750);
    assert.deepEqual(await callTool(place.tools, "write_file", { path: "a/b/c.txt", text: "é" }), {
      text: "created a/b/c.txt (2 bytes)",
      detail: { changed: ["a/b/c.txt"] },
    });
    assert.deepEqual(await callTool(place.tools, "write_file", { path: "run.sh", text: "new" }), {
      text: "replaced run.sh (3 bytes)",
      detail: { changed: ["run.sh"] },
    });
    assert.equal(modeOf(join(place.root, "run.sh"), 0o750), 0o750);
    assert.equal(await readFile(join(place.root, "a/b/c.txt"), "utf8"), "é");
    assert.deepEqual((await readdir(place.root)).toSorted(), ["a", "run.sh"]);
  });

  test("what a call left behind when it was killed is cleared away when it runs again", async () => {
    await using place = await openPlace({});
    await writeFile(join(place.root, `.${key.slice(0, 24)}.skein-tmp`), "half");
    await callTool(place.tools, "write_file", { path: "a.txt", text: "whole" });
    assert.deepEqual(await readdir(place.root), ["a.txt"]);
  });

  test("a directory is not overwritten, and a read binding has no tools that write", async () => {
    await using place = await openPlace({ "d/a.txt": "" });
    assert.equal(
      await failure(callTool(place.tools, "write_file", { path: "d", text: "" })),
      "invalid: d is a directory",
    );
    assert.equal(
      await failure(callTool(place.tools, "write_file", { path: "d/a.txt/b", text: "" })),
      "refused: d/a.txt/b has a path segment that is not a directory",
    );
    await using reading = await openPlace({}, "read");
    assert.deepEqual(
      reading.tools.map(({ name, effect }) => `${name} ${effect}`),
      ["read_file read", "list_files read", "find_files read", "grep_files read"],
    );
    assert.deepEqual(
      place.tools.slice(4).map(({ name, effect }) => `${name} ${effect}`),
      ["write_file idempotent", "edit_file unsafe"],
    );
  });
});

describe("editing", () => {
  test("a piece that is there once is replaced, in either kind of line ends", async () => {
    await using place = await openPlace({ "a.ts": "let a = 1;\nlet b = 2;\n", "w.txt": "one\r\ntwo\r\n" });
    const edit = (input: object) => callTool(place.tools, "edit_file", { path: "a.ts", ...input });
    assert.deepEqual(await edit({ find: "b = 2", replace: "b = $& 3" }), {
      text: "replaced once in a.ts, first in line 2",
      detail: { changed: ["a.ts"] },
    });
    assert.equal(await readFile(join(place.root, "a.ts"), "utf8"), "let a = 1;\nlet b = $& 3;\n");
    await edit({ path: "w.txt", find: "one\ntwo", replace: "one\nand\ntwo" });
    assert.equal(await readFile(join(place.root, "w.txt"), "utf8"), "one\r\nand\r\ntwo\r\n");
  });

  test("a text that is missing or ambiguous is reported and changes nothing", async () => {
    await using place = await openPlace({ "a.txt": "x\ny x\n" });
    const edit = (input: object) =>
      callTool(place.tools, "edit_file", { path: "a.txt", replace: "z", ...input });
    assert.match(await failure(edit({ find: "q" })), /^invalid: edit: find: not found in a\.txt; read/);
    assert.match(await failure(edit({ find: "x" })), /2 matches in a\.txt \(lines 1, 2\); add surrounding/);
    assert.match(await failure(edit({ find: "z" })), /are identical/);
    assert.equal(await readFile(join(place.root, "a.txt"), "utf8"), "x\ny x\n");
    assert.equal((await edit({ find: "x", all: true })).text, "replaced 2 times in a.txt, first in line 1");
    assert.equal(await readFile(join(place.root, "a.txt"), "utf8"), "z\ny z\n");
    await writeFile(join(place.root, "a.txt"), Buffer.from([0x78, 0xff]));
    assert.match(await failure(edit({ find: "x" })), /is not UTF-8 text/);
  });

  test("many edits of one file at once are all made", async () => {
    await using place = await openPlace({ "a.txt": Array.from({ length: 30 }, (_, n) => `<${n}>`).join("") });
    const edits = Array.from({ length: 30 }, (_, n) =>
      callTool(place.tools, "edit_file", { path: "a.txt", find: `<${n}>`, replace: `(${n})` }),
    );
    await Promise.all(edits);
    assert.equal(
      await readFile(join(place.root, "a.txt"), "utf8"),
      Array.from({ length: 30 }, (_, n) => `(${n})`).join(""),
    );
  });

  test("after a crash the file shows whether the edit was made, or that it is unknown", async () => {
    await using place = await openPlace({ "a.txt": "the rate is 4.1" });
    const { signal } = new AbortController();
    const probe = (find: string, replace: string, path = "a.txt") =>
      outerTool(place.tools, "edit_file").probe?.(key, {
        input: { path, find, replace, all: false },
        signal,
      });
    assert.deepEqual(await probe("4.1", "4.2"), { outcome: "not-done" });
    assert.deepEqual(await probe("4.0", "4.1"), {
      outcome: "done",
      output: "a.txt has the new text and no longer the old one, as seen after a crash",
    });
    assert.deepEqual(await probe("rate", "rate is"), { outcome: "unknown" });
    assert.deepEqual(await probe("4.1", ""), { outcome: "unknown" });
    assert.deepEqual(await probe("x", "y"), { outcome: "unknown" });
    assert.deepEqual(await probe("x", "y", "gone.txt"), { outcome: "unknown" });
  });
});

/** Does something over and over while other things are tried so many times. */
async function swapUntil<T>(
  swap: () => Promise<void>,
  tries: number,
  attempt: () => Promise<T>,
): Promise<T[]> {
  const over = new AbortController();
  const swapping = (async () => {
    while (!over.signal.aborted) await swap();
  })();
  const outcomes: T[] = [];
  for (let round = 0; round < tries; round++) outcomes.push(await attempt());
  over.abort();
  await swapping;
  return outcomes;
}

const inputs = {
  read_file: (path: string) => ({ path }),
  write_file: (path: string) => ({ path, text: "taken" }),
  edit_file: (path: string) => ({ path, find: "do not tell", replace: "told" }),
  list_files: (path: string) => ({ path }),
  find_files: (path: string) => ({ path, pattern: "*" }),
  grep_files: (path: string) => ({ path, pattern: "." }),
};

describe("paths outside of the bindings", () => {
  test("no path leads there: not by .., not from the root, not by links", async () => {
    await using place = await openPlace({ "in/a.txt": "a" });
    await symlink("../outside", join(place.root, "folder"));
    await symlink("../outside/secret.txt", join(place.root, "file"));
    await symlink(join(place.outside, "new.txt"), join(place.root, "dangling"));
    await symlink("..", join(place.root, "up"));
    const paths = [
      "../outside/secret.txt",
      "in/../../outside/secret.txt",
      join(place.outside, "secret.txt"),
      `${place.root}/../outside/secret.txt`,
      `${place.root}side`,
      "/etc/passwd",
      "folder/secret.txt",
      "folder/new/secret.txt",
      "file",
      "dangling",
      "up/outside/secret.txt",
      "in/../up/outside",
    ];
    for (const [tool, input] of Object.entries(inputs)) {
      for (const path of paths)
        assert.match(await failure(callTool(place.tools, tool, input(path))), /^(refused|not-found): /, path);
    }
    assert.deepEqual(await readdir(place.outside), ["secret.txt"]);
    assert.equal(await readFile(join(place.outside, "secret.txt"), "utf8"), "do not tell");
    assert.match(await failure(callTool(place.tools, "read_file", { path: "a\0b" })), /without NUL/);
    const all = [
      await callTool(place.tools, "grep_files", { pattern: "tell" }),
      await callTool(place.tools, "find_files", { pattern: "*" }),
    ];
    assert.deepEqual(all, [{ text: "no line matches" }, { text: "in/a.txt" }]);
  });

  test("links that stay inside are followed, and a bound link is its target", async () => {
    await using place = await openPlace({ "in/a.txt": "a" });
    await symlink("in", join(place.root, "also"));
    await symlink(place.root, `${place.root}-link`);
    assert.deepEqual(await callTool(place.tools, "read_file", { path: "also/a.txt" }), { text: "a" });
    const tools = await toolsOf([{ kind: "directory", name: "r", path: `${place.root}-link` }]);
    assert.deepEqual(await callTool(tools, "read_file", { path: "in/a.txt" }), { text: "a" });
    assert.deepEqual(await callTool(tools, "read_file", { path: `${place.root}-link/in/a.txt` }), {
      text: "a",
    });
  });

  test("a bound file that is replaced by a link after it was opened is refused", async () => {
    await using place = await openPlace({ "bound.txt": "mine", "other.txt": "do not tell" });
    const path = join(place.root, "bound.txt");
    const tools = await toolsOf([{ kind: "file", name: "bound.txt", path, mode: "write" }]);
    assert.deepEqual(await callTool(tools, "read_file", { path: "bound.txt" }), { text: "mine" });
    for (const target of ["other.txt", join(place.root, "other.txt"), join(place.outside, "secret.txt")]) {
      await rm(path);
      await symlink(target, path);
      for (const tool of ["read_file", "write_file", "edit_file"] as const)
        assert.match(await failure(callTool(tools, tool, inputs[tool]("bound.txt"))), /^refused: /, target);
    }
    assert.equal(await readFile(join(place.root, "other.txt"), "utf8"), "do not tell");
    assert.equal(await readFile(join(place.outside, "secret.txt"), "utf8"), "do not tell");
  });

  test("a directory that is swapped for a link all the time never gives a way out", async () => {
    await using place = await openPlace({ "swap/secret.txt": "fine", "in/secret.txt": "fine" });
    const at = (name: string) => join(place.root, name);
    await symlink(place.outside, at("out-link"));
    await symlink(place.outside, at("turning"));
    const swapped = await swapUntil(
      async () => {
        // There is a moment without the directory, and one in which it is a link.
        await rename(at("swap"), at("hidden"));
        await rename(at("out-link"), at("swap"));
        await rename(at("swap"), at("out-link"));
        await rename(at("hidden"), at("swap"));
        // This one is always a link, now to the inside and now to the outside.
        for (const target of ["in", place.outside]) {
          await symlink(target, at("next"));
          await rename(at("next"), at("turning"));
        }
      },
      sliced(100, 300),
      async () =>
        Promise.allSettled([
          callTool(place.tools, "read_file", { path: "swap/secret.txt" }),
          callTool(place.tools, "edit_file", { path: "swap/secret.txt", find: "fine", replace: "fine." }),
          callTool(place.tools, "write_file", { path: "turning/secret.txt", text: "fine" }),
          callTool(place.tools, "read_file", { path: "turning/secret.txt" }),
        ]),
    );
    const done = swapped.flat();
    for (const outcome of done)
      if (outcome.status === "fulfilled") assert.doesNotMatch(outcome.value.text, /tell/);
    assert.equal(await readFile(join(place.outside, "secret.txt"), "utf8"), "do not tell");
    assert.deepEqual(await readdir(place.outside), ["secret.txt"]);
    const fine = done.filter(({ status }) => status === "fulfilled").length;
    assert.ok(fine > 0 && fine < done.length, `${fine} of ${done.length} went well`);
  });

  test("a bound file is the only one in its directory that can be used", async () => {
    await using place = await openPlace({ "rates.json": "{}", "other.json": "x" });
    const tools = await toolsOf([
      { kind: "file", name: "rates.json", path: join(place.root, "rates.json"), mode: "write" },
    ]);
    assert.deepEqual(await callTool(tools, "read_file", { path: "rates.json" }), { text: "{}" });
    await callTool(tools, "write_file", { path: join(place.root, "rates.json"), text: "{ }" });
    assert.deepEqual(await callTool(tools, "list_files", {}), { text: "rates.json (write)" });
    assert.deepEqual(await callTool(tools, "find_files", { pattern: "*.json" }), { text: "rates.json" });
    assert.deepEqual(await callTool(tools, "grep_files", { pattern: "\\{" }), { text: "rates.json:1: { }" });
    for (const path of ["other.json", "rates.json/x", join(place.root, "other.json"), ".."])
      assert.match(await failure(callTool(tools, "read_file", { path })), /^refused: /);
  });

  test("a bound file may be missing; a bound directory may not", async () => {
    await using place = await openPlace({});
    const path = join(place.root, "later.txt");
    const tools = await toolsOf([{ kind: "file", name: "later", path, mode: "write" }]);
    assert.equal(
      await failure(callTool(tools, "read_file", { path: "later" })),
      "not-found: later does not exist",
    );
    await callTool(tools, "write_file", { path: "later", text: "now" });
    assert.deepEqual(await callTool(tools, "read_file", { path: "later" }), { text: "now" });
    assert.match(
      await failure(toolsOf([{ kind: "directory", name: "no", path: join(place.root, "no") }])),
      /^unavailable: "no": cannot open .*$/,
    );
    assert.match(await failure(toolsOf([{ kind: "directory", name: "f", path }])), /^invalid: .*is a file$/);
    assert.match(await failure(toolsOf([{ kind: "directory", name: "f" }])), /the binding has no path/);
  });
});

describe("several roots", () => {
  test("each is named by its binding, and written to only if that allows it", async () => {
    await using one = await openPlace({ "a.txt": "1" });
    await using two = await openPlace({ "a.txt": "2" });
    const tools = await toolsOf([
      { kind: "directory", name: "one", path: one.root },
      { kind: "directory", name: "two", path: two.root, mode: "write" },
      { kind: "file", name: "three.txt", path: join(one.root, "three.txt"), mode: "write" },
    ]);
    const read = async (path: string) => (await callTool(tools, "read_file", { path })).text;
    assert.deepEqual(
      [await read("one/a.txt"), await read("two/a.txt"), await read(join(two.root, "a.txt"))],
      ["1", "2", "2"],
    );
    assert.match(
      await failure(read("a.txt")),
      /outside the bound directories: one\/ \(read\), two\/ \(write\)/,
    );
    assert.match(await failure(read("one/../two/../../a.txt")), /^refused: /);
    assert.equal(
      await failure(callTool(tools, "write_file", { path: "one/a.txt", text: "" })),
      "refused: one/a.txt is bound read-only",
    );
    await callTool(tools, "write_file", { path: join(one.root, "three.txt"), text: "3" });
    assert.deepEqual(await callTool(tools, "list_files", { path: "one" }), {
      text: "one/a.txt\none/three.txt",
    });
    assert.deepEqual(await callTool(tools, "list_files", {}), {
      text: "one/ (read)\ntwo/ (write)\nthree.txt (write)",
    });
    assert.deepEqual(await callTool(tools, "grep_files", { pattern: "\\d" }), {
      text: "one/a.txt:1: 1\none/three.txt:1: 3\ntwo/a.txt:1: 2\nthree.txt:1: 3",
    });
  });

  test("names that are paths work as people write them, and lead no higher", async () => {
    await using one = await openPlace({ "a.txt": "1" });
    await using two = await openPlace({ "b/c.txt": "2", "b/d.txt": "3" });
    for (const name of [".", "./data/", "../beside", "..", one.root]) {
      const tools = await toolsOf([
        { kind: "directory", name: "other", path: two.root },
        { kind: "directory", name, path: one.root },
      ]);
      const { text } = await callTool(tools, "find_files", { pattern: "a.txt" });
      assert.deepEqual(await callTool(tools, "read_file", { path: text }), { text: "1" }, `${name}: ${text}`);
      assert.deepEqual(await callTool(tools, "read_file", { path: join(name, "a.txt") }), { text: "1" });
      assert.match(
        await failure(callTool(tools, "read_file", { path: join(name, "../outside/secret.txt") })),
        /^(refused|not-found): /,
      );
      assert.deepEqual(await callTool(tools, "read_file", { path: "other/b/c.txt" }), { text: "2" });
    }
  });

  test("every spelling of a path becomes one, so that rules on it hold", async () => {
    await using place = await openPlace({ "in/a.txt": "a" });
    await symlink("in", join(place.root, "also"));
    const read = outerTool(place.tools, "read_file");
    for (const path of ["in/a.txt", "./in//a.txt", "also/a.txt", join(place.root, "also/../also/a.txt")]) {
      assert.deepEqual(await read.check({ path }), {
        ok: true,
        value: { path: "in/a.txt", fromLine: 1, lines: 2_000 },
      });
    }
    assert.deepEqual(await read.check({ path: "/etc/passwd", fromLine: 2, lines: 1 }), {
      ok: true,
      value: { path: "/etc/passwd", fromLine: 2, lines: 1 },
    });
  });
});
