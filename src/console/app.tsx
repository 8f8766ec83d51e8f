/** The whole page: the navigation, the view of the URL, and the dialogs over them. */
import { useEffect, useState, type ReactNode } from "react";
import { useCell } from "./signal.ts";
import { connection, lookAgain } from "./connection.ts";
import { useRefusal } from "./scopes.ts";
import { lazily } from "./lazy.tsx";
import { Link } from "./link.tsx";
import { Login } from "./login.tsx";
import { Palette } from "./palette/palette.tsx";
import { Icon, type IconName } from "./ui/icon.tsx";
import { showToast, Toasts } from "./ui/toast.tsx";
import { Empty } from "./ui/load-error.tsx";
import { go, useRoute, type PageRoute } from "./route.ts";
import { Keys } from "./keys.tsx";
import { useShortcuts } from "./shortcut.ts";
import { theme, turnTheme } from "./theme.ts";
import { OpenDialog } from "./view/open-dialog.tsx";
import { Search } from "./view/search/search.tsx";
import { Sessions } from "./view/sessions/page.tsx";

// In the order in which they are likely to be needed. What a key opens is there at once: what is typed
// behind it must not be lost.
const SessionPage = lazily(() => import("./view/session/page.tsx").then((part) => part.SessionPage));
const Projects = lazily(() => import("./view/projects/projects.tsx").then((part) => part.Projects));
const Agents = lazily(() => import("./view/agents/agents.tsx").then((part) => part.Agents));
const Triggers = lazily(() => import("./view/triggers/triggers.tsx").then((part) => part.Triggers));
const Workers = lazily(() => import("./view/workers.tsx").then((part) => part.Workers));
const Cost = lazily(() => import("./view/cost/cost.tsx").then((part) => part.Cost));
const Memory = lazily(() => import("./view/memory/memory.tsx").then((part) => part.Memory));
const Import = lazily(() => import("./view/import/import.tsx").then((part) => part.Import));

type Over = "palette" | "open" | "keys" | null;

export function App(): ReactNode {
  const isOut = useCell(connection) === "out";
  const [over, setOver] = useState<Over>(null);
  const route = useRoute();
  const put = (): void => setOver(null);
  const refusal = useRefusal("engine.open");
  const open = (): void => {
    if (refusal === undefined) return setOver("open");
    put();
    showToast(refusal);
  };
  const own = [
    { key: "ctrl+k", what: "Open the command palette", act: () => setOver("palette") },
    { key: "n", what: "New session", act: open },
    { key: "/", what: "Search", act: () => go("/search") },
    { key: "?", what: "Show keyboard shortcuts", act: () => setOver("keys") },
    ...nav.map(({ key, name, to }) => ({ key: `g ${key}`, what: name, act: () => go(to) })),
  ];
  useShortcuts(own, { outer: true });
  useEffect(() => {
    document.title = `${titles[route.at]} · Skein`;
  }, [route.at]);
  if (isOut) return <Login />;
  return (
    <>
      <Banner />
      <div className="shell">
        <Nav route={route} palette={() => setOver("palette")} />
        <main className="main" id="view" tabIndex={-1}>
          <View route={route} open={open} />
        </main>
      </div>
      {over === "palette" ? <Palette close={put} open={open} keys={() => setOver("keys")} /> : null}
      {over === "open" ? <OpenDialog close={put} project={projectOf(route)} /> : null}
      {over === "keys" ? <Keys close={put} /> : null}
      <Toasts />
    </>
  );
}

const titles: Readonly<Record<PageRoute["at"], string>> = {
  sessions: "Sessions",
  session: "Session",
  search: "Search",
  projects: "Projects",
  agents: "Agents",
  triggers: "Triggers",
  workers: "Workers",
  cost: "Cost",
  memory: "Memory",
  import: "Import",
  nowhere: "Not found",
};

/** A view derives everything from the route, and may unmount at any time. */
function View({ route, open }: { readonly route: PageRoute; readonly open: () => void }): ReactNode {
  switch (route.at) {
    case "sessions":
      return <Sessions params={route.params} open={open} />;
    case "session":
      return <SessionPage key={route.id} id={route.id} aspect={route.aspect} params={route.params} />;
    case "search":
      return <Search params={route.params} />;
    case "projects":
      return <Projects name={route.name} params={route.params} open={open} />;
    case "agents":
      return <Agents name={route.name} params={route.params} />;
    case "triggers":
      return <Triggers />;
    case "workers":
      return <Workers />;
    case "cost":
      return <Cost params={route.params} />;
    case "memory":
      return <Memory params={route.params} />;
    case "import":
      return <Import name={route.name} params={route.params} />;
    case "nowhere":
      return (
        <Empty title="Page not found">
          <Link to="/">All sessions</Link>
        </Empty>
      );
  }
}

/** A session that is opened on the page of a project belongs to it. */
const projectOf = (route: PageRoute): string | null => (route.at === "projects" ? route.name : null);

interface Stop {
  readonly at: PageRoute["at"];
  readonly to: string;
  readonly name: string;
  readonly icon: IconName;
  readonly key: string;
}

const nav: readonly Stop[] = [
  { at: "sessions", to: "/", name: "Sessions", icon: "sessions", key: "s" },
  { at: "search", to: "/search", name: "Search", icon: "search", key: "f" },
  { at: "projects", to: "/projects", name: "Projects", icon: "projects", key: "p" },
  { at: "agents", to: "/agents", name: "Agents", icon: "agents", key: "a" },
  { at: "triggers", to: "/triggers", name: "Triggers", icon: "triggers", key: "t" },
  { at: "workers", to: "/workers", name: "Workers", icon: "workers", key: "w" },
  { at: "cost", to: "/cost", name: "Cost", icon: "cost", key: "c" },
  { at: "memory", to: "/memory", name: "Memory", icon: "memory", key: "m" },
];

function Nav({ route, palette }: { readonly route: PageRoute; readonly palette: () => void }): ReactNode {
  const chosen = useCell(theme);
  return (
    <nav className="nav" aria-label="Navigation">
      <Link to="/" className="nav-name">
        <img src="/icon.svg" alt="" />
        Skein
      </Link>
      {nav.map(({ at, to, name, icon }) => (
        <Link
          key={at}
          to={to}
          className="nav-place"
          aria-current={route.at === at || (at === "sessions" && route.at === "session") ? "page" : undefined}
        >
          <Icon name={icon} />
          {name}
        </Link>
      ))}
      <div className="nav-foot">
        <button type="button" className="nav-place" onClick={palette}>
          <Icon name="command" />
          <span className="spread">Commands</span>
          <kbd className="key">Ctrl K</kbd>
        </button>
        <button
          type="button"
          className="nav-place"
          data-theme
          onClick={() => turnTheme()}
          title="Theme: light, dark or system"
        >
          <Icon name="theme" />
          {{ system: "System", light: "Light", dark: "Dark" }[chosen]}
        </button>
      </div>
    </nav>
  );
}

function Banner(): ReactNode {
  const isLost = useCell(connection) === "lost";
  if (!isLost) return null;
  return (
    <div className="banner" role="status">
      <span className="dot" data-beats />
      The server is unreachable. Showing the last known state. Reconnecting…
      <button type="button" className="button" data-size="small" onClick={lookAgain}>
        Retry now
      </button>
    </div>
  );
}
