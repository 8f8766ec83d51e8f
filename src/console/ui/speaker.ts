/** The name of an agent or model, as a speaker. */
import { brief } from "./visible.ts";

/** The name of a session without an agent in `agent:default`. */
const unnamed = "default";

/** `Claude Sonnet 5.5` for `anthropic/claude-sonnet-5-5`; other names without their provider. */
export function modelTitle(model: string): string {
  const name = model.slice(model.indexOf("/") + 1);
  if (model === "offline/offline") return "Offline model";
  if (!/^(?:claude|gemini)-/.test(name)) return brief(name, 60);
  const words = name
    .replace(/-\d{8}$/, "")
    .replace(/(\d)-(?=\d)/g, "$1.")
    .split("-");
  return brief(words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(" "), 60);
}

/** The agent, or without one the model. Version 0 is a bare name. */
export function speakerName(agent: string | null, model: string | null): string {
  const name = agent?.replace(/@0$/, "") ?? unnamed;
  return name === unnamed && model !== null
    ? modelTitle(model)
    : brief(name === unnamed ? "Model" : name, 60);
}
