/** The tiers of a rendered context: their share, what they use, what flowed in, and what was left out. */
import { keyText } from "../../core/context/plan-items.ts";
import { seqsIn } from "../../core/context/planned.ts";
import { field, type LoggedPlan, type PartKind } from "../../core/context/source.ts";
import { textOf } from "../../core/context/text.ts";
import { tiers, type TierName } from "../../core/context/tiers.ts";
import { plural, count } from "../../core/text/number-format.ts";
import type { SessionId } from "../../core/ids.ts";
import { type ContextWorld, readOne } from "../read/event-cache.ts";

/** Something that a tier does not show in full. */
export interface LeftOut {
  /** `decision use-wal`, the path of a document, the key of an entry of memory. */
  readonly name: string;
  /** Its record; 0 for what is only counted. */
  readonly seq: number;
  readonly why: string;
}

/** A tier of a context. All tiers together have all of its tokens. */
export interface ContextTier {
  readonly tier: TierName | "tools";
  /** Of the model's window, by its own share; null without a plan, and for tools. */
  readonly shareTokens: number | null;
  /** What earlier tiers left over to it. */
  readonly flowedTokens: number | null;
  readonly usedTokens: number;
  readonly leftOut: readonly LeftOut[];
}

const tierOf: Readonly<Record<PartKind, TierName | "tools">> = {
  settings: "tools",
  tools: "tools",
  instructions: "instructions",
  pinned: "pinned",
  items: "items",
  memory: "memory",
  document: "documents",
  summary: "summary",
  transcript: "transcript",
};

/** Names shown of what a tier leaves out. */
const namesMax = 100;

export async function tiersOf(
  deps: ContextWorld,
  session: SessionId,
  plan: LoggedPlan | null,
  reasons: readonly { readonly kind: PartKind; readonly tokens: number }[],
): Promise<readonly ContextTier[]> {
  const left = plan === null ? {} : await leftOutOf(deps, session, plan);
  return (["tools", ...tiers] as const).map((tier): ContextTier => {
    const usedTokens = reasons.reduce((sum, one) => sum + (tierOf[one.kind] === tier ? one.tokens : 0), 0);
    const planned = plan?.body.tiers.find((one) => one.tier === tier);
    return {
      tier,
      shareTokens: planned?.shareTokens ?? null,
      flowedTokens: planned === undefined ? null : Math.max(0, planned.roomTokens - planned.shareTokens),
      usedTokens,
      leftOut: left[tier] ?? [],
    };
  });
}

type LeftOutByTier = Partial<Record<TierName | "tools", LeftOut[]>>;

async function leftOutOf(
  deps: ContextWorld,
  session: SessionId,
  { body, choice }: LoggedPlan,
): Promise<LeftOutByTier> {
  const items: LeftOut[] = [];
  for (const seq of seqsIn(choice.listed ?? []).slice(0, namesMax)) {
    const event = await readOne(deps, session, seq);
    if (event?.type !== "item.recorded") continue;
    const { kind, key, status = null } = event.body;
    items.push({ name: keyText({ kind, key, status }), seq, why: "over the share, listed by key" });
  }
  const { left = 0 } = body;
  if (left > 0) items.push({ name: plural(left, "more item"), seq: 0, why: "over the share, not listed" });
  const documents: LeftOut[] = [];
  for (const { seq, ranges } of (choice.documents ?? []).slice(0, namesMax)) {
    if (ranges === null) continue;
    const content = (await readOne(deps, session, seq))?.content;
    const [path, text] = [field(content, "path"), field(content, "text")];
    const shown = ranges.reduce((sum, [from, to]) => sum + Math.max(0, to - from), 0);
    const why =
      typeof text === "string"
        ? `over the share: ${count(shown)} of ${count(text.length)} characters shown`
        : "its text was erased";
    documents.push({ name: typeof path === "string" ? path : "a document", seq, why });
  }
  const memory: LeftOut[] = [];
  for (const { seq, shown } of (choice.memory ?? []).slice(0, namesMax)) {
    const given = field((await readOne(deps, session, seq))?.content, "items");
    const entries = Array.isArray(given) ? (given as unknown[]) : [];
    const numbers = new Set(seqsIn(shown));
    for (const [place, entry] of entries.entries()) {
      if (numbers.has(place + 1) || memory.length >= namesMax) continue;
      const name = textOf(field(entry, "key") ?? "an entry");
      memory.push({ name, seq, why: "over the share, or a newer one has its key" });
    }
  }
  return { items, documents, memory };
}
