/** The updates of a session that a chat shows. */
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import * as updates from "../session-updates.ts";
import { chatTypes } from "./messages.ts";

export type { StreamUpdate } from "../session-updates.ts";

type FollowTarget = Omit<Parameters<typeof updates.followSession>[2], "types">;

/** Ends when the signal is aborted. */
export const followSession = (
  engine: Engine,
  session: Session,
  following: FollowTarget,
): AsyncGenerator<updates.StreamUpdate> =>
  updates.followSession(engine, session, { ...following, types: chatTypes });
