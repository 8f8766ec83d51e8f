/** The note about an agent that is only a name. */
import { oneLine } from "./text.ts";

export const undefinedAgent = (name: string): string =>
  `agent ${oneLine(name)} is not defined: it has no instructions; skein agents add defines it`;
