/**
 * Saved approvals: commands that a person has allowed for good, in every session of the workspace. One holds
 * for the same text in the same directory by the same binding, and for nothing else. It answers what a rule
 * would ask about; a deny still wins.
 */
import { readRecords } from "../read/record-pages.ts";
import type { SavedCommand } from "../../core/tool/commands.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { canonicalJson } from "../../core/tool/permission-order.ts";
import type { StoredRecord } from "../../core/chain.ts";
import type { DraftEvent } from "../../core/decision.ts";
import type { Store } from "../../store/port.ts";
import type { StoredBinding, Tool } from "../../tool/port.ts";
import type { Also } from "../log/workspace-effects.ts";
import { contentOf } from "../read/content.ts";
import { writeOnce, type WorkspaceDeps } from "../log/workspace-log.ts";

/** A saved approval: a command that is always allowed. */
export interface Approval {
  readonly name: string;
  readonly tool: string;
  readonly command: SavedCommand;
  /** When it was saved, and by whom. */
  readonly at: number;
  readonly actor: string;
}

/** What exactly a call runs; undefined where the tool cannot say. */
export function commandOf(
  tool: Tool,
  checked: unknown,
  bound: readonly StoredBinding[],
): SavedCommand | undefined {
  if (tool.effect === "session" || tool.command === undefined) return undefined;
  const { text, directory, binding } = tool.command(checked);
  const found = bound.find(({ name }) => name === binding);
  return found === undefined ? undefined : { text, directory, binding: found };
}

/** All valid ones, the oldest first. */
export async function listApprovals({ store }: { readonly store: Store }): Promise<Approval[]> {
  const found = new Map<string, Approval>();
  const toSeq = (await store.head(store.workspace))?.seq ?? 0;
  const only = { types: ["approval.saved", "approval.revoked"], contents: true };
  for await (const record of readRecords(store, store.workspace, [1, toSeq], only))
    await apply(store, found, record);
  return [...found.values()];
}

async function apply(store: Store, found: Map<string, Approval>, record: StoredRecord): Promise<void> {
  const { name, tool = "" } = JSON.parse(record.body) as { name: string; tool?: string };
  const content = (await contentOf(store, record)) as { readonly command?: SavedCommand } | undefined;
  const { at, actor } = record;
  // Erased: nothing is left to compare a command with.
  if (record.type === "approval.revoked" || content?.command === undefined) found.delete(name);
  else found.set(name, { name, tool, command: content.command, at, actor });
}

/** The approval that allows exactly this command; undefined when there is none. */
export const findApproval = (
  approvals: readonly Approval[],
  tool: string,
  command: SavedCommand,
): Approval | undefined =>
  approvals.find((one) => one.tool === tool && canonicalJson(one.command) === canonicalJson(command));

/** Saves approvals for these commands in the same append as the answer that allows them. */
export function saveBeside(
  deps: WorkspaceDeps,
  commands: readonly { readonly tool: string; readonly command: SavedCommand }[],
): Also {
  return async () => {
    const { seq, hash } = await deps.writer.workspace.read();
    const known = await listApprovals(deps);
    const fresh = commands.filter(({ tool, command }) => findApproval(known, tool, command) === undefined);
    if (known.length + fresh.length > limit.approvalsMax) {
      throw new SkeinError("refused", `a workspace holds at most ${limit.approvalsMax} saved approvals`, {
        hint: '"skein approvals revoke NAME" removes one',
      });
    }
    const events = fresh.map(({ tool, command }, place): DraftEvent => ({
      type: "approval.saved",
      body: { name: `approval-${seq + 1 + place}`, tool },
      content: { command },
    }));
    return { headSeq: seq, headHash: hash, events };
  };
}

/** From now on the command asks again, where a rule asks. */
export async function revokeApproval(deps: WorkspaceDeps, name: string): Promise<void> {
  let asked = false;
  await writeOnce(deps, async () => {
    const all = await listApprovals(deps);
    if (all.some((one) => one.name === name)) {
      asked = true;
      return [{ type: "approval.revoked", body: { name } }];
    }
    // After a lost answer: this very call revoked it.
    if (asked) return [];
    const near = nearest(
      name,
      all.map((one) => one.name),
    );
    throw new SkeinError("not-found", `no saved approval ${quote(name)}`, {
      hint: near === undefined ? '"skein approvals" lists them' : `did you mean "${near}"?`,
    });
  });
}
