/** Bound files and directories: which root a path means, and that no step leads out of it. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  directories,
  enter,
  enterDirectory,
  findSpot,
  openFile,
  openRoot,
  plainError,
  plainSpelling,
  shownRoot,
  spotOf,
  whereabouts,
  type Root,
} from "../../src/tool/root.ts";

const folderRoot = (name: string, path: string, mode: Root["mode"] = "read"): Root => ({
  name,
  mode,
  path,
  real: path,
  start: path,
});
const fileRoot = (name: string, folder: string, file: string): Root => ({
  name,
  mode: "write",
  path: join(folder, file),
  real: folder,
  start: folder,
  file,
});
const found = (roots: readonly Root[], path: string): string => {
  const { root, steps, shown } = findSpot(roots, path);
  return `${root.name}: ${steps.join("/")} (${shown})`;
};
const refused = { code: "refused", message: /is outside the bound directories/ };

/** A folder `bound` with a file and directories in it, and one beside it. */
function place() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "skein-root-")));
  const bound = join(base, "bound");
  mkdirSync(join(bound, "a", "b"), { recursive: true });
  mkdirSync(join(base, "bound-too"));
  writeFileSync(join(bound, "a", "note.txt"), "note");
  writeFileSync(join(base, "outside.txt"), "outside");
  return { base, bound, [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }) };
}
const bind = (path: string, kind: "directory" | "file" = "directory") =>
  openRoot({ name: "docs", mode: "write", kind, path });

test("one bound directory is where paths start; they lead no higher", () => {
  const roots = [folderRoot("docs", "/data/docs")];
  for (const [path, expected] of [
    ["a/b", "docs: a/b (a/b)"],
    ["./a//b/", "docs: a/b (a/b)"],
    ["a/../b", "docs: b (b)"],
    ["", "docs:  (.)"],
    [".", "docs:  (.)"],
    ["docs/a", "docs: docs/a (docs/a)"],
    ["/data/docs", "docs:  (.)"],
    ["/data/docs/a/b", "docs: a/b (a/b)"],
    ["/data/x/../docs/a", "docs: a (a)"],
  ] as const)
    assert.equal(found(roots, path), expected, path);
  for (const path of ["..", "../docs", "a/../../b", "/", "/data", "/data/docs-too/a", "/data/docs/../x"])
    assert.throws(() => findSpot(roots, path), refused, path);
});

test("of several directories each has its name in front", () => {
  const roots = [
    folderRoot("docs", "/data/docs"),
    folderRoot("src", "/data/src"),
    fileRoot("list", "/data", "l"),
  ];
  for (const [path, expected] of [
    ["docs/a", "docs: a (docs/a)"],
    ["src", "src:  (src)"],
    ["src/b/c", "src: b/c (src/b/c)"],
    ["/data/src/b", "src: b (src/b)"],
    ["list", "list: l (list)"],
    ["/data/l", "list: l (list)"],
  ] as const)
    assert.equal(found(roots, path), expected, path);
  for (const path of ["a", "docsa/b", "list/x", "l", "/data/l/x", "."])
    assert.throws(() => findSpot(roots, path), refused, path);
  const here = [...roots, folderRoot(".", "/data/here")];
  assert.equal(found(here, "a"), ".: a (./a)");
});

test("the innermost root is meant, and a bound file before any directory", () => {
  const roots = [
    folderRoot("all", "/data"),
    folderRoot("docs", "/data/docs"),
    fileRoot("list", "/data/docs", "l"),
  ];
  assert.equal(found(roots, "/data/docs/a"), "docs: a (docs/a)");
  assert.equal(found(roots.toReversed(), "/data/docs/a"), "docs: a (docs/a)");
  assert.equal(found(roots, "/data/docs/l"), "list: l (list)");
  assert.equal(found(roots, "/data/x"), "all: x (all/x)");
  assert.equal(found([folderRoot("top", "/")], "/etc"), "top: etc (etc)");
});

test("a file that is bound alone may be called by its own name", () => {
  const one = [fileRoot("list", "/data", "l.txt")];
  assert.equal(found(one, "l.txt"), "list: l.txt (list)");
  assert.equal(found(one, "list"), "list: l.txt (list)");
  assert.throws(() => findSpot(one, "other"), refused);
  assert.throws(() => findSpot([...one, fileRoot("more", "/data", "m")], "l.txt"), refused);
  // Beside one directory, whose paths have no name in front.
  const beside = [...one, folderRoot("docs", "/data/docs")];
  assert.equal(found(beside, "list"), "list: l.txt (list)");
  assert.equal(found(beside, "l.txt"), "docs: l.txt (l.txt)");
});

test("a root that was bound by a link is meant by both its paths", () => {
  const linked = { ...folderRoot("docs", "/link"), real: "/data/docs" };
  assert.equal(found([linked], "/link/a"), "docs: a (a)");
  assert.equal(found([linked], "/data/docs/a"), "docs: a (a)");
  const file = { ...fileRoot("list", "/data", "l"), path: "/link" };
  assert.equal(found([file], "/link"), "list: l (list)");
  assert.equal(found([file], "/data/l"), "list: l (list)");
});

test("a path has no NUL, at most 4096 characters, and at most 64 steps", () => {
  const roots = [folderRoot("docs", "/data/docs")];
  findSpot(roots, Array.from({ length: 64 }, () => "a").join("/"));
  const deep = Array.from({ length: 65 }, () => "a").join("/");
  assert.throws(() => findSpot(roots, deep), { code: "invalid", message: /too many segments/ });
  findSpot(roots, "a".repeat(4_096));
  for (const path of ["a\0b", "a".repeat(4_097)])
    assert.throws(() => findSpot(roots, path), { code: "invalid", message: /without NUL/ });
});

test("roots are listed by name, with their access", () => {
  const roots = [folderRoot("docs", "/data/docs"), fileRoot("list", "/data", "l")];
  assert.deepEqual(roots.map(shownRoot), ["docs/ (read)", "list (write)"]);
  assert.equal(whereabouts(roots), "Bound: docs/ (read), list (write).");
  assert.deepEqual(directories(roots), roots.slice(0, 1));
  assert.equal(spotOf(roots, roots[0] as Root, []).shown, ".");
});

test("a directory is opened by its type, and a file may be missing", async () => {
  using here = place();
  const link = join(here.base, "link");
  symlinkSync(here.bound, link);
  const { isReserved: _, ...root } = await bind(link);
  const { bound } = here;
  assert.deepEqual(root, { name: "docs", mode: "write", path: link, real: bound, start: bound });
  const file = await bind(join(link, "a", "none.txt"), "file");
  assert.deepEqual([file.real, file.file], [join(here.bound, "a"), "none.txt"]);
  await assert.rejects(bind(join(here.base, "outside.txt")), { code: "invalid", message: /is a file/ });
  await assert.rejects(bind(join(here.base, "none")), { code: "unavailable" });
  await assert.rejects(bind(join(here.base, "none", "x"), "file"), { code: "unavailable" });
  await assert.rejects(openRoot({ name: "x", mode: "read", kind: "file" } as never), { code: "invalid" });
});

test("links inside are resolved, and those that lead out are refused", async () => {
  using here = place();
  const { bound, base } = here;
  symlinkSync("a", join(bound, "inner"));
  symlinkSync(bound, join(bound, "self"));
  symlinkSync(base, join(bound, "up"));
  symlinkSync(join(base, "bound-too"), join(bound, "too"));
  const roots = [await bind(bound)];
  const spelled = (path: string) => plainSpelling(roots, path);
  assert.equal(await spelled("inner/note.txt"), "a/note.txt");
  assert.equal(await spelled("self/a"), "a");
  assert.equal(await spelled("inner/note.txt/below"), "a/note.txt/below");
  assert.equal(await spelled("inner/new/file"), "a/new/file");
  for (const path of ["up/outside.txt", "too/x", "../x"]) assert.equal(await spelled(path), path);
  for (const path of ["up/outside.txt", "too/x"])
    await assert.rejects(enter(findSpot(roots, path)), {
      code: "refused",
      message: /link to a path outside/,
    });
  const beside = [await bind(join(bound, "a", "note.txt"), "file")];
  rmSync(join(bound, "a", "note.txt"));
  symlinkSync("b", join(bound, "a", "note.txt"));
  await assert.rejects(enter(findSpot(beside, "docs")), {
    code: "refused",
    message: /link to a path outside/,
  });
});

test("the way is walked from the root, and made on the way if that is wanted", async () => {
  using here = place();
  const roots = [await bind(here.bound)];
  {
    await using at = await enter(findSpot(roots, "a/note.txt"));
    assert.equal(at.last, "note.txt");
    const handle = await openFile(at, "note.txt", "a/note.txt");
    assert.equal(await handle.readFile("utf8"), "note");
    await handle.close();
    await assert.rejects(openFile(at, "b", "a/b"), { code: "invalid", message: "a/b is a directory" });
    await assert.rejects(openFile(at, "none", "a/none"), { code: "not-found" });
  }
  await assert.rejects(enter(findSpot(roots, "x/y/z")), { code: "not-found" });
  {
    await using made = await enter(findSpot(roots, "x/y/z"), { create: true });
    assert.equal(made.last, "z");
  }
  await using again = await enter(findSpot(roots, "x/y/z"), { create: true });
  assert.equal(realpathSync(again.path), join(here.bound, "x", "y"));
  await assert.rejects(enter(findSpot(roots, ".")), { code: "invalid", message: ". is a directory" });
  await assert.rejects(enter(findSpot(roots, "a/note.txt/x"), { create: true }), { code: "refused" });
  await using directory = await enterDirectory(findSpot(roots, "a/b"));
  assert.equal(realpathSync(directory.path), join(here.bound, "a", "b"));
  await assert.rejects(enterDirectory(findSpot(roots, "a/note.txt")), { code: "refused" });
});

test("system errors are reported without internal paths", () => {
  const told = (code: string) => plainError(Object.assign(new Error("at /real/path"), { code }), "a/b");
  assert.deepEqual([told("ENOENT").code, told("ENOENT").message], ["not-found", "a/b does not exist"]);
  assert.deepEqual(
    [told("EACCES").code, told("EWHAT").message],
    ["refused", "a/b cannot be accessed: EWHAT"],
  );
});
