/** Ends a session whatever it is doing. */
import { plainVerb } from "../change.ts";

export const cancel = plainVerb({
  name: "cancel",
  line: "End a session, whatever it is doing; its outcome is cancelled.",
  done: "cancelled",
  reason: "no longer needed",
});
