/** The rooms of src/runtime: what each is for, and which rooms it may import. */
import { posix } from "node:path";
import { importsOf } from "./boundaries.ts";
import { finding, type Finding, type Source } from "./source.ts";

export interface Room {
  /** The rooms it may import, each with the reason. */
  readonly may: Readonly<Record<string, string>>;
}

/**
 * From the bottom up. Files directly in src/runtime (deps, world, options) are the floor: every room may
 * import them. `deps.ts` names the services that rooms make, by type only.
 */
export const rooms: Readonly<Record<string, Room>> = {
  read: { may: {} },
  log: { may: { read: "a change is decided on a state, and contents are compared" } },
  workspace: {
    may: {
      read: "definitions are contents of a log",
      log: "agents, memory and tokens are records",
      message: "values of an agent's own kinds match a schema, as messages match a contract",
    },
  },
  govern: {
    may: {
      read: "erasure and verification walk logs",
      log: "what is erased is said in an append",
      workspace: "retention follows policies, erasure reaches memory",
      project: "a hold on a project holds its sessions",
    },
  },
  project: {
    may: {
      read: "a project is folded from its log",
      log: "its changes are records",
    },
  },
  message: {
    may: { read: "the receiver's state is looked at", log: "both ends are written in one append" },
  },
  context: {
    may: { read: "a context is rendered from events", workspace: "the agent's instructions come first" },
  },
  branch: {
    may: {
      read: "a fork starts from a state",
      log: "opening is an append",
      workspace: "a session carries memory and an agent",
      govern: "a fork keeps the rules and erasures of its parent",
      context: "two branches are compared by their contexts",
      project: "a session starts with what its project knows",
    },
  },
  trigger: {
    may: {
      read: "causes are compared with the log",
      log: "firing is an append",
      branch: "a template opens a session",
    },
  },
  turn: {
    may: {
      read: "the next step follows from the state",
      log: "each step is an append",
      workspace: "the agent, its memory and saved approvals",
      govern: "permission rules are checked before a call starts",
      message: "a session tool sends messages",
      context: "a step sends a context",
      branch: "a session tool opens and forks children",
      project: "a session tool proposes tickets for the plan of its project",
      trigger: "a session tool sets times",
    },
  },
  depend: {
    may: {
      read: "dependencies are derived from the log and the search index",
      branch: "a document is loaded again to compare it",
    },
  },
  check: {
    may: {
      read: "a check is run on a state, with its bindings",
      log: "results are records",
      branch: "a review is a child session that reads the handoff",
      turn: "no turn begins while a check holds the lease",
    },
  },
  transfer: {
    may: {
      read: "a bundle is a log as it was read",
      log: "a move is fenced by an append",
      workspace: "agents, memory and policies travel",
      project: "a project travels with its sessions",
      govern: "what arrives is reviewed",
      context: "another model is sent another context",
      branch: "a branch of another tool's transcript is a fork",
      trigger: "templates travel",
      turn: "a change of the model takes the lease",
    },
  },
  replay: {
    may: {
      read: "both runs are read from their logs",
      log: "scores are records",
      workspace: "the agent of the run",
      govern: "an unreviewed session is not run",
      context: "each context is rendered again",
      branch: "a run again is a fork",
      transfer: "a fork may go on with another model",
    },
  },
  worker: {
    may: {
      read: "what is due is looked at",
      log: "what time brings about is an append",
      workspace: "limits are policies, webhooks have a leader",
      govern: "heads are listed",
      message: "messages to other stores are delivered",
      context: "a model that is missing is reported",
      trigger: "causes are watched and fired",
      turn: "a session is run",
    },
  },
  engine: {
    may: Object.fromEntries(
      (
        "read log workspace project govern message context branch trigger depend turn check transfer " +
        "replay worker"
      )
        .split(" ")
        .map((room) => [room, "the handles call every room"]),
    ),
  },
};

const roomOf = (path: string): string | undefined => /^src\/runtime\/([^/]+)\/[^/]+\.ts$/.exec(path)?.[1];
const isRuntime = (path: string): boolean => path.startsWith("src/runtime/");

/** A room imports the floor, itself, and what its line allows; the floor imports types of rooms alone. */
export function roomRule(source: Source): Finding[] {
  if (!isRuntime(source.path)) return [];
  const room = roomOf(source.path);
  const isFloor = posix.dirname(source.path) === "src/runtime";
  if (!isFloor && (room === undefined || rooms[room] === undefined)) {
    return [finding(source, 0, "lies in no room of the runtime; test/repo/rooms.ts lists them")];
  }
  return importsOf(source).flatMap(({ specifier, typeOnly, position }) => {
    if (specifier === undefined || !specifier.startsWith(".")) return [];
    const target = posix.join(posix.dirname(source.path), specifier);
    const other = roomOf(target);
    if (other === undefined || other === room) return [];
    if (isFloor ? typeOnly : rooms[room ?? ""]?.may[other] !== undefined) return [];
    const may = isFloor
      ? "types of rooms"
      : ["the floor", ...Object.keys(rooms[room ?? ""]?.may ?? {})].join(", ");
    return [finding(source, position, `may not import ${target}; it may import ${may}`)];
  });
}

/** Rooms that reach themselves through others, as the names along the way. */
export function cyclesOf(table: Readonly<Record<string, Room>>): readonly string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const walk = (room: string, path: readonly string[]): void => {
    if (path.includes(room)) cycles.push([...path.slice(path.indexOf(room)), room].join(" → "));
    if (path.includes(room) || finished.has(room)) return;
    for (const next of Object.keys(table[room]?.may ?? {})) walk(next, [...path, room]);
    finished.add(room);
  };
  for (const room of Object.keys(table)) walk(room, []);
  return cycles;
}
