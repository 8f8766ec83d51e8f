/**
 * The boundary: one message in place of everything that was compacted, with the durable tier at that time.
 */
import { firstKinds, isBuiltInKind, isSettled, itemKinds } from "../item/kind.ts";
import type { ItemRef, Overlay } from "../state.ts";
import { nodesIn, nodesText } from "../compaction/tree.ts";
import { frontOf } from "../amend/text.ts";
import { text } from "./block.ts";
import type { UserBlock } from "./part.ts";
import { field, put, type ContextSource, type Sheet } from "./source.ts";
import { gap, isBlank, share, textOf } from "./text.ts";

export function renderBoundary(source: ContextSource, overlay: Overlay, sheet: Sheet): void {
  const blocks = [
    ...summaryBlocks(source, overlay),
    ...(overlay.items.size === 0 ? [] : [text(itemsText(source, overlay))]),
  ];
  const reason = ["summary", `compaction (${overlay.strategy})`] as const;
  put(sheet, { part: "message", role: "user", content: blocks }, reason, [overlay.fromSeq, overlay.toSeq]);
}

/** The summary, and the objective of a fork. */
export function summaryBlocks({ state, events, objectiveSeq }: ContextSource, overlay: Overlay): UserBlock[] {
  const isAtFront = objectiveSeq === 1 || objectiveSeq === frontOf(state).texts.objective;
  const content: unknown = events.get(overlay.seq)?.content;
  const summary = field(content, "summary");
  const said = content === undefined ? gap("the summary of what came before") : summary;
  const words = typeof said === "string" && !isBlank(said) ? said : "(There is no summary.)";
  // No record that was written before renderer 2 has a tree.
  const tree = nodesText(nodesIn(content));
  return [
    text(`[Everything so far was replaced by this summary. The log keeps it; recall reads it.]\n\n${words}`),
    ...(tree === "" ? [] : [text(tree)]),
    ...(isAtFront ? [] : [text(objectiveText(events.get(objectiveSeq)?.content))]),
  ];
}

/** The new objective of a fork. */
export function objectiveText(content: unknown): string {
  const objective = field(content, "objective");
  if (typeof objective !== "string") return gap("the objective given to this fork");
  return `The objective of this session is now:\n${objective}`;
}

/** Every item with its value and reason; or, if they exceed their share, an index of them. */
function itemsText({ events }: ContextSource, { items }: Overlay): string {
  const sorted = kindsOf(items.values()).flatMap((kind) =>
    [...items.values()].filter((item) => item.kind === kind),
  );
  if (items.size <= share.itemsMax) {
    const lines = sorted.map((item) => `- ${itemText(item, events.get(item.seq)?.content)}`);
    const whole = `What is recorded:\n${lines.join("\n")}`;
    if (whole.length <= share.itemsCharsMax) return whole;
  }
  return indexText(sorted);
}

/** One item in one line. */
export function itemText(
  { kind, key, status, confidence, extracted }: Omit<ItemRef, "seq" | "hash">,
  content: unknown,
): string {
  const known = status ?? (kind === "task" ? "open" : null);
  const origin = extracted?.untrusted === true ? "not from a person" : null;
  const marks = [known, confidence === undefined ? null : `confidence ${confidence}`, origin].filter(
    (one) => one !== null,
  );
  const state = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  if (content === undefined) return `${kind} ${key}${state}: ${gap("its value")}`;
  const because = field(content, "because");
  const reason = typeof because === "string" && !isBlank(because) ? `; because ${because}` : "";
  return `${kind} ${key}${state}: ${textOf(field(content, "value"))}${reason}${evidenceText(content)}`;
}

function evidenceText(content: unknown): string {
  const evidence = field(content, "evidence");
  if (!Array.isArray(evidence) || evidence.length === 0) return "";
  return `; evidence: ${evidence.map((one) => textOf(one)).join("; ")}`;
}

/** Old kinds first: what renderer 1 showed without the others stays as it was. */
function kindsOf(items: Iterable<ItemRef>): readonly string[] {
  const own = new Set([...items].flatMap(({ kind }) => (isBuiltInKind(kind) ? [] : [kind])));
  return [...itemKinds, ...[...own].toSorted()];
}

/** Kinds and keys, open tasks first, with as many keys as fit; always with the total. */
function indexText(items: readonly ItemRef[]): string {
  const lines = kindsOf(items).flatMap((kind) => {
    const keys = items
      .filter((item) => item.kind === kind)
      .toSorted((a, b) => Number(isOver(a)) - Number(isOver(b)))
      .map(({ key, status }) => (status === null ? key : `${key} (${status})`));
    if (keys.length === 0) return [];
    const listed: string[] = [];
    let chars = 0;
    for (const key of keys) {
      chars += key.length + 2;
      if (chars > share.indexCharsMax / firstKinds.length) break;
      listed.push(key);
    }
    const more = keys.length - listed.length;
    const rest = more === 0 ? "" : `, and ${more} more (recall with kind ${kind} lists them)`;
    return [`- ${keys.length} of kind ${kind}: ${listed.join(", ")}${rest}`];
  });
  return `What is recorded, too much to show here; recall with kind and key reads one:\n${lines.join("\n")}`;
}

const isOver = ({ kind, status }: ItemRef): boolean => isSettled(kind, status);
