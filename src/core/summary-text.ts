/**
 * Pieces of the one-line summaries of events. Facts come first and free text last, so that a renderer can cut
 * the end. Nothing is escaped here: each renderer neutralizes control characters in its own way.
 */
import { moneyText } from "./text/money.ts";
import { compact, count, plural } from "./text/number-format.ts";

/** The most of a text that any line needs. */
const charsMax = 10_000;

export const lineText = (text: string): string => text.slice(0, charsMax).replaceAll(/\s+/g, " ").trim();

/** The text after a colon; empty without text. */
export const after = (text: string | undefined): string => {
  const line = lineText(text ?? "");
  return line === "" ? "" : `: ${line}`;
};

export const because = (content: { readonly reason?: string | undefined } | undefined): string =>
  after(content?.reason);

/** A text as it is, any other value as JSON. */
export const valueText = (value: unknown): string =>
  lineText(typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing"));

interface BlockLike {
  readonly type: string;
  readonly text?: unknown;
  readonly tool?: unknown;
}

/** Calls and attachments in parentheses, then the text. */
export function blocksText(
  content: { readonly blocks?: readonly BlockLike[] | undefined } | undefined,
): string {
  const blocks = content?.blocks ?? [];
  const calls = blocks.filter(({ type }) => type === "tool-call").map(({ tool }) => String(tool));
  const kept = blocks.filter(({ type }) => type === "image" || type === "file").length;
  const facts = [
    ...(calls.length === 0 ? [] : [`calls ${calls.join(", ")}`]),
    ...(kept === 0 ? [] : [plural(kept, "attachment")]),
  ];
  const texts = blocks.flatMap(({ type, text }) =>
    type === "text" && typeof text === "string" ? [text] : [],
  );
  return `${facts.length === 0 ? "" : ` (${facts.join("; ")})`}${after(texts.join(" "))}`;
}

const amountTexts = {
  tokens: (value) => `${count(value)} tokens`,
  nanoUsd: moneyText,
  steps: (value) => plural(value, "step"),
  turns: (value) => plural(value, "turn"),
  toolCalls: (value) => plural(value, "tool call"),
  wallMs: (value) => `${count(Math.round(value / 1_000))} s`,
} satisfies Record<string, (value: number) => string>;

type Resource = keyof typeof amountTexts;

export const amountText = (resource: Resource, value: number): string => amountTexts[resource](value);

/** `500 tokens, $2.00`; undefined without amounts. */
export function amountsText(amounts: { readonly [K in Resource]?: number | undefined }): string | undefined {
  const said = (Object.keys(amountTexts) as Resource[]).flatMap((name) => {
    const value = amounts[name];
    return value === undefined ? [] : [amountText(name, value)];
  });
  return said.length === 0 ? undefined : said.join(", ");
}

/** `120 in, 30 out, $0.002`. */
export function usageText(
  usage: { readonly inputTokens: number; readonly outputTokens: number },
  nanoUsd: number | null,
): string {
  const cost = nanoUsd === null || nanoUsd === 0 ? "" : `, ${moneyText(nanoUsd)}`;
  return `${compact(usage.inputTokens)} in, ${compact(usage.outputTokens)} out${cost}`;
}

/** Formats an optional value. */
export const ifGiven = <T>(value: T | undefined, say: (value: T) => string): string =>
  value === undefined ? "" : say(value);

/** ` on TOPIC`; empty without a topic. */
export const onTopic = (topic: string | undefined): string => (topic === undefined ? "" : ` on ${topic}`);
