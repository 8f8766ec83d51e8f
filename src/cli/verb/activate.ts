/** Lets a suspended or sleeping session go on. */
import { plainVerb } from "../command/change-verb.ts";

export const activate = plainVerb({
  name: "activate",
  line: "Let a suspended or sleeping session go on.",
  done: "activated",
  reason: "the rates are in",
});
