/** The name of a model from a person. */
import { realWorld } from "../../runtime/world.ts";

/**
 * Refuses an impossible model name, with the nearest one. An unconfigured provider is accepted: the session
 * may run where it is configured.
 */
export async function checkModelName(name: string | undefined): Promise<void> {
  if (name === undefined || (/^[^/\s]+\/\S+$/.test(name) && !/^offline\/(?!offline$)/.test(name))) return;
  const { loadModels } = await import("../open/config.ts");
  await (await loadModels(realWorld())).model(name);
}
