/** What sessions of a family are called where two have the same name, as a fork has at first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { titlesAmong, type TitledSession } from "../../src/console/view/family/relative.ts";

const node = (session: string, name: string | null, objective: string | null = null): TitledSession => ({
  session,
  name,
  objective,
});

test("sessions with the same name show a suffix of their ids, and no others do", () => {
  const nodes = [
    node("ses_0000aaaaaa", "Report"),
    node("ses_0000bbbbbb", "Report"),
    node("ses_0000cccccc", null, "Report"),
    node("ses_0000dddddd", "Another"),
    node("ses_0000eeeeee", null),
  ];
  assert.deepEqual(
    nodes.map((one) => titlesAmong(nodes)(one)),
    ["00aaaaaa · Report", "00bbbbbb · Report", "00cccccc · Report", "Another", "00eeeeee"],
  );
  assert.equal(titlesAmong(nodes)(nodes[0] ?? node("", null), 4), "00aaaaaa · Rep…");
});
