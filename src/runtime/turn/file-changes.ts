/** Records the file changes of tools: around calls, after an interrupt, and after a crash. */
import { SkeinError } from "../../core/error.ts";
import type { OpenCall } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import type { FileWatch, OuterTool, WatchedCalls } from "../../tool/port.ts";
import type { Drive } from "./drive.ts";
import type { World } from "../world.ts";
import { fileBlobs } from "../log/file-blobs.ts";

interface FileChangeDeps {
  readonly store: Store;
  readonly world: World;
}

/** Scans before the calls run; undefined when no versions are kept. */
export async function watchCalls(
  place: FileChangeDeps,
  files: FileWatch | undefined,
  ready: readonly { readonly tool: OuterTool; readonly input: unknown }[],
): Promise<WatchedCalls | undefined> {
  if (files === undefined) return undefined;
  const calls: { tool: OuterTool; input: unknown }[] = [];
  for (const { tool, input } of ready) {
    const checked = await tool.check(input);
    if (checked.ok) calls.push({ tool, input: checked.value });
  }
  return files.begin(calls, { blobs: fileBlobs(place) });
}

/** The same for an executor: it may change any bound file. */
export async function watchExecutor(
  place: FileChangeDeps,
  files: FileWatch | undefined,
  name: string,
): Promise<WatchedCalls | undefined> {
  if (files === undefined) return undefined;
  const tool = { name, effect: "unsafe" } as unknown as OuterTool;
  return files.begin([{ tool, input: {} }], { blobs: fileBlobs(place) });
}

/** Changes that calls had made when they were stopped. */
export async function noteRest(drive: Drive, watched: WatchedCalls, { seq, tool }: OpenCall): Promise<void> {
  try {
    await watched.record(async (changed) => {
      if (changed.length > 0)
        await drive.change({ do: "note", changed, cause: seq }, { actor: `tool:${tool}` });
    });
    await watched.over();
  } catch (error) {
    // The next holder of the lease detects it, as after a crash.
    if (!(error instanceof SkeinError)) throw error;
  }
}

/** Changes that calls had made when their process died. */
export async function noteLeft(
  place: FileChangeDeps,
  drive: Drive,
  files: FileWatch | undefined,
): Promise<void> {
  const changed = (await files?.left(fileBlobs(place))) ?? [];
  if (changed.length === 0) return;
  const { mind } = await drive.state();
  const [started] = [...mind.calls.values()].filter(({ phase }) => phase === "started");
  await drive.change({ do: "note", changed, ...(started === undefined ? {} : { cause: started.seq }) });
}
