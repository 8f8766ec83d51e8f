/** The rows of key-again.test.ts that change projects. */
import type { Given, Served } from "./served.ts";

/** A project with an item; `closed`, once it is over. */
const projectOf =
  (given: Given["params"], closed = false) =>
  async ({ engine }: Served): Promise<Given> => {
    const { project } = await engine.openProject({ objective: "Move the shop" });
    await engine.recordInProject(project, { kind: "fact", key: "q", value: 1 });
    if (closed) await engine.closeProject(project);
    return { params: { project, ...given } };
  };

async function heldProject({ engine }: Served): Promise<Given> {
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.holdProject(project, "case");
  return { params: { project, name: "case" } };
}

async function plannedProject({ engine }: Served): Promise<Given> {
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.planTickets(project, { tickets: [{ id: "a", title: "Begin" }] });
  return { params: { project, ticket: "a", outcome: "done" } };
}

export const ofProjects = {
  "engine.openProject": [{ params: { objective: "Move the shop" } }],
  "engine.recordInProject": [{ before: projectOf({ kind: "fact", key: "k", value: 1 }) }],
  "engine.retractInProject": [{ before: projectOf({ kind: "fact", key: "q" }) }],
  "engine.noteInProject": [{ before: projectOf({ text: "Begun." }) }],
  "engine.closeProject": [{ before: projectOf({ outcome: "failed" }) }],
  "engine.reopenProject": [{ before: projectOf({}, true) }],
  "engine.planTickets": [{ before: projectOf({ tickets: [{ id: "a", title: "Begin" }] }) }],
  "engine.markTicket": [{ before: plannedProject }],
  "engine.configureProject": [{ before: projectOf({ plan: "approve" }) }],
  "engine.setProjectBudget": [{ before: projectOf({ usd: 5 }) }],
  "engine.holdProject": [{ before: projectOf({ name: "case" }) }],
  "engine.liftProject": [{ before: heldProject }],
  "engine.eraseProject": [{ before: projectOf({}), answer: () => undefined }],
  "engine.archiveProject": [{ before: projectOf({}, true) }],
};
