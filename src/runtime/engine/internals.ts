/**
 * What the server and the command line need of an engine beyond its public calls: one small interface. The
 * symbol is not exported from the package, so that no program can depend on it.
 */
import type { SessionId } from "../../core/ids.ts";
import type { Deps, OpenStore } from "../deps.ts";
import type { RequestScope } from "../log/request-scope.ts";
import type { Engine } from "./engine.ts";
import type { Session } from "./session.ts";

export const internals = Symbol("engine internals");

/**
 * `store`, `world`, `tenant`: where it works. `actor`, `holder`: the caller, and the process. `live`: the
 * deltas of answers in progress, and current webhook failures. `tokens`: access tokens by their hash.
 * `writer`: the states and keys of the one write path.
 */
export interface EngineInternals extends Pick<
  Deps,
  "store" | "world" | "tenant" | "actor" | "holder" | "live" | "tokens" | "writer"
> {
  /** The engine for one request: with its idempotency key, expected position and rights. */
  forRequest(request: RequestScope): Engine;
  /** A handle without a lookup: the write finds out whether the session exists. */
  sessionAt(id: SessionId, options?: { readonly openStore?: OpenStore | undefined }): Session;
}

export const internalsOf = (engine: Engine): EngineInternals => engine[internals];
