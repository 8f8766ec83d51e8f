/** The rows of key-again.test.ts that change projects. */
import { use, type Line } from "../runtime/turn/scripted.ts";
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

const ticket = { id: "api", title: "Serve it" };

/** Proposes a ticket when it is asked to. */
export const proposing: Line = ({ parts }) => {
  const last = parts.at(-1);
  const isUser = last?.part === "message" && last.role === "user";
  const isAsked = isUser && JSON.stringify(last).includes("Propose.");
  return isAsked ? [use("plan", { tickets: [ticket] })] : "In short: this and that.";
};

/** A project with a planned ticket that a session works on. */
async function planned({ engine }: Served): Promise<Given> {
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.planTickets(project, { tickets: [ticket] });
  const { id: session } = await engine.open({ objective: "Serve it", project });
  return { params: { project, ticket: ticket.id, session } };
}

/** A project with a ticket that waits for a person. */
async function proposed({ engine }: Served): Promise<Given> {
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.configureProject(project, { plan: "approve" });
  const session = await engine.open({ objective: "Plan it", project, model: "test/scripted" });
  await session.ask("Propose.").result;
  return { params: { project, tickets: [ticket.id] } };
}

export const ofProjects = {
  "engine.openProject": [{ params: { objective: "Move the shop" } }],
  "engine.recordInProject": [{ before: projectOf({ kind: "fact", key: "k", value: 1 }) }],
  "engine.retractInProject": [{ before: projectOf({ kind: "fact", key: "q" }) }],
  "engine.noteInProject": [{ before: projectOf({ text: "Begun." }) }],
  "engine.closeProject": [{ before: projectOf({ outcome: "failed" }) }],
  "engine.reopenProject": [{ before: projectOf({}, true) }],
  "engine.holdProject": [{ before: projectOf({ name: "case" }) }],
  "engine.liftProject": [{ before: heldProject }],
  "engine.eraseProject": [{ before: projectOf({}), answer: () => undefined }],
  "engine.archiveProject": [{ before: projectOf({}, true) }],
  "engine.planTickets": [{ before: projectOf({ tickets: [ticket] }) }],
  "engine.markTicket": [{ before: planned }],
  "engine.acceptTickets": [{ before: proposed }],
  "engine.rejectTickets": [{ before: proposed }],
  "engine.setProjectBudget": [{ before: projectOf({ usd: 5 }) }],
  "engine.configureProject": [{ before: projectOf({ plan: "approve" }) }],
};
