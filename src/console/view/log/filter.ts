/** Which events of a log are shown, as in the URL; and the target of "go to". Pure. */
import type { SummaryInput } from "../../../core/summary.ts";
import { actorWords, eventFamilies, summaryOf, type EventFamily, typesOf } from "../../ui/event-summary.ts";

export interface LogFilter {
  /** Empty: all. */
  readonly types: readonly string[];
  /** Empty: any text. */
  readonly text: string;
}

const typeForm = /^[a-z0-9][a-z0-9._-]{0,99}$/;
const typesMax = 100;
export const textMax = 200;

export function filterOf(params: URLSearchParams): LogFilter {
  const types = (params.get("types") ?? "").split(",").filter((type) => typeForm.test(type));
  return {
    types: [...new Set(types)].slice(0, typesMax),
    text: (params.get("q") ?? "").slice(0, textMax),
  };
}

export const isAll = ({ types, text }: LogFilter): boolean => types.length === 0 && text === "";

/** A position; null if there is none. */
export function seqOf(params: URLSearchParams): number | null {
  const given = params.get("seq") ?? "";
  return /^[1-9]\d{0,14}$/.test(given) ? Number(given) : null;
}

/** The text is searched in the shown summary of an event, and in its content. */
export function holds(event: SummaryInput & { readonly actor: string }, text: string): boolean {
  if (text === "") return true;
  const wanted = text.toLowerCase();
  const shown = `${event.type} ${actorWords(event.actor)} ${summaryOf(event)}`;
  if (shown.toLowerCase().includes(wanted)) return true;
  return (JSON.stringify([event.body, event.content]) ?? "").toLowerCase().includes(wanted);
}

export type LogTarget = { readonly seq: number } | { readonly time: number };

/** The typed value: a position, or a time in any form that the browser parses. Null: neither. */
export function placeOf(typed: string, nowMs: number): LogTarget | null {
  const text = typed.trim();
  if (/^[1-9][\d,. ]{0,18}$/.test(text) && !/\d[.]\d{1,2}$/.test(text)) {
    const seq = Number(text.replace(/[,. ]/g, ""));
    return Number.isSafeInteger(seq) ? { seq } : null;
  }
  const ago = /^(\d{1,6})\s*(s|min|m|h|d)$/.exec(text);
  if (ago !== null) return { time: nowMs - Number(ago[1]) * (unitMs[ago[2] ?? "s"] ?? 1_000) };
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text);
  if (clock !== null) {
    const day = new Date(nowMs);
    day.setHours(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), 0);
    return { time: day.getTime() };
  }
  // Browsers parse a date without a year as 2001, and any number as a month.
  const isWhole = /\d{4}/.test(text);
  if (!isWhole && !monthForm.test(text)) return null;
  const time = Date.parse(isWhole ? text : `${text} ${new Date(nowMs).getFullYear()}`);
  return Number.isNaN(time) ? null : { time };
}

const monthForm = /\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/i;

const unitMs: Readonly<Record<string, number>> = {
  s: 1_000,
  min: 60_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Selected types outside of all families: those of other programs. */
export function othersOf(types: readonly string[]): readonly string[] {
  const known = new Set<string>(eventFamilies.flatMap(typesOf));
  return types.filter((type) => !known.has(type));
}

/** A type as typed; null if it is invalid. */
export const typeOf = (typed: string): string | null => (typeForm.test(typed.trim()) ? typed.trim() : null);

/** Whether all types of a family are selected, some, or none. */
export function chosenOf(family: EventFamily, types: readonly string[]): "all" | "some" | "none" {
  const own = typesOf(family);
  const chosen = own.filter((type) => types.includes(type)).length;
  return chosen === 0 ? "none" : chosen === own.length ? "all" : "some";
}

/** With a whole family, or without it. */
export function withFamily(types: readonly string[], family: EventFamily): readonly string[] {
  const own = typesOf(family);
  const others = types.filter((type) => !own.includes(type));
  return chosenOf(family, types) === "all" ? others : [...others, ...own];
}

export const withType = (types: readonly string[], type: string): readonly string[] =>
  types.includes(type) ? types.filter((one) => one !== type) : [...types, type];
