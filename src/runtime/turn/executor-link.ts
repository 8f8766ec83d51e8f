/** What this process knows of a connection to an executor, also while it is parked between two runs. */
import type { ExecutorEvent, ExecutorSession } from "../../core/turn/executor.ts";

export interface ExecutorLink {
  /** The ids of its calls, by those of the session's log. */
  readonly calls: Map<string, string>;
  /** Events to be handled before further ones are read. */
  queue: ExecutorEvent[];
  /** Cost that the log has already. */
  recordedNanoUsd: number;
  totalNanoUsd: number | null;
  plan: readonly string[];
  text: string;
  reasoning: string;
  promptTokens: number;
}

/** Kept with the state of the connection that is its key. */
const links = new WeakMap<ExecutorSession, ExecutorLink>();

export function linkOf(agent: ExecutorSession): ExecutorLink {
  let link = links.get(agent);
  if (link === undefined) {
    link = {
      calls: new Map(),
      queue: [],
      recordedNanoUsd: 0,
      totalNanoUsd: null,
      plan: [],
      text: "",
      reasoning: "",
      promptTokens: 0,
    };
    links.set(agent, link);
  }
  return link;
}

/** The cost since the last record; null when the agent does not report it. */
export function takeCost(link: ExecutorLink): number | null {
  if (link.totalNanoUsd === null) return null;
  const more = Math.max(0, link.totalNanoUsd - link.recordedNanoUsd);
  link.recordedNanoUsd = link.totalNanoUsd;
  return more;
}

/** What the agent said since the last record. */
export const blocksOf = ({ reasoning, text }: ExecutorLink) => [
  ...(reasoning === "" ? [] : [{ type: "reasoning" as const, text: reasoning }]),
  ...(text === "" ? [] : [{ type: "text" as const, text }]),
];
