/** Saves an approval as an answer does, without a call that waits. */
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { writeWorkspace } from "../../src/runtime/log/workspace-log.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

export async function saveApproval({ engine }: { readonly engine: Engine }): Promise<void> {
  const command = { text: "npm test", directory: "/work", binding: { kind: "shell", name: "shell" } };
  await writeWorkspace(internalsOf(engine), async () => [
    { type: "approval.saved", body: { name: "approval-1", tool: "shell" }, content: { command } },
  ]);
}
