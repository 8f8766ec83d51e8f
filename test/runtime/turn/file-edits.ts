/** Generated edits of a directory, a tool that makes them, and pictures of how the directory is. */
import { createHash } from "node:crypto";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm } from "node:fs/promises";
import { symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { z } from "zod";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { Store } from "../../../src/store/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { engineWith, scripted, use } from "./scripted.ts";

export type Edit =
  | { readonly do: "write"; readonly path: string; readonly bytes: Uint8Array; readonly mode: number }
  | { readonly do: "link"; readonly path: string; readonly target: string }
  | { readonly do: "remove"; readonly path: string }
  | { readonly do: "rename"; readonly path: string; readonly to: string }
  | { readonly do: "mode"; readonly path: string; readonly mode: number }
  | { readonly do: "folder"; readonly path: string };

const path = fc.constantFrom("a", "b", "ü \n", "d", "d/a", "d/b", "d/e", "d/e/c", "f/g/h");
const bytes = fc.oneof(
  fc.constant(new Uint8Array()),
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom("one\n", "two\n", "three\n").map((text) => new TextEncoder().encode(text)),
);
const mode = fc.constantFrom(0o644, 0o600, 0o755, 0o640);

export const anEdit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("write" as const), path, bytes, mode }) },
  fc.record({
    do: fc.constant("link" as const),
    path,
    target: fc.constantFrom("a", "d", "/etc/passwd", "nowhere", "../outside"),
  }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remove" as const), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("rename" as const), path, to: path }) },
  fc.record({ do: fc.constant("mode" as const), path, mode: fc.constantFrom(0o700, 0o755, 0o644) }),
  fc.record({ do: fc.constant("folder" as const), path }),
);

/** Makes one edit; what cannot be done is left, as a command would. Links are not followed. */
export async function makeEdit(root: string, edit: Edit): Promise<void> {
  const full = join(root, edit.path);
  if (edit.do === "write" || edit.do === "link" || edit.do === "folder") {
    if (await isBelowLink(root, edit.path)) return;
    await mkdir(dirname(full), { recursive: true }).catch(() => undefined);
  }
  const done = async (): Promise<unknown> => {
    switch (edit.do) {
      case "write":
        await rm(full, { recursive: true, force: true });
        await writeFile(full, edit.bytes);
        return chmod(full, edit.mode);
      case "link":
        await rm(full, { recursive: true, force: true });
        return symlink(edit.target, full);
      case "remove":
        return rm(full, { recursive: true, force: true });
      case "rename":
        return rename(full, join(root, edit.to));
      case "mode":
        return (await lstat(full)).isSymbolicLink() ? undefined : chmod(full, edit.mode);
      case "folder":
        return mkdir(full, { recursive: true });
    }
  };
  await done().catch(() => undefined);
}

async function isBelowLink(root: string, below: string): Promise<boolean> {
  for (let one = dirname(below); one !== "."; one = dirname(one)) {
    const stat = await lstat(join(root, one)).catch(() => undefined);
    if (stat?.isSymbolicLink() === true) return true;
  }
  return false;
}

/** All that is below a directory: kinds, modes, bytes and targets. */
export async function pictureOf(root: string): Promise<Readonly<Record<string, string>>> {
  const picture: Record<string, string> = {};
  for (const name of await namesBelow(root, "")) {
    const full = join(root, name);
    const stat = await lstat(full);
    const permissions = (stat.mode & 0o7777).toString(8);
    picture[name] = stat.isSymbolicLink()
      ? `link to ${await readlink(full)}`
      : stat.isDirectory()
        ? `directory ${permissions}`
        : `file ${permissions} ${createHash("sha256")
            .update(await readFile(full))
            .digest("hex")}`;
  }
  return picture;
}

/** Links are not followed. */
async function namesBelow(root: string, folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const name = join(folder, entry.name);
    names.push(name, ...(entry.isDirectory() ? await namesBelow(root, name) : []));
  }
  return names.toSorted();
}

export interface Workplace extends AsyncDisposable {
  readonly root: string;
  readonly engine: Engine;
  readonly session: Session;
  /** Lets the session's tool make these edits; gives the position after it. */
  edit(edits: readonly Edit[]): Promise<number>;
}

/** A session with a bound directory, and a tool of the program's own that changes files there. */
export async function openWorkplace(options: { readonly store?: Store } = {}): Promise<Workplace> {
  const root = await mkdtemp(join(tmpdir(), "skein-files-test-"));
  let waiting: readonly Edit[] = [];
  const tool = defineTool({
    name: "edit",
    description: "Makes the edits that wait.",
    input: z.object({}),
    run: async () => {
      for (const edit of waiting) await makeEdit(root, edit);
      return "done";
    },
  });
  const script = scripted([({ parts }) => (isAnswered(parts) ? "ok" : [use("edit", {})])]);
  const engine = engineWith(script, { tools: [tool], ...options });
  const session = await engine.open({
    objective: "Edit files",
    bind: [
      { kind: "directory", path: root, name: "work", mode: "write" },
      { kind: "tool", name: "edit" },
    ],
    grant: [{ tool: "*", rule: "allow" }],
  });
  return {
    root,
    engine,
    session,
    async edit(edits) {
      waiting = edits;
      for await (const _ of session.ask("go"));
      return (await session.head()).seq;
    },
    async [Symbol.asyncDispose]() {
      await engine.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** Whether the last message is a tool's result. */
const isAnswered = (parts: readonly unknown[]): boolean =>
  JSON.stringify(parts.at(-1) ?? "").includes('"tool-result"');
