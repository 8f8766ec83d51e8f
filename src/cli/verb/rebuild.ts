/** Makes everything derived again from the logs. */
import { plural } from "../text.ts";
import { verb } from "../verb.ts";

export const rebuild = verb({
  name: "rebuild",
  line: "Make index, snapshots, search and items again from the logs.",
  args: [],
  options: {},
  about: [
    "What is derived is forgotten first; the logs are not touched. It is never needed in normal use; " +
      "it shows that the log is the only truth.",
  ],
  examples: [{ command: "skein rebuild", what: "of the whole store" }],
  async run({ out, engine }) {
    const progress = out.progress();
    try {
      const opened = await engine();
      const report = await opened.rebuild({
        progress: ({ records, sessions }) =>
          progress.show(`rebuilt ${plural(sessions, "session")}, ${plural(records, "record")}`),
      });
      progress.end();
      await out.answer({ ok: true, ...report }, () => [
        `rebuilt ${plural(report.sessions, "session")} from ${plural(report.records, "record")}, ` +
          `with ${plural(report.snapshots, "snapshot")}`,
      ]);
    } finally {
      progress.end();
    }
  },
});
