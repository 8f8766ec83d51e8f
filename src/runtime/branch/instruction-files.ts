/**
 * The instructions that a project has for agents: AGENTS.md and its kin, in each bound directory and in those
 * above it up to the root of its repository; outside a repository in the directory alone.
 */
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { instructionNames, type InstructionName } from "../../core/session/instruction-names.ts";
import { limit } from "../../core/limit.ts";
import type { LoadedDocument } from "../../core/session/commands.ts";
import type { Binding } from "../../core/tool/commands.ts";
import type { Deps } from "../deps.ts";
import { exists, ifMissing, loadDocument } from "./load-document.ts";

/**
 * The outermost first, so that the nearest has the last word. Without names, of each folder the first in the
 * order of `instructionNames`: tools keep copies of one text under several names.
 */
export async function instructionFiles(
  deps: Deps,
  bind: readonly Binding[],
  names?: readonly InstructionName[],
): Promise<LoadedDocument[]> {
  const documents: LoadedDocument[] = [];
  for (const { kind, path } of bind) {
    if (kind !== "directory" || path === undefined) continue;
    for (const folder of (await foldersUp(path)).toReversed())
      documents.push(...(await instructionsIn(deps, folder, names)));
  }
  return documents;
}

async function instructionsIn(
  deps: Deps,
  folder: string,
  names: readonly InstructionName[] | undefined,
): Promise<LoadedDocument[]> {
  const documents: LoadedDocument[] = [];
  for (const name of instructionNames) {
    if (names !== undefined && !names.includes(name)) continue;
    const paths = name === ".cursor/rules" ? await rulesIn(join(folder, name)) : [join(folder, name)];
    for (const path of paths) {
      const loaded = await loadDocument(deps, "agents-md", path).catch(ifMissing);
      if (loaded !== null && (name !== ".cursor/rules" || isAlwaysApplied(loaded.text)))
        documents.push(loaded);
    }
    if (names === undefined && documents.length > 0) return documents;
  }
  return documents;
}

/** By name; those beyond the limit are left out. */
async function rulesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const rules = names.filter((name) => /\.(?:mdc|md)$/.test(name)).toSorted();
  return rules.slice(0, limit.instructionRulesMax).map((name) => join(folder, name));
}

/** A rule for some files, or for a model to ask for, is not an instruction for every session. */
function isAlwaysApplied(text: string): boolean {
  const [, head] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text) ?? [];
  return head === undefined || /^alwaysApply:\s*true\s*$/m.test(head);
}

async function foldersUp(path: string): Promise<string[]> {
  const folders: string[] = [];
  for (let folder = path; ; folder = dirname(folder)) {
    folders.push(folder);
    if (await exists(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) return [path];
  }
}
