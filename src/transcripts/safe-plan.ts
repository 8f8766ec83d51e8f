/** Titles, facts and first lines of a transcript as people see them: without the secrets in them. */
import { makeRedactor } from "../core/secret/redactor.ts";
import type { TranscriptPlan } from "./model.ts";
import type { OpenTranscript } from "./read-transcript.ts";

/** The part of an engine that removes secrets from a text. */
export interface TextRedactor {
  /** The text without its secrets: the registered ones, and those that look like one. */
  redact(text: string): string;
}

/** Removes secrets from a text. */
export type Redact = (text: string) => string;

/** For callers without an engine: secrets by their looks. */
const redactLooks: Redact = (text) => (looks ??= makeRedactor()).text(text);
/** Pure cache: its tables are built once. */
let looks: ReturnType<typeof makeRedactor> | null = null;

/** Of a title, and of a piece of a preview: more than is shown, so that no secret is cut in half. */
const redactedCharsMax = 262_144;

/** The beginning of a text without secrets. A secret is removed before the text is cut. */
export const safeStart = (redact: Redact, text: string, charsMax: number): string =>
  redact(text.slice(0, redactedCharsMax)).slice(0, charsMax);

/** The redactor of an engine, or the one by looks. */
export const redactOf = (engine: Partial<TextRedactor>): Redact =>
  engine.redact === undefined ? redactLooks : (text) => engine.redact?.(text) ?? text;

const titleCharsMax = 4_000;

/** The plan as it is shown. What is stored is redacted by the engine. */
export function safePlan(plan: TranscriptPlan, redact: Redact): TranscriptPlan {
  const safe = (text: string | null): string | null =>
    text === null ? null : safeStart(redact, text, titleCharsMax);
  const { header, report } = plan;
  return {
    ...plan,
    header: {
      ...header,
      title: safe(header.title),
      cwd: safe(header.cwd),
      gitBranch: safe(header.gitBranch),
      gitRemote: safe(header.gitRemote),
      tags: header.tags.map((tag) => safeStart(redact, tag, titleCharsMax)),
    },
    report: {
      ...report,
      damaged: report.damaged.map(({ range, reason }) => ({ range, reason: redact(reason) })),
    },
  };
}

/** Few tools name a session; the first thing that a person said tells them apart. */
export async function titledPlan(
  open: OpenTranscript,
  plan: TranscriptPlan,
  redact: Redact,
): Promise<TranscriptPlan> {
  if (plan.header.title !== null) return plan;
  for (const planned of plan.entries.slice(0, 20)) {
    if (planned.kind !== "input") continue;
    const entry = await open.entry(planned);
    if (entry.kind !== "input" || entry.from !== "user") continue;
    const text = entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
    const title = safeStart(redact, text, 4_000).replaceAll(/\s+/g, " ").trim().slice(0, 400);
    if (title !== "") return { ...plan, header: { ...plan.header, title } };
  }
  return plan;
}
