/** What is looked for: the text of inputs. */
import { saidIn } from "../../core/context/retrieved.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Deps } from "../deps.ts";
import { sideBySide } from "../read/content.ts";
import { readOne } from "../read/event-cache.ts";

/** Characters read of an input: its beginning and its end. */
const queryChars = { head: 6_000, tail: 4_000 } as const;

/** The text of inputs, as far as it is ranked by. */
export async function queryOf(deps: Deps, session: SessionId, seqs: readonly number[]): Promise<string> {
  const texts = await sideBySide(seqs, async (seq) => saidIn(await readOne(deps, session, seq)) ?? "");
  const { head, tail } = queryChars;
  return texts
    .map((text) => (text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`))
    .join("\n");
}
