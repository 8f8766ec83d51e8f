/** Ends a session whatever it is doing. */
import { plainVerb } from "../change.ts";

export const cancel = plainVerb({
  name: "cancel",
  line: "End a session, whatever it is doing; its outcome is cancelled.",
  about: [
    'A turn in progress is ended as by "skein interrupt", in whatever process it runs, and nothing more is ' +
      'taken up. What it knows stays; "skein reopen" opens it again.',
  ],
  done: "cancelled",
  reason: "no longer needed",
  examples: [{ command: "skein cancel 4x8kz1", what: "also while another process runs it" }],
});
