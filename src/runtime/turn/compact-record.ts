/** Records compactions: what replaces what, and how many tokens that saves. */
import type { Command } from "../../core/command.ts";
import type { CountedUsage, ZoneChange } from "../../core/turn/commands.ts";
import { itemKey } from "../../core/item/fold.ts";
import type { Cut } from "../../core/compaction/plan.ts";
import { nodesText, type CompactionNode } from "../../core/compaction/tree.ts";
import type { FoundItem } from "../../core/compaction/prompt.ts";
import { itemText } from "../../core/context/boundary.ts";
import { shareTokens, tierShares } from "../../core/context/tiers.ts";
import { SkeinError } from "../../core/error.ts";
import { mayIn } from "../../core/session/lifecycle.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import { roughTokens } from "../../core/context/token-count.ts";
import { readZone } from "../../core/context/zone.ts";
import type { CompactSurvey } from "./compact-survey.ts";
import { readContent } from "../read/content.ts";
import { readItems } from "../read/projection.ts";
import { planningOf, type StepWorld } from "./step.ts";
import { settle } from "./broken-call.ts";

/** The replacement of a range. Without a model: a rule composed it. */
export interface Replacement {
  readonly strategy: "summarize" | "extract";
  readonly summary: string;
  /** Unanswered inputs, which stand after the summary word for word. */
  readonly carried: (summary: string) => string;
  readonly items: readonly FoundItem[];
  readonly by?: {
    readonly model: string;
    readonly requestSeq: number;
    readonly usage: CountedUsage;
    readonly costNanoUsd: number | null;
  };
}

/** False when nothing was done: it would not be smaller, or the transcript has changed. */
export async function recordSummary(
  step: StepWorld,
  survey: CompactSurvey,
  cut: Cut,
  replacement: Replacement,
): Promise<boolean> {
  const { strategy, by } = replacement;
  const tokensBefore = Math.ceil(survey.measured.tokens);
  // Loaded when a compaction needs it: most processes never do.
  const { completeSummary, placedItems } = await import("./compact-complete.ts");
  const found = strategy === "extract" ? recordable(survey, replacement.items) : [];
  const items = await placedItems(step, survey, cut.toSeq, found);
  const made = await completeSummary(step, survey, cut, { summary: replacement.summary, items });
  const listed = replacement.carried(made.summary);
  const bare = replacement.carried(replacement.summary);
  const after = async (text: string, nodes: readonly CompactionNode[]): Promise<number> => {
    const boundary = await boundaryTokens(step, survey, `${text}\n${nodesText(nodes)}`, items);
    return Math.ceil(survey.frameTokens + boundary + cut.keptTokens);
  };
  // What the summary leaves out is listed in it if that gains anything; the record names it in any case.
  const isListed = listed !== bare && (await after(listed, made.nodes)) < tokensBefore;
  const summary = isListed ? listed : bare;
  // The context lists the tree: one of a short range is not worth that.
  const nodes = (await after(summary, made.nodes)) < tokensBefore ? made.nodes : [];
  const tokensAfter = await after(summary, nodes);
  if (tokensAfter >= tokensBefore) return false;
  let isDone = true;
  let isHeard = true;
  await step.drive.change(
    (state): Command => {
      const { reserved, status } = state.standing;
      isHeard = by !== undefined && reserved?.seq === by.requestSeq;
      const isOver = by !== undefined && !mayIn(status, "compact");
      if (isOver || !isSame(state, survey.state)) {
        if (by === undefined) throw overtaken();
        isDone = false;
        isHeard = true;
        const message = "the transcript changed while it was summarized";
        return { do: "fail", error: "overtaken", retryable: true, message, ...by };
      }
      return {
        do: "compact",
        fromSeq: 1,
        toSeq: cut.toSeq,
        strategy,
        tokensBefore,
        tokensAfter,
        summary,
        nodes,
        missing: made.missing,
        ...paidBy(by, isHeard),
        ...(items.length === 0 ? {} : { items: items.map((item) => ({ do: "record", ...item }) as const) }),
        ...(step.byPolicy === true ? { byPolicy: true } : {}),
        zone: zoneAfter(step, tokensAfter),
      };
    },
    { asked: step.asked },
  );
  // The turn ended meanwhile and the call counted as lost: its cost is known after all.
  if (by !== undefined && !isHeard)
    await settle(step.drive, { do: "fail", error: "overtaken", retryable: false, ...by });
  return isDone;
}

/** Who made the summary; and its cost, unless a separate record settles it. */
function paidBy(by: Replacement["by"], isHeard: boolean): Partial<Extract<Command, { do: "compact" }>> {
  if (by === undefined) return {};
  const { model, usage, costNanoUsd } = by;
  return isHeard ? { model, usage, costNanoUsd } : { model };
}

/** Leaves these outputs out, and those that were left out before. */
export async function recordPrune(
  step: StepWorld,
  survey: CompactSurvey,
  plan: { readonly seqs: readonly number[]; readonly gainTokens: number; readonly toSeq: number },
): Promise<void> {
  const { deps, drive } = step;
  const { state, boundary, outputs, measured } = survey;
  const after = boundary?.toSeq ?? 0;
  const old = state.mind.overlays.filter(({ strategy }) => strategy === "prune");
  const pruned = new Set(plan.seqs);
  for (const { seq, fromSeq, toSeq } of old) {
    const content = (await readContent(deps.store, drive.session, seq)) as
      | { readonly pruned?: readonly number[] }
      | undefined;
    // Their list may have been erased; then all of that range was left out.
    const within = outputs.filter((one) => fromSeq <= one.seq && one.seq <= toSeq);
    for (const one of content?.pruned ?? within.map((output) => output.seq)) if (one > after) pruned.add(one);
  }
  // From 2 on: a summary begins at 1, and an overlay over all of it would replace it.
  const fromSeq = Math.max(2, Math.min(after + 1, ...old.map((one) => one.fromSeq)));
  const toSeq = Math.max(plan.toSeq, ...old.map((one) => one.toSeq));
  const tokensBefore = Math.ceil(measured.tokens);
  const tokensAfter = Math.max(0, Math.ceil(measured.tokens - plan.gainTokens));
  await drive.change(
    (now): Command => {
      if (!isSame(now, state)) throw overtaken();
      const seqs = [...pruned].toSorted((a, b) => a - b);
      const counts = { tokensBefore, tokensAfter, zone: zoneAfter(step, tokensAfter) };
      const byPolicy = step.byPolicy === true ? { byPolicy: true } : {};
      return { do: "compact", strategy: "prune", fromSeq, toSeq, pruned: seqs, ...counts, ...byPolicy };
    },
    { asked: step.asked },
  );
}

/** True when the transcript is unchanged: neither rewound nor compacted meanwhile. */
function isSame({ mind: a }: State, { mind: b }: State): boolean {
  const form = ({ lost, overlays }: State["mind"]): string =>
    JSON.stringify([lost, overlays.map(({ seq }) => seq)]);
  return form(a) === form(b);
}

const overtaken = (): SkeinError =>
  new SkeinError("conflict", "compact: the transcript changed during the compaction", { hint: "retry" });

/**
 * Items of an answer that may be recorded. An item recorded on purpose in the range itself is at least as new
 * as the prose around it, and stays; an older one may have changed since.
 */
function recordable({ state, boundary }: CompactSurvey, found: readonly FoundItem[]): readonly FoundItem[] {
  const { items } = state.mind;
  let room = limit.itemsMax - items.size;
  return found.filter(({ kind, key }) => {
    const known = items.get(itemKey(kind, key));
    if (known !== undefined) return known.seq <= (boundary?.seq ?? 0);
    room -= 1;
    return room >= 0;
  });
}

/** More items are taken to fill their share. */
const readMax = 2_000;

/** The headings around it. */
const boundaryFrameTokens = 50;

async function boundaryTokens(
  { deps, drive, runContext }: StepWorld,
  { state }: CompactSurvey,
  summary: string,
  found: readonly FoundItem[],
): Promise<number> {
  const { store, tokenizer } = deps;
  const tokens = boundaryFrameTokens + (await tokenizer.count(summary));
  const { shares, windowTokens } = planningOf(runContext);
  const roomTokens = shareTokens(tierShares(shares).items, windowTokens);
  if (state.mind.items.size + found.length > readMax) return tokens + roomTokens;
  const anew = new Set(found.map(({ kind, key }) => itemKey(kind, key)));
  const known = (await readItems(store, drive.session, state)).filter(
    ({ kind, key }) => !anew.has(itemKey(kind, key)),
  );
  const lines = [...known, ...found.map((item) => ({ status: null, ...item }))].map(
    ({ kind, key, status, value, because }) => `- ${itemText({ kind, key, status }, { value, because })}`,
  );
  const shown = lines.join("\n");
  return tokens + Math.min(roughTokens(shown), roomTokens);
}

/** Turns and age count from here on. */
function zoneAfter({ runContext }: StepWorld, tokens: number): ZoneChange {
  const { windowTokens } = runContext.model.facts;
  const { zones } = runContext.rules;
  return { ...readZone({ tokens, windowTokens, turns: 0, ageMs: 0 }, zones), policy: zones };
}
