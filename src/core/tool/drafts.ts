/** Drafts of bindings, permissions and tool calls that several slices share. */
import type { CommandOf } from "../command.ts";
import { type DraftEvent, because, draft } from "../decision.ts";
import { present } from "../present.ts";
import type { OpenCall, State } from "../state.ts";
import type { Binding, ToolCallDraft, Permission } from "./commands.ts";
import { inTurn } from "../turn/drafts.ts";

/**
 * Names are part of bodies, which are never erased, so the part of a URL that may be a secret is left out.
 */
export function bindingName({ name, path, url, kind, sandbox }: Binding): string {
  const place = url?.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, "$1").replace(/[?#].*$/s, "");
  if (kind === "shell") return name ?? (sandbox === true ? "sandbox" : kind);
  return name ?? path ?? place ?? kind;
}

/** The mistake in a binding's sandbox settings; null if there is none. */
export function sandboxComplaint({ kind, sandbox, network }: Binding): string | null {
  if (sandbox !== undefined && typeof sandbox !== "boolean") return "bind: sandbox: expected true or false";
  if (network !== undefined && typeof network !== "boolean") return "bind: network: expected true or false";
  if (sandbox === true && kind !== "shell") return `bind: sandbox: expected a shell, got a ${kind}`;
  if (network === true && sandbox !== true) return "bind: network: expected a sandboxed shell";
  return null;
}

export function boundDraft(binding: Binding): DraftEvent {
  const { kind, mode = "read", path, url, command, secrets, options, sandbox, network } = binding;
  const content = present({
    path,
    url,
    command: command && [...command],
    secrets: secrets && [...secrets],
    options,
    ...(sandbox === true && { sandbox, ...(network === true && { network }) }),
  });
  return draft("resource.bound", { name: bindingName(binding), kind, mode }, content);
}

export function grantDraft({ tool, rule, effect, name = tool, pattern, reason }: Permission): DraftEvent {
  const content = pattern === undefined && reason === undefined ? undefined : present({ pattern, reason });
  return draft("permission.set", present({ name, tool, rule, effect }), content);
}

export const toolsDraft = ({ digest, definitions }: CommandOf<"offer">["tools"]): DraftEvent =>
  draft("tools.bound", { digest, count: definitions.length }, { definitions });

export const approval = (on: readonly number[]): DraftEvent =>
  draft(
    "session.suspended",
    { by: "approval", on: on.slice(0, 100) },
    because(on.length === 1 ? "a tool call waits for approval" : `${on.length} tool calls wait for approval`),
  );

/** The first records of an answer's calls; the answer itself comes right before them. */
export function callDrafts(
  state: State,
  calls: readonly ToolCallDraft[],
  model: string,
): readonly DraftEvent[] {
  const drafts: DraftEvent[] = [];
  const more = { ...inTurn(state), cause: state.seq + 1 };
  for (const { call, tool, effect, input, verdict, reason, command, deadlineMs } of calls) {
    const requestSeq = state.seq + 2 + drafts.length;
    const after = { ...inTurn(state), cause: requestSeq };
    const ask = verdict === "ask" ? { ask: true } : {};
    const external = deadlineMs === undefined ? {} : { external: { deadlineMs } };
    const content = { input, ...(command === undefined ? {} : { command: { ...command } }) };
    drafts.push(draft("tool.requested", { call, tool, effect, ...ask, model, ...external }, content, more));
    if (verdict === "deny") drafts.push(draft("tool.denied", { call }, because(reason), after));
    if (verdict === "deny" || verdict === "error") {
      const status = verdict === "deny" ? "skipped" : "error";
      drafts.push(draft("tool.settled", { call, status }, { output: reason ?? "" }, after));
    }
  }
  return drafts;
}

export function settled(
  state: State,
  call: string,
  open: OpenCall,
  result: Pick<CommandOf<"settle">, "status" | "output" | "blocks" | "detail" | "ms" | "outside">,
): DraftEvent {
  const { status, output, blocks, detail, ms, outside } = result;
  const empty = output === undefined && blocks === undefined && detail === undefined;
  const content = empty
    ? undefined
    : { output: output ?? "", ...present({ blocks: blocks && [...blocks], detail }) };
  // The tool did not act here: the record carries the actor that sent the result.
  const by = outside === true ? {} : { actor: `tool:${open.tool}` };
  const mark = outside === true ? { untrusted: true } : {};
  return draft("tool.settled", { ...present({ call, status, ms }), ...mark }, content, {
    ...inTurn(state),
    cause: open.seq,
    ...by,
  });
}
