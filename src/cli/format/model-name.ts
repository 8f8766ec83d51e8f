/** The name of a model as people give it. */
import { realWorld } from "../../runtime/world.ts";

/**
 * Refuses what can be the name of no model, with the nearest name. A provider that is not configured here is
 * not refused: the session may be run where it is.
 */
export async function checkModelName(name: string | undefined): Promise<void> {
  if (name === undefined || (/^[^/\s]+\/\S+$/.test(name) && !/^offline\/(?!offline$)/.test(name))) return;
  const { loadModels } = await import("../open/config.ts");
  await (await loadModels(realWorld())).model(name);
}
