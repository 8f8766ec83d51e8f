/** Which sessions are listed, and in which order: in the URL, and as a server request. */
import { pairOf } from "../../../core/text/pair.ts";
import { statuses, type SessionStatus } from "../../../protocol/library.ts";
import type { RemoteEngine } from "../../../client/connect.ts";

export type SessionListRow = Awaited<ReturnType<RemoteEngine["sessions"]>>["rows"][number];
export type FilterQuery = NonNullable<Parameters<RemoteEngine["sessions"]>[0]>;

export const sorts = ["active", "opened", "name", "status", "priority", "cost"] as const;
export type ListSort = (typeof sorts)[number];

export interface Filter {
  /** A substring of name or objective. */
  readonly text: string;
  /** Any of them; none: all. */
  readonly statuses: readonly SessionStatus[];
  readonly agent: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** Only those that wait for a person. */
  readonly asks: boolean;
  readonly sort: ListSort;
  readonly falls: boolean;
}

/** Per order, whether it is descending by default. */
const fallsFirst: Readonly<Record<ListSort, boolean>> = {
  active: true,
  opened: true,
  name: false,
  status: false,
  priority: false,
  cost: true,
};

export function filterOf(params: URLSearchParams): Filter {
  const wanted = (params.get("status") ?? "").split(",");
  const sort = sorts.find((one) => one === params.get("sort")) ?? "active";
  const direction = params.get("dir");
  return {
    text: (params.get("q") ?? "").slice(0, 200),
    statuses: statuses.filter((one) => wanted.includes(one)),
    agent: params.get("agent") || null,
    labels: labelsOf(params.get("label") ?? ""),
    asks: params.get("waits") === "person",
    sort,
    falls: direction === "asc" ? false : direction === "desc" ? true : fallsFirst[sort],
  };
}

/** The URL parameters of an order: none for the default. */
export function sortParams(sort: ListSort, falls: boolean): Record<"sort" | "dir", string | null> {
  return {
    sort: sort === "active" ? null : sort,
    dir: falls === fallsFirst[sort] ? null : falls ? "desc" : "asc",
  };
}

/** The order after a click on a column: its default, then reversed. */
export const turned = (filter: Filter, sort: ListSort): Record<"sort" | "dir", string | null> =>
  sortParams(sort, filter.sort === sort ? !filter.falls : fallsFirst[sort]);

/** `team=blue, stage=2` as labels. An incomplete one is ignored. */
export function labelsOf(text: string): Record<string, string> {
  const pairs = text.split(",").flatMap((piece) => {
    const pair = pairOf(piece);
    return pair === null || pair[1] === "" ? [] : [pair];
  });
  return Object.fromEntries(pairs);
}

export const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(", ");

export const isFiltered = ({ text, statuses: some, agent, labels, asks }: Filter): boolean =>
  text !== "" || some.length > 0 || agent !== null || Object.keys(labels).length > 0 || asks;

/** Filters with the same name list the same. */
export const filterName = (filter: Filter): string => JSON.stringify(filter);

/** The server's part of the filter; the rest is applied here. */
export function askedOf({ text, statuses: some, agent, labels, asks }: Filter): FilterQuery {
  const wanted: readonly SessionStatus[] = asks ? ["suspended"] : some;
  return {
    ...(text === "" ? {} : { text }),
    ...(wanted.length === 0 ? {} : { status: [...wanted] }),
    ...(agent === null ? {} : { agent }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
}

/** The server returns the most recently active first; any other order needs all of them. */
export const needsAll = ({ sort, falls }: Filter): boolean => sort !== "active" || !falls;

const needed: readonly (string | null)[] = [
  "approval",
  "answer",
  "budget",
  "error",
  "deadline passed",
  "rollback",
];
/** Whether it waits for a person; not if a person suspended it. */
export const isAsking = ({ status, waitingFor }: Pick<SessionListRow, "status" | "waitingFor">): boolean =>
  status === "suspended" && needed.includes(waitingFor);

/** As the server filters. */
export function matches(row: SessionListRow, filter: Filter): boolean {
  const { text, statuses: some, agent, labels, asks } = filter;
  if (asks && !isAsking(row)) return false;
  if (some.length > 0 && !asks && !some.includes(row.status)) return false;
  if (agent !== null && row.agent !== agent) return false;
  if (Object.entries(labels).some(([key, value]) => row.labels[key] !== value)) return false;
  const wanted = lower(text);
  return wanted === "" || [row.name, row.objective].some((said) => lower(said ?? "").includes(wanted));
}

/** Only the case of ASCII letters is ignored, as in the store. */
const lower = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

export const titleOf = ({ name, objective }: Pick<SessionListRow, "name" | "objective">): string =>
  name || objective || "";

type Value = number | string;
const valueOf: Readonly<Record<ListSort, (row: SessionListRow) => Value>> = {
  active: ({ activeAt }) => activeAt,
  opened: ({ openedAt }) => openedAt,
  name: (row) => lower(titleOf(row).slice(0, 200)),
  // Running ones first, closed ones last.
  status: ({ status }) => urgency.indexOf(status),
  priority: ({ priority }) => priority,
  cost: ({ nanoUsd }) => nanoUsd,
};
/** An unknown price may be any: it comes before a known one of the same amount. */
const costTie = (a: SessionListRow, b: SessionListRow): number =>
  order(a.unpriced, b.unpriced) || order(a.unconfirmedNanoUsd, b.unconfirmedNanoUsd);
const urgency: readonly SessionStatus[] = [
  "running",
  "suspended",
  "open",
  "sleeping",
  "closed",
  "archived",
  "moved",
];

/** Ties: the most recently active first, and then as the server orders them. */
export function comparing({ sort, falls }: Filter): (a: SessionListRow, b: SessionListRow) => number {
  const value = valueOf[sort];
  const sign = falls ? -1 : 1;
  return (a, b) =>
    sign * (order(value(a), value(b)) || (sort === "cost" ? costTie(a, b) : 0)) ||
    b.activeAt - a.activeAt ||
    -order(a.session, b.session);
}

const order = (a: Value, b: Value): number => (a < b ? -1 : a > b ? 1 : 0);
