/** Maps the URL of a request to its operation, by the table of operations. */
import { limit } from "../../core/limit.ts";
import type { Operation } from "../../call/operation.ts";
import { operationIds, operationOf, type OperationId } from "../../call/operations.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";

export interface Route {
  readonly id: OperationId;
  readonly operation: Operation;
  /** The part of the path at `{id}`; empty without one. */
  readonly session: string;
}

export interface RequestTarget {
  readonly path: string;
  readonly query: URLSearchParams;
}

interface Method {
  readonly id: OperationId;
  readonly operation: Operation;
}

/** By path, as the table spells it. */
const routes: ReadonlyMap<string, ReadonlyMap<string, Method>> = makeRoutes();
/** The path before `{id}`. */
const before = "/v1/sessions/";

function makeRoutes(): Map<string, Map<string, Method>> {
  const made = new Map<string, Map<string, Method>>();
  for (const id of operationIds) {
    const operation = operationOf(id);
    const methods = made.get(operation.path) ?? new Map<string, Method>();
    made.set(operation.path, methods.set(operation.method, { id, operation }));
    // HEAD returns the headers of GET: node:http leaves the body out.
    if (operation.method === "GET") methods.set("HEAD", { id, operation });
  }
  return made;
}

/** Never modified. */
const noQuery = new URLSearchParams();

/** Path and query of a request, unchanged: nothing is normalized, so that nothing has two spellings. */
export function parseTarget(target: string): RequestTarget | Problem {
  if (target.length > limit.requestTargetCharsMax) {
    return makeProblem("too-long", `URL longer than ${limit.requestTargetCharsMax} characters`);
  }
  if (!target.startsWith("/")) return makeProblem("invalid", "the request target must be a path");
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  if (path.length > limit.requestPathCharsMax) {
    return makeProblem("too-long", `path longer than ${limit.requestPathCharsMax} characters`);
  }
  if (mark === -1) return { path, query: noQuery };
  const query = target.slice(mark + 1);
  for (const pair of query.includes("%") ? query.split("&") : []) {
    if (decoded(pair) !== null) continue;
    const field = decoded(pair.split("=")[0] ?? "") ?? "";
    return makeProblem("invalid", "query string: invalid percent-encoding", {
      field,
      hint: "encode it as UTF-8 with %",
    });
  }
  return { path, query: new URLSearchParams(query) };
}

export function findRoute(method: string, path: string): Route | Problem {
  const end = path.indexOf("/", before.length);
  const given = path.startsWith(before) ? path.slice(before.length, end === -1 ? undefined : end) : "";
  const session = given === "" ? "" : decoded(given);
  if (session === null) {
    return makeProblem("invalid", "path: session: invalid percent-encoding", { field: "id" });
  }
  const methods = routes.get(given === "" ? path : `${before}{id}${end === -1 ? "" : path.slice(end)}`);
  if (methods === undefined) {
    return makeProblem("no-route", "no such route", {
      hint: "/openapi.json lists the routes",
    });
  }
  const found = methods.get(method);
  if (found !== undefined) return { ...found, session };
  const allow = [...methods.keys()].join(", ");
  return { ...makeProblem("wrong-method", `allowed methods: ${allow}`), allow };
}

function decoded(piece: string): string | null {
  if (!piece.includes("%")) return piece;
  try {
    return decodeURIComponent(piece);
  } catch {
    return null;
  }
}
