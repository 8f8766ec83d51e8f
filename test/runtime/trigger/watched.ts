/** What tests of watched files and repositories share: a directory, patience, what was fired. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";

export type Engine = Awaited<ReturnType<typeof openEngine>>;
export type Session = Awaited<ReturnType<Engine["open"]>>;

export function makeFolder(): Disposable & { readonly path: string; at(name: string): string } {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "skein-watched-")));
  return {
    path,
    at: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

export const pause = (ms: number): Promise<void> => realWorld().sleep(ms);

/** Without watches of the file system (test/platform) it is polled every 10 seconds. */
const patienceMs = process.getuid === undefined ? 40_000 : 8_000;

export async function until(holds: () => Promise<boolean>, what = "it", ms = patienceMs): Promise<void> {
  const world = realWorld();
  for (const end = world.now() + ms; !(await holds());) {
    if (world.now() > end) throw new Error(`${what} did not come about in time`);
    await world.sleep(4);
  }
}

export interface Fired {
  readonly digest: string;
  readonly text: string;
  readonly detail: unknown;
}

/** Every firing of a session, in order. */
export async function firedOf(session: Session): Promise<readonly Fired[]> {
  const fired: { digest: string; text: string; detail: unknown }[] = [];
  for await (const event of session.events({ types: ["trigger.fired", "input.received"] })) {
    const content = event.content as {
      readonly detail?: unknown;
      readonly blocks?: readonly { readonly text?: string }[];
    };
    const last = fired.at(-1);
    if (event.type === "trigger.fired")
      fired.push({ digest: (event.body as { digest: string }).digest, text: "", detail: content?.detail });
    else if (last !== undefined) last.text = content.blocks?.[0]?.text ?? "";
  }
  return fired;
}

export const lastCause = async (session: Session, name: string): Promise<string | null | undefined> =>
  (await session.fold()).standing.triggers.get(name)?.lastCause;
