/**
 * The route: the URL holds the whole location, so that it can be reloaded, shared, and returned to.
 *
 *   /                          sessions                /search?q=…          search over everything
 *   /s/ID                      its transcript          /projects  /projects/ID  /agents  /agents/NAME
 *   /s/ID/log                  its log                 /triggers  /workers  /cost  /memory
 *   /s/ID/family               its family              /import  /import/stats
 *   /s/ID/compare?with=ID      next to another         …?at=SEQ             the state at that position
 *   /s/ID/merge?from=ID        the preview of a merge
 */
import { cell, useCell } from "./signal.ts";

export const places = [
  "search",
  "projects",
  "agents",
  "triggers",
  "workers",
  "cost",
  "memory",
  "import",
] as const;
export type PageName = (typeof places)[number];
export const aspects = ["transcript", "log", "family", "compare", "merge", "context"] as const;
export type Aspect = (typeof aspects)[number];

export type PageRoute =
  | { readonly at: "sessions"; readonly params: URLSearchParams }
  | {
      readonly at: "session";
      readonly id: string;
      readonly aspect: Aspect;
      readonly params: URLSearchParams;
    }
  | {
      readonly at: PageName;
      readonly name: string | null;
      readonly params: URLSearchParams;
    }
  | { readonly at: "nowhere"; readonly params: URLSearchParams };

export function routeOf(address: string): PageRoute {
  const url = new URL(`http://page${address}`);
  const params = url.searchParams;
  const words = url.pathname.split("/").filter((word) => word !== "");
  const [first, second, third] = words.map(decoded);
  if (first === undefined) return { at: "sessions", params };
  if (first === "s" && second !== undefined && words.length <= 3) {
    const aspect = aspects.find((one) => one === (third ?? "transcript"));
    return aspect === undefined ? { at: "nowhere", params } : { at: "session", id: second, aspect, params };
  }
  const place = places.find((one) => one === first);
  if (place === undefined || words.length > 2) return { at: "nowhere", params };
  return { at: place, name: second ?? null, params };
}

/** An undecodable URL leads nowhere, and breaks nothing. */
function decoded(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

type Params = Readonly<Record<string, string | number | null | undefined>>;

/** The URL of a session, or of an aspect of it. */
export function sessionPath(id: string, aspect: Aspect = "transcript", params: Params = {}): string {
  const path = `/s/${encodeURIComponent(id)}${aspect === "transcript" ? "" : `/${aspect}`}`;
  return withParams(path, params);
}

/** Null and undefined are left out. */
export function withParams(path: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

const here = (): string => location.pathname + location.search;
const address = cell(typeof location === "undefined" ? "/" : here());
if (typeof window !== "undefined") window.addEventListener("popstate", () => address.set(here()));

const useAddress = (): string => useCell(address);

let memo: { readonly address: string; readonly route: PageRoute } | null = null;
export function useRoute(): PageRoute {
  const now = useAddress();
  if (memo?.address !== now) memo = { address: now, route: routeOf(now) };
  return memo.route;
}

/** Navigates. `replace`: without a history entry, as while a slider is dragged. */
export function go(to: string, options: { readonly replace?: boolean } = {}): void {
  if (to === address.get()) return;
  const { pathname } = location;
  if (options.replace === true) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  address.set(here());
  if (options.replace !== true && location.pathname !== pathname) window.scrollTo(0, 0);
}

/** The same view with other parameters. */
export function goWith(params: Params, options: { readonly replace?: boolean } = {}): void {
  const url = new URL(`http://page${address.get()}`);
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === "") url.searchParams.delete(name);
    else url.searchParams.set(name, String(value));
  }
  go(url.pathname + url.search, options);
}
