/** The parts of what compactions replaced: the tree of the newest one, and through it those before. */
import { earlierSeq, findNode, isNodeId, nodesIn, type CompactionNode } from "../../core/compaction/tree.ts";
import { boundaryOf, field } from "../../core/context/source.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { readContent } from "./content.ts";

/** A part of a compacted range: a turn, a stage, a day, or an earlier compaction. */
export interface CompactionStage {
  /** Opens it: `session.stages(id)`. */
  readonly id: string;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly title: string;
  readonly summary: string;
  /** How many parts it has; 0 for a turn. An earlier compaction says null: its parts are not read yet. */
  readonly parts: number | null;
}

/** The result of `session.stages`. */
export interface CompactionStages {
  /** The part that was opened; null for the newest compaction. */
  readonly node: CompactionStage | null;
  /** The compaction that it belongs to; null if nothing is compacted. */
  readonly compactedSeq: number | null;
  readonly stages: readonly CompactionStage[];
  /** What the summary of this compaction leaves out, and no item held at that time. */
  readonly missing: readonly { readonly kind: string; readonly text: string }[];
}

/** Compactions on the way to an old part, at most. */
const compactionsMax = 1_000;

/** The parts of the newest compaction, or of one of its nodes. */
export async function readStages(
  deps: Pick<Deps, "store">,
  session: SessionId,
  state: State,
  node?: string,
): Promise<CompactionStages> {
  let seq = boundaryOf({ state })?.seq ?? null;
  if (node === undefined && seq === null) return { node: null, compactedSeq: null, stages: [], missing: [] };
  if (node !== undefined && !isNodeId(node)) {
    throw new SkeinError("invalid", `stages: node: expected an id such as s12, got ${quote(node)}`, {
      hint: "without a node, the ids are listed",
    });
  }
  for (let passed = 0; seq !== null && passed < compactionsMax; passed++) {
    const content = await readContent(deps.store, session, seq);
    const nodes = nodesIn(content);
    if (node === undefined) return result(null, seq, nodes, content);
    const found = findNode(nodes, node);
    const earlier = nodes.map(earlierSeq).find((one) => one !== null) ?? null;
    // Content of any origin: it leads back, never on.
    const back: number | null = earlier !== null && earlier < seq ? earlier : null;
    if (found !== null && earlierSeq(found) === null)
      return result(found, seq, found.children ?? [], undefined);
    if (found !== null && back !== null) {
      const before = await readContent(deps.store, session, back);
      return result(found, back, nodesIn(before), before);
    }
    seq = back;
  }
  throw new SkeinError("not-found", `stages: node: ${quote(node ?? "")} is not a part of a compaction`, {
    hint: "without a node, the ids are listed",
  });
}

function result(
  node: CompactionNode | null,
  compactedSeq: number,
  nodes: readonly CompactionNode[],
  content: unknown,
): CompactionStages {
  const missing = field(content, "missing");
  return {
    node: node === null ? null : stageOf(node),
    compactedSeq,
    stages: nodes.map(stageOf),
    missing: Array.isArray(missing) ? (missing as CompactionStages["missing"]) : [],
  };
}

const stageOf = (node: CompactionNode): CompactionStage => {
  const { id, fromSeq, toSeq, title, summary, children = [] } = node;
  return { id, fromSeq, toSeq, title, summary, parts: earlierSeq(node) === null ? children.length : null };
};
