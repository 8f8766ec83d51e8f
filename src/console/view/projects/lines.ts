/**
 * Lines of work: each runs through a session and its successors, and a seam marks where one continues the
 * other. Forks and children are lines of their own, behind the line that they come from.
 */
import type { engine } from "../../server.ts";

export type ProjectNode = Awaited<ReturnType<typeof engine.projectLineage>>["nodes"][number];

/** The look of a bar. The status is said in words beside it. */
export type BarTone = "busy" | "warn" | "rest" | "open" | "done" | "gone";

export interface WorkBar {
  readonly session: string;
  readonly status: string;
  readonly tone: BarTone;
  /** Of the line: the first session is 1. */
  readonly number: number;
  readonly from: number;
  readonly to: number;
  /** It continues another session. */
  readonly isSeam: boolean;
}

export interface WorkLine {
  /** The first session of the line. */
  readonly id: string;
  readonly title: string;
  /** How it came about; null for one that was opened by itself. */
  readonly origin: "fork" | "child" | null;
  readonly bars: readonly WorkBar[];
  readonly activeAt: number;
}

const tones: Readonly<Record<string, BarTone>> = {
  running: "busy",
  suspended: "warn",
  sleeping: "rest",
  open: "open",
  absent: "gone",
};

/** The most recently active first, a fork or child right behind the line that it comes from. */
export function linesOf(nodes: readonly ProjectNode[], nowMs: number): readonly WorkLine[] {
  const known = new Map(nodes.map((node) => [node.session as string, node]));
  const next = new Map<string, ProjectNode>();
  for (const node of nodes) {
    const before = node.parent?.session;
    // Of several that continue one, the first goes on in its line.
    if (node.relation === "successor" && before !== undefined && known.has(before) && !next.has(before))
      next.set(before, node);
  }
  const continued = new Set([...next.values()].map(({ session }) => session as string));
  const lineOfSession = new Map<string, string>();
  const lines = new Map<string, WorkLine>();
  // Ids in imported logs may form a cycle, which begins anywhere.
  for (const first of [...nodes.filter(({ session }) => !continued.has(session)), ...nodes]) {
    if (lineOfSession.has(first.session)) continue;
    const chain: ProjectNode[] = [];
    for (let at: ProjectNode | undefined = first; at !== undefined && !lineOfSession.has(at.session);) {
      chain.push(at);
      lineOfSession.set(at.session, first.session);
      at = next.get(at.session);
    }
    lines.set(first.session, lineOf(chain, nowMs));
  }
  const behind = new Map<string, WorkLine[]>();
  const roots: WorkLine[] = [];
  for (const [id, line] of lines) {
    const parent = known.get(id)?.parent?.session;
    const above = parent === undefined ? undefined : lineOfSession.get(parent);
    if (line.origin === null || above === undefined || above === id) roots.push(line);
    else behind.set(above, [...(behind.get(above) ?? []), line]);
  }
  const laid = new Map<string, WorkLine>();
  const lay = (list: readonly WorkLine[]): void => {
    for (const line of list.toSorted((a, b) => b.activeAt - a.activeAt || (a.id < b.id ? -1 : 1))) {
      if (laid.has(line.id)) continue;
      laid.set(line.id, line);
      lay(behind.get(line.id) ?? []);
    }
  };
  lay(roots);
  lay([...lines.values()]);
  return [...laid.values()];
}

function lineOf(chain: readonly ProjectNode[], nowMs: number): WorkLine {
  const [first] = chain;
  if (first === undefined) throw new Error("invariant: a line has a session");
  const last = chain.at(-1) ?? first;
  const bars = chain.map((node, place): WorkBar => {
    const following = chain[place + 1];
    const isLive = node.status === "running" || node.status === "suspended" || node.status === "sleeping";
    const end = isLive ? Math.max(nowMs, node.activeAt) : node.activeAt;
    // Bars of one line never overlap: the next one begins where this one ends.
    const to = following === undefined ? end : following.openedAt;
    return {
      session: node.session,
      status: node.status,
      tone: tones[node.status] ?? "done",
      number: place + 1,
      from: node.openedAt,
      to: Math.max(to, node.openedAt),
      isSeam: place > 0,
    };
  });
  const relation = first.relation === "fork" || first.relation === "child" ? first.relation : null;
  return {
    id: first.session,
    title: last.name ?? last.objective ?? first.name ?? first.objective ?? first.session.slice(-8),
    origin: relation,
    bars,
    activeAt: Math.max(...chain.map(({ activeAt }) => activeAt)),
  };
}

export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

export const ranges = ["day", "week", "all"] as const;
export type RangeName = (typeof ranges)[number];

const dayMs = 86_400_000;
/** So that a project that was just opened has a line that can be seen. */
const leastMs = 60_000;

/** What the time line shows: the last day, the last week, or all of it; a little room behind now. */
export function rangeOf(lines: readonly WorkLine[], name: RangeName, nowMs: number): TimeRange {
  const first = Math.min(nowMs, ...lines.flatMap(({ bars }) => bars.map(({ from }) => from)));
  const whole = Math.max(nowMs - first, leastMs);
  const span = name === "day" ? dayMs : name === "week" ? 7 * dayMs : whole;
  return { from: nowMs - span, to: nowMs + span * 0.04 };
}

export interface Placed {
  /** Percent of the width. */
  readonly left: number;
  readonly width: number;
}

/** Null: it lies outside. */
export function placeOf({ from, to }: Pick<WorkBar, "from" | "to">, range: TimeRange): Placed | null {
  const span = range.to - range.from;
  const start = Math.max(from, range.from);
  const end = Math.min(Math.max(to, from), range.to);
  if (end < range.from || start > range.to || end < start) return null;
  return { left: ((start - range.from) / span) * 100, width: ((end - start) / span) * 100 };
}

const steps = [
  60_000,
  5 * 60_000,
  15 * 60_000,
  3_600_000,
  3 * 3_600_000,
  6 * 3_600_000,
  12 * 3_600_000,
  dayMs,
  2 * dayMs,
  7 * dayMs,
  14 * dayMs,
  30 * dayMs,
  90 * dayMs,
  365 * dayMs,
] as const;
const ticksMax = 6;

export interface Tick {
  readonly at: number;
  readonly left: number;
  /** Whether it names a day or a time of a day. */
  readonly isDay: boolean;
}

/** At most six, at whole minutes, hours or days of the viewer's time zone. */
export function ticksOf({ from, to }: TimeRange, offsetMs = 0): readonly Tick[] {
  const step = steps.find((one) => (to - from) / one <= ticksMax) ?? (to - from) / ticksMax;
  const ticks: Tick[] = [];
  for (let at = Math.ceil((from + offsetMs) / step) * step - offsetMs; at <= to; at += step)
    ticks.push({ at, left: ((at - from) / (to - from)) * 100, isDay: step >= dayMs });
  return ticks;
}
