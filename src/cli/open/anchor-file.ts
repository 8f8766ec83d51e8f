/** Anchors kept outside the store: as a file, or as a git note on the current commit. */
import { execFile } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { Anchor } from "../../runtime/govern/anchor.ts";
import { isSigned } from "../../runtime/govern/read-heads.ts";

const run = promisify(execFile);

/** The word for a git note instead of a file. */
export const git = "git";
const notesRef = "skein";

export async function readAnchor(from: string): Promise<Anchor> {
  if (from === git) return parseAnchor(await gitNotes("show"), "the git note of this commit");
  let text: string;
  try {
    text = readFileSync(from, "utf8");
  } catch (cause) {
    throw new SkeinError("not-found", `anchor: ${quote(from)} cannot be read`, {
      hint: "check the path",
      cause,
    });
  }
  return parseAnchor(text, quote(from));
}

function parseAnchor(text: string, where: string): Anchor {
  let value: Partial<Anchor> | null = null;
  try {
    value = JSON.parse(text) as Partial<Anchor> | null;
  } catch {
    // Reported below, like every other invalid anchor.
  }
  const { format, version, workspace, seq, hash, root, publicKey, signature } = value ?? {};
  const isHash = (one: unknown): boolean => typeof one === "string" && /^[0-9a-f]{64}$/.test(one);
  const isKnown = format === "skein-anchor" && version === 1 && typeof workspace === "string";
  if (!isKnown || !Number.isSafeInteger(seq) || !isHash(hash) || !isHash(root)) {
    throw new SkeinError("invalid", `anchor: ${where} has no anchor`, {
      hint: 'use a file that "skein anchor" wrote',
    });
  }
  const anchor = value as Anchor;
  const signed = {
    root: anchor.root,
    ...(publicKey ? { publicKey } : {}),
    ...(signature ? { signature } : {}),
  };
  if (isSigned(workspace, signed)) return anchor;
  throw new SkeinError("invalid", `anchor: the signature of ${where} does not match`, {
    hint: "the file was changed; use another copy",
  });
}

/** An anchor proves nothing about another store. */
export function checkAnchor({ workspace }: { readonly workspace: string }, anchor: Anchor): void {
  if (anchor.workspace === workspace) return;
  throw new SkeinError(
    "invalid",
    `anchor: expected an anchor of this store, got one of workspace ${anchor.workspace}`,
    {
      hint: `this store is ${workspace}; "skein stats --json" shows it`,
    },
  );
}

export async function writeAnchor(to: string, anchor: Anchor): Promise<void> {
  const text = `${JSON.stringify(anchor)}\n`;
  if (to === git) return void (await gitNotes("add", "--force", "-m", text));
  try {
    writeFileSync(`${to}.new`, text, { mode: 0o600 });
    renameSync(`${to}.new`, to);
  } catch (cause) {
    throw new SkeinError("unavailable", `anchor: ${quote(to)} cannot be written`, {
      hint: "check the path and its permissions",
      cause,
    });
  }
}

async function gitNotes(...args: readonly string[]): Promise<string> {
  try {
    return (await run("git", ["notes", `--ref=${notesRef}`, ...args])).stdout;
  } catch (cause) {
    const { stderr } = cause as { readonly stderr?: unknown };
    const said = typeof stderr === "string" ? stderr.trim() : "";
    throw new SkeinError("unavailable", `anchor: git notes failed: ${said.slice(0, 300)}`, {
      hint: "run it inside a git repository that has a commit",
      cause,
    });
  }
}
