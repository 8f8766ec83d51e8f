/** Keeps the documents true: links resolve, code typechecks, examples run, the catalogue is current. */
import assert from "node:assert/strict";
import { existsSync, globSync, mkdirSync, mkdtempSync } from "node:fs";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { runCommand } from "./command.ts";
import { copyLibrary, tsc } from "./library.ts";
import type { Block, Page } from "./markdown.ts";
import { anchorsOf, blocksOf, docExamplesOf, linksOf } from "./markdown.ts";
import { entryPoints, readSources, root } from "./source.ts";

const scratch = mkdtempSync(join(tmpdir(), "skein-docs-"));
after(() => rmSync(scratch, { recursive: true }));

const pages: readonly Page[] = globSync(["*.md", "docs/**/*.md"], { cwd: root }).toSorted().map(readPage);
const examples = globSync("examples/*.ts", { cwd: root }).toSorted();

test("links between the documents resolve, anchors too", () => {
  assert.ok(pages.flatMap(linksOf).length > 0, "the rule saw no links");
  assert.deepEqual(
    pages.flatMap((page) => brokenLinks(page, readTarget)),
    [],
  );
});

test("a broken link and a broken anchor are reported", () => {
  const readOther = (path: string) => (path === "docs/b.md" ? "# The log: format\n" : undefined);
  const text =
    "[b](b.md), [log](b.md#the-log-format), [web](https://example.org), `[code](no)`\n# Here\n[h](#here)";
  assert.deepEqual(brokenLinks({ path: "docs/a.md", text }, readOther), []);
  const broken = "[c](c.md) [b](b.md#the-end) [h](#here)";
  assert.deepEqual(brokenLinks({ path: "docs/a.md", text: broken }, readOther), [
    "docs/a.md: c.md does not exist",
    "docs/a.md: b.md#the-end has no such heading",
    "docs/a.md: #here has no such heading",
  ]);
});

test("every decision has a status, and one that another replaces names it", () => {
  const decisions = pages.filter(({ path }) => path.startsWith("docs/adr/"));
  assert.ok(decisions.length > 50, `${decisions.length} decisions`);
  const statusOf = ({ text }: Page): string => /^# .*\n\nStatus: ([^#]*?)\n\n/.exec(text)?.[1] ?? "";
  const wrong = decisions.filter((page) => {
    const status = statusOf(page);
    const [, by] = /^replaced by \[\d+\]\((\S+)\)/.exec(status) ?? [];
    if (by === undefined) return !status.startsWith("accepted");
    const other = decisions.find(({ path }) => path === `docs/adr/${by}`);
    return other === undefined || !/replaces \[/.test(statusOf(other));
  });
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test("code blocks typecheck against the declarations; a wrong one is reported by page and line", async () => {
  const inSources = readSources("src").flatMap(docExamplesOf);
  assert.ok(inSources.length > 10, "the rule saw no examples of doc comments");
  const blocks = [...pages.flatMap(blocksOf).filter(isChecked), ...inSources];
  assert.ok(blocks.length > inSources.length, "the rule saw no code blocks");
  const page = (path: string, code: string) => ({ path, text: `# A\n\n\`\`\`ts\n${code}\n\`\`\`\n` });
  const right = blocksOf(page("docs/zz-right.md", "const n: number = 1;"));
  const wrong = blocksOf(page("docs/zz-wrong.md", '\nconst n: number = "1";'));
  // One run of the compiler for all, over the declarations that users have: sources take ten times as long.
  const errors = (await typeErrors([...blocks, ...right, ...wrong]))
    .split("\n")
    .filter((line) => line !== "");
  const [told = "", ...others] = errors.toSorted(
    (one, other) => Number(other.startsWith("docs/zz-wrong")) - Number(one.startsWith("docs/zz-wrong")),
  );
  assert.match(told, /^docs\/zz-wrong\.md[^(]*\(5,7\): error TS2322/);
  assert.deepEqual(others, []);
});

test("a block is checked unless it says nocheck or is another language", () => {
  assert.deepEqual(
    blocksOf({ path: "a.md", text: "```ts nocheck\n?\n```\n```sh\nls\n```\n" }).filter(isChecked),
    [],
  );
});

for (const example of examples) {
  test(`${example} runs`, async () => {
    const cwd = mkdtempSync(join(scratch, "example-"));
    const args = ["--conditions=skein-source", join(root, example)];
    const { code, stderr } = await runCommand(process.execPath, args, { cwd });
    assert.equal(code, 0, stderr);
  });
}

test("there are examples", () => {
  assert.notDeepEqual(examples, []);
});

test("the generated pages are current (npm run docs writes them)", async () => {
  const { code, stderr } = await runCommand(process.execPath, ["docs/generate.ts", "--check"], { cwd: root });
  assert.equal(code, 0, stderr || "a generated page is not current: npm run docs");
});

function readPage(path: string): Page {
  return { path, text: readFileSync(join(root, path), "utf8") };
}

/** The text of a file of the repository, "" for a folder, undefined if there is none. */
function readTarget(path: string): string | undefined {
  if (!existsSync(join(root, path))) return undefined;
  return path.endsWith(".md") ? readPage(path).text : "";
}

function brokenLinks(page: Page, readOther: (path: string) => string | undefined): string[] {
  return linksOf(page).flatMap((link) => {
    const [file = "", anchor] = link.split("#");
    const text = file === "" ? page.text : readOther(join(dirname(page.path), file));
    if (text === undefined) return [`${page.path}: ${link} does not exist`];
    const isMissing = anchor !== undefined && !anchorsOf({ path: file, text }).includes(anchor);
    return isMissing ? [`${page.path}: ${link} has no such heading`] : [];
  });
}

function isChecked({ marks }: Block): boolean {
  return /^(ts|typescript)$/.test(marks[0] ?? "") && !marks.includes("nocheck");
}

/** One run of the compiler over all blocks, each a module with the line numbers of its page. */
async function typeErrors(blocks: readonly Block[]): Promise<string> {
  const folder = mkdtempSync(join(scratch, "blocks-"));
  for (const { path, line, code } of blocks) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, `${path}.${line}.ts`), `${"\n".repeat(line - 1)}${code}\nexport {};\n`);
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const library = join(scratch, "library");
  await copyLibrary(library, true);
  symlinkSync(join(root, "node_modules"), join(library, "node_modules"));
  // As in the package: declarations of other libraries are then those of their modules.
  writeFileSync(join(library, "package.json"), '{ "type": "module" }');
  const paths = Object.fromEntries(
    entryPoints().map(({ subpath, file }) => [
      subpath.replace(".", "skein"),
      [join(library, file.replace(/^src\//, "").replace(/\.ts$/, ".d.ts"))],
    ]),
  );
  const compilerOptions = { paths, noUnusedLocals: false, noUnusedParameters: false };
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["**/*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const words = [tsc, "--pretty", "false", "--singleThreaded"];
  const { stdout, stderr } = await runCommand(process.execPath, words, { cwd: folder, timeoutMs: 240_000 });
  return stdout + stderr;
}
