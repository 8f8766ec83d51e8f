/**
 * A process that only reads: it follows sessions of the store live and says each record that it is given.
 * What a reader has seen must be there ever after, each position once and in order. Now and then it verifies
 * the whole store, which must hold at any moment, whatever the writers are doing.
 */
import { openEngine, SkeinError, type Engine } from "../../src/index.ts";

/** Sessions followed at once. */
const followedMax = 4;
/** How often it looks for sessions that are new. */
const lookMs = 100;
/** Every how many looks it verifies. */
const verifyLooks = 4;

export async function followSessions(path: string, say: (line: string) => void): Promise<void> {
  const engine = await openEngine({ store: path });
  say("opened");
  const followed = new Map<string, Promise<void>>();
  for (let look = 1; ; look++) {
    const { rows } = await engine.sessions({ limit: followedMax });
    for (const { session } of rows) {
      if (followed.has(session) || followed.size >= followedMax) continue;
      followed.set(
        session,
        follow(engine, session, say).then(() => void followed.delete(session)),
      );
    }
    if (look % verifyLooks === 0) await verify(engine, say);
    await Promise.race([...followed.values(), new Promise((resolve) => void setTimeout(resolve, lookMs))]);
  }
}

async function follow(engine: Engine, id: string, say: (line: string) => void): Promise<void> {
  try {
    const session = await engine.session(id);
    for await (const event of session.events({ follow: true })) say(`next ${id} ${event.seq} ${event.hash}`);
  } catch (error) {
    if (!(error instanceof SkeinError) || error.code !== "not-found") throw error;
    say(`gone ${id}`);
  }
}

async function verify(engine: Engine, say: (line: string) => void): Promise<void> {
  const { ok, problems, records } = await engine.verify();
  say(ok ? `verified ${records}` : `unsound ${JSON.stringify(problems.slice(0, 5))}`);
}
