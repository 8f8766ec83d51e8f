/** Migrate: a session continues with another model, or in another store. */
import { checkCall } from "../../call/check.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Store } from "../../store/port.ts";
import { changeModel, type ModelReport } from "./move-model.ts";
import { moveSession, type MoveReport } from "./move.ts";
import type { Deps } from "../deps.ts";
import { shownPlace } from "../read/move-target.ts";

/** One of them. */
export interface MigrateOptions {
  /** `provider/model`. */
  readonly model?: string;
  /** A store or its address; created if missing. */
  readonly to?: Store | string;
}

/** The result of `session.migrate`. */
export type MigrateReport = MoveReport | ModelReport;

export async function migrateSession(
  deps: Deps,
  session: SessionId,
  options: MigrateOptions,
): Promise<MigrateReport> {
  checkCall("session.migrate", options);
  const { model, to } = options;
  if ((model === undefined) === (to === undefined)) {
    throw new SkeinError("invalid", "migrate: specify model or to, not both", {
      hint: 'for example { model: "anthropic/…" } or { to: "./other.db" }',
      field: "model",
    });
  }
  if (model !== undefined) return changeModel(deps, session, model);
  if (typeof to === "string") return moveToPlace(deps, session, to);
  return moveSession(deps, session, to as Store, (to as Store).workspace);
}

async function moveToPlace(deps: Deps, session: SessionId, place: string): Promise<MoveReport> {
  if (deps.openStore === undefined) {
    throw new SkeinError("refused", "access to other stores is disabled", {
      hint: "pass an open store instead of a path, or export the session",
    });
  }
  if (place === "memory:") {
    throw new SkeinError("invalid", "migrate: to: a store in memory would lose the session", {
      hint: "pass the path of a file",
    });
  }
  const store = await deps.openStore(place);
  try {
    return await moveSession(deps, session, store, shownPlace(place));
  } finally {
    await store.close();
  }
}
