/** Makes a session stand still. */
import { plainVerb } from "../command/change-verb.ts";

export const suspend = plainVerb({
  name: "suspend",
  line: "Make a session stand still until it is activated.",
  done: "suspended",
  reason: "waiting for the rates",
});
