/**
 * The table of contents of the docs site. The pages lie in docs/*.md and at the root, where GitHub shows them;
 * this file gives each its place, its short title and what the reader can do after it.
 */

export interface NavPage {
  /** From the root of the repository: `docs/tools.md`. A page without a source is generated: `api/engine`. */
  readonly file: string;
  readonly title: string;
  /** Completes "After this page you can …": the lead of a page, its card and its search result. */
  readonly can: string;
  /** A picture of docs/images that opens the page. */
  readonly picture?: string;
  /** Indented under the page before it. */
  readonly nested?: true;
}

export interface NavGroup {
  readonly title: string;
  readonly can: string;
  readonly pages: readonly NavPage[];
}

const page = (file: string, title: string, can: string, more: Partial<NavPage> = {}): NavPage => ({
  file,
  title,
  can,
  ...more,
});
const nested = { nested: true } as const;

const start: NavGroup = {
  title: "Start",
  can: "install Skein, run a turn, kill it and see it resume",
  pages: [
    page("docs/install.md", "Install", "run Skein from a checkout, as a package or as a server"),
    page("docs/tutorial.md", "Five-minute tutorial", "open a session, fork it, kill a turn and resume it"),
    page("docs/concepts.md", "How it works", "explain sessions, logs, forks, contexts and workers"),
    page("docs/from-langgraph.md", "From LangGraph", "map graphs and checkpointers to sessions"),
    page("docs/from-ai-sdk.md", "From the AI SDK", "keep your models and put your loop on a durable log"),
    page("docs/from-ag-ui.md", "From AG-UI", "run CopilotKit and other AG-UI front ends on sessions"),
    page("docs/from-a2a.md", "From A2A", "let other agents send tasks to yours over A2A"),
    page("docs/from-openai.md", "From OpenAI", "serve the openai client and the Agents SDK from sessions"),
    page(
      "docs/from-claude-agents.md",
      "From Claude Managed Agents",
      "point the unmodified client at your own server",
    ),
    page("docs/from-adk.md", "From Google ADK", "keep the sessions of the Agent Development Kit in a store"),
    page("docs/from-claude-code.md", "From Claude Code", "run the same work unattended, with an audit trail"),
    page("docs/from-temporal.md", "From Temporal", "map workflows and activities to sessions and tools"),
    page("examples", "Examples", "start from a program that runs offline"),
  ],
};

const guides: NavGroup = {
  title: "Guides",
  can: "build agents: models, tools, permissions, memory and triggers",
  pages: [
    page("docs/models.md", "Models", "choose a model, add a provider and know what each failure does"),
    page("docs/agents.md", "Agents", "define a role with instructions, rules and a budget, and version it"),
    page(
      "docs/amend.md",
      "Amend a session",
      "change objective, instructions, agent or settings of a session",
    ),
    page("docs/tools.md", "Tools", "give a session tools, write your own and sandbox a shell"),
    page("docs/permissions.md", "Approvals", "decide which tool calls ask first and answer them"),
    page("docs/files.md", "Files", "rewind, fork and compare the files a session changed"),
    page("docs/costs.md", "Costs", "read what a session costs and which part of it is certain"),
    page("docs/projects.md", "Projects", "keep work together that takes several sessions"),
    page("docs/context.md", "Context", "see what the model sees, pin an item and change shares"),
    page("docs/undo.md", "Undo", "take back what you or a model did, and know what cannot be undone"),
    page("docs/evals.md", "Evals", "score sessions, replay turns with another model and compare both runs"),
    page("docs/memory.md", "Memory", "carry facts and decisions from one session to the next"),
    page(
      "docs/retrieval.md",
      "Documents, retrieval",
      "use documents longer than the window, and see what is shown",
    ),
    page("docs/handoff.md", "Handoff", "end a session and start the next with what it leaves"),
    page("docs/messages.md", "Messages", "send messages, requests and replies between sessions"),
    page("docs/after.md", "After", "start sessions after others and open children"),
    page("docs/dependencies.md", "Dependencies", "see what a session stands on and what is stale of it"),
    page("docs/triggers.md", "Triggers", "wake a session by time, message, webhook or another session"),
    page("docs/triggers-files.md", "Files and Git", "wake a session when a file or a commit changes", nested),
    page("docs/tickets.md", "Tickets", "run a plan with one session for each ticket"),
    page("docs/transcripts.md", "Transcripts", "read, convert and write the sessions of other tools"),
    page("docs/acp.md", "Editors (ACP)", "run sessions in an editor, and other agents in a session"),
    page("docs/mcp.md", "Agents (MCP)", "give Claude Code, Cursor and others history, memory and handoffs"),
    page("docs/proxy.md", "Recording proxy", "record the model calls of programs that you do not change"),
    page(
      "docs/durable-streams.md",
      "Durable Streams",
      "follow the log of a session, and keep streams of your own",
    ),
    page("docs/runtimes.md", "Runtimes", "use Skein on Bun, Deno, CommonJS and serverless platforms"),
    page("docs/secrets.md", "Secrets", "keep keys and passwords out of the log"),
    page("docs/client.md", "Client", "call a server from Node or a browser with the library's types"),
    page("docs/python.md", "Python", "call a server from Python, with types, streams and safe retries"),
  ],
};

const operate: NavGroup = {
  title: "Operate",
  can: "serve a team: server, workers, PostgreSQL, tokens and telemetry",
  pages: [
    page("docs/server.md", "Server", "serve the engine over HTTP and let others in"),
    page("docs/console.md", "Console", "watch and run many sessions from the browser"),
    page("docs/workers.md", "Workers", "run what is due on any number of machines", {
      picture: "deployment.svg",
    }),
    page("docs/postgres.md", "PostgreSQL", "move to a team store, size it, back it up and fail it over"),
    page("docs/tokens.md", "Tokens", "issue, scope and revoke access"),
    page("docs/webhooks.md", "Webhooks", "receive calls that wake sessions and send events to other systems"),
    page("docs/telemetry.md", "Telemetry", "scrape metrics, send traces and read the request log"),
    page("docs/retention.md", "Retention", "pack, archive and delete sessions by policy"),
    page("docs/erasure.md", "Erasure", "erase content for good while the log still verifies"),
    page("docs/moving.md", "Moving", "move sessions to another store"),
    page("docs/upgrading.md", "Upgrading", "upgrade a store from 0.4 to 0.5, and go back"),
    page("docs/operating.md", "Operating", "back up, verify, rebuild and know every limit"),
    page("docs/scale.md", "Scale", "estimate what a hundred million sessions need"),
    page("docs/benchmarks.md", "Benchmarks", "repeat every figure and know what it is measured against"),
    page("SECURITY.md", "Security", "judge what Skein protects and report a weakness"),
  ],
};

const reference: NavGroup = {
  title: "Reference",
  can: "look up every call, option, event, column and byte",
  pages: [
    page("api", "Library API", "find every exported name and where to import it from"),
    page("api/skein", "skein", "use the names most programs need", nested),
    page("api/engine", "Engine", "call every method of an engine", nested),
    page("api/session", "Session", "call every method of a session", nested),
    page("api/skein-session", "skein/session", "type states, events, diffs, merges and loops", nested),
    page("api/skein-admin", "skein/admin", "type agents, memory, tokens, policies and erasure", nested),
    page("api/skein-client", "skein/client", "type a connection to a server", nested),
    page("api/skein-tool", "skein/tool", "implement a tool without defineTool", nested),
    page("api/skein-model", "skein/model", "implement a model driver", nested),
    page("api/skein-store", "skein/store", "implement a store driver", nested),
    page("api/skein-replay", "skein/replay", "type replays and their scores", nested),
    page("api/skein-tickets", "skein/tickets", "run plans from a program", nested),
    page("api/skein-transcripts", "skein/transcripts", "read sessions of other tools", nested),
    page("api/skein-ai-sdk", "skein/ai-sdk", "serve useChat of the AI SDK from sessions", nested),
    page("api/skein-langgraph", "skein/langgraph", "keep the threads of LangGraph.js in Skein", nested),
    page("api/skein-openai-agents", "skein/openai-agents", "keep sessions of OpenAI's Agents SDK", nested),
    page("api/skein-claude-agent-sdk", "skein/claude-agent-sdk", "keep transcripts in Skein", nested),
    page("api/skein-google-adk", "skein/google-adk", "keep sessions of Google's ADK in a store", nested),
    page("api/skein-conformance", "skein/conformance", "test a store driver of your own", nested),
    page("docs/library.md", "Subpaths", "choose the import for a name"),
    page("docs/cli.md", "Command line", "look up every verb, option and exit code"),
    page("docs/http.md", "HTTP", "call Skein from any language"),
    page("docs/calls.md", "Calls", "look up a call in the library, over HTTP and on the command line"),
    page("docs/built-in-tools.md", "Built-in tools", "look up the tools a model gets, with their arguments"),
    page("docs/event-catalog.md", "Events", "read every event type and its fields"),
    page("docs/views.md", "SQL views", "query sessions, events, items and costs with SQL"),
    page("docs/log-format.md", "Log format", "verify a log without Skein"),
    page("docs/bundle-format.md", "Bundle format", "read an exported bundle without Skein"),
    page("GLOSSARY.md", "Glossary", "name things the way Skein does"),
    page("CHANGELOG.md", "Changelog", "see what changed and what to change in your code"),
  ],
};

const internals: NavGroup = {
  title: "Internals",
  can: "change Skein itself: architecture, rules and decisions",
  pages: [
    page("ARCHITECTURE.md", "Architecture", "find where a thing lies, what always holds and why"),
    page("docs/turns.md", "Turns", "change the turn loop safely"),
    page("CONTRIBUTING.md", "Contributing", "build, test and change Skein"),
    page("adr", "Decisions", "read what was chosen, what else there was and why"),
  ],
};

export const nav: readonly NavGroup[] = [start, guides, operate, reference, internals];
