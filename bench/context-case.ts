/** The labelled scenarios of `bench/context-cases`, and the long documents that they describe. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface GeneratedPages {
  readonly pages: number;
  /** Texts that stand on these pages, among others. */
  readonly needles: readonly { readonly page: number; readonly text: string }[];
}

/** One step; exactly one field is set. */
export interface CaseStep {
  /** The steps of `NAME.steps.json`, which several scenarios share. */
  readonly steps?: string;
  /** Steps that come so many times; `{n}` in their texts is 1, 2, 3… */
  readonly repeat?: { readonly times: number; readonly steps: readonly CaseStep[] };
  readonly record?: {
    readonly kind: string;
    readonly key: string;
    readonly value: unknown;
    readonly because?: string;
  };
  readonly pin?: { readonly kind: string; readonly key: string };
  /** A document that the session is opened with. */
  readonly load?: { readonly name: string; readonly text?: string; readonly generate?: GeneratedPages };
  /** An input. The answer is that of the next step `answer` before another input. */
  readonly say?: string;
  readonly answer?: string;
  readonly compact?: true;
  readonly remember?: {
    readonly scope: string;
    readonly kind: string;
    readonly key: string;
    readonly value: unknown;
  };
  /** A move to a model with this context window. */
  readonly move?: { readonly window: number };
  /** Back to before so many turns. */
  readonly rewind?: { readonly turns: number };
  /** The scenario goes on in a fork from before so many turns. */
  readonly fork?: { readonly turns: number };
  /** With `scope` a memory entry, otherwise an item. */
  readonly forget?: { readonly scope?: string; readonly kind?: string; readonly key: string };
}

export interface CaseSession {
  readonly at: string;
  /** The sessions of one agent share its memory. */
  readonly agent?: string;
  readonly objective?: string;
  readonly steps: readonly CaseStep[];
}

/** A scenario: what happened, the last input, and what the context of its request must and must not hold. */
export interface ContextCase {
  readonly name: string;
  readonly about: string;
  readonly window: number;
  /** The agent's shares of the context window, by tier. */
  readonly shares?: Readonly<Record<string, number>>;
  readonly sessions: readonly CaseSession[];
  readonly ask: string;
  readonly mustShow: readonly string[];
  readonly mustNotShow: readonly string[];
  readonly mayShow?: readonly string[];
  readonly tags: readonly string[];
}

const folder = join(import.meta.dirname, "context-cases");

export function readCases(): ContextCase[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json") && !name.endsWith(".steps.json"));
  return files.toSorted().flatMap((name) => {
    const read = readJson(name) as ContextCase | ContextCase[];
    return (Array.isArray(read) ? read : [read]).map((scenario) => ({
      ...scenario,
      sessions: scenario.sessions.map((session) => ({ ...session, steps: session.steps.flatMap(expanded) })),
    }));
  });
}

const readJson = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), "utf8"));

function expanded(step: CaseStep): readonly CaseStep[] {
  if (step.steps !== undefined) return readJson(`${step.steps}.steps.json`) as CaseStep[];
  if (step.repeat === undefined) return [step];
  const steps = JSON.stringify(step.repeat.steps.flatMap(expanded));
  return Array.from(
    { length: step.repeat.times },
    (_, place) => JSON.parse(steps.replaceAll("{n}", String(place + 1))) as CaseStep[],
  ).flat();
}

const words = (
  "the of and to in for with on at by from as under over each every all some most line part side end " +
  "rate load unit level range point order table frame plate cable panel cover guide track field house " +
  "yard bridge signal station platform driver guard keeper inspector report record entry notice letter " +
  "stamp measure length width height weight speed force heat water steam oil sand stone brick timber " +
  "steel iron copper glass early late often seldom never always before after during between within " +
  "beyond above below north south east west upper lower inner outer first second third fourth fifth " +
  "open closed fixed loose clean dry warm cold checks keeps holds moves turns lifts lowers fits joins " +
  "parts marks counts writes reads sends takes gives"
).split(" ");

/** A text of so many pages of about 2,400 characters, the same in every run. */
export function pagesOf({ pages, needles }: GeneratedPages): string {
  let seed = 7;
  const next = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const sentence = (): string => {
    const text = Array.from({ length: 8 + next(9) }, () => words[next(words.length)]).join(" ");
    return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
  };
  return Array.from({ length: pages }, (_, place) => {
    const page = place + 1;
    const paragraphs = Array.from({ length: 5 }, () => Array.from({ length: 7 }, sentence).join(" "));
    const here = needles.filter((needle) => needle.page === page).map(({ text }) => text);
    return [`# Page ${page}`, ...paragraphs.slice(0, 3), ...here, ...paragraphs.slice(3)].join("\n\n");
  }).join("\n\n");
}
