/** Records items: of a kind that is known, and where it is pinned, with a value for which there is room. */
import type { CommandOf } from "../../core/command.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ItemStatus } from "../../core/item/kind.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { checkItemKind, type NamedValue } from "../workspace/item-kind.ts";
import { pinnedRoomFor } from "./pin.ts";

/** Options of `session.record`. */
export interface RecordOptions {
  readonly because?: string;
  /** Idempotency key: a repeated call with it changes nothing. */
  readonly key?: string;
  readonly status?: ItemStatus;
  /** Of a hypothesis or a finding, from 0 to 1. */
  readonly confidence?: number;
  /** What speaks for a hypothesis or a finding: texts, or pointers such as `4x8kz1@12`. */
  readonly evidence?: readonly string[];
}

/** Records an item, if its kind is known and its value matches. */
export async function recordItem(
  deps: Deps,
  session: SessionId,
  item: NamedValue,
  { key: once, ...more }: RecordOptions,
): ReturnType<Deps["writer"]["change"]> {
  const build = async (state: State): Promise<CommandOf<"record">> => {
    await checkItemKind(deps, session, state, item);
    const room = await pinnedRoomFor(deps, session, state, { ...item, ...more });
    return { do: "record", ...item, ...more, ...room };
  };
  return deps.writer.change(session, build, { actor: deps.actor, key: once });
}
