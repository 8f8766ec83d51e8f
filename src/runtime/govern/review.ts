/** What an imported session would act with, for the person who decides whether it runs. */
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { count } from "../../core/range.ts";
import { isUnreviewed, reviewHint } from "../../core/govern/review.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { readContent } from "../read/content.ts";
import { readWaiting } from "../read/inbox.ts";

/** The parts of an imported session that a person reviews before it runs. */
export interface SessionReview {
  readonly session: SessionId;
  readonly bindings: readonly {
    readonly name: string;
    readonly kind: string;
    readonly mode: "read" | "write";
    /** Its target, as it was bound; null when that was erased. */
    readonly to: Readonly<Record<string, unknown>> | null;
  }[];
  readonly rules: readonly {
    readonly name: string;
    readonly tool: string;
    readonly rule: "allow" | "ask" | "deny";
    /** For a default: the effect of the tools it covers. */
    readonly effect?: "unsafe";
    readonly pattern?: unknown;
  }[];
  readonly triggers: readonly { readonly name: string; readonly kind: string }[];
  /** The first queued inputs, at most `inputsShown`, each cut to `inputCharsShown`. */
  readonly input: readonly { readonly seq: number; readonly type: string; readonly text: string }[];
  /** The number of queued inputs. */
  readonly waiting: number;
  /** Tool calls without an outcome. */
  readonly calls: readonly { readonly tool: string; readonly phase: string }[];
}

const inputsShown = 20;
const inputCharsShown = 500;

export async function reviewOf(store: Store, session: SessionId, state: State): Promise<SessionReview> {
  const { bindings, permissions, triggers, inbox } = state.standing;
  const contentAt = async (seq: number) =>
    (await readContent(store, session, seq)) as Readonly<Record<string, unknown>> | undefined;
  const review = { bindings: [], rules: [], input: [] } as {
    bindings: SessionReview["bindings"][number][];
    rules: SessionReview["rules"][number][];
    input: SessionReview["input"][number][];
  };
  for (const [name, { kind, mode, seq }] of bindings.entries())
    review.bindings.push({ name, kind, mode, to: (await contentAt(seq)) ?? null });
  for (const [name, { tool, rule, effect, seq, hash }] of permissions.entries()) {
    const { pattern } = (hash === null ? undefined : await contentAt(seq)) ?? {};
    const only = effect === undefined ? {} : { effect };
    review.rules.push({ name, tool, rule, ...only, ...(pattern === undefined ? {} : { pattern }) });
  }
  const waiting = inbox.waiting.length === 0 ? [] : await readWaiting(store, session, state);
  for (const { seq } of waiting.slice(0, inputsShown)) {
    const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
    const text = textOf(await contentAt(seq));
    review.input.push({ seq, type: record?.type ?? "", text: text.slice(0, inputCharsShown) });
  }
  return {
    session,
    ...review,
    triggers: [...triggers.entries()].map(([name, { kind }]) => ({ name, kind })),
    waiting: count(inbox.waiting),
    calls: [...state.mind.calls.values()].map(({ tool, phase }) => ({ tool, phase })),
  };
}

function textOf(content: Readonly<Record<string, unknown>> | undefined): string {
  const { text, blocks } = content ?? {};
  if (typeof text === "string") return text;
  if (!Array.isArray(blocks)) return "";
  return blocks
    .map(({ type, text: words }: { type?: unknown; text?: unknown }) =>
      typeof words === "string" ? words : `[${String(type)}]`,
    )
    .join("\n");
}

/** Nothing that a stranger bound is opened, copied or passed on before the session was reviewed. */
export function assertReviewed(session: SessionId, state: State): void {
  if (!isUnreviewed(state)) return;
  throw new SkeinError("refused", `${session} was imported and is not reviewed yet`, {
    hint: reviewHint.replaceAll("ID", session),
  });
}
