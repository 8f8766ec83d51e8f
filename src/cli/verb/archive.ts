/** Packs a closed session. */
import { plainVerb } from "../change.ts";

export const archive = plainVerb({
  name: "archive",
  line: "Make a closed session read-only, for audit.",
  done: "archived",
  reason: "year's end",
});
