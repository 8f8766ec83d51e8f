/**
 * A lock across processes: a symbolic link that names its holder, created atomically. A stale one is removed
 * under a lock on exactly that link, so that no process removes a newer one.
 */
import { readlink, symlink, unlink } from "node:fs/promises";
import { SkeinError } from "../core/error.ts";
import type { World } from "../runtime/world.ts";

const lookMs = 50;
/** A large worktree takes time. */
const waitMsMax = 600_000;

/**
 * One for the process: the locks it holds. A link with this process's number that is not here was left by an
 * earlier process.
 */
const held = new Set<string>();

/** Runs the work while holding the lock on the path. */
export async function locked<Result>(
  world: World,
  path: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const mark = `${world.self ?? "?"} ${world.salt()}`;
  held.add(mark);
  try {
    await take(world, path, mark);
    try {
      return await work();
    } finally {
      await unlink(path).catch(ignore("ENOENT"));
    }
  } finally {
    held.delete(mark);
  }
}

async function take(world: World, path: string, mark: string): Promise<void> {
  const untilMs = world.now() + waitMsMax;
  while (!(await isMade(path, mark))) {
    const found = await readlink(path).catch(ignore("ENOENT"));
    if (found === undefined) continue;
    if (isLeft(world, found)) await clear(world, path, found);
    else if (world.now() > untilMs)
      throw new SkeinError("refused", `the plan is locked by process ${found.split(" ")[0]}: ${path}`, {
        hint: "delete the lock file if the process does not run",
      });
    else await world.sleep(lookMs);
  }
}

const isMade = (path: string, mark: string): Promise<boolean> =>
  symlink(mark, path).then(
    () => true,
    (error: unknown) => {
      ignore("EEXIST")(error);
      return false;
    },
  );

function isLeft(world: World, mark: string): boolean {
  const [holder = ""] = mark.split(" ");
  return holder === world.self ? !held.has(mark) : world.isGone?.(holder) === true;
}

async function clear(world: World, path: string, mark: string): Promise<void> {
  await locked(world, `${path}.${mark.split(" ")[1] ?? ""}`, async () => {
    if ((await readlink(path).catch(ignore("ENOENT"))) === mark) await unlink(path);
  });
}

const ignore =
  (code: string) =>
  (error: unknown): undefined => {
    if ((error as { code?: unknown }).code !== code) throw error;
  };
