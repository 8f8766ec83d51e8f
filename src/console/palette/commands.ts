/**
 * Every operation as a command: what it is called, and what choosing it does. A test holds this table against
 * that of the protocol, so that no call is out of reach.
 */
import { operationOf, type OperationId } from "../../call/operations.ts";
import { sessionPath, withParams } from "../route.ts";

export type How =
  /** At once. What it may be given besides is asked for by Tab. */
  | { readonly how: "run" }
  /** Asks what it is to be given. `bad`: it takes something away, and says so. */
  | { readonly how: "form"; readonly bad?: string }
  /** Leads to the view that does it; with fields, asks for these first. */
  | {
      readonly how: "go";
      readonly to: (session: string, given: Readonly<Record<string, unknown>>) => string;
      readonly fields?: readonly string[];
    }
  /** The dialog for a new session. */
  | { readonly how: "open" }
  /** Not from here, and why. */
  | { readonly how: "elsewhere"; readonly why: string };

export interface Command {
  readonly title: string;
  readonly does: How;
}

const run = (title: string): Command => ({ title, does: { how: "run" } });
const form = (title: string): Command => ({ title, does: { how: "form" } });
const bad = (title: string, why: string): Command => ({ title, does: { how: "form", bad: why } });
const to = (title: string, path: string): Command => ({ title, does: { how: "go", to: () => path } });
const aspect = (title: string, ...[name, field]: [Parameters<typeof sessionPath>[1], string?]): Command => ({
  title,
  does: {
    how: "go",
    to: (session, given) =>
      sessionPath(session, name, field === undefined ? {} : { [field]: text(given[field]) }),
    ...(field === undefined ? {} : { fields: [field] }),
  },
});
const text = (value: unknown): string | null =>
  typeof value === "string" || typeof value === "number" ? String(value) : null;

export const commands: Readonly<Record<OperationId, Command>> = {
  "engine.open": { title: "New session", does: { how: "open" } },
  "engine.sessions": to("List the sessions", "/"),
  "engine.session": aspect("Show the session", "transcript"),
  "engine.delete": bad("Delete the session", "All that was said in it is gone for good."),
  "engine.lineage": aspect("Show the family", "family"),
  "engine.export": form("Export the session to a bundle"),
  "engine.import": form("Import a bundle"),
  "engine.migrate": bad("Migrate all sessions to another store", "They leave this store."),
  "engine.send": form("Send a message to a session"),
  "engine.deliver": run("Deliver messages to other stores"),
  "engine.putBlob": form("Keep the bytes of a file"),
  "engine.blob": form("Get the bytes of a hash"),
  "engine.addAgent": form("Add an agent, or a version of one"),
  "engine.agents": to("List the agents", "/agents"),
  "engine.agent": form("Show an agent's definition"),
  "engine.memory": to("Show the memory", "/memory"),
  "engine.remember": form("Remember something"),
  "engine.forget": bad("Forget something", "Later sessions do not begin with it any more."),
  "engine.setPolicy": form("Set a policy"),
  "engine.removePolicy": bad("Remove a policy", "What it did stays done."),
  "engine.policies": run("List the policies"),
  "engine.approvals": run("List saved approvals"),
  "engine.revokeApproval": bad("Revoke a saved approval", "The command is asked about again."),
  "engine.retain": bad("Retain: do what policies say is due", "This may delete sessions: try dry run first."),
  "engine.trigger": form("Set a template"),
  "engine.untrigger": bad("Remove a template", "The sessions that it opened go on."),
  "engine.triggers": to("List the templates", "/triggers"),
  "engine.fire": form("Fire a template"),
  "engine.runTickets": form("Run the tickets of a plan"),
  "engine.tickets": form("Show how tickets stand"),
  "engine.feed": form("Read the feed of all logs"),
  "engine.search": {
    title: "Search over everything",
    does: { how: "go", to: () => "/search" },
  },
  "engine.cost": to("Show what models cost", "/cost"),
  "engine.query": form("Query in SQL"),
  "engine.verify": run("Verify every log"),
  "engine.anchor": form("Anchor the heads of all logs"),
  "engine.acceptAnchor": bad("Accept the logs as they are", "Records that are missing are reported no more."),
  "engine.scan": run("Scan for secrets"),
  "engine.rebuild": bad("Rebuild everything derived", "Lists and search are incomplete while it is at work."),
  "engine.workers": to("List the workers", "/workers"),
  "engine.stats": run("Count what there is"),
  "engine.addToken": form("Issue a token"),
  "engine.tokens": run("List the tokens"),
  "engine.revokeToken": bad("Revoke a token", "Whoever comes with it is turned away from now on."),
  "engine.setHook": form("Set a hook"),
  "engine.hooks": run("List the hooks"),
  "engine.removeHook": bad("Remove a hook", "It is told of nothing more."),

  "session.state": run("Read the state"),
  "session.fold": run("Read the state without contents"),
  "session.items": run("Read the items"),
  "session.load": form("Load a checkpoint or position"),
  "session.head": run("Read the head"),
  "session.events": aspect("Show the log", "log"),
  "session.records": run("Get the records as they are stored"),
  "session.verify": run("Verify the session"),
  "session.lineage": aspect("Show what was forked from what", "family"),
  "session.diff": form("Diff two positions"),
  "session.context": aspect("Show the context", "context"),
  "session.tools": run("Read which tools the model is offered"),
  "session.contracts": run("Read the contracts"),
  "session.triggers": run("Read the triggers"),

  "session.append": form("Append records"),
  "session.input": form("Input for the next turn"),
  "session.ask": aspect("Ask something", "transcript"),
  "session.run": run("Run it until it is idle"),
  "session.watch": {
    title: "Watch a run",
    does: { how: "elsewhere", why: "the page of a session tells what happens in it anyway; Run starts it" },
  },
  "session.answer": form("Answer calls that wait"),
  "session.send": form("Send a message from this session"),
  "session.contract": form("Declare a contract"),
  "session.record": form("Record an item"),
  "session.retract": bad("Retract an item", "It is no longer among what the session knows."),
  "session.promote": form("Promote an item to memory"),
  "session.scratch": form("Set a scratch key"),
  "session.compress": run("Compress the context"),
  "session.handoff": run("Write a handoff"),
  "session.score": form("Score it"),
  "session.save": form("Save a checkpoint"),
  "session.fork": run("Fork"),
  "session.rewind": bad(
    "Rewind",
    "What came after that position is no longer in its mind; the log keeps it.",
  ),
  "session.clear": form("Clear: close it and open the next"),
  "session.merge": aspect("Merge another session into it", "merge", "from"),
  "session.migrate": form("Migrate to another model or store"),
  "session.replay": form("Replay"),
  "session.activate": run("Activate"),
  "session.suspend": run("Suspend"),
  "session.interrupt": run("Interrupt"),
  "session.reopen": run("Reopen"),
  "session.archive": run("Archive"),
  "session.cancel": bad("Cancel", "It ends as cancelled."),
  "session.close": run("Close"),
  "session.sleep": form("Sleep"),
  "session.rename": form("Rename"),
  "session.label": form("Label"),
  "session.prioritize": form("Prioritize"),
  "session.bind": form("Bind a resource"),
  "session.unbind": bad("Unbind a resource", "It may not be used any more."),
  "session.grant": form("Grant: say what becomes of calls of a tool"),
  "session.budget": form("Set the budget"),
  "session.trigger": form("Set a trigger"),
  "session.untrigger": bad("Remove a trigger", "It does not wake the session any more."),
  "session.fire": form("Fire a trigger"),
  "session.hold": form("Hold: keep it from being erased"),
  "session.lift": form("Lift a hold"),
  "session.erase": bad("Erase contents", "They are gone for good, from every session that shares them."),
};

/** Whether a session has to be named for it. */
export const needsSession = (id: OperationId): boolean => {
  const { of, path } = operationOf(id);
  return of === "session" || path.includes("{id}") || id === "engine.lineage";
};

/** Words of the field for what is called otherwise here. */
export const otherWords: Readonly<Partial<Record<OperationId, string>>> = {
  "session.suspend": "pause stop",
  "session.activate": "resume continue unpause",
  "session.interrupt": "stop abort",
  "session.close": "end finish complete",
  "session.cancel": "kill abort",
  "session.fork": "branch copy",
  "session.compress": "compact summarize",
  "session.grant": "permission allow deny",
  "session.save": "bookmark",
  "session.rewind": "undo back",
  "session.context": "explain window prompt",
  "engine.sessions": "ps top processes",
  "engine.stats": "statistics size",
  "engine.query": "select sql",
};

/** Places that no operation stands for. */
export const searchPath = (q: string): string => withParams("/search", { q });
