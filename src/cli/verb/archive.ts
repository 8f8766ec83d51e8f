/** Makes a closed session read-only, and packs all of it. */
import { plainVerb } from "../command/change-verb.ts";

export const archive = plainVerb({
  name: "archive",
  line: "Make a closed session read-only, for audit, and pack all of it.",
  about: ["It is still listed, read, searched and forked; reopen makes it an open session again."],
  done: "archived",
  reason: "year's end",
});
