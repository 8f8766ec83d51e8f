/** The name of a model from a person. */
import { SkeinError } from "../../core/error.ts";
import { realWorld } from "../../runtime/world.ts";

/**
 * Refuses an impossible model name, with the nearest one. An unknown provider is accepted with a note: the
 * session may run where it is configured.
 */
export async function checkModelName(
  name: string | undefined,
  out?: { readonly note: (text: string) => void },
): Promise<void> {
  if (name === undefined) return;
  const isPossible = /^[^/\s]+\/\S+$/.test(name) && !/^offline\/(?!offline$)/.test(name);
  if (isPossible && out === undefined) return;
  const { loadModels } = await import("../open/config.ts");
  try {
    await (await loadModels(realWorld())).model(name);
  } catch (error) {
    if (!isPossible || !(error instanceof SkeinError)) throw error;
    // A missing key is usual where a session is only opened.
    if (error.code === "invalid")
      out?.note(`${error.message}; ${error.hint ?? "configure it"} (it can run elsewhere)`);
  }
}
