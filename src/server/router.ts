/** From the address of a request to the operation it asks for, by the table of operations. */
import { limit } from "../core/limit.ts";
import type { Operation } from "../protocol/operation.ts";
import { operationIds, operationOf, type OperationId } from "../protocol/operations.ts";
import { makeProblem, type Problem } from "../protocol/problem.ts";

export interface Route {
  readonly id: OperationId;
  readonly operation: Operation;
  /** What stands where the path says `{id}`; empty when it does not. */
  readonly session: string;
}

export interface Target {
  readonly path: string;
  readonly query: URLSearchParams;
}

interface Method {
  readonly id: OperationId;
  readonly operation: Operation;
}

/** By path, as the table spells it. */
const routes: ReadonlyMap<string, ReadonlyMap<string, Method>> = makeRoutes();
/** Where `{id}` stands in a path, counted in pieces between slashes. */
const idPlace = 3;

function makeRoutes(): Map<string, Map<string, Method>> {
  const made = new Map<string, Map<string, Method>>();
  for (const id of operationIds) {
    const operation = operationOf(id);
    const methods = made.get(operation.path) ?? new Map<string, Method>();
    made.set(operation.path, methods.set(operation.method, { id, operation }));
  }
  return made;
}

/** Path and query of a request, as they came: nothing is normalized, so that nothing has two spellings. */
export function parseTarget(target: string): Target | Problem {
  if (target.length > limit.requestTargetCharsMax) {
    return makeProblem("too-long", `an address has at most ${limit.requestTargetCharsMax} characters`);
  }
  if (!target.startsWith("/")) return makeProblem("invalid", "the address of a request is a path");
  const mark = target.indexOf("?");
  const path = mark === -1 ? target : target.slice(0, mark);
  if (path.length > limit.requestPathCharsMax) {
    return makeProblem("too-long", `a path has at most ${limit.requestPathCharsMax} characters`);
  }
  return { path, query: new URLSearchParams(mark === -1 ? "" : target.slice(mark + 1)) };
}

export function findRoute(method: string, path: string): Route | Problem {
  const pieces = path.split("/");
  const given = pieces[idPlace];
  const hasId = pieces[1] === "v1" && pieces[2] === "sessions" && given !== undefined && given !== "";
  const session = hasId ? decoded(given) : "";
  if (session === null) {
    return makeProblem("invalid", "the session in the path is not rightly encoded", { field: "id" });
  }
  const methods = routes.get(hasId ? pieces.with(idPlace, "{id}").join("/") : path);
  if (methods === undefined) {
    return makeProblem("no-route", "there is nothing at this address", {
      hint: "/openapi.json lists what there is",
    });
  }
  const found = methods.get(method);
  if (found !== undefined) return { ...found, session };
  const allow = [...methods.keys()].join(", ");
  return { ...makeProblem("wrong-method", `this address takes ${allow}`), allow };
}

function decoded(piece: string): string | null {
  try {
    return decodeURIComponent(piece);
  } catch {
    return null;
  }
}
