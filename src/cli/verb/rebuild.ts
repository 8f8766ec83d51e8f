/** Makes everything derived again from the logs. */
import { plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const rebuild = verb({
  name: "rebuild",
  line: "Make index, snapshots, search and items again from the logs.",
  args: [],
  options: {},
  about: [
    "Snapshots, search and items are forgotten first; the logs are not touched. It is never needed in " +
      "normal use; it shows that the log is the only truth.",
  ],
  examples: ["skein rebuild  # of the whole store"],
  async run({ out, engine }) {
    const progress = out.progress();
    try {
      const opened = await engine();
      const report = await opened.rebuild({
        progress: ({ records, sessions }) =>
          progress.show(`rebuilt ${plural(sessions, "session")}, ${plural(records, "record")}`),
      });
      progress.end();
      const ok = report.unreadable.length === 0;
      await out.answer({ ok, ...report }, () => [
        `rebuilt ${plural(report.sessions, "session")} from ${plural(report.records, "record")}, ` +
          `with ${plural(report.snapshots, "snapshot")}`,
        ...report.unreadable.map(
          (id) => `left as it was, its log cannot be read: ${id}; run skein verify ${id}`,
        ),
      ]);
      return ok ? 0 : 5;
    } finally {
      progress.end();
    }
  },
});
