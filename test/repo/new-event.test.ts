/** An event is four files: added to a copy of the tree, it is decided, folded, summarized and filtered. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "./command.ts";

const root = join(import.meta.dirname, "../..");

/** The four files, each with the line that the text follows. */
const files: Readonly<Record<string, readonly [mark: string, text: string]>> = {
  "events.ts": [
    "export const itemEvents = {",
    `
  "item.starred": event({
    meaning: "The item stays at the top of the list.",
    erased: "It was starred; the reason is gone.",
    body: z.looseObject({ kind: ItemKind, key: Key }),
    content: z.looseObject({ because: z.string() }).optional(),
    summary: ({ kind, key }, content) => \`Starred \${kind} \${key}\${after(content?.because)}\`,
    sample: { body: { kind: "task", key: "check-rate" }, content: { because: "urgent" } },
  }),`,
  ],
  "commands.ts": [
    "export type ItemCommand =",
    `\n  | { readonly do: "star"; readonly kind: ItemKind; readonly key: string; readonly because: string }`,
  ],
  "decide.ts": [
    'export const itemDecisions: Decisions<ItemCommand["do"]> = {',
    `
  star: (state, { kind, key, because }) =>
    forbidden(state, "write", "star") ?? accept(draft("item.starred", { kind, key }, { because })),`,
  ],
  "fold.ts": [
    "export const itemFolds: Folds<keyof typeof itemEvents> = {",
    `\n  "item.starred": (state, event) => think(state, { memory: [...state.mind.memory, refOf(event)] }),`,
  ],
};

const program = `
import { typesOf } from "./src/console/ui/event-summary.ts";
import { summarize } from "./src/core/summary.ts";
import { given } from "./test/core/given.ts";

const before = given();
const star = { do: "star", kind: "task", key: "check-rate", because: "urgent" };
const [event] = before.brings(star);
console.log(JSON.stringify([
  before.when(star).state.mind.memory.length,
  summarize({ ...event, erased: false }),
  typesOf("item").includes("item.starred"),
]));
`;

test("an event added in four files of its slice is everywhere, and the compiler names them", async () => {
  const copy = mkdtempSync(join(tmpdir(), "skein-new-event-"));
  try {
    for (const name of ["src/core", "src/console/ui", "test/core", "tsconfig.json"])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    writeFileSync(join(copy, "package.json"), readFileSync(join(root, "package.json")));
    const config = { extends: "./tsconfig.json", include: ["src/core"] };
    writeFileSync(join(copy, "core.json"), JSON.stringify(config));
    const words = ["--noEmit", "--singleThreaded", "-p", "core.json"];
    const compile = () => runCommand(join(root, "node_modules/.bin/tsc"), words, { cwd: copy });
    const add = (name: string): void => {
      const [mark, text] = files[name] ?? assert.fail(name);
      const path = join(copy, "src/core/item", name);
      const source = readFileSync(path, "utf8");
      assert.ok(source.includes(mark), `${path} has no ${mark}`);
      writeFileSync(
        path,
        source.replace(mark, () => mark + text),
      );
    };
    for (const name of ["events.ts", "commands.ts"]) add(name);
    const { stdout } = await compile();
    const missing = [...new Set(stdout.match(/^src\/core\/\S+(?=\()/gm))].toSorted();
    assert.deepEqual(missing, ["src/core/item/decide.ts", "src/core/item/fold.ts"], stdout);
    for (const name of ["decide.ts", "fold.ts"]) add(name);
    assert.deepEqual(await compile(), { code: 0, stdout: "", stderr: "" });
    writeFileSync(join(copy, "program.ts"), program);
    const run = await runCommand(process.execPath, ["program.ts"], { cwd: copy });
    assert.equal(run.code, 0, run.stderr);
    assert.deepEqual(JSON.parse(run.stdout), [1, "Starred task check-rate: urgent", true]);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
