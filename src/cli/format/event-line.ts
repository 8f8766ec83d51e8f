/** An event in one line, and in full, for people. */
import { summarize } from "../../core/summary.ts";
import { exact } from "./moment.ts";
import type { Screen } from "../command/screen.ts";
import { cut, manyLines, oneLine } from "./text.ts";
import type { SessionEvent } from "../../core/event.ts";

export function eventLine(event: SessionEvent, out: Screen): string {
  const seq = String(event.seq).padStart(6);
  const type = event.type.padEnd(20);
  const time = exact(event.at);
  const room = out.columns === null ? Infinity : out.columns - seq.length - type.length - time.length - 6;
  const text = cut(oneLine(summarize(event)), room > 20 ? room : 20);
  const shown = [seq, out.dim(time), paintType(out, event.type)(type), event.erased ? out.dim(text) : text];
  return shown.join("  ").trimEnd();
}

/** The whole content, line by line, under the event's line. */
export function eventInFull(event: SessionEvent, out: Screen): string[] {
  const indent = " ".repeat(8);
  const header = `actor ${event.actor}${event.turn === null ? "" : `, turn ${event.turn}`}`;
  const text = event.content === undefined ? "" : said(event.content);
  const body = JSON.stringify(event.body);
  return [
    indent + out.dim(oneLine(header)),
    ...(body === "{}" ? [] : [indent + out.dim(oneLine(body))]),
    ...(text === "" ? [] : manyLines(text).map((line) => indent + line)),
  ];
}

function paintType(out: Screen, type: string): (text: string) => string {
  if (/^(input|message)\./.test(type)) return out.green;
  if (/^(item|scratch|checkpoint)\./.test(type)) return out.yellow;
  return out.bold;
}

function said(content: unknown): string {
  const { blocks = [] } = content as { readonly blocks?: readonly { readonly text?: unknown }[] };
  const texts = blocks.map(({ text }) => text).filter((text) => typeof text === "string");
  const whole = texts.length > 0 && texts.length === blocks.length;
  return whole ? texts.join("\n") : JSON.stringify(content, null, 2);
}
