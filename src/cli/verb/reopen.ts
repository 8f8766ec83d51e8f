/** Opens a session again that was closed. */
import { plainVerb } from "../command/change-verb.ts";

export const reopen = plainVerb({
  name: "reopen",
  line: "Open a closed or archived session again.",
  done: "reopened",
  reason: "the bug is back",
});
